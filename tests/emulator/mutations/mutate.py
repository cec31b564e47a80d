#!/usr/bin/env python3
"""Plants faults into the real kernels, one at a time, and checks that the emulator finds each.

Usage: mutate.py [OPTION]...
  --build DIR      the build folder, with the command and the tests' programs
  --work DIR       folder for what is compiled (default: a temporary one)
  --only TEXT      only faults whose description, file or case contains TEXT
  --due            only faults whose turn it is: all that are new or in what changed, the others
                   within some days (changed.py)
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
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [str(folder) for folder in pathlib.Path(__file__).resolve().parents[:2]]

import changed  # noqa: E402
import converted_cases  # noqa: E402
import converted_faults  # noqa: E402
import epilogue_faults  # noqa: E402
import f32_faults  # noqa: E402
import f64_faults  # noqa: E402
import gathered_faults  # noqa: E402
import grouped_faults  # noqa: E402
import grouped_tensor_faults  # noqa: E402
import library_faults  # noqa: E402
import moe_faults  # noqa: E402
import more_faults  # noqa: E402
import other_faults  # noqa: E402
import paired_faults  # noqa: E402
import planted  # noqa: E402
import pointer_faults  # noqa: E402
import quantise_faults  # noqa: E402
import scaled_faults  # noqa: E402
import scaled_group_faults  # noqa: E402
import sm100_faults  # noqa: E402
import sm100_scaled_faults  # noqa: E402
import sm120_faults  # noqa: E402
import sm90_faults  # noqa: E402
import swapped_faults  # noqa: E402
from planted import ALWAYS, FeatureCase, LibraryCase, TestCase  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
DEVICE = ROOT / "device/estoc"
CASES = {**planted.CASES, **converted_cases.CASES, **paired_faults.CASES, **swapped_faults.CASES}
# What faults share.
OWN_FILES = {f"tests/emulator/mutations/{name}.py" for name in ("mutate", "planted", "converted_cases")}
LISTS = (
    sm90_faults, other_faults, epilogue_faults, more_faults, library_faults, grouped_faults,
    grouped_tensor_faults, scaled_faults, sm100_faults, sm100_scaled_faults, moe_faults,
    quantise_faults, f32_faults, converted_faults, scaled_group_faults, sm120_faults,
    pointer_faults, f64_faults, gathered_faults, paired_faults, swapped_faults,
)  # fmt: skip
FAULTS = tuple(fault for faults in LISTS for fault in faults.FAULTS)
ORIGINS = {fault: faults.__name__ for faults in LISTS for fault in faults.FAULTS}
HARMLESS = library_faults.HARMLESS


def mutated(fault):
    """The text of a fault's file with the fault in it."""
    text = (DEVICE / fault.file).read_text(encoding="utf-8")
    count = text.count(fault.old)
    if count != 1:
        raise SystemExit(f"{fault.file}: '{fault.what}' matches {count} times, not once")
    return text.replace(fault.old, fault.new)


class Workshop:
    """Compiles mutants and runs them."""

    def __init__(self, folder, build, seeds):
        self.folder = folder
        self.build = build
        self.seeds = seeds
        self.device = shutil.copytree(ROOT / "device", folder / "device")

    def run(self, name, case, overlay, expected, always=False):
        """(passed, what was printed) of one case, on the headers of `overlay` before the others."""
        try:
            if isinstance(CASES[case], LibraryCase):
                return self.run_library(name, CASES[case], overlay, expected, always)
            if isinstance(CASES[case], FeatureCase):
                return self.run_feature(name, CASES[case], overlay, expected)
            return self.run_tests(name, CASES[case], overlay, expected)
        except subprocess.TimeoutExpired:
            return False, "it does not end"

    def environment(self, name, overlay):
        """What makes the library take the headers of `overlay`, and keep what it builds apart."""
        device = self.folder / f"device_{name}"
        # Links take a tenth of the time of copies.
        shutil.copytree(self.device, device, copy_function=os.link)
        for path in overlay.rglob("*.cuh") if overlay is not None else ():
            (device / path.relative_to(overlay)).unlink()
            shutil.copy(path, device / path.relative_to(overlay))
        cache = str(self.folder / f"cache_{name}")
        return {**os.environ, "ESTOC_DEVICE_DIR": str(device), "ESTOC_CACHE_DIR": cache}

    def run_library(self, name, case, overlay, expected, always):
        orders = ["late", "eager", *(f"random --seed {i + 1}" for i in range(self.seeds))]
        environment = self.environment(name, overlay)
        for order in orders:
            met = [
                report for problem in case.problems
                for report in self.reports(case, problem, order, environment)
            ]  # fmt: skip
            found = [report for report in expected if report in met]
            if found and not always:
                return True, f"{found[0]}\t{order}"
            if always and not found:
                return False, f"{order}: {met or 'nothing was found'}"
            if not expected and met:
                return False, f"{order}: {met}"
        if always:
            return True, f"{found[0]}\tevery order"
        return not expected, f"clean\t{len(orders)} runs" if not expected else f"found: {met}"

    def reports(self, case, problem, order, environment):
        """What is found when the emulator runs one problem: names of reports, or what failed."""
        command = [
            str(self.build / "estoc"), "run", problem, "--device", "emulator", "--target",
            case.target, "--filter", case.filter, "--check", "--json", "--programmatic",
            "--time-limit", "60", *case.flags, "--schedule", *order.split(),
        ]  # fmt: skip
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=240, check=False
        )
        if done.returncode not in (0, 1):
            return [f"exit status {done.returncode}: {done.stderr}"]
        answer = json.loads(done.stdout)
        found = [finding["fault"] for finding in answer["emulator"]["findings"]]
        return found if answer["check"]["passed"] else [*found, "wrong output"]

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

    def run_feature(self, name, case, overlay, expected):
        """One feature on the virtual GPU: what the emulator finds is in the driver's words."""
        folder = self.build / "virtual_gpu"
        environment = {
            **self.environment(name, overlay), "LD_LIBRARY_PATH": str(folder),
            "ESTOC_NVRTC": str(folder / "libnvrtc.so"), "ESTOC_CUBLASLT": "off",
            "ESTOC_VIRTUAL_GPU": "sm_90a",
        }  # fmt: skip
        done = subprocess.run(
            [str(self.build / "tests/gpu/estoc_gpu_test"), "--feature", case.feature],
            env=environment, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        if not expected or done.returncode != 1:
            return done.returncode == 0 and not expected, f"clean\tfeature\n{done.stdout[-2000:]}"
        by_driver = [report for report in expected if report in done.stdout]
        # What no word of the driver's is about is what the output shows.
        found = by_driver or [report for report in expected if report == "wrong output"]
        return bool(found), f"{found[0]}\tfeature" if found else done.stdout[-2000:]

    def control(self, case):
        return self.run(f"control_{case}", case, None, ())

    def mutant(self, number, fault):
        overlay = self.folder / f"overlay_{number}"
        path = overlay / "estoc" / fault.file
        path.parent.mkdir(parents=True)
        path.write_text(mutated(fault), encoding="utf-8")
        return self.run(f"mutant_{number}", fault.case, overlay, fault.found, fault.what in ALWAYS)

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


def days_of(fault, names, days):
    """Every how many days a fault is due."""
    if f"tests/emulator/mutations/{ORIGINS[fault]}.py" in names:
        return changed.ITSELF
    return min(days_of_code(fault, days), changed.SHARED if OWN_FILES & set(names) else changed.REST)


def days_of_code(fault, days):
    """The same by the code that it is planted into, and the kernel that meets it."""
    case = CASES[fault.case]
    files = [fault.file]
    if isinstance(case, TestCase) and days:
        return days.get(f"estoc/{fault.file}", changed.SHARED)
    if not isinstance(case, (TestCase, FeatureCase)):
        kernel = re.search(r"class=(\w+)", case.filter)
        files.append(f"kernels/{kernel[1] if kernel else 'sm90_gemm'}.cuh")
    return min(days.get(f"estoc/{file}", changed.REST) for file in files)


def chosen(arguments):
    """(faults, whether these are all)"""
    faults = [f for f in FAULTS if arguments.only in f.what + f.file + f.case]
    names = changed.changed_names() if arguments.due else None
    if names is None:
        return faults, not arguments.only
    days = changed.changed_days(names)
    day = changed.today()
    due = [f for i, f in enumerate(faults) if changed.is_due(i, days_of(f, names, days), day)]
    print(f"{len(due)} of {len(faults)} faults are due")
    return due, False


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
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--work")
    parser.add_argument("--only", default="")
    parser.add_argument("--due", action="store_true")
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
        workshop = Workshop(pathlib.Path(folder), arguments.build, arguments.seeds)
        faults, all_of_them = chosen(arguments)
        return run_all(workshop, faults, HARMLESS if all_of_them else (), arguments.jobs)


if __name__ == "__main__":
    sys.exit(main())
