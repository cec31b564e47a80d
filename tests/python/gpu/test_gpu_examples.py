"""Kernel classes written in Python, run on a GPU: the three examples, and the command with them."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc  # noqa: E402

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples/python"


@pytest.fixture
def example():
    before = list(estoc.providers.PythonProvider.kernel_classes)

    def load(name):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    yield load
    for kernel_class in list(estoc.providers.PythonProvider.kernel_classes):
        if kernel_class not in before:
            estoc.unregister(kernel_class)


def run_all(dtype, *, least, m=200, n=136, k=72):
    """Every kernel written in Python that supports the product gives the right one."""
    a, b = (
        torch.randint(-3, 4, shape, device="cuda").to(dtype) for shape in ((m, k), (k, n))
    )
    out = torch.empty(m, n, device="cuda")
    args = estoc.GemmArguments(a, b, out, torch.float32)
    kernels = estoc.get_kernels(args, providers="python")
    assert kernels.failures == []
    assert len(kernels) >= least
    for kernel in kernels:
        for call in (lambda: kernel.run(args), kernel.bind(args), lambda: plan_of(kernel, args)()):
            out.fill_(77)
            call()
            torch.cuda.synchronize()
            wanted = a.cpu().double() @ b.cpu().double()
            torch.testing.assert_close(out.cpu().double(), wanted, rtol=0, atol=0)


def plan_of(kernel, args):
    artifact = kernel.compile(args)
    return lambda: kernel.run(args, artifact, stream=torch.cuda.current_stream())


def test_source(example):
    example("cuda_source_kernel")
    run_all(torch.float32, least=6)


def test_triton(example):
    pytest.importorskip("triton", reason="triton is not installed")
    example("triton_kernel")
    run_all(torch.float16, least=2)


def test_image(example, tmp_path, monkeypatch):
    module = example("cuda_image_kernel")

    class Compiled(module.ReadyGemm):
        def __init__(self):
            pass

        def code(self, config, target):
            return estoc.CudaCode(module.CUDA_SOURCE, entries="dot_gemm")

    estoc.register(Compiled)
    a = torch.ones(32, 32, device="cuda")
    args = estoc.GemmArguments(a, a, torch.empty_like(a))
    cubin = estoc.kernel_by_name("compiled-f32-ttt").compile(args).compiled_obj
    (tmp_path / "gemm.cubin").write_bytes(cubin)
    monkeypatch.setenv("ESTOC_EXAMPLE_IMAGE", str(tmp_path / "gemm.cubin"))
    example("cuda_image_kernel")
    run_all(torch.float32, least=2)


def test_graph_of_a_kernel_written_in_python(example):
    example("cuda_source_kernel")
    a, b, out = (torch.ones(64, 64, device="cuda") for _ in range(3))
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args, providers="python")[0]
    bound = kernel.bind(args)
    bound()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        bound()
    a.fill_(3)
    graph.replay()
    torch.cuda.synchronize()
    assert (out == 3 * 64).all()


@pytest.mark.parametrize("name", ["tiled_gemm-f32-tile16x32x1"])
def test_command(name):
    done = subprocess.run(
        [sys.executable, "-m", "estoc", "--plugin", EXAMPLES / "cuda_source_kernel.py", "check", name],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert done.returncode == 0, done.stdout + done.stderr
