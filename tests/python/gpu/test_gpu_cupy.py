"""Arrays of CuPy: results, streams, graphs, workspace of its pool."""

import numpy as np
import pytest

cupy = pytest.importorskip("cupy", reason="cupy is not installed")

import estoc  # noqa: E402


def problem(m=96, n=64, k=128, dtype="f2", out="f4"):
    random = np.random.default_rng(2026)
    a, b = (random.integers(-3, 4, shape).astype(dtype) for shape in ((m, k), (k, n)))
    wanted = (a.astype("f8") @ b.astype("f8")).astype(out)
    return cupy.asarray(a), cupy.asarray(b), cupy.full((m, n), 77, out), wanted


@pytest.mark.parametrize(("dtype", "out"), [("f8", "f8"), ("f4", "f4"), ("f2", "f4"), ("i1", "i4")])
def test_run(dtype, out):
    a, b, result, wanted = problem(dtype=dtype, out=out)
    args = estoc.GemmArguments(a, cupy.asfortranarray(b), result)
    assert args.device == "cuda:0"
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(cupy.asnumpy(result), wanted)
    found = estoc.matmul(a, b)
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_array_equal(cupy.asnumpy(found), wanted.astype(found.dtype))


def test_streams():
    a, b, out, wanted = problem()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    artifact = kernel.compile(args)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        out.fill(77)
        kernel.run(args, artifact)
        stream.synchronize()
        np.testing.assert_array_equal(cupy.asnumpy(out), wanted)
    cupy.cuda.Device().synchronize()
    kernel.run(args, artifact, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(out), wanted)


def test_graph():
    a, b, out, _ = problem()
    plan = estoc.plan(a, b, out)
    plan()
    stream = cupy.cuda.Stream(non_blocking=True)
    cupy.cuda.Device().synchronize()
    with stream:
        stream.begin_capture()
        plan(a, b, out)
        graph = stream.end_capture()
        a.fill(2)
        graph.launch()
        stream.synchronize()
    wanted = cupy.asnumpy(a).astype("f8") @ cupy.asnumpy(b).astype("f8")
    np.testing.assert_array_equal(cupy.asnumpy(out), wanted)


def test_workspace_is_of_the_pool():
    a, b, out, wanted = problem(m=64, n=64, k=64)
    total = cupy.empty(1, "f4")
    epilogue = estoc.EpilogueArguments("D = accum; total = sum(D)", total=total)
    args = estoc.GemmArguments(a, b, out, epilogue=epilogue)
    needy = [
        kernel
        for kernel in estoc.get_kernels(args, providers="cuda")
        if kernel.get_workspace_size(args)
    ]
    assert needy
    kernel, asked = needy[0], []

    class Hook(cupy.cuda.MemoryHook):
        name = "asked"

        def malloc_preprocess(self, device_id, size, mem_size):
            asked.append(size)

    with Hook():
        kernel.run(args)
    cupy.cuda.Device().synchronize()
    np.testing.assert_array_equal(cupy.asnumpy(out), wanted)
    assert asked == [kernel.get_workspace_size(args)]
