#!/usr/bin/env python3
"""Grouped products of Estoc over those of PyTorch, and over a dense product of the same extents.
Prints JSON lines.

Usage: grouped_torch.py [ROUNDS]    (15 rounds; needs PyTorch and a CUDA device)

All ways are interleaved in one process, on operands that take turns so that none is found in the L2
cache. Rates count the products of groups that have rows, and the bytes of their weights, which are
what a group of few rows waits for.
"""

import json
import random
import statistics
import sys

LAUNCHES = 20
L2_BYTES = 256 << 20
# Groups, mean rows of a group, N, K, and by how much sizes differ from the mean.
PROBLEMS = [
    (groups, rows, n, k, spread)
    for groups, rows, n, k in (
        (4, 8192, 6144, 7168), (4, 8192, 7168, 3072), (8, 4096, 4096, 4096), (8, 4096, 4096, 2048),
        (32, 20, 7168, 2048), (32, 64, 7168, 2048), (32, 192, 7168, 2048), (32, 128, 7168, 2048),
        (128, 1, 1536, 2048), (128, 4, 1536, 2048), (128, 16, 1536, 2048), (128, 64, 1536, 2048),
    )
    for spread in (0.0, 0.7)
]  # fmt: skip


def group_sizes(groups, rows, spread):
    """Sizes around a mean, the same in every run."""
    draw = random.Random(groups * rows)
    return [max(1, round(rows * draw.uniform(1 - spread, 1 + spread))) for _ in range(groups)]


def torch_grouped(torch):
    """PyTorch's function for grouped products, whatever its name; None where it has none."""
    function = getattr(torch.nn.functional, "grouped_mm", None) or getattr(torch, "_grouped_mm", None)
    if function is None:
        return None
    return lambda a, b, ends: function(a, b, offs=ends)


def make_sets(torch, sizes, n, k):
    """So many sets of operands that nothing of one is in the L2 cache when its turn comes again."""
    rows = sum(sizes)
    ends = torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)
    set_bytes = 2 * (rows * k + len(sizes) * k * n + rows * n)

    def one():
        a = torch.randn(rows, k, device="cuda", dtype=torch.bfloat16) * 0.1
        b = torch.randn(len(sizes), n, k, device="cuda", dtype=torch.bfloat16) * 0.1
        return a, b.transpose(1, 2), ends

    return [one() for _ in range(max(2, 1 + L2_BYTES // set_bytes))]


def seconds(torch, function, sets):
    """Of one call, as the device sees it."""
    begin = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    begin.record()
    for i in range(LAUNCHES):
        function(*sets[i % len(sets)])
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / LAUNCHES


def compare(torch, estoc, problem, rounds):
    """Prints one line."""
    groups, rows, n, k, spread = problem
    sizes = group_sizes(groups, rows, spread)
    sets = make_sets(torch, sizes, n, k)
    ways = {
        "estoc": lambda a, b, ends: estoc.grouped_mm(a, b, offs=ends),
        "dense": lambda a, b, ends: estoc.matmul(a, b[0]),
    }
    reference = torch_grouped(torch)
    if reference is not None:
        ways["torch"] = reference
        torch.testing.assert_close(ways["estoc"](*sets[0]), reference(*sets[0]), rtol=2e-2, atol=2e-2)
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, function in ways.items():
            times[name].append(seconds(torch, function, sets))
    median = {name: statistics.median(all_times) for name, all_times in times.items()}
    line = {
        "groups": groups, "rows": rows, "n": n, "k": k, "spread": spread,
        "tflops": 2e-12 * sum(sizes) * n * k / median["estoc"],
        "weights_gb_per_s": 2e-9 * groups * n * k / median["estoc"],
        "seconds": median,
        "over": {name: value / median["estoc"] for name, value in median.items() if name != "estoc"},
    }  # fmt: skip
    print(json.dumps(line), flush=True)


def main():
    import torch

    import estoc

    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print(json.dumps({"device": torch.cuda.get_device_name(), "torch": torch.__version__}))
    for problem in PROBLEMS:
        compare(torch, estoc, problem, rounds)


if __name__ == "__main__":
    main()
