#!/usr/bin/env python3
"""What PyTorch makes of the epilogues that estoc_epilogue_bench times: torch.compile of the product
with its epilogue, and the same without compiling, over torch.mm alone. Prints JSON lines.

Usage: torch_epilogue.py [ROUNDS]    (15 rounds; needs PyTorch and a CUDA device)

All ways are interleaved in one process, on operands that take turns so that none is found in the L2
cache. Times of other processes do not compare; the ratios do.
"""

import json
import statistics
import sys

SIZES = [(8192, 8192, 8192), (4096, 7168, 2048), (2048, 2048, 2048)]
LAUNCHES = 20
L2_BYTES = 256 << 20


def epilogues(torch):
    """Name -> function of the product and the other operands."""
    functional = torch.nn.functional

    def linear(a, b, operands):
        return 0.5 * torch.mm(a, b) + 0.25 * operands["c"]

    def bias(a, b, operands):
        return torch.mm(a, b) + operands["bias"]

    def bias_gelu_tanh(a, b, operands):
        return functional.gelu(torch.mm(a, b) + operands["bias"], approximate="tanh")

    def bias_gelu(a, b, operands):
        return functional.gelu(torch.mm(a, b) + operands["bias"])

    def relu_aux(a, b, operands):
        product = torch.mm(a, b)
        return functional.relu(product + operands["bias"]), product

    def row_absmax(a, b, operands):
        scaled = torch.mm(a, b).float() * 0.01
        return scaled.to(torch.float8_e4m3fn), scaled.abs().amax(dim=1)

    return {
        "bias, gelu_tanh": bias_gelu_tanh,
        "bias": bias,
        "bias, gelu": bias_gelu,
        "linear combination": linear,
        "bias, relu, accumulator stored": relu_aux,
        "absmax of rows, e4m3": row_absmax,
    }


def make_sets(torch, m, n, k):
    """So many sets of operands that nothing of one is in the L2 cache when its turn comes again."""
    def random(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.1

    count = max(2, 1 + L2_BYTES // (2 * (m * k + k * n + m * n)))
    return [(random(m, k), random(n, k).t(), {"c": random(m, n), "bias": random(n)})
            for _ in range(count)]


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


def compare(torch, name, function, size, rounds):
    """Prints one line."""
    sets = make_sets(torch, *size)
    ways = {
        "mm": lambda a, b, operands: torch.mm(a, b),
        "eager": function,
        "compiled": torch.compile(function, dynamic=False),
        "autotuned": torch.compile(function, dynamic=False, mode="max-autotune-no-cudagraphs"),
    }
    times = {way: [] for way in ways}
    for i in range(rounds + 1):
        for way, call in ways.items():
            taken = seconds(torch, call, sets)
            if i > 0:  # the first compiles and warms up
                times[way].append(taken)
    medians = {way: statistics.median(taken) for way, taken in times.items()}
    line = {"epilogue": name, "size": "x".join(map(str, size)), "torch": torch.__version__,
            "device": torch.cuda.get_device_name()}
    line |= {f"{way}_us": round(1e6 * value, 2) for way, value in medians.items()}
    line |= {f"{way}_over_mm": round(value / medians["mm"], 3)
             for way, value in medians.items() if way != "mm"}
    print(json.dumps(line), flush=True)


def main():
    """Compares all epilogues at all sizes."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
        return 3
    if not torch.cuda.is_available():
        print("there is no CUDA device", file=sys.stderr)
        return 3
    for size in SIZES:
        for name, function in epilogues(torch).items():
            compare(torch, name, function, size, rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
