#!/usr/bin/env python3
"""Estimates kernels' times by the emulator, and puts the figures into docs/performance.md and docs/blackwell.md.

Usage: clock_report.py ESTOC_CLOCK [--check]

Lists of kernels are in bench/results/clock: fit_h200.tsv, which the rates of the H200 were fitted to,
held_out_h200.tsv and same_problem_h200.tsv, which they were not, and predicted_b200.tsv. Estimates are
written beside them. --check estimates a few held-out kernels and changes nothing: it fails where an
estimate differs from the file, where the figures are below the floor, or where a page is out of date.
"""

import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results" / "clock"
SETS = {
    "fit_h200": "fitted to",
    "held_out_h200": "held out, other problems",
    "same_problem_h200": "held out, {} problems",
}
PREDICTED = "predicted_b200"
CHECK_EVERY = 14  # of the held-out kernels
MOST_ERROR, LEAST_CORRELATION = 0.15, 0.85
# Operands of a B200's columns: what names of kernels have, and dense operations of a multiprocessor in
# a clock (data sheet).
B200_COLUMNS = {"bf16": ("sm100_gemm-bf16-", 8192), "e4m3": ("sm100_gemm-e4m3-", 16384),
                "mxfp8": ("sm100_scaled_gemm-e4m3-", 16384), "nvfp4": ("sm100_scaled_gemm-e2m1-", 32768)}
B200_MULTIPROCESSORS, B200_CLOCK = 148, 1.85e9


class Kernel:
    """A line of `estoc_clock estimate`."""

    def __init__(self, line):
        measured, estimated, share, self.name, self.problem = line.rstrip("\n").split("\t")
        self.measured, self.estimated = float(measured), float(estimated)
        self.tensor_share = float(share)

    def error(self):
        return abs(self.estimated / self.measured - 1)


def estimates(program, target, path):
    command = [program, "estimate", target, path]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def stored(name):
    return [Kernel(line) for line in (RESULTS / f"{name}_estimates.tsv").read_text().splitlines()]


def ranks(values):
    order = sorted(range(len(values)), key=values.__getitem__)
    place = [0] * len(values)
    for rank, index in enumerate(order):
        place[index] = rank
    return place


def correlation(kernels):
    """Spearman's, of measured and estimated times."""
    count = len(kernels)
    pairs = zip(ranks([k.measured for k in kernels]), ranks([k.estimated for k in kernels]))
    return 1 - 6 * sum((a - b) ** 2 for a, b in pairs) / (count * (count**2 - 1))


def by_problem(kernels):
    groups = {}
    for kernel in kernels:
        groups.setdefault(kernel.problem, []).append(kernel)
    return list(groups.values())


def figures(name):
    """Number, mean, median and worst error, and the rank correlation; in one problem its mean."""
    kernels = stored(name)
    errors = [k.error() for k in kernels]
    groups = by_problem(kernels) if name.startswith("same_problem") else [kernels]
    rank = statistics.mean(correlation(group) for group in groups)
    return kernels, statistics.mean(errors), statistics.median(errors), max(errors), rank


def h200_table():
    lines = ["| kernels | number | mean error | median | worst | rank correlation |",
             "|---|---:|---:|---:|---:|---:|"]
    for name, title in SETS.items():
        kernels, mean, median, worst, rank = figures(name)
        title = title.format(len(by_problem(kernels)))
        lines.append(f"| {title} | {len(kernels)} | {mean:.1%} | {median:.1%} | {worst:.0%} | {rank:.3f} |")
    return "\n".join(lines) + "\n"


def b200_share(kernel, rate):
    """Of the rate of all tensor cores at one clock."""
    operations = 2 * 8192**3
    clocks = kernel.estimated * 1e-6 * B200_CLOCK
    return operations / (rate * B200_MULTIPROCESSORS * clocks)


def b200_row(name):
    """Columns of the tile, cluster, and whether stages have half the K of others."""
    tile, cluster = re.search(r"-tile128x(\d+x\d+)-cluster(\dx\d)", name).groups()
    columns, k = tile.split("x")
    short = "e2m1" in name and k == "128"
    return f"128x{columns}, {cluster}", short


def b200_table():
    """The best of each tile and cluster."""
    best, stages = {}, {}
    for kernel in stored(PREDICTED):
        row, short = b200_row(kernel.name)
        for column, (start, rate) in B200_COLUMNS.items():
            if not kernel.name.startswith(start):
                continue
            share = b200_share(kernel, rate)
            if share > best.get((row, column), 0):
                best[row, column] = share
                stages[row, column] = re.search(r"-stages(\d+)", kernel.name)[1] + ("*" if short else "")
    rows = list(dict.fromkeys(row for row, _ in best))
    rows.sort(key=lambda row: -int(row.split(",")[0].split("x")[1]))
    lines = ["| tile, cluster | " + " | ".join(B200_COLUMNS) + " |",
             "|---|" + "---:|" * len(B200_COLUMNS)]
    for row in rows:
        cells = [f"{best[row, column]:.2f} ({stages[row, column]})" if (row, column) in best else ""
                 for column in B200_COLUMNS]
        lines.append(f"| {row} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def with_table(page, mark, table):
    begin, end = f"<!-- {mark}:begin -->\n", f"<!-- {mark}:end -->"
    before, rest = page.split(begin)
    return before + begin + table + end + rest.split(end)[1]


def pages():
    """The pages with the tables of the stored estimates."""
    for name, mark, table in (("performance.md", "clock", h200_table()), ("blackwell.md", "clock", b200_table())):
        path = ROOT / "docs" / name
        yield path, with_table(path.read_text(), mark, table)


def check(program):
    lines = (RESULTS / "held_out_h200.tsv").read_text().splitlines(keepends=True)[::CHECK_EVERY]
    before = stored("held_out_h200")[::CHECK_EVERY]
    with tempfile.NamedTemporaryFile("w", suffix=".tsv") as few:
        few.writelines(lines)
        few.flush()
        now = [Kernel(line) for line in estimates(program, "sm_90a", few.name).splitlines()]
    for kernel, known in zip(now, before, strict=True):
        if abs(kernel.estimated / known.estimated - 1) > 0.01:
            return f"{kernel.name}: {kernel.estimated} us, the file has {known.estimated}: run clock_report.py"
    _, mean, _, _, rank = figures("held_out_h200")
    if mean > MOST_ERROR or rank < LEAST_CORRELATION:
        return f"below the floor: mean error {mean:.3f}, rank correlation {rank:.3f}"
    for path, text in pages():
        if path.read_text() != text:
            return f"{path.relative_to(ROOT)} is out of date: run clock_report.py"
    return 0


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if "--check" in sys.argv[2:]:
        return check(sys.argv[1])
    for name in (*SETS, PREDICTED):
        target = "sm_100a" if name == PREDICTED else "sm_90a"
        (RESULTS / f"{name}_estimates.tsv").write_text(
            estimates(sys.argv[1], target, RESULTS / f"{name}.tsv"))
    for path, text in pages():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
