#!/usr/bin/env python3
"""What a call of estoc.torch takes on the host, over the same call of torch. Prints JSON lines.

    PYTHONPATH=build/release/python python bench/torch_ops.py [--device cuda] [--rounds 15]

Needs PyTorch. Operands are of 64 x 64, so that a loop of calls takes what the host does; all ways
take turns in one process. Ends with 1 when a call without gradients is above the floor.
"""

import argparse
import json
import statistics
import sys
import time

CALLS = 500
FLOOR = 1.2


def ways(torch, estoc, device):
    """(call, its floor, ours, torch's) of each comparison."""
    like = {"dtype": torch.bfloat16 if device == "cuda" else torch.float32, "device": device}
    a, b, bias = torch.randn(64, 64, **like), torch.randn(64, 64, **like), torch.randn(64, **like)
    recorded = a.clone().requires_grad_()
    linear = torch.nn.functional.linear
    return [
        ("matmul", FLOOR, lambda: estoc.torch.matmul(a, b), lambda: torch.mm(a, b)),
        ("ops.matmul", None, lambda: torch.ops.estoc.matmul(a, b), lambda: torch.mm(a, b)),
        (
            "matmul, gradients recorded",
            None,
            lambda: estoc.torch.matmul(recorded, b),
            lambda: torch.mm(recorded, b),
        ),
        ("linear", None, lambda: estoc.torch.linear(a, b), lambda: linear(a, b)),
        ("linear, bias", None, lambda: estoc.torch.linear(a, b, bias), lambda: linear(a, b, bias)),
        (
            "linear, bias, relu",
            None,
            lambda: estoc.torch.linear(a, b, bias, "D = relu(accum + bias)"),
            lambda: linear(a, b, bias).relu(),
        ),
    ]


def seconds(function, wait):
    """The host's part of one call."""
    wait()
    begin = time.perf_counter()
    for _ in range(CALLS):
        function()
    taken = (time.perf_counter() - begin) / CALLS
    wait()
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    import torch

    import estoc
    import estoc.torch

    on_gpu = options.device == "cuda"
    wait = torch.cuda.synchronize if on_gpu else (lambda: None)
    name = torch.cuda.get_device_name() if on_gpu else "cpu"
    print(json.dumps({"device": name, "torch": torch.__version__, "estoc": estoc.__version__}))
    failed = False
    for call, floor, ours, theirs in ways(torch, estoc, options.device):
        times = [(seconds(ours, wait), seconds(theirs, wait)) for _ in range(options.rounds + 1)][
            1:
        ]
        estoc_us, torch_us = (
            1e6 * statistics.median(column) for column in zip(*times, strict=True)
        )
        line = {"call": call, "estoc_us": estoc_us, "torch_us": torch_us}
        line = {key: one if key == "call" else round(one, 2) for key, one in line.items()}
        line["over_torch"] = round(estoc_us / torch_us, 3)
        print(json.dumps(line), flush=True)
        failed |= floor is not None and estoc_us > floor * torch_us
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
