#!/usr/bin/env python3
"""Prints what kernels that divide K or swap the operands gain, as tables in Markdown.

Usage: few_rows_report.py ESTOC_RANKING

Compares bench/results/few_rows with the same problems in bench/results/ranking, which were timed
without these kernels. Kernels are ranked by a fit that has not seen the shape of the problem: old
kernels by one to their own table, all kernels by one to both tables.
"""

import gzip
import json
import pathlib
import sys

from ranking_report import FEW_ROWS, TABLES, geometric_mean, read_rows

DEVICES = ("h200", "h100")
# M, N, K and dtype of the products that are shown by themselves: K-major operands, row-major out.
CHOSEN = [
    (1, 4096, 14336, "bf16"),
    (8, 1344, 14576, "bf16"),
    (16, 4096, 14336, "bf16"),
    (16, 28672, 4096, "bf16"),
    (64, 4096, 4096, "bf16"),
    (64, 320, 37376, "bf16"),
    (128, 1024, 8192, "bf16"),
    (512, 512, 16384, "bf16"),
    (416, 1168, 52736, "bf16"),
    (128, 128, 65536, "bf16"),
    (424, 128, 34432, "tf32"),
]


def times_of(path):
    """Of each problem of a table (name, microseconds, knobs) of its kernels."""
    lines = map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
    return {
        line["problem"]: [kernel[:3] for kernel in line["kernels"]]
        for line in lines
        if "problem" in line
    }


def mean(rows, problems, ratio):
    return f"{geometric_mean([ratio(rows[problem]) for problem in problems]):.3f}"


def means(problems, old, new):
    """Lines of geometric means over the problems that have a kernel of cuBLASLt in both tables."""
    ratios = {
        "cuBLASLt's best over our best": lambda row: row.library / row.best,
        "cuBLASLt's best over our first": lambda row: row.library / row.first,
        "cuBLASLt's best over the first of the whole list": lambda row: row.library / row.first_of_all,
    }
    problems = [problem for problem in problems if old[problem].library > 0 < new[problem].library]
    yield f"geometric means over {len(problems)} problems", "old kernels", "all kernels"
    few = [problem for problem in problems if new[problem].m <= 64 and "f16:" in problem.split("b=")[0]]
    for name, ratio in ratios.items():
        yield name, *(mean(rows, problems, ratio) for rows in (old, new))
    yield f"the same, {len(few)} with M <= 64 in 16 bits", *(mean(rows, few, ratio) for rows in (old, new))


def fastest(kernels, takes):
    """Microseconds of the fastest kernel, and into how many parts it divides K."""
    name, microseconds, knobs = min(filter(takes, kernels), key=lambda kernel: kernel[1])
    parts = knobs.partition("/")[2]
    return f"{microseconds:.4g}" + (f" ({parts})" if parts and not name.startswith("cublaslt") else "")


def chosen(old, new):
    """Lines of the fastest kernel of each kind, in microseconds."""
    yield "problem", "old kernels", "`sm90_gemm`", "`sm90_swapped_gemm`", "cuBLASLt"
    for m, n, k, dtype in CHOSEN:
        out = "f32" if dtype == "tf32" else dtype
        text = f"gemm m={m} n={n} k={k} l=1 a={dtype}:t b={dtype}:n out={out}:t acc=f32"
        yield (
            f"M = {m}, N = {n}, K = {k}, {dtype}",
            fastest(old[text], lambda kernel: kernel[0].startswith("sm90")),
            fastest(new[text], lambda kernel: kernel[0].startswith("sm90_gemm")),
            fastest(new[text], lambda kernel: kernel[0].startswith("sm90_swapped_gemm")),
            fastest(new[text], lambda kernel: kernel[0].startswith("cublaslt")),
        )


def print_table(lines):
    header, *rest = lines
    for line in (header, ["---"] * len(header), *rest):
        print(f"| {' | '.join(line)} |")
    print()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for device in DEVICES:
        (old,) = TABLES.glob(f"*_{device}.jsonl.gz")
        new = FEW_ROWS / f"2026-11-23_{device}.jsonl.gz"
        rows = read_rows(sys.argv[1], {"old": [old], "new": [old, new]})
        by_problem = {which: {row.problem: row for row in found} for which, found in rows.items()}
        times = times_of(new)
        print(f"{device.upper()}\n")
        print_table(means(times, **by_problem))
        print_table(chosen(times_of(old), times))


if __name__ == "__main__":
    main()
