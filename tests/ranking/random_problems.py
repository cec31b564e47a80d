#!/usr/bin/env python3
"""Prints random problems for the ranking's tables: bench/problems/ranking/random.txt is its output."""

import math
import random

PROBLEMS = 360
HARD_PROBLEMS = 110
MOST_OPERATIONS = 4e12
MOST_ELEMENTS = 5e8
HEADER = """\
# Problems of the ranking's tables: random extents, as tests/ranking/random_problems.py prints them;
# kernels of sm90_gemm and sm90_fast_gemm with TMA stores."""

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


def problem(rng, extents):
    kind = rng.choices([text for _, text in KINDS], [weight for weight, _ in KINDS])[0]
    while True:
        m, n, k, batches = extents(rng)
        if "out=bf16:n" in kind or "a=bf16:n" in kind:
            m = rounded(m, 16)
        operations = 2 * m * n * k * batches
        elements = (m * k + n * k + m * n) * batches
        if operations <= MOST_OPERATIONS and elements <= MOST_ELEMENTS:
            break
    batch = f" l={batches}" if batches > 1 else ""
    return f"gemm m={m} n={n} k={k}{batch} {kind}"


def main():
    rng = random.Random(20261122)
    print(HEADER)
    for _ in range(PROBLEMS):
        print(problem(rng, extents))
    for _ in range(HARD_PROBLEMS):
        print(problem(rng, hard_extents))


if __name__ == "__main__":
    main()
