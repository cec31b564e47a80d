#!/usr/bin/env python3
"""Times estoc.matmul(a, b, out) over torch.mm(a, b, out=out), on shapes that the tables do not have.

    PYTHONPATH=build/release/python python bench/python_matmul.py [--rounds N] [--out FILE]

Needs PyTorch and a CUDA device. A figure is the time of a loop of calls, the host's part included,
divided by the calls; both ways take turns in one process, on operands that take turns so that none
is found in the L2 cache. A ratio above 1 says that estoc.matmul is the faster one. Ends with 1 when
the geometric mean or the worst ratio is below its floor.
"""

import argparse
import json
import math
import statistics
import sys

L2_BYTES = 128 << 20
SLICE_SECONDS = 0.01
FLOORS = {"mean": 1.0, "worst": 0.92}

# M, N, K, dtype, and the letters of A, B and out: t where the last mode is contiguous.
SHAPES = [
    (1, 5120, 5120, "bf16", "tnt"),
    (1, 11008, 4096, "f16", "tnt"),
    (1, 3584, 18944, "bf16", "ttt"),
    (2, 8192, 8192, "bf16", "tnt"),
    (4, 14336, 4096, "bf16", "tnt"),
    (6, 2560, 6912, "f16", "tnt"),
    (8, 4096, 11008, "bf16", "tnt"),
    (12, 6144, 6144, "bf16", "ttt"),
    (16, 10240, 8192, "bf16", "tnt"),
    (24, 5120, 13824, "bf16", "tnt"),
    (32, 12288, 4096, "bf16", "tnt"),
    (32, 3072, 3072, "f16", "ttt"),
    (40, 7168, 7168, "bf16", "tnt"),
    (48, 2048, 5632, "bf16", "tnt"),
    (64, 9216, 4608, "bf16", "tnt"),
    (64, 4608, 36864, "bf16", "tnt"),
    (96, 6400, 1600, "f16", "tnt"),
    (128, 27648, 5120, "bf16", "tnt"),
    (128, 1024, 4096, "bf16", "ntt"),
    (176, 5120, 2560, "bf16", "tnt"),
    (256, 8192, 10240, "bf16", "tnt"),
    (256, 3840, 3840, "bf16", "ttt"),
    (300, 4000, 2500, "bf16", "tnt"),
    (384, 5632, 2048, "f16", "tnt"),
    (512, 7168, 4608, "bf16", "nnt"),
    (640, 2560, 10240, "bf16", "tnt"),
    (777, 3072, 1536, "bf16", "tnt"),
    (1024, 6144, 2048, "bf16", "ttt"),
    (1024, 1280, 5120, "f16", "tnt"),
    (1152, 4608, 1152, "bf16", "ntt"),
    (1536, 8960, 1536, "bf16", "tnt"),
    (2000, 3000, 4000, "bf16", "tnt"),
    (2048, 5120, 13824, "bf16", "tnt"),
    (2048, 2560, 2560, "bf16", "tnn"),
    (3072, 9216, 3072, "bf16", "tnt"),
    (4096, 11008, 4096, "bf16", "tnt"),
    (4096, 1536, 8960, "f16", "ntt"),
    (6144, 6144, 2048, "bf16", "ttt"),
    (8192, 5120, 5120, "bf16", "tnt"),
    (8192, 3584, 18944, "bf16", "nnt"),
]


def matrix(torch, rows, columns, letter, dtype):
    made = torch.randn if letter == "t" else (lambda r, c, **like: torch.randn(c, r, **like).t())
    return made(rows, columns, dtype=dtype, device="cuda")


def operand_sets(torch, shape):
    m, n, k, name, layout = shape
    dtype = torch.bfloat16 if name == "bf16" else torch.float16
    count = min(max(L2_BYTES // (2 * (m * k + k * n + m * n)) + 1, 2), 32)
    return [
        (
            matrix(torch, m, k, layout[0], dtype),
            matrix(torch, k, n, layout[1], dtype),
            matrix(torch, m, n, layout[2], dtype),
        )
        for _ in range(count)
    ]


class Contender:
    """One way to multiply, and the seconds a call that its slices took."""

    def __init__(self, torch, call, sets):
        self.torch, self.call, self.sets = torch, call, sets
        for operands in sets * 2:
            call(*operands)
        torch.cuda.synchronize()
        self.calls = len(sets)
        self.calls = max(len(sets), int(SLICE_SECONDS / self.slice()))
        self.seconds = []

    def slice(self):
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for i in range(self.calls):
            self.call(*self.sets[i % len(self.sets)])
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e-3 / self.calls

    def run(self):
        self.seconds.append(self.slice())


def compare(torch, estoc, shape, rounds):
    sets = operand_sets(torch, shape)
    ours = Contender(torch, estoc.matmul, sets)
    theirs = Contender(torch, lambda a, b, out: torch.mm(a, b, out=out), sets)
    for i in range(rounds):
        for contender in (ours, theirs) if i % 2 == 0 else (theirs, ours):
            contender.run()
    a, b, out = sets[0]
    kernel = estoc.get_kernels(estoc.GemmArguments(a, b, out))[0].name
    us = [1e6 * statistics.median(contender.seconds) for contender in (ours, theirs)]
    return {
        "shape": list(shape),
        "estoc_us": round(us[0], 2),
        "torch_us": round(us[1], 2),
        "ratio": round(us[1] / us[0], 4),
        "kernel": kernel,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--out")
    options = parser.parse_args()
    import estoc
    import torch

    results = []
    for shape in SHAPES:
        results.append(compare(torch, estoc, shape, options.rounds))
        print(json.dumps(results[-1]), flush=True)
        torch.cuda.empty_cache()
    ratios = [result["ratio"] for result in results]
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio in ratios))
    summary = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "shapes": len(ratios),
        "mean": round(mean, 4),
        "worst": min(ratios),
    }
    print(json.dumps(summary))
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            for line in [summary, *results]:
                file.write(json.dumps(line) + "\n")
    return int(any(summary[name] < floor for name, floor in FLOORS.items()))


if __name__ == "__main__":
    sys.exit(main())
