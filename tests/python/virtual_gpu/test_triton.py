"""Kernel classes of Triton's functions, launched on a virtual GPU with a stand-in for the compiler.

The stand-in is given what Triton is given, and makes CUDA code that takes the parameters which Triton's
would take: so grids, constants, parameters and their order are those of a launch. Triton's own code
runs in tests/python/gpu.
"""

import importlib.util
import itertools
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

import estoc
from estoc.triton import TritonKernelClass

if importlib.util.find_spec("triton") is not None:
    pytest.skip("triton is installed, whose cubins need a GPU", allow_module_level=True)

NAMES = ["a", "b", "out", "m", "n", "k", "al", "am", "ak", "bl", "bk", "bn", "ol", "om", "on"]
BODY = """
extern "C" __global__ void matmul(PARAMETERS) {
  CONSTANTS
  for (int e = threadIdx.x; e < BM * BN; e += blockDim.x) {
    const int i = blockIdx.x * BM + e / BN, j = blockIdx.y * BN + e % BN, z = blockIdx.z;
    if (i >= m || j >= n) continue;
    float sum = 0;
    for (int step = 0; step < k; ++step)
      sum += a[long(z) * al + long(i) * am + step * ak] * b[long(z) * bl + step * bk + j * bn];
    out[long(z) * ol + i * om + j * on] = SCALE * sum;
  }
}
"""


class Source:
    """ASTSource: the function with the types and values of its parameters."""

    def __init__(self, function, signature, constants, attributes):
        assert list(signature) == function.arg_names
        assert {name for name, kind in signature.items() if kind == "constexpr"} == set(constants)
        self.signature, self.constants, self.attributes = signature, constants, attributes


def compile_with_nvrtc(source, target, options):
    """Code that takes what the code of Triton takes, and computes what the function says."""
    types = {"*fp32": "float*", "i32": "int"}
    taken = [f"{types[kind]} {name}" for name, kind in source.signature.items() if kind != "constexpr"]
    constants = [f"const int {name} = {value};" for name, value in source.constants.items()]
    text = BODY.replace("PARAMETERS", ", ".join([*taken, "void* scratch", "void* profile"]))

    class Text(estoc.CudaKernelClass):
        name = "text_of_triton"

        def configurations(self):
            yield {"a": "f32"}

        def code(self, config, target):
            return estoc.CudaCode(text.replace("CONSTANTS", " ".join(constants)), entries="matmul")

    estoc.register(Text)
    try:
        shapes = ((4, 4),) * 3
        args = estoc.GemmArguments(*(estoc.Tensor.describe("f32", s, device="cuda") for s in shapes))
        kernel = estoc.get_kernels(args, "class=text_of_triton", target="sm_90a")[0]
        cubin = kernel.compile(args, target="sm_90a").compiled_obj
    finally:
        estoc.unregister(Text)
    SEEN.append((target, options, source.attributes))
    metadata = SimpleNamespace(name="matmul", num_warps=options["num_warps"], shared=0)
    return SimpleNamespace(asm={"cubin": cubin}, metadata=metadata)


SEEN = []


@pytest.fixture
def triton(monkeypatch):
    for name in ("triton", "triton.backends", "triton.backends.compiler", "triton.compiler"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules["triton"].compile = compile_with_nvrtc
    sys.modules["triton.compiler"].ASTSource = Source
    sys.modules["triton.backends.compiler"].GPUTarget = lambda *words: words
    SEEN.clear()


class Config:
    """As triton.Config is."""

    kwargs, num_warps, num_stages = {"BM": 8, "BN": 16, "BK": 4, "SCALE": 2}, 2, 5


class Strided(TritonKernelClass):
    kernel = SimpleNamespace(arg_names=[*NAMES, "BM", "BN", "BK", "SCALE"])
    parameters = dict(zip(NAMES, "A B out m n k A.l A.m A.k B.l B.k B.n out.l out.m out.n".split()))
    configs = (Config, {"BM": 16, "BN": 8, "BK": 4, "SCALE": 2})
    dtypes = (("f32", "f32", "f32", "f32"),)
    layouts = ("ttt", "ntn")
    tile = ("BM", "BN", "BK")
    alignment = 4
    targets = ("sm_90a",)
    divisible = {"k": 2}


class Compact(Strided):
    """Takes no strides of A and no batch."""

    parameters = {
        name: source for name, source in Strided.parameters.items()
        if name not in ("am", "al", "bl", "ol")
    }
    configs = [config.kwargs | {"am": 6, "al": 0, "bl": 0, "ol": 0} for config in (Config,)]
    layouts = ("ttt",)


@pytest.fixture(params=[Strided, Compact])
def registered(request, triton):
    estoc.register(request.param)
    yield request.param
    estoc.unregister(request.param)


def of_class(args, kernel_class, **options):
    return estoc.get_kernels(args, f"class={kernel_class.name}", **options)


def test_results(registered, product):
    a, b, out, wanted = product(k=6, dtype="f4")
    args = estoc.GemmArguments(a, b, out)
    kernels = of_class(args, registered)
    assert len(kernels) == len(registered.configs)
    for kernel, call in itertools.product(kernels, ("run", "plan")):
        out.put(np.full(out.shape, 77, "f4"))
        kernel.run(args) if call == "run" else kernel.bind(args)()
        np.testing.assert_array_equal(out.get(), 2 * wanted)
    assert kernels[0].metadata.design.tile_shape == (8, 16, 4)


def test_what_the_compiler_is_told(triton, product):
    estoc.register(Strided)
    try:
        a, b, out, _ = product(k=6, dtype="f4")
        kernel = of_class(estoc.GemmArguments(a, b, out), Strided)[0]
        kernel.compile(estoc.GemmArguments(a, b, out), target="sm_90a")
    finally:
        estoc.unregister(Strided)
    target, options, attributes = SEEN[0]
    assert target == ("cuda", 90, 32)
    assert options == {"num_warps": 2, "num_stages": 5}
    assert attributes[(0,)] == [["tt.divisibility", 4]]  # the address of A, in bytes
    assert attributes[(5,)] == [["tt.divisibility", 2]]  # k
    assert (7,) not in attributes  # strides of multiples of 4 bytes are any


def test_columns_and_batches(triton, driver):
    from device_arrays import DeviceArray

    estoc.register(Strided)
    try:
        random = np.random.default_rng(3)
        host_a, host_b = (random.integers(-3, 4, shape).astype("f4") for shape in ((3, 6, 9), (3, 6, 10)))
        a, b = DeviceArray(driver, host_a), DeviceArray(driver, host_b)
        out = DeviceArray(driver, np.zeros((3, 10, 9), "f4"))
        left = estoc.Tensor(a, None, (3, 9, 6), (54, 1, 9))
        columns = estoc.Tensor(out, None, (3, 9, 10), (90, 1, 9))
        args = estoc.GemmArguments(left, b, columns)
        for kernel in of_class(args, Strided):
            kernel.run(args)
            wanted = 2 * np.einsum("lkm,lkn->lnm", host_a, host_b)
            np.testing.assert_array_equal(out.get(), wanted)
    finally:
        estoc.unregister(Strided)


def described(a, b, out, strides_a=None):
    describe = estoc.Tensor.describe
    return estoc.GemmArguments(
        describe("f32", a, strides_a, device="cuda"),
        describe("f32", b, device="cuda"),
        describe("f32", out, device="cuda"),
    )


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (((8, 5), (5, 8), (8, 8)), "k: expected a multiple of 2, got 5"),
        (((2, 8, 6), (2, 6, 8), (2, 8, 8)), "l: expected 1, got 2"),
        (((8, 6), (6, 8), (8, 8), (9, 1)), "A.strides: expected 6 along m, got 9"),
        (((70000, 70000), (70000, 8), (70000, 8)), "A: expected fewer than 2"),
    ],
)
def test_refusals(triton, args, message):
    estoc.register(Compact)
    try:
        reasons = [
            one["status"].error for one in estoc.explain(described(*args), target="sm_90a")
            if one["kernel_class"] == "compact"
        ]
        assert len(reasons) == 1
        assert message in reasons[0]
    finally:
        estoc.unregister(Compact)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": None}, "kernel: expected a function of triton.jit"),
        ({"parameters": Strided.parameters | {"zz": "m"}}, "parameters: expected some of a, b, out"),
        ({"parameters": Strided.parameters | {"m": "M"}}, r"parameters\['m'\]: expected one of A, A.k"),
        ({"configs": [{"BM": 8, "BN": 8, "BK": 4}]}, "configs: expected a value for each of BM"),
        ({"tile": ("X", "BN", "BK")}, "a tile of X, BN, BK"),
        ({"layouts": ("xtt",)}, "layouts: expected"),
    ],
)
def test_classes_that_are_refused(triton, changes, message):
    with pytest.raises((ValueError, TypeError, estoc.Error), match=message):
        estoc.register(type("Wrong", (Strided,), changes))
