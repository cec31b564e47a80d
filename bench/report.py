#!/usr/bin/env python3
"""Makes the README's table of speed from the files in bench/results.

Usage: report.py [--check]    (--check changes nothing and fails when the table is out of date)
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- bench:begin -->\n", "<!-- bench:end -->\n"
BASELINE = "cublaslt"


def best(kernels):
    """The fastest of kernels that were timed; None when there is none."""
    timed = [k for k in kernels if k["seconds"]]
    return min(timed, key=lambda k: k["seconds"]["median"], default=None)


def rate(kernel):
    """A kernel's rate in words."""
    if "gflops" in kernel:
        return f"{kernel['gflops'] / 1e3:.1f} TFLOP/s"
    return f"{kernel['gbytes_per_second'] / 1e3:.2f} TB/s"


def rows():
    """A table row for each problem of each result file."""
    for path in sorted((ROOT / "bench/results").glob("*_h200_*.json")):
        for report in json.loads(path.read_text()):
            ours = best([k for k in report["kernels"] if k["provider"] != BASELINE])
            vendor = best([k for k in report["kernels"] if k["provider"] == BASELINE])
            if not ours:
                continue
            ratio = ""
            if vendor:
                ratio = f"{vendor['seconds']['median'] / ours['seconds']['median']:.2f}"
            yield (f"| `{report['problem']}` | {ours['kernel'].split('-')[0]} | {rate(ours)} | "
                   f"{rate(vendor) if vendor else ''} | {ratio} |\n")


def main():
    table = ("| problem | class | Estoc | cuBLASLt, best | speed over cuBLASLt |\n"
             "|---|---|---|---|---|\n" + "".join(rows()))
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    made = before + BEGIN + table + END + after
    if "--check" in sys.argv[1:]:
        return 0 if made == text else "README.md: the table of speed is out of date"
    readme.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
