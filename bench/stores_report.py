#!/usr/bin/env python3
"""Prints what stores by boxes gain in kernels for few rows, from a table that has both kinds of stores.

Usage: stores_report.py TABLE.jsonl.gz

First for each tile, the time of the kernel whose threads store over that of the one that stores by boxes, as geometric
means; then for each band of rows, cuBLASLt's fastest time over that of our fastest kernel, without boxes and with them.
A table has one of two kernels that differ in alignments alone: such a kernel counts as both.
"""

import gzip
import json
import math
import re
import sys
from collections import defaultdict

MOST_ROWS = 64  # of a tile for few rows
BANDS = ((1, 16), (17, 48), (49, 64), (65, 96), (97, 128), (129, 192), (193, 256))


def mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def tile_of(name):
    rows, columns = re.search(r"-tile(\d+)x(\d+)", name).groups()
    return int(rows), int(columns)


def is_of_few_rows(name):
    return name.startswith("sm90_swapped_gemm") and tile_of(name)[0] <= MOST_ROWS


def stores_boxes(name):
    return is_of_few_rows(name) and "-alignOut16-" in name


def design_of(name):
    """The name without alignments and stages, in which kernels with and without boxes differ."""
    return re.sub(r"-alignOut\d+|-stages\d+", "", name)


def has_a_twin(name):
    """Whether the kernel whose threads store has as many stages, the most that there are."""
    return "-stages16-" in name


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    tiles, bands = defaultdict(list), defaultdict(list)
    for line in gzip.open(sys.argv[1], "rt"):
        row = json.loads(line)
        if "problem" not in row:
            continue
        library = [us for name, us, *_ in row["kernels"] if name.startswith("cublaslt")]
        ours = {name: us for name, us, *_ in row["kernels"] if not name.startswith("cublaslt")}
        if not any(map(stores_boxes, ours)):
            continue
        rows = int(re.search(r" m=(\d+)", row["problem"])[1])
        by_threads = {design_of(n): us for n, us in ours.items() if is_of_few_rows(n) and not stores_boxes(n)}
        for name, us in ours.items():
            if stores_boxes(name) and design_of(name) in by_threads:
                tiles[tile_of(name), rows > MOST_ROWS].append(by_threads[design_of(name)] / us)
        without = [us for name, us in ours.items() if not stores_boxes(name) or has_a_twin(name)]
        for band in BANDS:
            if library and band[0] <= rows <= band[1]:
                bands[band].append((min(library) / min(without), min(library) / min(ours.values())))
    for (tile, many), ratios in sorted(tiles.items()):
        span = f"{MOST_ROWS + 1} rows and more" if many else f"up to {MOST_ROWS} rows"
        print(f"tile {tile[0]} x {tile[1]}, {span}: {len(ratios)} kernels, {mean(ratios):.3f}")
    for band, ratios in sorted(bands.items()):
        without, with_boxes = (mean(column) for column in zip(*ratios))
        print(f"{band[0]} to {band[1]} rows: {len(ratios)} problems, without {without:.3f}, with {with_boxes:.3f}")


if __name__ == "__main__":
    main()
