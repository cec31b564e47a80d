"""What the lists of planted faults are made of, and the kernels that they are planted into."""

import dataclasses

SM90 = "kernels/sm90_gemm.cuh"
SM90_CTA = "sm90/cta.cuh"
SM90_WORK = "sm90/work.cuh"
SM90_LOAD = "sm90/load.cuh"
SM90_MATH = "sm90/math.cuh"
SM90_SKELETON = "sm90/skeleton.cuh"
SM90_STORE = "sm90/store.cuh"
SM80 = "kernels/sm80_gemm.cuh"
SIMT = "kernels/simt_gemm.cuh"
ELEMENTWISE = "kernels/simt_elementwise.cuh"
PIPELINE = "tile/pipeline.cuh"
RASTER = "tile/raster.cuh"
SWIZZLE = "tile/swizzle.cuh"
TILE_STORE = "tile/store.cuh"
STAGED_STORE = "tile/staged_store.cuh"
FRAGMENT = "tile/fragment.cuh"
MMA_OPERAND = "tile/mma_operand.cuh"
NUMERIC = "numeric.cuh"
LOAD = "epilogue/load.cuh"
TILE = "epilogue/tile.cuh"
REDUCE = "epilogue/reduce.cuh"
DIRECT = "epilogue/direct.cuh"
STAGED = "epilogue/staged.cuh"
ABI = "abi/sm90_gemm.cuh"
BARRIERS = "ptx/mbarrier.cuh"
FENCES = "ptx/fence.cuh"


@dataclasses.dataclass(frozen=True)
class Planted:
    """A fault: in `file` of device/estoc, `old`, which stands there exactly once, becomes `new`.
    The kernel of `case` is found out by one of the reports `found` (names of the emulator, or
    "wrong output")."""

    what: str
    file: str
    case: str
    found: tuple
    old: str
    new: str


@dataclasses.dataclass(frozen=True)
class Case:
    """A kernel: its function, the configuration, and problems (m, n, k, l, ctas, along_n)."""

    kernel: str
    config: str
    problems: tuple


@dataclasses.dataclass(frozen=True)
class EpilogueCase:
    """A kernel with an epilogue: the header that runs it, and calls that answer with an Outcome,
    in the orders of events of `options`."""

    header: str
    runs: tuple


@dataclasses.dataclass(frozen=True)
class LibraryCase:
    """A problem that `estoc run --device emulator --check` carries out with the first kernel that
    fits the filter; `flags` are more of its options."""

    problem: str
    filter: str = "class=sm90_gemm"
    target: str = "sm_90a"
    flags: tuple = ()


@dataclasses.dataclass(frozen=True)
class TestCase:
    """Tests of a program of the build folder, and what it is called when they fail."""

    program: str
    tests: str
    found: str


def tile_epilogue(epilogue, config, room, *problems, maps="true", clusters=1):
    """An epilogue of tests/golden/epilogues behind sm90_gemm."""
    name = f"golden::{epilogue}::Epilogue"
    return EpilogueCase("tile_epilogue.h", tuple(
        f"run_tile<with<{name}>(sm90({config}), {room})>(Case<{name}>(Type::bf16, {{{problem}}}, "
        f"{{Lay::padded}}, {epilogue}), {clusters}, 0, {maps}, options)" for problem in problems
    ))


def direct_epilogue(kernel, epilogue, config, lay, *problems):
    """The same behind sm80_gemm or simt_gemm."""
    name = f"golden::{epilogue}::Epilogue"
    return EpilogueCase("direct_epilogue.h", tuple(
        f"{kernel}_outcome<{kernel}({config})>(Case<{name}>(Type::bf16, {{{problem}}}, "
        f"{{Lay::{lay}}}, {epilogue}), 0, options)" for problem in problems
    ))


def sm90(types, layouts, tile, stages, cluster, schedule, promote, tma_store, *problems):
    yes = {True: "true", False: "false"}
    config = (
        f"{types}, {yes['m' in layouts]}, {yes['n' in layouts]}, {tile}, {stages}, {cluster}, "
        f"Schedule::{schedule}, {yes[promote]}, {yes[tma_store]}"
    )
    return Case("sm90_gemm", config, problems)


BF16 = "Type::bf16, Type::bf16, Type::f32, Type::bf16"
F16 = "Type::f16, Type::f16, Type::f32, Type::f16"
F8 = "Type::e4m3, Type::e4m3, Type::f32, Type::bf16"

DROPOUT = "gemm m=136 n=72 k=64 a=bf16 out=f32:n epi=\"D = dropout(accum, 0.5, 7, 3)\""
SUMS = "r=f32:column c=f32:row t=f32:scalar"
SUMMED = "r = max(D); c = max(D); t = max(D)"
FAR = 1 << 25

CASES = {
    # Kernels as the library plans them.
    "lib_square": LibraryCase("gemm m=520 n=520 k=600 a=bf16 b=bf16", "cluster=2x2"),
    "lib_tall": LibraryCase("gemm m=520 n=264 k=600 a=bf16 b=bf16", "cluster=2x1 tile=128x128x64"),
    "lib_wide": LibraryCase("gemm m=264 n=520 k=136 a=bf16 b=bf16", "cluster=1x2"),
    "lib_tall_short": LibraryCase("gemm m=1032 n=264 k=72 a=bf16 b=bf16", "cluster=2x1"),
    "lib_long": LibraryCase(
        "gemm m=264 n=136 k=1104 a=bf16 b=bf16", "schedule=pingpong",
        flags=("--multiprocessors", "1"),
    ),
    "lib_no_k": LibraryCase("gemm m=72 n=72 k=0 a=bf16 b=bf16", "class=sm90_gemm"),
    "lib_no_k_cluster": LibraryCase(
        "gemm m=520 n=264 k=0 a=bf16 b=bf16", "cluster=2x1", flags=("--multiprocessors", "2"),
    ),
    "lib_one_tile": LibraryCase("gemm m=40 n=40 k=136 a=bf16 b=bf16", "schedule=pingpong"),
    "lib_one_a": LibraryCase("gemm m=72 n=72 k=72 l=3 a=bf16:[0,72,1] b=bf16"),
    "lib_one_b": LibraryCase("gemm m=72 n=72 k=72 l=3 a=bf16 b=bf16:[0,72,1]"),
    "lib_fp8": LibraryCase(
        "gemm m=64 n=64 k=8192 a=e4m3 b=e4m3:n out=f32", flags=("--narrow-fp8-sums",),
    ),
    "lib_narrow": LibraryCase("gemm m=72 n=192 k=72 a=bf16 b=bf16:n out=bf16", "tile=128x96x64"),
    "lib_e5m2": LibraryCase("gemm m=72 n=80 k=80 a=e4m3 b=e4m3:n out=e5m2"),
    "lib_far_direct": LibraryCase(
        f"gemm m=72 n=40 k=72 a=bf16 b=bf16 out=bf16:[{FAR + 1},1]",
    ),
    "lib_tall_input": LibraryCase(
        'gemm m=264 n=72 k=72 a=bf16 out=bf16 C=bf16:t epi="D = accum + C"', "cluster=2x1",
    ),
    "lib_high_input": LibraryCase(
        'gemm m=264 n=136 k=72 a=bf16 out=bf16 C=bf16:t epi="D = accum + C"', "tile=256x128x64",
    ),
    "lib_f64_column": LibraryCase(
        'gemm m=136 n=72 k=72 a=bf16 out=bf16 v=f64:column epi="D = accum + v"',
    ),
    "lib_low": LibraryCase(
        f'gemm m=40 n=136 k=72 a=bf16 out=f32 {SUMS} epi="D = accum; {SUMMED}"', "cluster=2x1",
    ),
    "lib_slim": LibraryCase(
        f'gemm m=136 n=40 k=72 a=bf16 out=f32 {SUMS} epi="D = accum; {SUMMED}"', "cluster=1x2",
    ),
    "lib_ragged": LibraryCase(
        f'gemm m=72 n=136 k=72 a=bf16 out=f32 {SUMS} epi="D = accum; {SUMMED}"',
    ),
    "lib_one_c": LibraryCase(
        'gemm m=72 n=72 k=72 l=3 a=bf16 out=bf16 C=bf16:[72,1] epi="D = accum + C"',
    ),
    "lib_dropout": LibraryCase(DROPOUT),
    "lib_infinite": LibraryCase(
        'gemm m=72 n=72 k=72 a=bf16 out=f32 r=f32:column epi="D = accum + inf; r = min(D)"',
    ),
    "lib_three_left": LibraryCase(
        'gemm m=71 n=75 k=72 a=bf16 b=bf16:n out=bf16:[80,1] C=f32:[80,1] epi="D = accum + C"',
        "class=sm80_gemm",
    ),
    "lib_sm80_ragged": LibraryCase(
        f'gemm m=72 n=136 k=72 a=bf16 out=f32 {SUMS} epi="D = accum; {SUMMED}"', "class=sm80_gemm",
    ),
    "lib_simt_all": LibraryCase(
        f'gemm m=72 n=300 k=24 a=f32 {SUMS} epi="D = accum; {SUMMED}"', "class=simt_gemm",
    ),
    "lib_sm80_bytes": LibraryCase(
        "gemm m=71 n=74 k=80 a=e4m3 b=e4m3:n out=e4m3:[80,1]", "class=sm80_gemm",
    ),
    "lib_far_sm80": LibraryCase(
        f"gemm m=72 n=40 k=72 a=bf16 b=bf16 out=bf16:[{FAR},1]", "class=sm80_gemm",
    ),
    "lib_far_batch": LibraryCase(
        f"gemm m=40 n=40 k=40 l=3 a=bf16:[{40 * FAR},40,1] b=bf16", "class=sm80_gemm",
    ),
    # Programs that tests are.
    "test_packed": TestCase(
        "tests/emulator/test_emulator_run", "EmulatedElementwise.*Packed*", "wrong output",
    ),
    "test_ptx": TestCase("tests/emulator/test_ptx", "Compile.*Golden*", "other PTX"),
    "far_index": EpilogueCase("far_index.h", ("far_index(options)",)),
    "sm80_tf32": Case(
        "sm80_gemm",
        "Type::tf32, Type::tf32, Type::f32, Type::f32, false, false, 64, 64, 32, 2, 2, 3, 16, 16, true",
        ((72, 72, 104),),
    ),
    "cooperative": sm90(BF16, "", "128, 64", 3, "1, 1", "cooperative", False, True, (200, 136, 200)),
    "pingpong": sm90(BF16, "n", "128, 64", 3, "1, 1", "pingpong", False, True, (264, 200, 264)),
    "cluster": sm90(F16, "m", "128, 128", 3, "2, 1", "cooperative", False, True, (520, 136, 264)),
    "pair": sm90(BF16, "n", "128, 128", 3, "1, 2", "pingpong", False, True, (136, 520, 200)),
    "promoted": sm90(F8, "", "64, 64", 2, "1, 1", "single", True, True, (72, 136, 400)),
    "direct": sm90(BF16, "", "64, 64", 3, "1, 1", "single", False, False, (72, 77, 136), (72, 77, 136, 2)),
    "large": sm90(BF16, "", "128, 128", 4, "1, 1", "cooperative", False, True, (200, 136, 320)),
    "banded": sm90(BF16, "", "64, 64", 3, "1, 1", "single", False, True, (320, 136, 72)),
    "batched": sm90(BF16, "", "64, 64", 3, "1, 1", "single", False, True, (72, 72, 72, 3, 2)),
    "split": sm90(BF16, "", "64, 64", 3, "1, 1", "single", False, True, (200, 136, 72, 1, 3)),
    "along": sm90(BF16, "", "64, 64", 3, "1, 1", "single", False, True, (72, 264, 72, 1, 2, True)),
    "bytes": sm90(
        "Type::u8, Type::i8, Type::i32, Type::i32", "", "64, 64", 3, "1, 1", "single", False, True,
        (72, 72, 136),
    ),
    "sm80": Case(
        "sm80_gemm",
        f"{BF16}, false, false, 64, 64, 32, 2, 2, 3, 16, 16, true",
        ((72, 72, 104), (136, 72, 232, 2, 1)),
    ),
    "sm80_small": Case(
        "sm80_gemm",
        f"{F16}, true, true, 64, 64, 32, 2, 2, 4, 8, 8, true",
        ((68, 68, 69), (68, 140, 104)),
    ),
    "sm80_bytes": Case(
        "sm80_gemm",
        "Type::i8, Type::i8, Type::i32, Type::i32, true, false, 64, 64, 64, 2, 2, 3, 4, 4, false",
        ((68, 67, 69),),
    ),
    "sm80_f64": Case(
        "sm80_gemm",
        "Type::f64, Type::f64, Type::f64, Type::f64, false, true, 64, 64, 16, 2, 2, 3, 16, 16, true",
        ((66, 66, 34),),
    ),
    "sm80_split": Case(
        "sm80_gemm", f"{BF16}, false, false, 64, 64, 32, 2, 2, 3, 16, 16, true", ((40, 40, 40, 3, 2),),
    ),
    "sm80_fp8": Case(
        "sm80_gemm",
        "Type::e5m2, Type::e4m3, Type::f32, Type::f32, false, true, 64, 64, 64, 2, 2, 3, 4, 4, false",
        ((40, 36, 68),),
    ),
    "sm80_signs": Case(
        "sm80_gemm",
        "Type::i8, Type::u8, Type::i32, Type::i32, false, false, 64, 64, 64, 2, 2, 3, 16, 16, true",
        ((40, 40, 80),),
    ),
    "simt_split": Case(
        "simt_gemm",
        f"{BF16}, Vectors::last, Vectors::last, true, 64, 64, 16, 8, 8",
        ((40, 40, 24, 3, 2),),
    ),
    "simt_bytes": Case(
        "simt_gemm",
        "Type::i8, Type::i8, Type::i32, Type::i32, Vectors::last, Vectors::next_to_last, true, 64, "
        "64, 16, 8, 8",
        ((40, 36, 40),),
    ),
    "simt": Case(
        "simt_gemm",
        f"{BF16}, Vectors::last, Vectors::last, true, 64, 64, 16, 8, 8",
        ((72, 72, 40), (64, 72, 21, 2, 1)),
    ),
    "simt_any": Case(
        "simt_gemm",
        "Type::f32, Type::f32, Type::f32, Type::f32, Vectors::none, Vectors::none, false, 32, 32, "
        "16, 4, 4",
        ((70, 35, 21), (33, 33, 37, 2, 1)),
    ),
    "elementwise": Case(
        "simt_elementwise",
        "Type::f16, Type::f16, Type::f32, 1, 8, false",
        ((700, 37, 0, 1, 2),),
    ),
    "tile": tile_epilogue(
        "linear", "Type::bf16, Type::bf16, 128, 64, Schedule::pingpong", "32, 2, 2", "1, 200, 136, 72",
    ),
    "tile_unmapped": tile_epilogue(
        "linear", "Type::bf16, Type::bf16, 128, 64, Schedule::cooperative", "64, 2, 2",
        "1, 136, 72, 72", maps="false",
    ),
    "tile_aux": tile_epilogue(
        "relu_aux", "Type::bf16, Type::bf16, 128, 64, Schedule::cooperative", "32, 1, 2",
        "1, 200, 136, 72",
    ),
    "tile_mixed": tile_epilogue(
        "mixed", "Type::bf16, Type::f32, 64, 32, Schedule::single", "16, 2, 1, true",
        "2, 136, 72, 72", clusters=2,
    ),
    "sm80_linear": direct_epilogue(
        "sm80", "linear", "Type::bf16, Type::f32, Type::bf16, 32", "padded", "1, 71, 74, 40",
    ),
    "sm80_mixed": direct_epilogue(
        "sm80", "mixed", "Type::bf16, Type::f32, Type::f32, 32", "padded", "2, 71, 74, 24",
    ),
    "simt_linear": direct_epilogue(
        "simt", "linear", "Type::bf16, Type::f32, Type::bf16, 64", "padded", "1, 71, 74, 24",
    ),
    "simt_mixed": direct_epilogue(
        "simt", "mixed", "Type::bf16, Type::f32, Type::f32, 32", "padded", "2, 71, 74, 24",
    ),
}
