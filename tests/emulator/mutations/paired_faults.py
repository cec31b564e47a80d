"""Faults planted into what kernels do for accumulators in pairs, and their cases."""

from planted import MMA_OPERAND, SIMT, SM90_LOAD, STAGED, TILE, Planted, library

WRONG = "wrong output"
RACE = "race"
GATED = 'epi="D = silu(left(accum)) * right(accum)"'

CASES = {
    "paired_k_major": library((
        f"gemm m=136 n=200 k=72 a=bf16 b=bf16:n out=bf16 {GATED}",
        'gemm m=136 n=72 k=72 a=bf16 b=bf16:n out=bf16 epi="D = even(accum) - odd(accum)"',
    ), "class=sm90_gemm tile=64x128x64 cluster=2x1", multiprocessors=4),
    "paired_n_major": library(
        f"gemm m=70 n=200 k=72 a=bf16 b=bf16 out=bf16 {GATED}",
        "class=sm90_gemm tile=64x256x64 cluster=2x1", multiprocessors=4,
    ),
    "paired_fragments": library((
        f"gemm m=40 n=40 k=40 a=bf16 b=bf16:n out=bf16 {GATED}",
        f"gemm m=40 n=40 k=24 a=tf32 b=tf32 out=f32 {GATED}",
    ), "class=sm80_gemm tile=64x64x32,64x64x16"),
    "paired_simt": library(
        f"gemm m=40 n=40 k=40 a=f32 b=f32:n {GATED}", "class=simt_gemm tile=32x32x16",
    ),
}  # fmt: skip

FAULTS = (
    Planted("a box begins twice as far as its columns of out", SM90_LOAD, "paired_k_major", (WRONG,),
            "static_cast<i32>(own) * (kExtent / 2);",
            "static_cast<i32>(own) * kExtent;"),
    Planted("a box begins with second columns", SM90_LOAD, "paired_k_major", (WRONG,),
            "{k, 0, 0, n / 8, l};",
            "{k, 0, 1, n / 8, l};"),
    Planted("a block of 64 begins with second columns", SM90_LOAD, "paired_n_major", (WRONG,),
            "{n, k, 0, l};",
            "{n, k, 1, l};"),
    Planted("the second sum of an element is its first", TILE, "paired_k_major", (WRONG,),
            "Fragment::value(block, first + kTogether)};",
            "Fragment::value(block, first)};"),
    Planted("first sums are counted as if they were alone", TILE, "paired_n_major", (WRONG,),
            "number / kTogether * 2 * kTogether + number % kTogether;",
            "number / kTogether * kTogether + number % kTogether;"),
    Planted("pairs are of four columns", MMA_OPERAND, "paired_fragments", (WRONG,),
            "return {at / 16 * 8 + at % 8, at / 8 % 2};",
            "return {at / 8 * 4 + at % 4, at / 4 % 2};"),
    Planted("chunks for second sums are those for first ones", MMA_OPERAND, "paired_fragments", (WRONG,),
            "    if (paired && own.is_second != 0) address_ += distance_;\n",
            ""),
    Planted("columns end where the rows of a tile do", MMA_OPERAND, "paired_fragments", (WRONG,),
            "left_ - further.element;",
            "left_ - i * kRowsBetween;"),
    Planted("second sums are four columns behind", STAGED, "paired_fragments", (WRONG,),
            "load_shared_four(second, from + 8 * sizeof(Value));",
            "load_shared_four(second, from + 4 * sizeof(Value));"),
    Planted("a thread's columns follow each other", STAGED, "paired_fragments", (WRONG,),
            "paired ? group / 2 * 16 + group % 2 * 4 : group * 4;",
            "group * 4;"),
    Planted("second sums are of the first columns", SIMT, "paired_simt", (WRONG,),
            "sum(second, static_cast<u64>(p.pair_distance * abi::type_bytes(config.b)));",
            "sum(second, 0);"),
    Planted("second sums begin in a stage that is still read", SIMT, "paired_simt", (RACE,),
            "    ptx::barrier_sync();\n    sum(second,",
            "    sum(second,"),
)  # fmt: skip
