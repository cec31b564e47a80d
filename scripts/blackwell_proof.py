#!/usr/bin/env python3
"""Runs random problems and compiles random kernels of the classes for Blackwell, and counts.

Usage: blackwell_proof.py [--problems N] [--kernels N] [--soak N] [--seed N] [--seconds N]
                          [--build FOLDER] [--out FILE]

Three things are done, the classes by turns, until each was done as often as asked:
  problems   random ones on random kernels on the emulator, against float64 (estoc_emulator_cover)
  soak       such kernels on further problems in random schedules, of which nothing may be reported
  kernels    compiled by NVRTC for each target, a quarter of them with epilogues, and looked at for spills
             and warnings (estoc_compile_test)
FILE holds the counts and what failed. What it holds already of the same programs, seed and counts is not
done again, so that one can stop at any time, and go on; after --seconds no further part is begun.
Exit status: 0 all was done and nothing failed, 1 not.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA_CENTRE, GEFORCE = ("sm_100a", "sm_103a"), ("sm_120a", "sm_121a")
CLASSES = {
    "sm100_gemm": DATA_CENTRE, "sm100_dynamic_gemm": DATA_CENTRE, "sm100_prepared_gemm": DATA_CENTRE,
    "sm100_i8_gemm": DATA_CENTRE[:1], "sm100_scaled_gemm": DATA_CENTRE,
    "sm100_dequantised_gemm": DATA_CENTRE, "sm100_grouped_gemm": DATA_CENTRE,
    "sm100_swapped_grouped_gemm": DATA_CENTRE, "sm120_gemm": GEFORCE, "sm120_scaled_gemm": GEFORCE,
}
# Of twelve kernels every third has an epilogue, each of the four that the program has once.
DRAWN, PROBLEMS, SOAKED, COMPILED, FUSED = 12, 9, 40, 18, 6
RUNS = re.compile(r"(\d+) runs with epilogues, (\d+) of these with scales in the epilogue\n"
                  r"\d+ kernels, .* (\d+) runs, (\d+) failed, 0 not reached")
KERNELS = re.compile(r"NVRTC ([\d.]+): (\d+) kernels, (\d+) with defects, (\d+) that are known")


def parts_for(count, each):
    return -(-count // (each * len(CLASSES)))


class Proof:
    def __init__(self, options):
        self.options = options
        tests = options.build / "tests"
        self.cover = tests / "emulator/estoc_emulator_cover"
        self.compile = tests / "compile/estoc_compile_test"
        self.asked = {name: getattr(options, name)
                      for name in ("problems", "soak", "kernels", "seed")}
        self.state = self.read()
        nvrtc = os.environ.get("ESTOC_NVRTC") or subprocess.run(
            [ROOT / "scripts/fetch_nvrtc.sh"], capture_output=True, text=True,
            check=True).stdout.split()[-1]
        self.environment = dict(os.environ, ESTOC_NVRTC=nvrtc,
                                ESTOC_CACHE_DIR=str(options.build / "blackwell_cache"))

    def read(self):
        """What the file says of these programs and counts; nothing where it is of others."""
        digest = hashlib.sha256(self.cover.read_bytes() + self.compile.read_bytes()).hexdigest()
        try:
            state = json.loads(self.options.out.read_text(encoding="utf-8"))
            if state["programs"] == digest and state["asked"] == self.asked:
                return state
            print(f"{self.options.out} is of other programs or counts: begins anew", file=sys.stderr)
        except FileNotFoundError:
            pass
        commit = subprocess.run(["git", "-C", ROOT, "describe", "--always", "--dirty"],
                                capture_output=True, text=True, check=False).stdout.strip()
        return {"commit": commit, "programs": digest, "asked": self.asked, "totals": {},
                "classes": {name: {} for name in CLASSES}, "failures": []}

    def save(self):
        totals = {}
        for counts in self.state["classes"].values():
            for name, count in counts.items():
                totals[name] = totals.get(name, 0) + count
        self.state["totals"] = totals
        self.options.out.parent.mkdir(parents=True, exist_ok=True)
        partial = self.options.out.with_suffix(".partial")
        partial.write_text(json.dumps(self.state, indent=1) + "\n", encoding="utf-8")
        partial.replace(self.options.out)

    def parts(self):
        """The name of each part, and how to do it, in turns."""
        problems = parts_for(self.options.problems, DRAWN * PROBLEMS)
        soak = parts_for(self.options.soak, SOAKED)
        # Not all kernels take the epilogue that they are offered.
        kernels = parts_for(self.options.kernels, COMPILED + FUSED // 2)
        for number in range(max(problems, soak, kernels)):
            for name in CLASSES:
                if number < problems:
                    yield name, "problems", number, lambda n, i: self.run(n, i, PROBLEMS, 0)
                if number < soak:
                    yield name, "soak", number, lambda n, i: self.run(n, i, 0, SOAKED)
                if number < kernels:
                    yield name, "kernels", number, lambda n, i: self.judge(n, i, kernels)

    def run(self, name, number, problems, soak):
        found = self.call(RUNS, self.cover, "--class", name, "--sample", DRAWN, "--problems",
                          problems, "--soak", soak, "--seed", 1000 * self.options.seed + number)
        fused, scaled, runs, failed = map(int, found)
        if soak:
            return {"soak_runs": runs, "soak_reports": failed}
        return {"problems": runs, "with_epilogues": fused, "with_scales_in_epilogues": scaled,
                "wrong": failed}

    def judge(self, name, number, parts):
        """One of `parts` parts of a sample without epilogues, and of one with them."""
        counts = {"kernels": 0}
        for label, count, more in (("", COMPILED, []),
                                   ("kernels_with_epilogues", FUSED, ["--epilogues"])):
            targets = [word for target in CLASSES[name] for word in ("--target", target)]
            nvrtc, compiled, bad, spilling = self.call(
                KERNELS, self.compile, *targets, "--filter", f"class={name}", "--count",
                count * parts, "--seed", self.options.seed + len(more), "--rest", parts, "--day",
                number, *more)
            self.state["nvrtc"] = nvrtc
            for what, found in (("kernels", compiled), ("defects", bad), ("known_spills", spilling)):
                counts[what] = counts.get(what, 0) + int(found)
            if label:
                counts[label] = int(compiled)
        return counts

    def call(self, pattern, *command):
        """What the pattern finds in a command's output; a command that fails is noted with it."""
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, env=self.environment,
                              check=False)
        found = pattern.search(done.stdout)
        if done.returncode != 0:
            shown = " ".join([pathlib.Path(words[0]).name, *words[1:]])
            self.state["failures"].append({"command": shown, "output": done.stdout[-4000:]})
            print(f"FAILED {shown}\n{done.stdout}{done.stderr}", file=sys.stderr)
        if found is None:
            raise SystemExit(f"blackwell_proof: {words[0]} says not what was expected")
        return found.groups()

    def all(self):
        deadline = time.monotonic() + self.options.seconds
        for name, what, number, do in self.parts():
            counts = self.state["classes"][name]
            if counts.get(what + "_parts", 0) > number:
                continue
            if time.monotonic() > deadline:
                print("no time left for the rest", file=sys.stderr)
                return False
            for key, count in do(name, number).items():
                counts[key] = counts.get(key, 0) + count
            counts[what + "_parts"] = number + 1
            self.save()
        return not self.state["failures"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--problems", type=int, default=5000, help="at least (default: 5000)")
    parser.add_argument("--kernels", type=int, default=1000,
                        help="to compile, for both targets together (default: 1000)")
    parser.add_argument("--soak", type=int, default=2000, help="runs at least (default: 2000)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=pathlib.Path,
                        default=ROOT / "bench/results/blackwell/proof.json")
    proof = Proof(parser.parse_args())
    passed = proof.all()
    print(json.dumps(proof.state["totals"]))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
