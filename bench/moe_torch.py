#!/usr/bin/env python3
"""How fast estoc.moe is beside the same expert layer made of PyTorch's operations: argsort of the
ids, index_select, two grouped products, silu * up, index_add_. Prints JSON lines, with ratios.

Usage: moe_torch.py [--rounds N] [--tokens T,T,...] [--layers NAME,NAME,...] [--seconds S]
Needs PyTorch with grouped_mm and a CUDA device; S (default 100) is where it stops.

Both ways are interleaved in one process on the same tensors, as calls and as replays of CUDA graphs
that were captured of them. Times of other processes do not compare; the ratios do.
"""

import argparse
import json
import statistics
import time

# Name -> H, I, E, K: extents of published models, with fewer experts where those would not fit.
LAYERS = {
    "mixtral": (4096, 14336, 8, 2),
    "deepseek": (7168, 2048, 128, 8),
    "small experts": (2048, 768, 128, 8),
}
TOKENS = [16, 64, 256, 1024, 4096, 8192]
SECONDS_OF_A_BLOCK = 0.02


def grouped_product(torch):
    """torch's grouped_mm, by the name that this version has for it."""
    functional = torch.nn.functional
    return functional.grouped_mm if hasattr(functional, "grouped_mm") else torch._grouped_mm


def torch_layer(torch, experts):
    """The layer as users of torch write it; nothing in it waits for the device."""
    grouped_mm = grouped_product(torch)

    def layer(x, ids, weights, gate_up, down):
        flat = ids.reshape(-1)
        order = torch.argsort(flat, stable=True)
        tokens = order // ids.shape[1]
        counts = torch.histc(flat.float(), bins=experts, min=0, max=experts)
        offs = torch.cumsum(counts, 0).to(torch.int32)
        product = grouped_mm(x.index_select(0, tokens), gate_up, offs=offs)
        gate, up = product.chunk(2, dim=-1)
        rows = grouped_mm(torch.nn.functional.silu(gate) * up, down, offs=offs)
        rows = rows * weights.reshape(-1)[order].unsqueeze(1).to(rows.dtype)
        return torch.zeros_like(x).index_add_(0, tokens, rows)

    return layer


def random(torch, *shape, scale=1.0):
    """A tensor of bf16; one expert's part at a time is made of f32."""
    made = torch.empty(*shape, device="cuda", dtype=torch.bfloat16)
    for part in made if made.dim() == 3 else [made]:
        part.copy_(torch.randn(part.shape, device="cuda") * scale)
    return made


def make_weights(torch, hidden, inner, experts, top_k):
    """Along K, as checkpoints have them."""
    return (
        random(torch, experts, 2 * inner, hidden, scale=hidden**-0.5).transpose(1, 2),
        random(torch, experts, hidden, inner, scale=inner**-0.5).transpose(1, 2),
    )


def make_tokens(torch, hidden, inner, experts, top_k, tokens):
    """Tokens, and a router's answer."""
    scores = torch.randn(tokens, experts, device="cuda").softmax(dim=-1)
    weights, ids = scores.topk(top_k, dim=-1)
    weights = weights / weights.sum(dim=-1, keepdim=True)
    return random(torch, tokens, hidden), ids.to(torch.int32), weights.contiguous()


def seconds(torch, call, launches):
    """Of one call, as the device sees it."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(launches):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / launches


def captured(torch, call):
    """A call that replays what was captured of this one; None where torch cannot capture it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    try:
        with torch.cuda.stream(stream):
            call()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            call()
    except RuntimeError:
        torch.cuda.synchronize()
        return None
    return graph.replay


def timed(torch, ways, rounds):
    """Name -> median seconds of the ways, which take turns."""
    launches = {}
    for name, call in ways.items():
        call()
        once = seconds(torch, call, 1)
        launches[name] = max(1, min(50, int(SECONDS_OF_A_BLOCK / max(once, 1e-6))))
    times = {name: [] for name in ways}
    for _ in range(rounds):
        for name, call in ways.items():
            times[name].append(seconds(torch, call, launches[name]))
    return {name: statistics.median(each) for name, each in times.items()}


def compare(torch, estoc, name, weights, tokens, rounds):
    """Prints one line."""
    hidden, inner, experts, top_k = LAYERS[name]
    operands = (*make_tokens(torch, *LAYERS[name], tokens), *weights)
    by_torch = torch_layer(torch, experts)
    planned = estoc.Moe(*operands)
    wanted, got = by_torch(*operands).float(), estoc.moe(*operands).float()
    error = ((got - wanted).norm() / wanted.norm()).item()
    ways = {"estoc": lambda: estoc.moe(*operands), "torch": lambda: by_torch(*operands)}
    for way, call in list(ways.items()):
        replay = captured(torch, call)
        if replay is not None:
            ways[f"{way} graph"] = replay
    times = timed(torch, ways, rounds)
    live = operands[1].unique().numel()
    line = {
        "layer": name,
        "experts": experts,
        "tokens": tokens,
        "us": {way: round(1e6 * each, 1) for way, each in times.items()},
        "ratio": round(times["torch"] / times["estoc"], 3),
        "difference": float(f"{error:.2g}"),
        "tflops": round(tokens * top_k * 6 * hidden * inner / times["estoc"] / 1e12, 1),
        "tb_per_s": round(live * 6 * hidden * inner / times["estoc"] / 1e12, 2),
        "kernels": planned.kernels,
    }
    if {"estoc graph", "torch graph"} <= times.keys():
        line["graph_ratio"] = round(times["torch graph"] / times["estoc graph"], 3)
    print(json.dumps(line), flush=True)
    return line


def report(lines):
    """Prints geometric means of the ratios, and the smallest."""
    for key in ("ratio", "graph_ratio"):
        found = [line[key] for line in lines if key in line]
        if found:
            mean = statistics.geometric_mean(found)
            print(json.dumps({key: {"mean": round(mean, 3), "smallest": min(found)}}))


def main():
    import torch

    import estoc

    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", default=",".join(map(str, TOKENS)))
    parser.add_argument("--layers", default=",".join(LAYERS))
    parser.add_argument("--seconds", type=float, default=100)
    arguments = parser.parse_args()
    start = time.monotonic()
    lines = []
    for name in arguments.layers.split(","):
        weights = make_weights(torch, *LAYERS[name])
        for tokens in map(int, arguments.tokens.split(",")):
            if time.monotonic() - start > arguments.seconds:
                print(json.dumps({"stopped": f"after {arguments.seconds:g} s"}))
                return report(lines)
            lines.append(compare(torch, estoc, name, weights, tokens, arguments.rounds))
        del weights
        torch.cuda.empty_cache()
    return report(lines)


if __name__ == "__main__":
    main()
