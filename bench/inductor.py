#!/usr/bin/env python3
"""Blocks of Llama-3-8B by torch.compile's max-autotune, with Estoc over without. Prints JSON lines.

    PYTHONPATH=build/release/python python bench/inductor.py [--blocks mlp,attention,layer]
        [--rows 16,512,4096] [--passes forward,backward] [--dtypes bf16,fp8] [--candidates 4]
        [--rounds 15] [--seconds 0] [--device cuda] [--no-epilogues] [--small]

Needs PyTorch, and Triton on a GPU. Both ways take turns in one process, as graphs of CUDA. In fp8,
products take e4m3 operands with one scale each and gradients of e5m2; weights are quantised
beforehand where there is no backward pass. With --seconds, no block begins after that time. The
block `gelu`, of GPT-2 medium, is there on request, in bf16.
A line for each product says who won it and by how much: `over_best` is the time of the best kernel
of others over that of Estoc's best one. A line for each product with pointwise operations behind it
says what Estoc's kernel for both takes, and what other ways take at least. A line for each block has
`speedup`, the time without over the time with, and `error`, the largest difference between the
results of both ways over the largest value. Ends with 1 when the means of the speedups or the share
of the products won are below their floors.
"""

import argparse
import copy
import json
import logging
import math
import statistics
import sys
import time
import types

CALLS = 10
# Some 20 ms, in which the host issues the calls that are timed.
WAIT_CLOCKS = 40_000_000
# Geometric means of the speedups, and the share of the products that Estoc's kernels win.
FLOORS = {"mean": 1.02, "few_rows": 1.05, "won": 1 / 3}


def quantised(torch, x, dtype):
    """x in an 8-bit float, and the f32 scale that gives it back."""
    scale = x.abs().amax().float().clamp(min=1e-12) / torch.finfo(dtype).max
    return (x / scale).to(dtype), scale


def fp8_linear(torch):
    """Function of x [M, K] and weight [N, K] that multiplies in fp8, forward and backward."""

    def product(a, b_transposed):
        (a, scale_a), (b, scale_b) = a, b_transposed
        return torch._scaled_mm(
            a, b.t(), scale_a=scale_a, scale_b=scale_b, out_dtype=torch.bfloat16
        )

    def transposed(x):
        return x[0].t().contiguous(), x[1]

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(context, x, weight):
            context.save_for_backward(x, weight)
            e4m3 = torch.float8_e4m3fn
            return product(quantised(torch, x, e4m3), quantised(torch, weight, e4m3))

        @staticmethod
        def backward(context, gradient):
            x, weight = context.saved_tensors
            g = quantised(torch, gradient, torch.float8_e5m2)
            x, weight = (quantised(torch, one, torch.float8_e4m3fn) for one in (x, weight))
            return product(g, transposed(weight)), product(transposed(g), transposed(x))

    def linear(x, weight):
        if isinstance(weight, torch.Tensor):
            return Product.apply(x, weight)
        return product(quantised(torch, x, torch.float8_e4m3fn), (weight.bits, weight.scale))

    return linear


def quantise_weights(torch, module):
    """Replaces the matrices of a module and of those in it by their bits in e4m3 and scales."""

    class Weight(torch.nn.Module):
        def __init__(self, matrix):
            super().__init__()
            bits, scale = quantised(torch, matrix.detach(), torch.float8_e4m3fn)
            self.register_buffer("bits", bits)
            self.register_buffer("scale", scale)

    for one in list(module.modules()):
        if isinstance(one, torch.nn.ParameterList):
            continue
        for name, matrix in list(one.named_parameters(recurse=False)):
            delattr(one, name)
            setattr(one, name, Weight(matrix))


def gelu_mlp(torch, small):
    """A block with biases and GELU: GPT-2 medium's and BERT-large's is of 1024 and 4096."""
    hidden, inner = (64, 160) if small else (1024, 4096)
    functional = torch.nn.functional

    class GeluMlp(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.up, self.down = torch.nn.Linear(hidden, inner), torch.nn.Linear(inner, hidden)

        def forward(self, x):
            return x + self.down(functional.gelu(self.up(x), approximate="tanh"))

    return hidden, GeluMlp


def blocks(torch, small, dtype):
    """Name -> module; extents are those of Llama-3-8B."""
    hidden, inner, heads, kv_heads = (64, 160, 4, 2) if small else (4096, 14336, 32, 8)
    size = hidden // heads
    functional = torch.nn.functional
    linear = functional.linear if dtype == "bf16" else fp8_linear(torch)

    def weight(n, k):
        return torch.nn.Parameter(torch.randn(n, k) * k**-0.5)

    class Mlp(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.gate, self.up, self.down = (
                weight(inner, hidden),
                weight(inner, hidden),
                weight(hidden, inner),
            )

        def forward(self, x):
            gate = functional.silu(linear(x, self.gate))
            return linear(gate * linear(x, self.up), self.down)

    class Attention(torch.nn.Module):
        def __init__(self, attends):
            super().__init__()
            self.q, self.o = weight(hidden, hidden), weight(hidden, hidden)
            self.k, self.v = weight(kv_heads * size, hidden), weight(kv_heads * size, hidden)
            self.attends = attends

        def forward(self, x):
            q, k, v = (linear(x, one) for one in (self.q, self.k, self.v))
            if not self.attends:  # the projections alone
                q = q + torch.cat([k + v] * (heads // kv_heads), -1)
                return linear(q, self.o)
            q, k, v = (one.view(x.shape[0], -1, size).transpose(0, 1) for one in (q, k, v))
            k, v = (one.repeat_interleave(heads // kv_heads, 0) for one in (k, v))
            found = functional.scaled_dot_product_attention(
                q[None], k[None], v[None], is_causal=True
            )
            return linear(found[0].transpose(0, 1).reshape(x.shape[0], hidden), self.o)

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.attention, self.mlp = Attention(True), Mlp()
            self.norms = torch.nn.ParameterList(
                [torch.nn.Parameter(torch.ones(hidden)) for _ in range(2)]
            )

        def forward(self, x):
            x = x + self.attention(functional.rms_norm(x, (hidden,), self.norms[0]))
            return x + self.mlp(functional.rms_norm(x, (hidden,), self.norms[1]))

    return hidden, {"mlp": Mlp, "attention": lambda: Attention(False), "layer": Layer}


class Wins:
    """What Inductor's timings of the products said."""

    def __init__(self):
        self.lines = []

    def __call__(self, timings, name, input_nodes, *_):
        ours = {one: taken for one, taken in timings.items() if one.name.startswith("estoc")}
        others = {one: taken for one, taken in timings.items() if one not in ours}
        if not ours or not others:
            return
        best = min(ours, key=ours.get)
        other = min(others, key=others.get)
        self.lines.append(
            {
                "product": name,
                "operands": ["x".join(map(str, one.get_size())) for one in input_nodes],
                "won": ours[best] < others[other],
                "estoc_us": round(1e3 * ours[best], 2),
                "kernel": getattr(best, "kwargs", {}).get("kernel") or "the first",
                "best_other": other.name,
                "other_us": round(1e3 * others[other], 2),
                "over_best": round(others[other] / ours[best], 3),
            }
        )


class Fusions(logging.Handler):
    """What was found of products with pointwise operations behind them."""

    def __init__(self):
        super().__init__(logging.DEBUG)
        self.lines = []

    def emit(self, record):
        found = dict(record.args)
        times = {f"{one}_us": round(found.pop(one), 2) for one in ("fused", "apart")}
        self.lines.append(found | times)


def step(torch, module, x, backward):
    """A function that carries out the block once, and returns the result or the gradient of x."""
    if not backward:

        def forward():
            with torch.no_grad():
                torch.compiler.cudagraph_mark_step_begin()
                return module(x)

        return forward
    torch.manual_seed(2027)  # both ways have the same
    gradient = torch.randn_like(x)

    def both():
        torch.compiler.cudagraph_mark_step_begin()
        module(x).backward(gradient)
        for one in module.parameters():
            one.grad = None
        found, x.grad = x.grad, None
        return found

    return both


def seconds(torch, function, on_gpu):
    """Of one call: of the device, which the host's part is kept ahead of."""
    if not on_gpu:
        begin = time.perf_counter()
        for _ in range(CALLS):
            function()
        return (time.perf_counter() - begin) / CALLS
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda._sleep(WAIT_CLOCKS)
    begin.record()
    for _ in range(CALLS):
        function()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / CALLS


def with_own_code(module, name):
    """A copy of the module that Dynamo does not take for the other one, whose graph it has."""
    made = copy.deepcopy(module)
    function = type(made).forward
    code = function.__code__.replace(co_name=name)
    own = types.FunctionType(code, function.__globals__, name, None, function.__closure__)
    made.forward = types.MethodType(own, made)
    return made


def compiled(torch, estoc, module, x, backward, with_estoc, options):
    """The block's step as max-autotune compiles it."""
    if with_estoc:
        estoc.torch.enable_inductor(
            candidates=options.candidates, devices=(options.device,), epilogues=not options.no_epilogues
        )
    try:
        module = with_own_code(module, "with_estoc" if with_estoc else "without")
        function = step(torch, torch.compile(module, mode=options.mode, dynamic=False), x, backward)
        for _ in range(3):
            function()
        return function
    finally:
        estoc.torch.disable_inductor()


def difference(ways):
    """Of both ways' results, over the largest value."""
    found, wanted = (ways[way]().detach().clone().float() for way in (True, False))
    return ((found - wanted).abs().max() / wanted.abs().max()).item()


def compare(torch, estoc, case, options, wins, fusions):
    dtype, rows, name, backward = case
    hidden, modules = blocks(torch, options.small, dtype)
    if name == "gelu":
        hidden, modules[name] = gelu_mlp(torch, options.small)
    like = {"dtype": torch.bfloat16, "device": options.device}
    torch.compiler.reset()
    torch.manual_seed(2026)
    module = modules[name]().to(**like)
    if dtype == "fp8" and not backward:
        quantise_weights(torch, module)
    x = torch.randn(rows, hidden, **like).requires_grad_(backward)
    begin = time.perf_counter()
    wins.lines, fusions.lines = [], []
    ways = {}
    # With Estoc first: the other way then finds torch's own timings and kernels in the caches.
    for with_estoc in (True, False):
        ways[with_estoc] = compiled(torch, estoc, module, x, backward, with_estoc, options)
    tuning = time.perf_counter() - begin
    case = {"block": name, "dtype": dtype, "rows": rows, "backward": backward}
    for line in (*wins.lines, *fusions.lines):
        print(json.dumps(case | line), flush=True)
    times = {way: [] for way in ways}
    for _ in range(options.rounds):
        for way, function in ways.items():
            times[way].append(seconds(torch, function, options.device == "cuda"))
    ours, theirs = (1e6 * statistics.median(times[way]) for way in (True, False))
    line = case | {
        "with_us": round(ours, 2), "without_us": round(theirs, 2), "speedup": round(theirs / ours, 4),
        "won": sum(one["won"] for one in wins.lines), "products": len(wins.lines),
        "fused": sum(one["chosen"] for one in fusions.lines), "error": round(difference(ways), 5),
        "tuning_seconds": round(tuning, 1),
    }  # fmt: skip
    print(json.dumps(line), flush=True)
    return line


def verdict(lines):
    """Whether all blocks together reach the floors; prints a line."""

    def mean(chosen):
        logs = [math.log(one["speedup"]) for one in chosen]
        return math.exp(sum(logs) / len(logs)) if logs else None

    share = sum(one["won"] for one in lines) / max(1, sum(one["products"] for one in lines))
    found = {
        "mean": mean(lines),
        "few_rows": mean([one for one in lines if one["rows"] <= 512]),
        "won": share,
    }
    print(json.dumps({"summary": found, "floors": FLOORS}), flush=True)
    return all(found[key] is None or found[key] >= floor for key, floor in FLOORS.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--blocks", default="mlp,attention,layer")
    parser.add_argument("--rows", default="16,512,4096")
    parser.add_argument("--passes", default="forward,backward")
    parser.add_argument("--dtypes", default="bf16,fp8")
    parser.add_argument("--seconds", type=float, default=0)
    parser.add_argument("--candidates", type=int, default=4, help="the default of enable_inductor")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--mode", default="max-autotune")
    parser.add_argument("--no-epilogues", action="store_true", help="epilogues=False")
    parser.add_argument("--small", action="store_true", help="extents for a trial")
    options = parser.parse_args()
    import torch
    from torch._inductor import select_algorithm
    from torch._inductor.utils import fresh_inductor_cache

    import estoc
    import estoc.torch

    if options.device == "cpu":
        torch._inductor.config.max_autotune_gemm_backends = "ATEN"
    on_gpu = options.device == "cuda"
    name = torch.cuda.get_device_name() if on_gpu else "cpu"
    print(json.dumps({"device": name, "torch": torch.__version__, "estoc": estoc.__version__}))
    wins = Wins()
    select_algorithm.add_feedback_saver(wins)
    fusions = Fusions()
    log = logging.getLogger("estoc.torch")
    log.setLevel(logging.DEBUG)
    log.addHandler(fusions)
    cases = [
        (dtype, rows, block, one == "backward")
        for dtype in options.dtypes.split(",")
        for rows in map(int, options.rows.split(","))
        for block in options.blocks.split(",")
        for one in options.passes.split(",")
    ]
    begin = time.perf_counter()
    lines = []
    with fresh_inductor_cache():
        for case in cases:
            if options.seconds and time.perf_counter() - begin > options.seconds:
                break
            lines.append(compare(torch, estoc, case, options, wins, fusions))
    return 0 if verdict(lines) else 1


if __name__ == "__main__":
    sys.exit(main())
