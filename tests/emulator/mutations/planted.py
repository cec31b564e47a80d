"""What the lists of planted faults are made of, and the kernels that they are planted into."""

import dataclasses

SM90 = "kernels/sm90_gemm.cuh"
SM90_CTA = "sm90/cta.cuh"
SM90_WORK = "sm90/work.cuh"
OFFSETS = "kernels/group_offsets.cuh"
GROUPED_ABI = "abi/groups.cuh"
SM90_GROUPS = "sm90/groups.cuh"
GROUP_WORK = "tile/group_work.cuh"
TILE_WORK = "tile/work.cuh"
SM90_GATHER = "sm90/gather.cuh"
SM90_PARTS = "sm90/parts.cuh"
SM90_LOAD = "sm90/load.cuh"
SM90_MATH = "sm90/math.cuh"
SM90_SCALED = "sm90/scaled.cuh"
SM90_CONVERTED = "sm90/converted.cuh"
SM90_SKELETON = "sm90/skeleton.cuh"
SM90_STORE = "sm90/store.cuh"
SM100_CTA = "sm100/cta.cuh"
SM100_DYNAMIC = "sm100/dynamic.cuh"
SM100_GROUPS = "sm100/groups.cuh"
SM100_LOAD = "sm100/load.cuh"
SM100_PARTS = "sm100/parts.cuh"
SM100_MATH = "sm100/math.cuh"
SM100_SKELETON = "sm100/skeleton.cuh"
SM100_STORE = "sm100/store.cuh"
SCALE_STAGES = "sm100/scales.cuh"
SCALED_PRODUCTS = "sm100/scaled.cuh"
SCALE_ABI = "abi/tcgen05.cuh"
SWIZZLE_SCALES = "kernels/swizzle_scales.cuh"
TENSOR_ABI = "abi/tcgen05.cuh"
SM80 = "kernels/sm80_gemm.cuh"
FP4 = "tile/fp4.cuh"
FP8 = "tile/fp8.cuh"
SM80_F32 = "kernels/sm80_f32_gemm.cuh"
SIMT = "kernels/simt_gemm.cuh"
GROUPED = "kernels/simt_grouped_gemm.cuh"
SM80_GROUPED = "kernels/sm80_grouped_gemm.cuh"
GROUP_TABLE = "tile/group_table.cuh"
SIMT_POINTER = "kernels/simt_pointer_gemm.cuh"
SM80_POINTER = "kernels/sm80_pointer_gemm.cuh"
GROUPS = "tile/groups.cuh"
SM90_GROUP_SCALES = "sm90/group_scales.cuh"
MOE_ROUTE = "moe/route.cuh"
MOE_ROWS = "moe/rows.cuh"
SIMT_SCALED = "kernels/simt_scaled_gemm.cuh"
SCALED_GROUPED = "kernels/simt_scaled_grouped_gemm.cuh"
QUANTISE = "kernels/quantise.cuh"
SM80_SCALED = "kernels/sm80_scaled_gemm.cuh"
SM120 = "kernels/sm120_gemm.cuh"
SCALE_WORDS = "tile/scale_words.cuh"
BLOCK_SCALES = "tile/block_scales.cuh"
DEQUANTISE = "kernels/dequantise.cuh"
PREPARE = "kernels/prepare.cuh"
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
QUADS = "epilogue/quads.cuh"
STAGED = "epilogue/staged.cuh"
ABI = "abi/sm90_gemm.cuh"
BARRIERS = "ptx/mbarrier.cuh"
FENCES = "ptx/fence.cuh"


@dataclasses.dataclass(frozen=True)
class Planted:
    """A fault: in `file` of device/estoc, `old`, which stands there exactly once, becomes `new`.
    The kernel of `case` is found out by one of the reports `found` (names of the emulator, or
    "wrong output"): in some order of events or, of those in ALWAYS, in each."""

    what: str
    file: str
    case: str
    found: tuple
    old: str
    new: str


@dataclasses.dataclass(frozen=True)
class LibraryCase:
    """Problems that `estoc run --device emulator --check` carries out with the first kernel that
    fits the filter; `flags` are more of its options."""

    problems: tuple
    filter: str = "class=sm90_gemm"
    flags: tuple = ()
    target: str = "sm_90a"


@dataclasses.dataclass(frozen=True)
class TestCase:
    """Tests of a program of the build folder, and what it is called when they fail."""

    program: str
    tests: str
    found: str


@dataclasses.dataclass(frozen=True)
class FeatureCase:
    """A feature of tests/gpu, whose program runs on the virtual GPU."""

    feature: str


def library(problem, terms="class=sm90_gemm", multiprocessors=None):
    """A case of one problem or, where these are a tuple, several."""
    problems = problem if isinstance(problem, tuple) else (problem,)
    flags = () if multiprocessors is None else ("--multiprocessors", str(multiprocessors))
    return LibraryCase(problems, terms, flags)


def sm90(problem, terms, multiprocessors=1):
    """A case of sm90_gemm, on a device so small that a CTA has several tiles."""
    return library(problem, f"class=sm90_gemm {terms}", multiprocessors)


def sm100(problem, terms, multiprocessors=4, of="sm100_gemm"):
    """A case of sm100_gemm, or of a class that shares its code."""
    flags = ("--multiprocessors", str(multiprocessors))
    return LibraryCase((problem,), f"class={of} {terms}", flags, "sm_100a")


def sm120(problem, terms):
    """A case of sm120_gemm or sm120_scaled_gemm."""
    return LibraryCase((problem,), terms, (), "sm_120a")


def sm100_grouped(problem, terms, multiprocessors=4):
    """A case of sm100_grouped_gemm."""
    flags = ("--multiprocessors", str(multiprocessors))
    return LibraryCase((problem,), f"class=sm100_grouped_gemm {terms}", flags, "sm_100a")


def sm100_scaled(problem, terms, multiprocessors=4):
    """A case of sm100_scaled_gemm."""
    return sm100(problem, terms, multiprocessors, "sm100_scaled_gemm")


BLOCKS = "gemm m=300 n=200 k=480 a=e4m3*1x32 b=e4m3:n*1x32 out=bf16"
HALVES = "gemm m=520 n=520 k=160 a=e4m3*1x32 b=e4m3:n*1x32 out=bf16"
TENSOR = "gemm m=300 n=200 k=504 a=bf16 b=bf16:n out=bf16"
DROPOUT = "gemm m=136 n=72 k=64 a=bf16 out=f32:n epi=\"D = dropout(accum, 0.5, 7, 3)\""
SUMS = "r=f32:column c=f32:row t=f32:scalar"
SUMMED = "r = max(D); c = max(D); t = max(D)"
FAR = 1 << 25
SINGLE = "schedule=single tile=64x64x64"
SMALL = "class=sm80_gemm tile=64x64x32"
BYTES = "class=sm80_gemm tile=64x64x64"
SIMT_VECTORS = "class=simt_gemm align_a=16"
# Epilogues with operands of many kinds.
SCALED = 'alpha=f32:2 beta=f32:scalar epi="D = alpha * accum + beta * C"'
LINEAR = f"a=bf16 b=bf16:n out=bf16 C=bf16 {SCALED}"
AUX = (
    "a=bf16 b=bf16:n out=bf16 aux=bf16 bias=bf16:row epi=\"D = relu(accum + bias); aux = accum\""
)
MIXED = (
    "out=f32 v=f32 least=i8 column=f32:column batch=i8:batch bytes=u8 mask=bool row=f16:row "
    "sums=f32:row most=f32:scalar low=i8:column squares=f64:batch "
    "epi=\"x = accum + column + batch; D = select(mask, x, bytes * 2); v = x; "
    "y = minimum(x, row); least = y; sums = sum(x); most = max(x); low = min(y); "
    "squares = sum(y * y)\""
)

# Four stages of K, which are in one part; the last is not whole.
SCALED_COLUMNS = "gemm m=200 n=264 k=460 a=e4m3:[464,1]*1x128:n b=e4m3:[1,464]*128x128 out=f32"

CASES = {
    # Kernels with tensor memory.
    "tensor": sm100(TENSOR, "tile=128x64x64 cluster=1x1"),
    "tensor_tiles": sm100(TENSOR, "tile=128x64x64 cluster=1x1", 1),
    "tensor_dynamic": LibraryCase(
        ("gemm m=600 n=136 k=136 a=bf16 b=bf16:n out=bf16",),
        "class=sm100_dynamic_gemm tile=128x64x64 cluster=2x1", (), "sm_100a",
    ),
    "tensor_shared": sm100(
        "gemm m=1100 n=328 k=504 a=bf16 b=bf16:n out=bf16", "tile=128x64x64 cluster=4x2",
        multiprocessors=8,
    ),
    "tensor_pair": sm100(TENSOR, "tile=128x64x64 cluster=2x1"),
    "tensor_pair_tiles": sm100(TENSOR, "tile=128x64x64 cluster=2x1", 2),
    "tensor_batch": sm100(f"{TENSOR} l=3", "tile=128x64x64 cluster=1x1"),
    "tensor_major": sm100(
        "gemm m=304 n=200 k=504 a=bf16:n b=bf16 out=bf16", "tile=128x128x64 cluster=1x1",
    ),
    "tensor_direct": sm100(
        "gemm m=300 n=203 k=504 a=bf16 b=bf16:n out=bf16", "tile=128x64x64 cluster=1x1",
    ),
    "tensor_fused": sm100(
        f'{TENSOR} C=bf16 bias=f32:row epi="D = accum + bias + C"', "tile=128x64x64 cluster=2x1",
    ),
    "tensor_reduced": sm100(
        f'{TENSOR} r=f32:column c=f32:row t=f32:scalar epi="D = accum; r = max(D); c = max(D); '
        't = max(D)"', "tile=128x64x64 cluster=1x1",
    ),
    "tensor_no_k": sm100("gemm m=72 n=72 k=0 a=bf16 b=bf16:n out=bf16", "cluster=2x1"),
    # The same with scales of blocks: four stages of K, the last of which is not whole.
    "blocks": sm100_scaled(BLOCKS, "tile=128x64x128 cluster=1x1"),
    "blocks_tiles": sm100_scaled(BLOCKS, "tile=128x64x128 cluster=1x1", 1),
    "blocks_long": sm100_scaled(
        "gemm m=128 n=64 k=2032 a=e4m3*1x32 b=e4m3:n*1x32 out=bf16 r=f32:column "
        'epi="D = accum; r = max(D)"', "tile=128x64x128 cluster=1x1",
    ),
    "blocks_pair": sm100_scaled(BLOCKS, "tile=128x64x128 cluster=2x1"),
    "blocks_shared": sm100_scaled(BLOCKS, "tile=128x64x128 cluster=2x2"),
    "blocks_half": sm100_scaled(HALVES, "tile=128x256x128 cluster=2x1", 2),
    "blocks_half_fused": sm100_scaled(
        f'{HALVES} epi="D = relu(accum)"', "tile=128x256x128 cluster=2x1", 2,
    ),
    "blocks_short": sm100_scaled(
        "gemm m=300 n=264 k=992 a=e2m1*1x16 b=e2m1:n*1x16 out=bf16",
        "tile=128x256x128 cluster=2x1", 2,
    ),
    "blocks_wide": sm100_scaled(BLOCKS, "tile=128x192x128 cluster=1x1"),
    "blocks_batch": sm100_scaled(f"{BLOCKS} l=3", "tile=128x64x128 cluster=1x1"),
    "blocks_mxfp4": sm100_scaled(
        "gemm m=300 n=200 k=992 a=e2m1*1x32 b=e2m1:n*1x32 out=bf16",
        "tile=128x64x256 cluster=1x1",
    ),
    "blocks_nvfp4": sm100_scaled(
        "gemm m=300 n=200 k=992 a=e2m1*1x16 b=e2m1:n*1x16 out=bf16",
        "tile=128x64x256 cluster=1x1",
    ),
    # Kernels as the library plans them.
    "lib_square": library("gemm m=520 n=520 k=600 a=bf16 b=bf16", "cluster=2x2"),
    "lib_tall": library("gemm m=520 n=264 k=600 a=bf16 b=bf16", "cluster=2x1 tile=128x128x64"),
    "lib_wide": library("gemm m=264 n=520 k=136 a=bf16 b=bf16", "cluster=1x2"),
    "lib_tall_short": library("gemm m=1032 n=264 k=72 a=bf16 b=bf16", "cluster=2x1"),
    "lib_long": library(
        "gemm m=264 n=136 k=1104 a=bf16 b=bf16", "schedule=pingpong",
        multiprocessors=1,
    ),
    "lib_no_k": library("gemm m=72 n=72 k=0 a=bf16 b=bf16", "class=sm90_gemm"),
    "lib_no_k_cluster": library(
        "gemm m=520 n=264 k=0 a=bf16 b=bf16", "cluster=2x1", multiprocessors=2,
    ),
    "lib_prepared": library(
        (
            "gemm m=72 n=136 k=143 a=bf16 b=bf16:n out=bf16",
            "gemm m=64 n=64 k=100 l=2 a=bf16:[6500,1,65] b=bf16:[6400,3,200]",
        ),
        "class=sm90_prepared_gemm",
    ),
    "lib_prepared_many": library(
        "gemm m=264 n=136 k=1100 a=bf16:[1,265] b=bf16:n", "class=sm90_prepared_gemm",
        multiprocessors=1,
    ),
    "lib_prepared_bytes": library(
        "gemm m=136 n=80 k=200 a=e4m3:n b=e4m3 out=bf16", "class=sm90_prepared_gemm",
    ),
    "lib_planes": library(
        "gemm m=64 n=64 k=100 a=f32 b=f32 allow_bf16x6=1", "class=sm90_bf16x6_gemm",
    ),
    "lib_one_tile": library("gemm m=40 n=40 k=136 a=bf16 b=bf16", "schedule=pingpong"),
    "lib_one_a": library("gemm m=72 n=72 k=72 l=3 a=bf16:[0,72,1] b=bf16"),
    "lib_one_b": library("gemm m=72 n=72 k=72 l=3 a=bf16 b=bf16:[0,72,1]"),
    "lib_fp8": LibraryCase(
        ("gemm m=64 n=64 k=8192 a=e4m3 b=e4m3:n out=f32 batch_invariant=1",), flags=("--narrow-fp8-sums",),
    ),
    "lib_tails": library("gemm m=130 n=70 k=8192 a=bf16 b=bf16:n out=bf16", "class=sm90_gemm"),
    "lib_narrow": library("gemm m=72 n=192 k=72 a=bf16 b=bf16:n out=bf16", "tile=128x96x64"),
    "lib_e5m2": library("gemm m=72 n=80 k=80 a=e4m3 b=e4m3:n out=e5m2"),
    "lib_far_direct": library(
        f"gemm m=72 n=40 k=72 a=bf16 b=bf16 out=bf16:[{FAR + 1},1]",
    ),
    "lib_tall_input": library(
        'gemm m=264 n=72 k=72 a=bf16 out=bf16 C=bf16:t epi="D = accum + C"', "cluster=2x1",
    ),
    "lib_high_input": library(
        'gemm m=264 n=136 k=72 a=bf16 out=bf16 C=bf16:t epi="D = accum + C"', "tile=256x128x64",
    ),
    "lib_f64_column": library(
        'gemm m=136 n=72 k=72 a=bf16 out=bf16 v=f64:column epi="D = accum + v"',
    ),
    "lib_low": library(
        f'gemm m=40 n=136 k=72 a=bf16 out=f32 {SUMS} epi="D = accum; {SUMMED}"', "cluster=2x1",
    ),
    "lib_slim": library(
        f'gemm m=136 n=40 k=72 a=bf16 out=f32 {SUMS} epi="D = accum; {SUMMED}"', "cluster=1x2",
    ),
    "lib_ragged": library(
        f'gemm m=72 n=136 k=72 a=bf16 out=f32 {SUMS} epi="D = accum; {SUMMED}"',
    ),
    "lib_one_c": library(
        'gemm m=72 n=72 k=72 l=3 a=bf16 out=bf16 C=bf16:[72,1] epi="D = accum + C"',
    ),
    "lib_dropout": library(DROPOUT),
    "lib_infinite": library(
        'gemm m=72 n=72 k=72 a=bf16 out=f32 r=f32:column epi="D = accum + inf; r = min(D)"',
    ),
    "lib_three_left": library(
        'gemm m=71 n=75 k=72 a=bf16 b=bf16:n out=bf16:[80,1] C=f32:[80,1] epi="D = accum + C"',
        "class=sm80_gemm",
    ),
    "lib_sm80_ragged": library(
        f'gemm m=72 n=136 k=72 a=bf16 out=f32 {SUMS} epi="D = accum; {SUMMED}"', "class=sm80_gemm",
    ),
    "lib_simt_all": library(
        f'gemm m=72 n=300 k=24 a=f32 {SUMS} epi="D = accum; {SUMMED}"', "class=simt_gemm",
    ),
    "lib_sm80_bytes": library(
        "gemm m=71 n=74 k=80 a=e4m3 b=e4m3:n out=e4m3:[80,1]", "class=sm80_gemm",
    ),
    "lib_far_sm80": library(
        f"gemm m=72 n=40 k=72 a=bf16 b=bf16 out=bf16:[{FAR},1]", "class=sm80_gemm",
    ),
    "lib_far_batch": library(
        f"gemm m=40 n=40 k=40 l=3 a=bf16:[{40 * FAR},40,1] b=bf16", "class=sm80_gemm",
    ),
    # Programs on the virtual GPU.
    "moe_sort": FeatureCase("slots_are_sorted_stably"),
    "moe_gate": FeatureCase("gates_of_experts_are_right"),
    "moe_layer": FeatureCase("expert_layers_are_right"),
    "offsets": FeatureCase("wrong_offsets_are_counted"),
    "row_index": FeatureCase("indices_give_ranges"),
    # Programs that tests are.
    "test_packed": TestCase(
        "tests/emulator/test_emulator_run", "EmulatedElementwise.*Packed*", "wrong output",
    ),
    "not_numbers": TestCase(
        "tests/emulator/test_emulator_run", "SwappedDequantised.NotNumbers", "wrong output",
    ),
    "parts": TestCase("tests/emulator/test_emulator_run", "SplitK.Parts*:SplitK.More*", "wrong output"),
    "tails": TestCase(
        "tests/emulator/test_emulator_run", "SplitK.WorkspaceOfEvery*:SplitK.Warps*", "wrong output",
    ),
    "tensor_tails": TestCase(
        "tests/emulator/test_emulator_run", "SplitK.Tcgen05*", "wrong output",
    ),
    "half": TestCase(
        "tests/emulator/test_emulator_run", "HalfSums.Sm90Schedules:HalfSums.Sm80", "wrong output",
    ),
    "f64_parts": TestCase("tests/emulator/test_emulator_run", "F64.PartsOfK", "wrong output"),
    "f64_tails": TestCase("tests/emulator/test_emulator_run", "F64.PartsThroughTheWorkspace", "wrong output"),
    "half_parts": TestCase("tests/emulator/test_emulator_run", "HalfSums.*PartsOfK", "wrong output"),
    "far_index": TestCase("tests/emulator/test_emulator_run", "OwnLaunch.Numbers*", "wrong output"),
    "results_loop": TestCase("tests/emulator/test_emulator_run", "OwnLaunch.Finishes*", "race"),
    "sm80_tf32": TestCase("tests/emulator/test_emulator_run", "EmulatedGemm.*Tf32*", "wrong output"),
    "sm80_loop": TestCase("tests/emulator/test_emulator_run", "OwnLaunch.Sm80*", "race"),
    "simt_loop": TestCase("tests/emulator/test_emulator_run", "OwnLaunch.Simt*", "race"),
    "test_ptx": TestCase("tests/emulator/test_ptx", "Compile.*Golden*", "other PTX"),
    "cooperative": sm90(
        "gemm m=200 n=136 k=600 a=bf16 b=bf16:n out=bf16", "schedule=cooperative tile=128x64x64 cluster=1x1",
    ),
    "few rows": sm90("gemm m=70 n=40 k=600 a=bf16 b=bf16:n out=bf16", "schedule=cooperative tile=128x64x64"),
    "pingpong": sm90(
        "gemm m=264 n=200 k=600 a=bf16 b=bf16 out=bf16", "schedule=pingpong tile=128x64x64 cluster=1x1",
    ),
    "cluster": sm90(
        "gemm m=520 n=136 k=600 a=f16:n b=f16:n out=f16", "schedule=cooperative tile=128x128x64 cluster=2x1", 2,
    ),
    "pair": sm90(
        "gemm m=136 n=520 k=600 a=bf16 b=bf16 out=bf16", "schedule=pingpong tile=128x128x64 cluster=1x2", 2,
    ),
    "promoted": sm90("gemm m=72 n=136 k=1104 a=e4m3 b=e4m3:n out=bf16", "schedule=single tile=64x64x128"),
    "direct": sm90((
        "gemm m=72 n=77 k=136 a=bf16 b=bf16:n out=bf16",
        "gemm m=72 n=77 k=136 l=2 a=bf16 b=bf16:n out=bf16",
    ), "schedule=single tile=64x64x64 cluster=1x1"),
    "large": sm90(
        "gemm m=200 n=136 k=520 a=bf16 b=bf16:n out=bf16", "schedule=cooperative tile=128x128x64 cluster=1x1",
    ),
    "banded": sm90("gemm m=1160 n=1160 k=8 a=bf16 b=bf16:n out=bf16", f"{SINGLE} cluster=1x1"),
    "batched": sm90("gemm m=72 n=72 k=72 l=3 a=bf16 b=bf16:n out=bf16", f"{SINGLE} cluster=1x1", 2),
    "split": sm90("gemm m=200 n=136 k=72 a=bf16 b=bf16:n out=bf16", f"{SINGLE} cluster=1x1", 3),
    "along": sm90("gemm m=264 n=72 k=72 a=bf16 b=bf16:n out=bf16", f"{SINGLE} cluster=1x1", 2),
    "bytes": sm90("gemm m=72 n=72 k=144 a=u8 b=i8:n out=i32", "schedule=single"),
    "sm80": library((
        "gemm m=72 n=72 k=104 a=bf16 b=bf16:n out=bf16",
        "gemm m=136 n=72 k=232 l=2 a=bf16 b=bf16:n out=bf16",
        "gemm m=584 n=136 k=40 a=bf16 b=bf16:n out=bf16",
    ), f"{SMALL} stages=3"),
    "sm80_small": library((
        "gemm m=68 n=68 k=69 a=f16:n b=f16 out=f16",
        "gemm m=68 n=140 k=104 a=f16:n b=f16 out=f16",
    ), f"{SMALL} stages=4"),
    "sm80_bytes": library("gemm m=68 n=67 k=69 a=i8:n b=i8:[1,72] out=i32", f"{BYTES} stages=3"),
    "sm80_f64": library("gemm m=66 n=66 k=34 a=f64 b=f64 out=f64", "class=sm80_gemm tile=64x64x16 stages=3"),
    "sm80_split": library(
        "gemm m=40 n=40 k=40 l=3 a=bf16 b=bf16:n out=bf16", f"{SMALL} stages=3",
    ),
    "sm80_fp8": library("gemm m=40 n=36 k=68 a=e5m2 b=e4m3 out=f32", f"{BYTES} stages=3"),
    "sm80_signs": library("gemm m=40 n=40 k=80 a=i8 b=u8:n out=i32", f"{BYTES} stages=3"),
    "simt_split": library("gemm m=40 n=40 k=24 l=3 a=bf16 out=bf16", f"{SIMT_VECTORS} tile=64x64x16"),
    "simt_bytes": library(
        "gemm m=40 n=36 k=40 a=i8:[48,1] b=i8:[1,48] out=i32", f"{SIMT_VECTORS} tile=64x64x16",
    ),
    "simt": library((
        "gemm m=72 n=72 k=40 a=bf16 out=bf16",
        "gemm m=64 n=72 k=21 l=2 a=bf16:[2048,32,1] b=bf16 out=bf16",
    ), f"{SIMT_VECTORS} tile=64x64x16"),
    "simt_any": library((
        "gemm m=70 n=35 k=21 a=f32",
        "gemm m=33 n=33 k=37 l=2 a=f32",
    ), "class=simt_gemm tile=32x32x16"),
    "pointers": library((
        "grouped_gemm layout=pointers m=40 n=40 k=24 sizes=40x33x24,0x8x8,1x40x5,33x1x0 a=f32 b=f32:n",
        "grouped_gemm layout=pointers m=40 n=32 k=24 sizes=9x32x24,40x8x8 a=f32:n b=f32 out=f32:n",
    ), "class=simt_pointer_gemm tile=32x32x16"),
    "pointers_mma": library((
        "grouped_gemm layout=pointers m=72 n=72 k=40 sizes=72x65x40,0x8x8,1x72x5,66x9x0 a=bf16 b=bf16:n out=bf16",
        "grouped_gemm layout=pointers m=72 n=64 k=40 sizes=9x64x40,72x8x8 a=bf16:n b=bf16 out=bf16:n",
    ), "class=sm80_pointer_gemm tile=64x64x32"),
    "pointers_wgmma": LibraryCase((
        "grouped_gemm layout=pointers sizes=90x40x24,0x8x8,33x16x0,66x136x144,200x9x80 a=bf16:[32000,160,1] b=bf16:n out=bf16",
        "grouped_gemm layout=pointers sizes=66x136x144,136x70x200 a=bf16:n b=bf16 out=bf16:n",
        "grouped_gemm layout=pointers g=300 m=9 n=8 k=8 a=bf16 b=bf16:n out=bf16",
    ), "class=sm90_pointer_gemm tile=64x64x64 schedule=pingpong", ("--multiprocessors", "2"), "sm_90a"),
    "pointers_wgmma_elements": LibraryCase(
        ("grouped_gemm layout=pointers sizes=90x39x24,66x136x144 a=bf16 b=bf16:n out=bf16",),
        "class=sm90_pointer_gemm tile=64x64x64 align_out=1 schedule=single", ("--multiprocessors", "2"), "sm_90a"),
    "gathered": library((
        "grouped_gemm m=150 n=40 k=24 rows=9 sizes=33,0,1,40 zero_rest=1 a=f32 b=f32:n",
        "grouped_gemm m=150 n=40 k=20 rows=200 sizes=99,50 a=f32:n b=f32",
    ), "class=simt_gathered_gemm tile=32x32x16"),
    "gathered_mma": library(
        "grouped_gemm m=300 n=72 k=88 rows=9 sizes=133,0,1,140 zero_rest=1 a=bf16 b=bf16:n out=bf16",
        "class=sm80_gathered_gemm tile=64x64x32"),
    "gathered_wgmma": LibraryCase(("grouped_gemm m=300 n=72 k=600 rows=9 sizes=133,0,1,140 a=bf16 b=bf16:n",),
        "class=sm90_gathered_gemm tile=64x64x64 schedule=single", ("--multiprocessors", "1"), "sm_90a"),
    "grouped_rows": library((
        "grouped_gemm m=90 n=40 k=24 sizes=33,0,1,40 zero_rest=1 a=f32 b=f32:n",
        "grouped_gemm m=60 n=20 k=9 g=40 a=f32",
    ), "class=simt_grouped_gemm tile=32x32x16"),
    "grouped_columns": library(
        "grouped_gemm along=n m=40 n=90 k=24 sizes=33,0,1,40 zero_rest=1 a=f32 b=f32:n",
        "class=simt_grouped_gemm tile=32x32x16",
    ),
    "grouped_k": library((
        "grouped_gemm along=k m=40 n=40 k=90 sizes=33,0,1,40 a=f32:n b=f32",
        "grouped_gemm along=k m=9 n=9 k=80 g=40 a=f32:n b=f32",
    ), "class=simt_grouped_gemm tile=32x32x16"),
    "grouped_index": library(
        "grouped_gemm along=n m=40 n=90 k=9 sizes=33,50 a=f32 epi=\"D = dropout(accum, 0.5, 7, 3)\"",
        "class=simt_grouped_gemm tile=32x32x16",
    ),
    "grouped_masked": library(
        "grouped_gemm m=40 n=40 k=24 layout=masked sizes=33,0,40 a=f32 b=f32:n",
        "class=simt_grouped_gemm tile=32x32x16",
    ),
    "grouped_masked_rest": library(
        "grouped_gemm m=40 n=40 k=24 layout=masked sizes=33,0,40 zero_rest=1 a=f32 b=f32:n",
        "class=simt_grouped_gemm tile=32x32x16",
    ),
    "grouped_prefix": library(
        "grouped_gemm m=90 n=40 k=24 layout=prefix sizes=33,0,1,40 a=f32 b=f32:n",
        "class=simt_grouped_gemm tile=32x32x16",
    ),
    "grouped_ranges": library(
        "grouped_gemm m=90 n=40 k=24 layout=ranges sizes=33,0,1,40 a=f32 b=f32:n",
        "class=simt_grouped_gemm tile=32x32x16",
    ),
    "grouped_k_ranges": library(
        "grouped_gemm along=k layout=ranges m=40 n=40 k=90 sizes=33,0,1,40 a=f32:n b=f32",
        "class=simt_grouped_gemm tile=32x32x16",
    ),
    "wgmma_masked": library(
        "grouped_gemm m=90 n=72 k=72 layout=masked sizes=33,0,90,70 a=bf16 b=bf16:n out=bf16",
        "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1", multiprocessors=3,
    ),
    "wgmma_many": library(
        "grouped_gemm m=1 n=8 k=8 g=300 layout=masked a=bf16 b=bf16:n out=bf16",
        "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1", multiprocessors=3,
    ),
    "wgmma_k_prefix": library(
        "grouped_gemm along=k layout=prefix m=72 n=72 k=200 sizes=33,0,1,130 a=bf16 b=bf16:n out=bf16",
        "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1",
    ),
    "wgmma_rows": library((
        "grouped_gemm m=230 n=136 k=72 sizes=33,0,1,140,40 zero_rest=1 a=bf16 b=bf16:n out=bf16",
        "grouped_gemm m=200 n=72 k=8 g=70 a=bf16 b=bf16:n out=bf16",
    ), "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1", multiprocessors=3),
    "wgmma_rest": library(
        "grouped_gemm m=90 n=72 k=72 sizes=33 zero_rest=1 a=bf16 b=bf16:n out=bf16",
        "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1",
    ),
    "wgmma_columns": library(
        "grouped_gemm along=n m=72 n=90 k=72 sizes=33,0,1,40 zero_rest=1 a=bf16 b=bf16:n out=bf16",
        "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1",
    ),
    "wgmma_k": library(
        "grouped_gemm along=k m=72 n=72 k=200 sizes=33,0,1,130 a=bf16 b=bf16:n out=bf16",
        "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1",
    ),
    "wgmma_k_rows": library(
        "grouped_gemm along=k m=72 n=72 k=200 sizes=33,0,1,130 a=bf16:n b=bf16 out=bf16",
        "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1",
    ),
    "wgmma_fused": library(
        "grouped_gemm m=230 n=136 k=24 sizes=33,0,1,140,40 a=bf16 b=bf16:n out=bf16 C=bf16"
        " epi=\"D = accum + C\"",
        "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1",
    ),
    "tensor_rows": sm100_grouped(
        "grouped_gemm m=600 n=136 k=72 sizes=33,0,1,340,40 zero_rest=1 a=bf16 b=bf16:n out=bf16",
        "tile=128x64x64 cluster=1x1",
    ),
    "tensor_pair_rows": sm100_grouped(
        "grouped_gemm m=600 n=136 k=72 sizes=33,0,1,340,40 zero_rest=1 a=bf16 b=bf16:n out=bf16",
        "tile=128x64x64 cluster=2x1",
    ),
    "tensor_columns": sm100_grouped(
        "grouped_gemm along=n m=136 n=290 k=72 sizes=33,0,1,140 zero_rest=1 a=bf16 b=bf16:n out=bf16",
        "tile=128x64x64 cluster=1x1",
    ),
    "tensor_k": sm100_grouped(
        "grouped_gemm along=k m=136 n=72 k=200 sizes=33,0,1,130 a=bf16 b=bf16:n out=bf16",
        "tile=128x64x64 cluster=1x1",
    ),
    "tensor_pair_k": sm100_grouped(
        "grouped_gemm along=k m=264 n=136 k=304 sizes=33,0,1,230 a=bf16 b=bf16:n out=bf16",
        "tile=128x64x64 cluster=2x1",
    ),
    "tensor_rows_fused": sm100_grouped(
        "grouped_gemm m=300 n=136 k=24 sizes=33,0,1,140,40 a=bf16 b=bf16:n out=bf16 C=bf16"
        " epi=\"D = accum + C\"",
        "tile=128x64x64 cluster=1x1",
    ),
    "mma_rows": library((
        "grouped_gemm m=90 n=40 k=24 sizes=33,0,1,40 zero_rest=1 a=bf16 b=bf16:n out=bf16",
    ), "class=sm80_grouped_gemm tile=64x64x32 stages=3"),
    "mma_k": library(
        "grouped_gemm along=k m=40 n=40 k=90 sizes=33,0,1,40 a=bf16:n b=bf16 out=bf16",
        "class=sm80_grouped_gemm tile=64x64x32 stages=3",
    ),
    "elementwise": library(
        "elementwise op=add shape=700x37 a=f16:[40,1] b=f16:[1,0] out=f16:[40,1]", "class=simt_elementwise",
    ),
    "tile": sm90(f"gemm m=200 n=136 k=72 {LINEAR}", "schedule=pingpong tile=128x64x64 cluster=1x1"),
    "tile_unmapped": sm90(
        f"gemm m=136 n=71 k=72 {LINEAR}", "schedule=cooperative tile=128x64x64 cluster=1x1",
    ),
    "tile_aux": sm90(f"gemm m=200 n=136 k=72 {AUX}", "schedule=cooperative tile=128x64x64 cluster=1x1"),
    "tile_mixed": sm90(f"gemm m=136 n=80 k=72 l=2 a=bf16 {MIXED}", f"{SINGLE} cluster=1x1", 2),
    "sm80_linear": library(
        f"gemm m=71 n=74 k=40 a=bf16 b=bf16:n out=bf16:[80,1] C=bf16:[80,1] {SCALED}", SMALL,
    ),
    "sm80_mixed": library(f"gemm m=71 n=74 k=24 l=2 a=bf16 {MIXED}", SMALL),
    "scaled_blocks": library(
        (
            "gemm m=40 n=136 k=300 a=e4m3*1x128:n b=e4m3:n*128x128",
            "gemm m=140 n=36 k=300 l=2 a=e5m2*128x128 b=i8:n*1x128",
            "gemm m=34 n=36 k=298 a=e4m3:[300,1]*1x128 b=e4m3:[1,300]*1x128",
        ), "class=simt_scaled_gemm tile=32x32x16",
    ),
    "scaled_swizzled": library(
        "gemm m=140 n=36 k=200 l=2 a=e4m3*1x32:swizzled b=e2m1:n*1x16:swizzled",
        "class=simt_scaled_gemm tile=32x32x16",
    ),
    "scaled_sm90": library(
        (
            SCALED_COLUMNS,
            "gemm m=136 n=136 k=304 l=2 a=e4m3*128x128 b=e4m3:n*1x128 out=f32",
        ),
        "class=sm90_scaled_gemm tile=64x128x128", multiprocessors=4,
    ),
    "scaled_sm90_fours": library(
        (
            "gemm m=72 n=72 k=1152 a=e4m3*1x128 b=e4m3:n*128x128 out=f32",
            "gemm m=72 n=72 k=1152 a=e4m3*1x128:[12,1] b=e4m3:n*128x128 out=f32",
        ),
        "class=sm90_scaled_gemm tile=128x192x128", multiprocessors=2,
    ),
    "scaled_sm90_two": library(
        SCALED_COLUMNS,
        "class=sm90_scaled_gemm tile=128x128x128 schedule=cooperative", multiprocessors=4,
    ),
    "scaled_sm90_fused": library(
        "gemm m=200 n=264 k=2200 a=e4m3:[2208,1]*1x128:n b=e4m3:[1,2208]*128x128 out=f32"
        " bias=f32:row epi=\"D = accum + bias\"",
        "class=sm90_scaled_gemm tile=128x128x128 schedule=cooperative", multiprocessors=1,
    ),
    "scaled_wgmma_rows": library(
        "grouped_gemm m=230 n=136 k=528 sizes=33,0,1,140,40 zero_rest=1 a=e4m3*1x128:n b=e4m3:n*128x128"
        " out=f32", "class=sm90_scaled_grouped_gemm tile=64x128x128 cluster=1x1", multiprocessors=3,
    ),
    "scaled_wgmma_columns": library(
        "grouped_gemm along=n m=136 n=90 k=528 sizes=33,0,1,40 a=e4m3*128x128 b=e4m3:n*1x128 out=f32",
        "class=sm90_scaled_grouped_gemm tile=64x64x128 cluster=1x1", multiprocessors=3,
    ),
    "scaled_wgmma_k": library(
        "grouped_gemm along=k m=72 n=72 k=608 sizes=33,0,300,130 a=e4m3*1x128 b=e4m3:n*1x128 out=f32",
        "class=sm90_scaled_grouped_gemm tile=64x64x128 cluster=1x1", multiprocessors=3,
    ),
    "row_wgmma_rows": library(
        "grouped_gemm m=230 n=136 k=528 sizes=33,0,1,140,40 a=e4m3 b=e4m3:n*row out=f32",
        "class=sm90_scaled_grouped_gemm tile=64x128x128 cluster=1x1", multiprocessors=3,
    ),
    "row_wgmma_rest": library(
        "grouped_gemm m=90 n=136 k=144 sizes=33,20 zero_rest=1 a=e4m3 b=e4m3:n*row out=f32",
        "class=sm90_scaled_grouped_gemm tile=64x128x128 cluster=1x1",
    ),
    "row_wgmma_columns": library(
        "grouped_gemm along=n m=136 n=90 k=528 sizes=33,0,1,40 a=e4m3*row b=e4m3:n out=f32",
        "class=sm90_scaled_grouped_gemm tile=64x64x128 cluster=1x1", multiprocessors=3,
    ),
    "scaled_sm80": library(
        (
            "gemm m=133 n=70 k=300 a=e4m3*1x128:n b=e4m3:n*128x128",
            "gemm m=40 n=72 k=528 l=2 a=i8*128x128 b=i8:n*1x128",
        ), "class=sm80_scaled_gemm tile=64x64x128",
    ),
    "sm120": sm120(
        "gemm m=133 n=70 k=304 a=e4m3 b=e5m2:n out=f32", "class=sm120_gemm tile=64x64x64 stages=3"
    ),
    "sm120_fp8": sm120(
        "gemm m=133 n=70 k=560 a=e4m3*1x32:swizzled b=e5m2:n*1x32 out=f32",
        "class=sm120_scaled_gemm tile=64x64x128 stages=3",
    ),
    "sm120_fp4": sm120(
        "gemm m=70 n=134 k=1152 l=2 a=e2m1*1x32 b=e2m1:n*1x32:swizzled out=f32",
        "class=sm120_scaled_gemm tile=64x64x256 stages=2",
    ),
    "sm120_one": sm120(
        "gemm m=36 n=70 k=544 a=e2m1*tensor b=e2m1:n*1x16:swizzled out=f32",
        "class=sm120_scaled_gemm tile=64x64x256 stages=2",
    ),
    "scaled_grouped": library(
        (
            "grouped_gemm m=90 n=40 k=140 sizes=33,0,1,40 zero_rest=1 a=e4m3*1x128 b=e4m3:n*row",
            "grouped_gemm along=n m=40 n=90 k=140 sizes=33,0,1,40 a=e4m3*128x128 b=e4m3:n*1x128",
            "grouped_gemm along=k m=40 n=40 k=300 sizes=50,0,131,100 a=e4m3:n*1x128 b=e4m3*1x128",
        ), "class=simt_scaled_grouped_gemm tile=32x32x16",
    ),
    "quantised": library(
        (
            "gemm m=20 n=150 k=9 l=2 a=f32 out=e4m3:[3040,152,1]*1x32",
            "gemm m=20 n=300 k=9 a=f32 out=e4m3*1x128+pow2",
        ), "class=simt_quantised_gemm tile=32x32x16", multiprocessors=1,
    ),
    "quantised_fours": library(
        (
            "gemm m=20 n=150 k=9 a=f32 out=e2m1*1x16",
            "gemm m=20 n=150 k=9 a=f32 out=e2m1*1x16:swizzled",
        ), "class=simt_quantised_gemm tile=32x32x16",
    ),
    "scaled_any": library(
        "gemm m=36 n=38 k=98 a=e2m1:n*1x16 b=e2m1*1x32:n",
        "class=simt_scaled_gemm tile=32x32x16",
    ),
    "f32_slices": library(
        (
            "gemm l=2 m=72 n=70 k=300 a=f32:t b=f32:n out=f32",
            "gemm m=70 n=68 k=149 a=f32:[1,72] b=f32:t out=f32",
        ), "class=sm80_f32_gemm tile=64x64x64", multiprocessors=1,
    ),
    "f32_tile": library(
        (
            "gemm m=130 n=140 k=149 a=f32:[152,1] b=f32:[1,152] out=f32",
            "gemm m=132 n=132 k=140 a=f32:t b=f32:t out=f32",
        ), "class=sm80_f32_gemm tile=128x128x32",
    ),
    "f32_fused": library(
        f"gemm m=136 n=72 k=40 a=f32 b=f32 out=f32 {SUMS} epi=\"D = accum; {SUMMED}\"",
        "class=sm80_f32_gemm tile=64x64x64",
    ),
    "f64": library(
        ("gemm m=150 n=72 k=170 a=f64 b=f64:n", "gemm m=150 n=72 k=170 a=f64:n b=f64"),
        "class=sm90_f64_gemm tile=128x64x16", multiprocessors=1,
    ),
    "f64_batches": library("gemm l=2 m=64 n=64 k=34 a=f64 b=f64", "class=sm90_f64_gemm"),
    "f64_empty": library("gemm m=600 n=64 k=0 a=f64 b=f64", "class=sm90_f64_gemm tile=64x64x16", 1),
    "f64_fused": library(
        f"gemm m=136 n=72 k=40 a=f64 {SUMS} epi=\"D = accum; {SUMMED}\"", "class=sm90_f64_gemm",
    ),
    "simt_linear": library(f"gemm m=71 n=74 k=24 {LINEAR}", "class=simt_gemm tile=64x64x16"),
    "simt_mixed": library(f"gemm m=584 n=74 k=24 l=2 a=bf16 {MIXED}", "class=simt_gemm tile=32x32x16"),
}

# Faults that are to be found in every order of events: no schedule hides them.
ALWAYS = frozenset((
    "producer does not wait for the empty barrier", "expects 128 bytes too few",
    "expects 16 bytes too many", "B's bytes are signalled to the next stage's barrier",
    "no proxy fence before the store", "stage released while it is multiplied",
    "accumulators used before any wait", "staging memory is not awaited",
    "no barrier before the store", "no wgmma.fence", "no wgmma commit", "no fence.mbarrier_init",
    "no barrier after the initialisation", "only one thread waits for the data",
    "turns of both consumers at one barrier", "B of the stage before", "phase is never flipped",
    "64-byte swizzle in the descriptor", "A advances by two K steps",
    "empty barriers count one reader of two", "two threads release a stage",
    "stores are not drained", "wgmma in half of the warpgroup",
    "producer ends before its peers have let go", "no wait for cp.async",
    "one group too few waited for", "no barrier before a stage is read",
    "next copy before the barrier", "rows beyond the operand are copied", "no zeros beyond K",
    "rows off by 8 bytes", "fragment not transposed", "products in half of the warp",
))
