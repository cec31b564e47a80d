#!/usr/bin/env python3
"""Compares problems that `estoc bench --table FILE --together N` timed in the same rounds.

Usage: together_report.py FILE N

Each problem is compared with the first of its N: the time of that one over its own, of the fastest kernels of
Estoc and of those that were ranked first. Where the table has cuBLASLt's kernels of the first problem, their
fastest time over each problem's is printed too. The last lines are geometric means over problems that have the
same operands.
"""

import gzip
import json
import math
import pathlib
import sys


def read(path):
    """The rows of a table: problem text, and the times of Estoc's and of cuBLASLt's kernels as ranked."""
    data = pathlib.Path(path).read_bytes()
    text = gzip.decompress(data) if path.endswith(".gz") else data
    rows = []
    for line in map(json.loads, text.decode().splitlines()):
        if "problem" not in line:
            continue
        times = {False: [], True: []}
        for name, microseconds, *_ in line["kernels"]:
            times[name.startswith("cublaslt")].append(microseconds)
        rows.append((line["problem"], times[False], times[True]))
    return rows


def compare(rows, together):
    """For each problem its text and ratios: fastest, ranked first, over cuBLASLt, and fastest over first."""
    for i, (problem, ours, _) in enumerate(rows):
        _, base, vendor = rows[i - i % together]
        ratios = {"fastest": min(base) / min(ours), "first": base[0] / ours[0],
                  "first over fastest": min(ours) / ours[0]}
        if vendor:
            ratios["fastest over cuBLASLt"] = min(vendor) / min(ours)
            ratios["first over cuBLASLt"] = min(vendor) / ours[0]
        yield problem, ratios


def show(label, ratios):
    print(label + "  " + "  ".join(f"{name} {value:.3f}" for name, value in ratios.items()))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    kinds = {}
    for problem, ratios in compare(read(sys.argv[1]), int(sys.argv[2])):
        show(problem, ratios)
        operands = " ".join(word for word in problem.split() if word[:2] in ("a=", "b="))
        kinds.setdefault((problem.split()[0], operands), []).append(ratios)
    for (operation, operands), each in kinds.items():
        means = {name: math.exp(sum(math.log(ratios[name]) for ratios in each) / len(each)) for name in each[0]}
        show(f"{operation} {operands}, {len(each)} problems:", means)


if __name__ == "__main__":
    main()
