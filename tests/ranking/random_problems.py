#!/usr/bin/env python3
"""Prints random problems for the ranking's tables.

Usage: random_problems.py random|layers     bench/problems/ranking/random.txt and layers.txt are its output
"""

import math
import random
import sys

PROBLEMS = 360
HARD_PROBLEMS = 110
MOST_OPERATIONS = 4e12
MOST_ELEMENTS = 5e8
HEADER = """\
# Problems of the ranking's tables: random extents, as tests/ranking/random_problems.py prints them;
# kernels of sm90_gemm and sm90_fast_gemm with TMA stores."""

LAYER_PROBLEMS = 280
MOST_LAYER_OPERATIONS = 1.2e12
LAYERS_HEADER = """\
# Problems of the ranking's tables: layers of models with random numbers of rows, as
# tests/ranking/random_problems.py prints them; kernels of sm90_gemm, sm90_fast_gemm and sm90_swapped_gemm."""

# Weight, and the problem's text behind its extents.
KINDS = [
    (56, "a=bf16:t b=bf16:n out=bf16"),
    (5, "a=bf16:t b=bf16:t out=bf16"),
    (4, "a=bf16:n b=bf16:t out=bf16"),
    (4, "a=bf16:n b=bf16:n out=bf16"),
    (4, "a=bf16:t b=bf16:n out=bf16:n"),
    (4, "a=bf16:t b=bf16:n out=f32"),
    (4, "a=f16:t b=f16:n out=f16"),
    (2, "a=f16:t b=f16:t out=f16"),
    (4, "a=e4m3:t b=e4m3:n out=bf16"),
    (3, "a=e4m3:t b=e4m3:n out=bf16 fast_accumulation=1"),
    (3, "a=i8:t b=i8:n out=i32"),
    (3, "a=tf32:t b=tf32:n out=f32"),
    (3, 'a=bf16:t b=bf16:n out=bf16 bias=bf16:row epi="D = gelu(accum + bias)"'),
    (3, 'a=bf16:t b=bf16:n out=bf16 C=bf16:t epi="D = accum + C"'),
]

LAYER_KINDS = [
    (50, "a=bf16:t b=bf16:n out=bf16"),
    (4, "a=bf16:t b=bf16:t out=bf16"),
    (3, "a=bf16:n b=bf16:t out=bf16"),
    (3, "a=bf16:n b=bf16:n out=bf16"),
    (3, "a=bf16:t b=bf16:n out=f32"),
    (8, "a=f16:t b=f16:n out=f16"),
    (9, "a=e4m3:t b=e4m3:n out=bf16"),
    (9, "a=e4m3:t b=e4m3:n out=bf16 fast_accumulation=1"),
    (5, "a=i8:t b=i8:n out=i32"),
    (5, "a=tf32:t b=tf32:n out=f32"),
    (5, 'a=bf16:t b=bf16:n out=bf16 bias=bf16:row epi="D = gelu(accum + bias)"'),
    (5, 'a=bf16:t b=bf16:n out=bf16 C=bf16:t epi="D = accum + C"'),
]
# Widths of models, of their parts and of the parts that one GPU of several has.
WIDTHS = [
    512, 640, 768, 896, 1024, 1280, 1536, 1792, 2048, 2304, 2560, 3072, 3584, 4096, 4608, 5120, 5760, 6144, 6912,
    7168, 8192, 9216, 9728, 10240, 11008, 12288, 13824, 14336, 16384, 18944, 22016, 24576, 28672, 32000,
]  # fmt: skip
LAYER_ROWS = [
    16, 24, 32, 48, 64, 80, 96, 100, 128, 160, 192, 200, 256, 300, 320, 384, 448, 512, 576, 640, 768, 896, 1000,
    1024, 1280, 1536, 1792, 2048, 2560, 3000, 3072, 4096, 5120, 6144, 8192, 12288,
]  # fmt: skip


def between(rng, low, high):
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def rounded(value, unit):
    return max(int(value / unit + 0.5), 1) * unit


def extents(rng):
    """M, N and K whose rows TMA can move: multiples of 16, most of them of 64."""
    low, high = rng.choice([(2, 64), (64, 1024), (64, 1024), (1024, 12000)])
    m = rounded(between(rng, low, high), rng.choice([1, 8, 64]) if low < 1024 else 64)
    n, k = (rounded(between(rng, 256, 20000), rng.choice([16, 64, 64, 128])) for _ in range(2))
    batches = rng.choice([2, 4, 16, 64]) if rng.random() < 0.06 else 1
    return m, n, k, batches


def hard_extents(rng):
    """What fits got wrong: rows that are no whole lines of 128 bytes, and few tiles with a long K."""
    if rng.random() < 0.4:
        m, n = (rounded(between(rng, 16, 1200), rng.choice([8, 16, 64])) for _ in range(2))
        return m, rounded(n, 16), rounded(between(rng, 4096, 65536), 64), rng.choice([1, 1, 1, 4])
    m = rounded(between(rng, 16, 5000), rng.choice([1, 8, 16]))
    n, k = (rounded(between(rng, 256, 16000), 16) for _ in range(2))
    return m, n, k, rng.choice([1, 1, 1, 1, 2, 8, 16])


def layer_extents(rng):
    return rng.choice(LAYER_ROWS), rng.choice(WIDTHS), rng.choice(WIDTHS), 1


def problem(rng, extents, kinds=KINDS, most_operations=MOST_OPERATIONS):
    kind = rng.choices([text for _, text in kinds], [weight for weight, _ in kinds])[0]
    while True:
        m, n, k, batches = extents(rng)
        if "out=bf16:n" in kind or "a=bf16:n" in kind:
            m = rounded(m, 16)
        operations = 2 * m * n * k * batches
        elements = (m * k + n * k + m * n) * batches
        if operations <= most_operations and elements <= MOST_ELEMENTS:
            break
    batch = f" l={batches}" if batches > 1 else ""
    return f"gemm m={m} n={n} k={k}{batch} {kind}"


def print_random():
    rng = random.Random(20261122)
    print(HEADER)
    for _ in range(PROBLEMS):
        print(problem(rng, extents))
    for _ in range(HARD_PROBLEMS):
        print(problem(rng, hard_extents))


def print_layers():
    rng = random.Random(20261128)
    print(LAYERS_HEADER)
    for _ in range(LAYER_PROBLEMS):
        print(problem(rng, layer_extents, LAYER_KINDS, MOST_LAYER_OPERATIONS))


if __name__ == "__main__":
    {"random": print_random, "layers": print_layers}[sys.argv[1]]()
