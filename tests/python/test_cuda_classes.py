"""Kernel classes written in Python whose kernels are CUDA code: found, compiled, run, and refused."""

import ctypes
import importlib.util
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading

import numpy as np
import pytest

import estoc

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "examples/python"
PROBLEM = "gemm m=40 n=24 k=17 a=f32"


def described(m=64, n=32, k=16, dtype="f32"):
    shapes = ((m, k), (k, n), (m, n))
    return estoc.GemmArguments(
        *(estoc.Tensor.describe(dtype, shape, device="cuda") for shape in shapes)
    )


def names(kernels):
    return [kernel.name for kernel in kernels]


class Made:
    """What the fixture `made` gives: classes are registered for one test."""

    def __init__(self):
        self.classes = []

    def register(self, kernel_class):
        self.classes.append(estoc.register(kernel_class))
        return kernel_class

    def example(self, name):
        """Loads an example, which registers what it defines."""
        before = list(estoc.providers.PythonProvider.kernel_classes)
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        known = estoc.providers.PythonProvider.kernel_classes
        self.classes += [one for one in known if one not in before]
        return module


@pytest.fixture
def made():
    made = Made()
    yield made
    for kernel_class in made.classes:
        estoc.unregister(kernel_class)


def smallest(**changes):
    """A class with one kernel, of which some members are others."""

    class Smallest(estoc.CudaKernelClass):
        def configurations(self):
            yield {"a": "f32"}

        def code(self, config, target):
            return estoc.CudaCode('extern "C" __global__ void estoc_kernel(float* x) { *x = 1; }')

        def plan(self, config, args, workspace, launch):
            launch.kernel(1, 1, args.out)

    for name, value in changes.items():
        setattr(Smallest, name, value)
    return Smallest


def command(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "estoc", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


def test_the_examples_are_short():
    found = sorted(EXAMPLES.glob("*.py"))
    assert len(found) >= 3
    for file in found:
        assert len(file.read_text().splitlines()) < 80, file


def test_source_needs_nvrtc(made, nvrtc):
    made.example("cuda_source_kernel")
    args = described()
    kernels = estoc.get_kernels(args, target="sm_90a", providers="python")
    assert kernels.failures == []
    assert len(kernels) == 6
    assert kernels[0].name == "tiled_gemm-f32-tile4x16x1"
    kernel = estoc.kernel_by_name("tiled_gemm-f32-tile8x32x1")
    assert kernel in kernels
    assert kernel.metadata.design.tile_shape == (8, 32, 1)
    assert kernel.metadata.provider == "python"
    assert pickle.loads(pickle.dumps(kernel)) == kernel
    artifact = kernel.compile(args, target="sm_90a")
    assert artifact.compiled_obj[:4] == b"\x7fELF"
    assert b"tiled_gemm" in artifact.compiled_obj
    status = kernel.supports(described(dtype="f16"), target="sm_90a")
    assert status.error == "A.dtype: expected f32, got f16"
    assert "tiled_gemm-f32-tile8x32x1" in names(estoc.get_kernels(args, target="sm_90a"))
    wide = described(m=1, n=65535 * 16 + 16, k=1)
    assert "a grid of at most 65535" in kernels[0].supports(wide, target="sm_90a").error


def test_cuda_source_runs_in_the_emulator():
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    done = command(
        "--plugin", EXAMPLES / "cuda_source_kernel.py", "run", PROBLEM, "--device", "emulator",
        "--check", "--kernel", "tiled_gemm-f32-tile8x16x1",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "check    ok" in done.stdout


def test_image_needs_nvrtc(made, nvrtc, tmp_path, monkeypatch):
    example = made.example("cuda_image_kernel")
    assert made.classes == []

    @made.register
    class Compiled(example.ReadyGemm):
        def __init__(self):
            pass

        def code(self, config, target):
            return estoc.CudaCode(example.CUDA_SOURCE, entries=["dot_gemm"])

    args = described()
    cubin = estoc.kernel_by_name("compiled-f32-ttt").compile(args, target="sm_90a").compiled_obj
    file = tmp_path / "gemm.cubin"
    file.write_bytes(cubin)
    monkeypatch.setenv("ESTOC_EXAMPLE_IMAGE", str(file))
    made.example("cuda_image_kernel")
    kernel = estoc.kernel_by_name("ready_gemm-f32-ttt")
    artifact = kernel.compile(args, target="sm_90a")
    assert artifact.compiled_obj == cubin
    again = pickle.loads(pickle.dumps(artifact))
    assert (again.compiled_obj, again.target) == (cubin, "sm_90a")
    monkeypatch.setattr(example.ReadyGemm, "abi", "other")
    done = command("--plugin", EXAMPLES / "cuda_image_kernel.py", "list", "--provider", "python")
    assert "ready_gemm-f32-ttt" in done.stdout, done.stderr


def test_triton(made):
    pytest.importorskip("triton", reason="triton is not installed")
    made.example("triton_kernel")
    args = estoc.GemmArguments(
        estoc.Tensor.describe("f16", (256, 128), device="cuda"),
        estoc.Tensor.describe("f16", (128, 64), device="cuda"),
        estoc.Tensor.describe("f32", (256, 64), device="cuda"),
    )
    kernels = estoc.get_kernels(args, target="sm_90a", providers="python")
    assert [one.metadata.design.tile_shape for one in kernels] == [(64, 64, 32), (128, 128, 64)]
    artifact = kernels[0].compile(args, target="sm_90a")
    assert artifact.compiled_obj[:4] == b"\x7fELF"
    assert b"matmul" in artifact.compiled_obj


class Numbers(ctypes.Structure):
    _fields_ = [("flag", ctypes.c_byte), ("scale", ctypes.c_double)]


PARAMETERS = """
struct Numbers { signed char flag; double scale; };
struct Bytes { int a, b; };
extern "C" __global__ void mixed(const float* a, const float* b, float* out, const int* nothing,
                                 long long m, double one, int n, float half, Numbers numbers,
                                 unsigned short k, Bytes bytes) {
  if (nothing != nullptr) return;
  const double scale = numbers.flag == -3 ? numbers.scale : 0;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
      out[i * n + j] = float(sum * one * half * scale * bytes.a * bytes.b);
    }
}
"""

PLUGIN = f"""
import ctypes, struct
import numpy as np
import estoc

class Numbers(ctypes.Structure):
    _fields_ = [("flag", ctypes.c_byte), ("scale", ctypes.c_double)]

@estoc.register
class Mixed(estoc.CudaKernelClass):
    def configurations(self):
        yield {{"a": "f32", "layouts": "ttt"}}
    def code(self, config, target):
        return estoc.CudaCode({PARAMETERS!r}, entries="mixed")
    def plan(self, config, args, workspace, launch):
        m, n, k, _ = args.extents
        launch.kernel(
            1, (1,), args.A, args.B, args.out, None, m, 1.0, ctypes.c_int(n), np.float32(0.5),
            Numbers(-3, 0.25), np.uint16(k), struct.pack("ii", 2, 4),
        )
"""


def test_parameters_arrive_as_they_were_given(tmp_path):
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    file = tmp_path / "mixed.py"
    file.write_text(PLUGIN)
    done = command(
        f"--plugin={file}", "run", "gemm m=5 n=7 k=3 a=f32", "--device", "emulator", "--check",
        "--kernel", "mixed-f32-ttt",
    )
    assert "check    ok" in done.stdout, done.stderr


def test_a_plan_that_raises_and_one_that_is_kept(tmp_path):
    file = tmp_path / "wrong.py"
    file.write_text(
        "import estoc\n"
        "@estoc.register\n"
        "class Wrong(estoc.CudaKernelClass):\n"
        "    def configurations(self):\n"
        "        yield {'a': 'f32'}\n"
        "    def code(self, config, target):\n"
        "        return estoc.CudaCode('extern \"C\" __global__ void estoc_kernel() {}')\n"
        "    def plan(self, config, args, workspace, launch):\n"
        "        launch.kernel(1, 1, 'text')\n"
    )
    done = command(
        "--plugin", file, "run", PROBLEM, "--device", "emulator", "--kernel", "wrong-f32"
    )
    assert done.returncode != 0
    assert "expected a tensor, a number, bytes or an object of ctypes or NumPy" in done.stderr


@pytest.mark.parametrize(
    ("configurations", "error", "message"),
    [
        ([], ValueError, "configurations: expected at least one, got none"),
        ([{"a": "f32"}, {"a": "f32"}], ValueError, "expected each once, got twice"),
        ([{"a": "f32"}, {"a": "f16", "stages": 2}], ValueError, "expected the same keys in each"),
        ([{"a": "f32"}, {"b": "f16"}], ValueError, "expected a in each"),
        ([{"a": "f31"}], TypeError, "configurations: a: expected a dtype"),
        ([{"a": "f32", "tile": 3}], TypeError, "expected two or three numbers of tile, got 3"),
        ([{"a": "f32", "stages": "2"}], TypeError, "expected whole numbers of stages"),
        ([{"a": "f32", "layouts": "tq"}], ValueError, "expected layouts of three letters"),
        ([{"a": "f32", "align_a": 3}], ValueError, "a power of two up to 256, got 3"),
        ([{"a": "f32", "Warps": 3}], ValueError, "a key of lower-case letters"),
        ([{"a": "f32", "mode": 1.5}], TypeError, "expected text or numbers of mode, got 1.5"),
        ([3], TypeError, "configurations: expected dicts, got int"),
        ([{"tile": (8, 8)}], ValueError, "expected the key a, the dtype of A"),
    ],
)
def test_wrong_configurations(configurations, error, message):
    kernel_class = smallest(configurations=lambda self: configurations)
    with pytest.raises(error, match=message):
        estoc.register(kernel_class)
    assert not estoc.unregister(kernel_class)


def test_every_kind_of_key(made):
    @made.register
    class Every(smallest()):
        def configurations(self):
            common = {"a": np.float16, "b": "f16", "acc": "f32", "out": "f32", "layouts": "ttt"}
            for stages, mode in ((2, "fast"), (3, "slow"), (3, "fast")):
                yield common | {
                    "align_a": 16, "align_b": 8, "align_out": 4, "tile": (64, 32, 16),
                    "cluster": (2, 1), "instruction": (16, 8, 16), "stages": stages, "split": 1,
                    "schedule": "simple", "warps": 4, "mode": mode,
                }

    found = estoc.get_kernels(providers="python")
    assert len(found) == 3
    metadata = found[0].metadata
    assert metadata.operands.A == estoc.TensorAttributes("f16", "t", 8)
    assert metadata.design.cluster_shape == (2, 1, 1)
    assert names(found)[0].endswith("-warps4-mode.fast")
    assert len(set(names(found))) == 3


def test_registering(made):
    kernel_class = made.register(smallest())
    assert kernel_class.name == "smallest"
    assert "python" in estoc.available_providers()
    with pytest.raises(estoc.ExistsError, match="Smallest is registered already"):
        estoc.register(kernel_class)
    with pytest.raises(estoc.ExistsError, match="smallest"):
        estoc.register(smallest())
    assert names(estoc.get_kernels(described(), target="sm_90a", providers=["python"])) == [
        "smallest-f32"
    ]
    kernel = estoc.kernel_by_name("smallest-f32")
    assert estoc.unregister(kernel_class)
    assert not estoc.unregister(kernel_class)
    with pytest.raises(estoc.NotFoundError):
        estoc.kernel_by_name("smallest-f32")
    assert kernel.name == "smallest-f32"  # who holds a kernel can still use it
    assert kernel.supports(described(), target="sm_90a")

    @estoc.register_provider("theirs")
    class Theirs(estoc.providers.Provider):
        pass

    Theirs.register(smallest(name="small"))
    assert names(estoc.get_kernels(providers="theirs")) == ["small-f32"]
    assert estoc.unregister("theirs")
    assert "small-f32" not in names(estoc.get_kernels(metadata_filter="name=small*"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "Not A Name"}, "name"),
        ({"name": 3}, "expected text as name"),
        ({"operation": "sort"}, "expected gemm, elementwise or grouped_gemm as operation, got sort"),
        ({"targets": ["sm_12"]}, "expected targets such as"),
        ({"targets": ["cpu"]}, "expected targets such as"),
        ({"configurations": lambda self: 1 // 0}, "division"),
    ],
)
def test_wrong_classes(changes, message):
    with pytest.raises((estoc.Error, ZeroDivisionError), match=message):
        estoc.register(smallest(**changes))


def test_what_is_left_out_is_asked_for():
    class Nothing(estoc.CudaKernelClass):
        pass

    with pytest.raises(NotImplementedError, match="Nothing: expected a method configurations"):
        estoc.register(Nothing)


def test_targets_ranking_and_workspace(made):
    quick = made.register(
        smallest(
            name="quick",
            targets=("sm_90a",),
            predict=lambda self, config, args, target: 1e-12,
            workspace_size=lambda self, config, args: 4 * args.extents[0],
        )
    )
    args = described()
    first = estoc.get_kernels(args, target="sm_90a")[0]
    assert (first.name, first.predicted_seconds) == ("quick-f32", 1e-12)
    assert first.metadata.targets == ("sm_90a",)
    assert first.get_workspace_size(args) == 256
    assert "quick-f32" not in names(estoc.get_kernels(args, target="sm_80"))
    assert isinstance(quick(), estoc.CudaKernelClass)


def test_what_a_class_raises(made):
    def fails(self, *_):
        raise ZeroDivisionError("here")

    args = described()
    made.register(smallest(name="asked", supports=fails))
    made.register(smallest(name="other", supports=lambda self, *_: "yes"))
    made.register(smallest(name="ranked", predict=fails))
    made.register(smallest(name="texts", code=fails))
    made.register(smallest(name="wrong", code=lambda self, *_: "text"))
    found = estoc.get_kernels(args, target="sm_90a", providers="python")
    assert "asked-f32" not in names(found)
    said = estoc.kernel_by_name("asked-f32").supports(args, target="sm_90a").error
    assert said == "kernel class asked: ZeroDivisionError: here"
    said = estoc.kernel_by_name("other-f32").supports(args, target="sm_90a").error
    assert "expected an estoc.Status of supports, got str" in said
    assert {failure[1]: failure[2] for failure in found.failures} == {
        "asked": "ZeroDivisionError: here",
        "other": "expected an estoc.Status of supports, got str",
        "ranked": "kernel class ranked, predict: ZeroDivisionError: here",
    }
    assert "ZeroDivisionError: here" in found.failures[0][2]
    with pytest.raises(estoc.CompileError, match="texts, code: ZeroDivisionError: here"):
        estoc.kernel_by_name("texts-f32").compile(args, target="sm_90a")
    with pytest.raises(estoc.CompileError, match="expected an estoc.CudaCode, got str"):
        estoc.kernel_by_name("wrong-f32").compile(args, target="sm_90a")


def test_code_with_mistakes_needs_nvrtc(made, nvrtc):
    made.register(smallest(code=lambda self, *_: estoc.CudaCode("int x = y;")))
    with pytest.raises(estoc.CompileError, match="smallest-f32") as raised:
        estoc.kernel_by_name("smallest-f32").compile(described(), target="sm_90a")
    assert "smallest-f32.cu(1)" in raised.value.log
    assert "int x = y;" in raised.value.source


def test_code_objects():
    code = estoc.CudaCode("text", entries=("one", "two"))
    assert (code.source, code.image, code.entries) == ("text", b"", ["one", "two"])
    assert repr(code) == "<CudaCode one, 4 characters of source>"
    assert repr(estoc.CudaCode(image=b"12345")) == "<CudaCode estoc_kernel, 5 bytes of code>"
    for wrong, message in (({}, "got neither"), ({"source": "x", "image": b"y"}, "got both")):
        with pytest.raises(ValueError, match=message):
            estoc.CudaCode(**wrong)
    with pytest.raises(TypeError, match="image: expected bytes, got str"):
        estoc.CudaCode(image="text")
    with pytest.raises(ValueError, match="entries: expected at least one"):
        estoc.CudaCode("x", entries=[])


def test_compiled_by_many_threads_needs_nvrtc(made, nvrtc):
    made.example("cuda_source_kernel")
    args = described()
    kernels = list(estoc.get_kernels(args, target="sm_90a", providers="python"))
    made_codes, failed = [], []

    def work(place):
        try:
            kernel = kernels[place % len(kernels)]
            artifact = kernel.compile(args, target="sm_90a", use_caches=place % 2 == 0)
            made_codes.append((kernel.name, artifact.compiled_obj))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(place,)) for place in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(made_codes) == 16
    assert len(set(made_codes)) == len(kernels)


def test_epilogues_are_refused_with_the_reason(made):
    made.register(smallest())
    shapes = ((8, 8), (8, 8), (8, 8))
    operands = [estoc.Tensor.describe("f32", shape, device="cuda") for shape in shapes]
    args = estoc.GemmArguments(*operands, epilogue="D = relu(accum)")
    assert not estoc.get_kernels(args, "class=smallest", target="sm_90a")
    told = {line["kernel_class"]: line["status"] for line in estoc.explain(args, target="sm_90a")}
    assert told["smallest"].error.startswith("epilogue: expected none, got relu(accum) in f32 of ")
    kernel = estoc.get_kernels(target="sm_90a", metadata_filter="class=smallest")[0]
    with pytest.raises(estoc.UnsupportedError, match="epilogue: expected none, got .*relu"):
        kernel.compile(args, target="sm_90a")


def fused(**options):
    shapes = ((8, 8), (8, 8), (8, 8))
    operands = [estoc.Tensor.describe("f32", shape, device="cuda") for shape in shapes]
    return estoc.GemmArguments(*operands, **options)


def test_epilogues_are_asked_about(made):
    seen = []

    def supports_epilogue(self, config, epilogue, target):
        seen.append((dict(config), epilogue, target))
        if "relu" in epilogue.text:
            return estoc.Status.success()
        return estoc.Status.fail("epilogue: expected a relu")

    made.register(smallest(supports_epilogue=supports_epilogue))
    args = fused(epilogue="D = relu(accum)")
    kernels = estoc.get_kernels(args, "class=smallest", target="sm_90a")
    assert len(kernels) == 1
    config, graph, target = seen[0]
    assert (config, target) == ({"a": "f32"}, "sm_90a")
    assert type(graph) is estoc.EpilogueGraph and "relu" in repr(graph)
    again = pickle.loads(pickle.dumps(graph))
    assert (again.text, again.source) == (graph.text, graph.source)
    assert graph.source.startswith("#include <estoc/epilogue/element.cuh>")
    assert "struct Epilogue {" in graph.source
    with pytest.raises(estoc.CompileError, match="fused_code: .*expected a method fused_code"):
        kernels[0].compile(args, target="sm_90a")

    def why(args):
        assert not estoc.get_kernels(args, "class=smallest", target="sm_90a")
        lines = estoc.explain(args, target="sm_90a")
        return next(one for one in lines if one["kernel_class"] == "smallest")["status"].error

    assert why(fused(epilogue="D = -accum")) == "epilogue: expected a relu"
    sums = estoc.EpilogueArguments(
        "D = relu(accum); total = sum(accum)",
        total=estoc.Tensor.describe("f32", (1, 1), device="cuda"),
    )
    assert why(fused(epilogue=sums)).startswith("epilogue: expected no reductions, got 1 in ")


def test_the_epilogue_of_an_example_in_the_emulator():
    if shutil.which("g++") is None:
        pytest.skip("needs g++")
    problem = 'gemm m=9 n=40 k=5 a=f32 bias=f32:row C=f32 epi="D = tanh(accum + bias) + C"'
    done = command(
        "--plugin", EXAMPLES / "fused_kernel.py", "run", problem, "--device", "emulator", "--check",
        "--kernel", "row_gemm-f32-ttt",
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "check    ok" in done.stdout
