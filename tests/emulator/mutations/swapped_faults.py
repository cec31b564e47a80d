"""Faults planted into what kernels do for outputs whose contiguous mode is M, and their cases."""

from planted import ABI, LOAD, SM90_SKELETON, TILE, Planted, TestCase, library
from sm90_faults import DEADLOCK, LEFT, RACE, WRONG

STORE = "tile/transposed_store.cuh"
SWAPPED = "class=sm90_swapped_gemm"
FUSED = 'bias=f32:row epi="D = relu(accum + bias) + C"'

CASES = {
    "shared_parts": TestCase("tests/emulator/test_emulator_run", "SplitK.CtasShare*", "wrong output"),
    "wide_single": library(
        "gemm m=77 n=136 k=136 l=2 a=bf16 b=bf16:n out=bf16", f"{SWAPPED} tile=80x64x64", 1,
    ),
    "wide_three": library(
        "gemm m=150 n=392 k=200 a=f16 b=f16:n out=f16", f"{SWAPPED} tile=144x192x64 cluster=1x2x1", 2,
    ),
    "wide_epilogue": library(
        f"gemm m=77 n=136 k=136 l=2 a=bf16 b=bf16:n out=bf16 C=bf16 {FUSED}", f"{SWAPPED} tile=80x64x64", 1,
    ),
    # C has no map: it is column-major.
    "wide_unmapped": library(
        f"gemm m=77 n=136 k=136 l=2 a=bf16 b=bf16:n out=bf16 C=bf16:n {FUSED}", f"{SWAPPED} tile=80x64x64", 1,
    ),
    "wide_loaders": library(
        f"gemm m=90 n=392 k=72 a=bf16 b=bf16:n out=bf16 C=bf16 {FUSED}", f"{SWAPPED} tile=96x192x64", 1,
    ),
}  # fmt: skip

FAULTS = (
    Planted("staging memory of columns is not awaited", STORE, "wide_single", (RACE,),
            "      if (thread_ == 0) ptx::cp_async_bulk_wait_group_read<1>();\n",
            ""),
    Planted("no barrier after a store has read columns", STORE, "wide_three", (RACE,),
            "      ptx::bar_sync<Fragment::kThreads>(barrier_);\n#pragma unroll\n",
            "#pragma unroll\n"),
    Planted("columns are sent before all threads have written them", STORE, "wide_single", (RACE, WRONG),
            "      ptx::fence_proxy_async();\n      ptx::bar_sync<Fragment::kThreads>(barrier_);\n",
            "      ptx::fence_proxy_async();\n"),
    Planted("columns are sent without a fence", STORE, "wide_single", ("missing proxy fence",),
            "      ptx::fence_proxy_async();\n",
            ""),
    Planted("the end does not wait for columns", STORE, "wide_single", (LEFT, RACE),
            "    if (thread_ == 0) ptx::cp_async_bulk_wait_group<0>();\n",
            ""),
    Planted("the second buffer of columns is the first", STORE, "wide_single", (RACE, WRONG),
            "      turn_ ^= 1;\n",
            ""),
    Planted("matrices of columns are not transposed", STORE, "wide_single", (WRONG,),
            "ptx::stmatrix<4, true>",
            "ptx::stmatrix<4, false>"),
    Planted("rows of two matrices are exchanged with columns", STORE, "wide_single", (WRONG,),
            "kWarpRows + matrix % 2 * 8;",
            "kWarpRows + matrix / 2 * 8;"),
    Planted("all warps have the rows of the first", STORE, "wide_three", (WRONG,),
            "thread_ / 32 * Fragment::kWarpRows + matrix",
            "0 * Fragment::kWarpRows + matrix"),
    Planted("columns of a box go to the first ones", STORE, "wide_three", (WRONG, RACE),
            "{at.m, at.n + first + column, at.l}",
            "{at.m, at.n + first, at.l}"),
    Planted("columns of other parts are stored", STORE, "shared_parts", (WRONG, RACE),
            "      if (!some.has(first + column)) continue;\n",
            ""),
    Planted("columns go to the first batch", STORE, "wide_single", (WRONG, RACE),
            "{at.m, at.n + first + column, at.l}",
            "{at.m, at.n + first + column, 0}"),
    Planted("three consumers take more registers than there are", ABI, "wide_three", (DEADLOCK,),
            "if (consumers() == 3) return 152;",
            "if (consumers() == 3) return 168;"),
    Planted("epilogue: matrices of columns are not transposed", TILE, "wide_epilogue", (WRONG,),
            "ptx::stmatrix<4, Layout::kMMajor>",
            "ptx::stmatrix<4>"),
    Planted("epilogue: inputs of columns are not transposed", TILE, "wide_epilogue", (WRONG,),
            "ptx::ldmatrix<4, Layout::kMMajor>",
            "ptx::ldmatrix<4>"),
    Planted("epilogue: threads name rows in place of columns", TILE, "wide_epilogue", (WRONG,),
            "Fragment::matrix_row(thread_) / 8 * 8,",
            "Fragment::matrix_row(thread_),"),
    Planted("epilogue: threads name one column of eight", TILE, "wide_epilogue", (WRONG, RACE),
            "column + thread_ % 8);",
            "column);"),
    Planted("epilogue: boxes of columns are sent to rows", TILE, "wide_epilogue", (WRONG, RACE),
            "const Tile to = Layout::in_map(at);",
            "const Tile to = at;"),
    Planted("epilogue: boxes of columns are loaded from rows", LOAD, "wide_epilogue", (WRONG,),
            "const Tile to = Layout::in_map(at);",
            "const Tile to = at;"),
    Planted("epilogue: columns of a box are not swizzled", LOAD, "wide_epilogue", (WRONG,),
            "return swizzled<Fragment::kBlockRows * bytes>(column, row * bytes);",
            "return column * (Fragment::kBlockRows * bytes) + row * bytes;"),
    Planted("epilogue: rows and columns of a box are exchanged", LOAD, "wide_unmapped", (WRONG,),
            "each(kMMajor ? at : line, kMMajor ? line : at);",
            "each(line, at);"),
    Planted("epilogue: the third consumer's inputs are not brought", SM90_SKELETON, "wide_loaders", (DEADLOCK,),
            "if (consumer < config.consumers()) load_inputs",
            "if (consumer < 2) load_inputs"),
)  # fmt: skip
