"""Kernel classes written in Python, launched as on a GPU: parameters, fills, workspace, streams."""

import importlib.util
import pathlib
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import estoc

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples/python"


@pytest.fixture
def register():
    """Registers classes for one test; loads the example of a name."""
    before = list(estoc.providers.PythonProvider.kernel_classes)

    def work(what):
        if not isinstance(what, str):
            return estoc.register(what)
        spec = importlib.util.spec_from_file_location(what, EXAMPLES / f"{what}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield work
    for kernel_class in list(estoc.providers.PythonProvider.kernel_classes):
        if kernel_class not in before:
            estoc.unregister(kernel_class)


@pytest.mark.parametrize("device", [0, 1])
def test_the_example(product, driver, register, device):
    register("cuda_source_kernel")
    a, b, out, wanted = product(device=device, dtype="f4")
    args = estoc.GemmArguments(a, b, out)
    kernels = estoc.get_kernels(args, providers="python")
    assert (len(kernels), kernels.failures) == (6, [])
    kernel = kernels[3]
    artifact = kernel.compile(args)
    stream = driver.stream(device)
    for call in (
        lambda: kernel.run(args),
        lambda: kernel.run(args, artifact, stream=stream, assume_supported_args=True),
        kernel.bind(args, artifact),
        lambda: estoc.compile_all(kernels)[3].kernel.run(args),
    ):
        out.put(np.full(out.shape, 77, "f4"))
        call()
        np.testing.assert_array_equal(out.get(), wanted)


@pytest.mark.parametrize(
    ("program", "result"),
    [
        ("D = relu(alpha * accum + bias)", lambda x, bias: np.maximum(2 * x + bias, 0)),
        ("D = gelu_tanh(accum) * 0; seen = accum", lambda x, bias: 0 * x),
    ],
)
def test_epilogues_of_a_class_in_python(product, driver, register, program, result):
    from device_arrays import DeviceArray

    register("fused_kernel")
    a, b, out, wanted = product(dtype="f4")
    bias = np.arange(wanted.shape[1], dtype="f4") - 5
    seen = DeviceArray(driver, np.zeros(wanted.shape, "f4"))
    operands = {"alpha": 2.0, "bias": DeviceArray(driver, bias)} if "bias" in program else {"seen": seen}
    epilogue = estoc.EpilogueArguments(program, **operands)
    args = estoc.GemmArguments(a, b, out, epilogue=epilogue)
    kernels = estoc.get_kernels(args, providers="python")
    assert (len(kernels), kernels.failures) == (1, [])
    artifact = kernels[0].compile(args)
    for call in (
        lambda: kernels[0].run(args),
        kernels[0].bind(args, artifact),
        lambda: kernels[0].run(args, pickle.loads(pickle.dumps(artifact))),
    ):
        out.put(np.full(out.shape, 77, "f4"))
        call()
        np.testing.assert_array_equal(out.get(), result(wanted, bias))
    if "seen" in operands:
        np.testing.assert_array_equal(seen.get(), wanted)
    plain = estoc.GemmArguments(a, b, out)
    estoc.get_kernels(plain, providers="python")[0].run(plain)
    np.testing.assert_array_equal(out.get(), wanted)


def test_files_of_compiled_kernels(tmp_path):
    """Their kernels are found again where the class is registered as it was."""
    example = (EXAMPLES / "cuda_source_kernel.py").read_text()
    problem = "gemm m=9 n=8 k=7 a=f32"

    def command(*words, plugin=example):
        (tmp_path / "plugin.py").write_text(plugin)
        words = [sys.executable, "-m", "estoc", "--plugin", "./plugin.py", *words]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    name = "tiled_gemm-f32-tile8x16x1"
    compiled = command("compile", name, "--target", "sm_90a", "-o", "kernels.estoc")
    assert (compiled.returncode, compiled.stderr) == (0, "")
    words = ("run", problem, "--artifact", "kernels.estoc", "--kernel", name, "--target", "sm_90a")
    done = command(*words, "--check")
    assert done.returncode == 0, done.stderr
    assert "check    ok" in done.stdout
    for plugin, message in [
        (example.replace("CudaKernelClass):", 'CudaKernelClass):\n    abi = "2"\n'), "of its class"),
        (example.replace("float sum = 0;", "float sum = 1;"), "by another version"),
        ("", "tiled_gemm"),
    ]:
        done = command(*words, plugin=plugin)
        assert done.returncode in (3, 4)
        assert message in done.stderr


SOURCE = """
extern "C" __global__ void halves(const float* a, const float* b, float* parts, int m, int n,
                                  int k) {
  const int half = blockIdx.x;
  for (int i = threadIdx.x; i < m * n; i += blockDim.x) {
    float sum = 0;
    for (int l = half; l < k; l += 2) sum += a[i / n * k + l] * b[l * n + i % n];
    parts[half * m * n + i] = sum;
  }
}
extern "C" __global__ void add(const float* parts, float* out, int count) {
  for (int i = threadIdx.x; i < count; i += blockDim.x) out[i] += parts[i] + parts[count + i];
}
"""


class TwoSteps(estoc.CudaKernelClass):
    """A fill and two kernels, with workspace between them."""

    def __init__(self):
        self.seen = []

    def configurations(self):
        yield {"a": "f32", "layouts": "ttt"}

    def code(self, config, target):
        return estoc.CudaCode(SOURCE, entries=("halves", "add"))

    def workspace_size(self, config, args):
        m, n, _, _ = args.extents
        return 8 * m * n

    def plan(self, config, args, workspace, launch):
        self.seen.append((launch.target, launch.multiprocessors, workspace.shape, repr(launch)))
        m, n, k, _ = (np.int32(one) for one in args.extents)
        launch.fill(args.out)
        launch.kernel(2, 32, args.A, args.B, workspace, m, n, k)
        launch.kernel((1, 1, 1), (64, 1), workspace, args.out, np.int32(m * n), entry=1)
        self.last = launch


def test_several_steps_and_workspace(product, driver, register, monkeypatch):
    made = []
    monkeypatch.setattr(TwoSteps, "__init__", lambda self: (made.append(self), setattr(self, "seen", []))[0])
    register(TwoSteps)
    a, b, out, wanted = product(dtype="f4")
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.kernel_by_name("two_steps-f32-ttt")
    size = kernel.get_workspace_size(args)
    assert size == 8 * 24 * 40
    kernel.run(args)
    np.testing.assert_array_equal(out.get(), wanted)
    from device_arrays import DeviceArray

    room = DeviceArray(driver, np.zeros(size + 256, "u1"))
    out.put(np.full(out.shape, 77, "f4"))
    kernel.run(args, workspace=room)
    np.testing.assert_array_equal(out.get(), wanted)
    assert made[0].seen[-1] == ("sm_90a", 6, (size + 256,), "<CudaLaunch of 0 steps>")
    assert repr(made[0].last) == "<CudaLaunch, over>"
    with pytest.raises(ValueError, match="to be used within plan"):
        made[0].last.kernel(1, 1)


def test_what_plan_raises_reaches_the_caller(product, register):
    class Raises(TwoSteps):
        def plan(self, config, args, workspace, launch):
            launch.kernel(1, 1, object())

    register(Raises)
    a, b, out, _ = product(dtype="f4")
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.kernel_by_name("raises-f32-ttt")
    for call in (kernel.run, kernel.bind):
        with pytest.raises(TypeError, match="as parameter 0, got object"):
            call(args)

    class Full(TwoSteps):
        def plan(self, config, args, workspace, launch):
            for _ in range(7):
                launch.kernel(1, 1)

    register(Full)
    with pytest.raises(ValueError, match="launch|plan|steps"):
        estoc.kernel_by_name("full-f32-ttt").run(args)


def test_many_threads(product, register):
    register("cuda_source_kernel")
    problems = [product(m=8 + m, dtype="f4", seed=m) for m in range(16)]
    failed = []

    def work(a, b, out, wanted):
        try:
            args = estoc.GemmArguments(a, b, out)
            kernel = estoc.get_kernels(args, providers="python")[0]
            for _ in range(5):
                kernel.run(args)
            np.testing.assert_array_equal(out.get(), wanted)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=problem) for problem in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]


class OnTheHost(estoc.Kernel):
    """Kernels of Python's that say that they run on the CPU alone."""

    targets = ("cpu",)

    @staticmethod
    def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
        f32 = estoc.TensorAttributes(estoc.f32, None)
        metadata = estoc.KernelMetadata(
            kernel_name="on_the_host",
            kernel_class=OnTheHost,
            operands=estoc.GemmOperandsMetadata(f32, f32, f32, estoc.f32),
        )
        return [OnTheHost(metadata)] if metadata_filter(metadata) else []


def test_kernels_for_the_host_are_not_found_for_a_device(product):
    estoc.register(OnTheHost)
    try:
        args = estoc.GemmArguments(*product(dtype="f4")[:3])
        assert len(estoc.get_kernels(args, providers="python")) == 0
        kernel = OnTheHost.generate_kernels(lambda _: True)[0]
        assert "target: expected one of cpu, got sm_" in kernel.supports(args).error
        host = [np.ones((4, 4), "f4") for _ in range(3)]
        assert len(estoc.get_kernels(estoc.GemmArguments(*host), providers="python")) == 1
    finally:
        estoc.unregister(OnTheHost)
