#!/usr/bin/env python3
"""Plants faults into the real kernels, one at a time, and checks that the emulator finds each.

Usage: mutate.py [OPTION]...
  --library FILE   libestoc_emulator.a and the objects that mutants are linked with; repeatable
  --build DIR      the build folder, with the command and the tests' programs
  --work DIR       folder for what is compiled (default: a temporary one)
  --only TEXT      only faults whose description, file or case contains TEXT
  --sample N       N of them, chosen by the date; prints which
  --changed        of faults in kernels whose headers changed all, --sample of the others
  --jobs N         mutants at a time (default: as many as there are processors)
  --seeds N        random schedules of each (default: 4)
  --list           prints the table of docs/emulator.md and ends
  --check FILE     checks that FILE has that table, and ends
Each fault is a replacement of text that must match exactly once in device/estoc. A mutant that does
not compile, is not found, or does not end is a failure. So is a change that is no fault and is
reported.
"""

import argparse
import collections
import concurrent.futures
import datetime
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(folder) for folder in pathlib.Path(__file__).resolve().parents[:2]]

import changed  # noqa: E402
import epilogue_faults  # noqa: E402
import library_faults  # noqa: E402
import more_faults  # noqa: E402
import other_faults  # noqa: E402
import sm90_faults  # noqa: E402
from planted import CASES, EpilogueCase, LibraryCase, TestCase  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEVICE = ROOT / "device/estoc"
FAULTS = (
    sm90_faults.FAULTS + other_faults.FAULTS + epilogue_faults.FAULTS + more_faults.FAULTS
    + library_faults.FAULTS
)  # fmt: skip
HARMLESS = library_faults.HARMLESS

PROGRAM = """#include "mutations/runner.h"

#include <estoc/kernels/{kernel}.cuh>
{include}
using namespace estoc;
using namespace estoc::abi;

namespace {{

constexpr {config_type} kConfig{{{config}}};

void kernel({parameters}) {{
  {call};
}}

}}  // namespace

int main(int argc, char** argv) {{
  return mutations::run(kConfig, emulator::entry<kernel>, {{{problems}}}, argc, argv);
}}
"""
EPILOGUE_PROGRAM = """#include "mutations/runner.h"

#include "{header}"

namespace estoc::epilogue_test {{

const std::vector<mutations::Run> kRuns{{
{runs}
}};

}}  // namespace estoc::epilogue_test

int main(int argc, char** argv) {{
  return estoc::mutations::judge(estoc::epilogue_test::kRuns, argc, argv);
}}
"""
EPILOGUE_RUN = """  {{"problem {number}", [](const emulator::Options& options) {{
     const Outcome outcome = {call};
     return mutations::Outcome{{outcome.report, outcome.wrong}};
   }}}},"""
TYPES = {
    "sm90_gemm": "Sm90Gemm",
    "sm80_gemm": "Sm80Gemm",
    "simt_gemm": "SimtGemm",
    "simt_elementwise": "SimtElementwise",
}


def program_of(case):
    """The C++ text of one case."""
    if isinstance(case, EpilogueCase):
        runs = (EPILOGUE_RUN.format(number=i, call=call) for i, call in enumerate(case.runs))
        return EPILOGUE_PROGRAM.format(header=case.header, runs="\n".join(runs))
    name = TYPES[case.kernel]
    call = f"{case.kernel}<kConfig>(p, epilogue::Identity{{}})"
    parameters = f"const {name}Parameters p"
    include = ""
    if case.kernel == "simt_elementwise":
        call = "simt_elementwise<kConfig, mutations::Sum>(p, inputs)"
        parameters += ", const abi::ElementwiseInputs<1, 0> inputs"
        include = '#include "mutations/sum.cuh"\n'
    problems = ", ".join(
        "harness::Problem{" + ", ".join(str(x).lower() for x in problem) + "}"
        for problem in case.problems
    )
    return PROGRAM.format(
        kernel=case.kernel,
        config_type=f"{name}Config",
        parameters=parameters,
        include=include,
        config=case.config,
        call=call,
        problems=problems,
    )


def mutated(fault):
    """The text of a fault's file with the fault in it."""
    text = (DEVICE / fault.file).read_text(encoding="utf-8")
    count = text.count(fault.old)
    if count != 1:
        raise SystemExit(f"{fault.file}: '{fault.what}' matches {count} times, not once")
    return text.replace(fault.old, fault.new)


# What no fault changes, compiled once: most of the time goes into it.
PREFIX = """#include "mutations/runner.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <variant>
#include <vector>
"""


class Workshop:
    """Compiles mutants and runs them."""

    def __init__(self, folder, libraries, build, seeds):
        self.folder = folder
        self.build = build
        self.libraries = libraries
        self.seeds = seeds
        self.compiler = [os.environ.get("CXX", "g++"), "-std=c++20", "-O1", "-w", "-Wno-psabi"]
        self.includes = ["-I", str(ROOT / "emulator/include"), "-I", str(ROOT / "tests/emulator")]
        self.includes += ["-isystem", str(ROOT / "device")]
        prefix = folder / "prefix.h"
        prefix.write_text(PREFIX, encoding="utf-8")
        compiled = [*self.compiler, *self.includes, "-x", "c++-header", str(prefix)]
        # A compiler that has no such thing reads the text.
        subprocess.run(compiled, capture_output=True, check=False)

    def run(self, name, case, overlay, expected):
        """(passed, what was printed) of one case, on the headers of `overlay` before the others."""
        try:
            if isinstance(CASES[case], LibraryCase):
                reports = [report for report in expected.split(",") if report]
                return self.run_library(name, CASES[case], overlay, reports)
            if isinstance(CASES[case], TestCase):
                return self.run_tests(name, CASES[case], overlay, expected)
            return self.run_program(name, case, overlay, expected)
        except subprocess.TimeoutExpired:
            return False, "it does not end"

    def environment(self, name, overlay):
        """What makes the library take the headers of `overlay`, and keep what it builds apart."""
        device = self.folder / f"device_{name}"
        shutil.copytree(ROOT / "device", device)
        if overlay is not None:
            shutil.copytree(overlay, device, dirs_exist_ok=True)
        cache = str(self.folder / f"cache_{name}")
        return {**os.environ, "ESTOC_DEVICE_DIR": str(device), "ESTOC_CACHE_DIR": cache}

    def run_library(self, name, case, overlay, expected):
        command = [
            str(self.build / "estoc"), "run", case.problem, "--device", "emulator", "--target",
            case.target, "--filter", case.filter, "--check", "--json", "--programmatic",
            "--time-limit", "60", *case.flags,
        ]  # fmt: skip
        seeds = self.seeds if expected else 1
        orders = ["late", "eager", *(f"random --seed {seed}" for seed in range(1, seeds + 1))]
        environment = self.environment(name, overlay)
        for order in orders:
            done = subprocess.run(
                [*command, "--schedule", *order.split()], env=environment, capture_output=True,
                text=True, timeout=240, check=False,
            )  # fmt: skip
            if done.returncode not in (0, 1):
                return False, f"exit status {done.returncode}: {done.stderr}"
            answer = json.loads(done.stdout)
            met = [finding["fault"] for finding in answer["emulator"]["findings"]]
            if not answer["check"]["passed"]:
                met.append("wrong output")
            for fault in expected:
                if fault in met:
                    return True, f"{fault}\t{order}"
            if not expected and met:
                return False, f"{order}: {met}\n{done.stderr}"
        return not expected, f"clean\t{len(orders)} runs" if not expected else "nothing was found"

    def run_tests(self, name, case, overlay, expected):
        done = subprocess.run(
            [str(self.build / case.program), f"--gtest_filter={case.tests}"],
            env=self.environment(name, overlay), capture_output=True, text=True, timeout=240,
            check=False,
        )  # fmt: skip
        skipped = "SKIPPED" in done.stdout
        found = done.returncode == 1 and "FAILED" in done.stdout
        passed = skipped or found == bool(expected)
        return passed, f"{case.found}\ttests" if passed else done.stdout[-2000:]

    def run_program(self, name, case, overlay, expected):
        source = self.folder / f"{name}.cpp"
        program = self.folder / name
        source.write_text(program_of(CASES[case]), encoding="utf-8")
        command = [*self.compiler, "-include", str(self.folder / "prefix.h")]
        if overlay is not None:
            command += ["-I", str(overlay)]
        command += [*self.includes, str(source), "-o", str(program), *self.libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return False, "it does not compile:\n" + done.stderr[:2000]
        try:
            done = subprocess.run(
                [str(program), expected, str(self.seeds)],
                capture_output=True, text=True, errors="replace", timeout=120, check=False,
            )
        finally:
            program.unlink()
        text = done.stdout.strip()
        if done.returncode < 0:
            text += f"\nended by signal {-done.returncode}"
        return done.returncode == 0, text

    def control(self, case):
        return self.run(f"control_{case}", case, None, "")

    def mutant(self, number, fault):
        overlay = self.folder / f"overlay_{number}"
        path = overlay / "estoc" / fault.file
        path.parent.mkdir(parents=True)
        path.write_text(mutated(fault), encoding="utf-8")
        return self.run(f"mutant_{number}", fault.case, overlay, ",".join(fault.found))

    def harmless(self, number, change):
        return self.mutant(f"harmless_{number}", change)


def table():
    """The faults by file and report, as docs/emulator.md has them."""
    rows = collections.defaultdict(list)
    for fault in FAULTS:
        name = fault.file.removeprefix("kernels/").removesuffix(".cuh")
        rows[name, " or ".join(fault.found)].append(fault.what)
    lines = [f"The {len(FAULTS)} faults:", "", "| in | found as | faults |", "|---|---|---|"]
    for (name, found), faults in rows.items():
        lines.append(f"| {name} | {found} | {'; '.join(faults)} |")
    return "\n".join(lines) + "\n"


def check_table(path):
    if table() in pathlib.Path(path).read_text(encoding="utf-8"):
        return 0
    print(f"{path}: the table of planted faults is not what --list prints", file=sys.stderr)
    return 1


def is_reached(case, headers):
    """Whether the kernel of a case includes one of the headers, which include each other's."""
    if isinstance(case, EpilogueCase):
        text = (ROOT / "tests/emulator" / case.header).read_text(encoding="utf-8")
        return bool(changed.includes(text) & headers)
    if isinstance(case, (LibraryCase, TestCase)):
        return bool(headers)
    return f"estoc/kernels/{case.kernel}.cuh" in headers


def chosen(arguments):
    """(faults, whether these are all)"""
    faults = [f for f in FAULTS if arguments.only in f.what + f.file + f.case]
    reached = []
    if arguments.changed:
        headers = changed.changed_headers()
        if headers is None:
            return faults, not arguments.only
        reached = [f for f in faults if is_reached(CASES[f.case], headers)]
        print(f"{len(reached)} of {len(FAULTS)} faults are in kernels whose headers changed")
    others = [f for f in faults if f not in reached]
    if not arguments.sample or arguments.sample >= len(others):
        return faults, not arguments.only
    day = datetime.date.today().isoformat()
    print(f"{arguments.sample} of {len(others)} others, chosen by {day}")
    return reached + random.Random(day).sample(others, arguments.sample), False


def run_all(workshop, faults, harmless, jobs):
    """Runs controls and mutants; prints failures and a summary, answers the exit status."""
    start = time.monotonic()
    failures = []
    met = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        cases = sorted({fault.case for fault in faults})
        controls = {case: pool.submit(workshop.control, case) for case in cases}
        mutants = [pool.submit(workshop.mutant, i, fault) for i, fault in enumerate(faults)]
        others = [pool.submit(workshop.harmless, i, change) for i, change in enumerate(harmless)]
        for case, future in controls.items():
            passed, text = future.result()
            if not passed:
                failures.append(f"the kernel of '{case}' is not clean as it is:\n{text}")
        for change, future in zip(harmless, others):
            passed, text = future.result()
            if not passed:
                failures.append(f"{change.file}: '{change.what}' is no fault:\n{text}")
        for fault, future in zip(faults, mutants):
            passed, text = future.result()
            if passed:
                report, schedule = text.split("\t")
                met[report] += 1
                print(f"{fault.file}: {fault.what}: {report} ({schedule})")
            else:
                failures.append(f"{fault.file}: '{fault.what}' is not {fault.found}:\n{text}")
    print("\n".join(failures))
    print(", ".join(f"{count} {name}" for name, count in met.most_common()))
    print(
        f"{len(cases)} kernels as they are, {len(harmless)} changes that are no faults and "
        f"{len(faults)} faults, {len(failures)} failures, "
        f"{time.monotonic() - start:.0f} s"
    )
    return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--work")
    parser.add_argument("--only", default="")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--changed", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--check")
    arguments = parser.parse_args()
    for fault in (*FAULTS, *HARMLESS):
        mutated(fault)
    if arguments.list:
        print(table(), end="")
        return 0
    if arguments.check:
        return check_table(arguments.check)
    with tempfile.TemporaryDirectory(prefix="estoc_mutants_", dir=arguments.work) as folder:
        workshop = Workshop(
            pathlib.Path(folder), arguments.library, arguments.build, arguments.seeds
        )
        faults, all_of_them = chosen(arguments)
        return run_all(workshop, faults, HARMLESS if all_of_them else (), arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
