"""Properties over shapes, strides and dtypes, for tensors of NumPy and torch; and leaks."""

import gc
import os
import sys
import tracemalloc

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("hypothesis", reason="hypothesis is not installed")
from hypothesis import assume, given, settings  # noqa: E402
from hypothesis import strategies as some  # noqa: E402

import estoc  # noqa: E402

try:
    import torch
except ImportError:
    torch = None

DTYPES = {
    "f64": (np.float64, np.float64),
    "f32": (np.float32, np.float32),
    "f16": (np.float16, np.float32),
    "bf16": (ml_dtypes.bfloat16, ml_dtypes.bfloat16),
    "i8": (np.int8, np.int32),
}
EXTENTS = some.integers(0, 17)
steady = settings(deadline=None, max_examples=60, derandomize=True, database=None)


@some.composite
def matrices(draw, rows, columns, batches, dtype):
    """A matrix of small integers that lies in memory in some way."""
    lead = () if batches is None else (batches,)
    step_rows, step_columns = draw(some.integers(1, 3)), draw(some.integers(1, 3))
    turned = draw(some.booleans())
    shape = (*lead, rows * step_rows + draw(some.integers(0, 2)), columns * step_columns)
    if turned:
        shape = (*lead, shape[-1], shape[-2])
    seed = draw(some.integers(0, 2**31))
    data = np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)
    if turned:
        data = data.swapaxes(-1, -2)
    return data[..., ::step_rows, ::step_columns][..., :rows, :columns]


@some.composite
def problems(draw):
    m, n, k = draw(EXTENTS), draw(EXTENTS), draw(EXTENTS)
    batches = draw(some.sampled_from((None, None, 1, 3)))
    name = draw(some.sampled_from(sorted(DTYPES)))
    dtype, out = DTYPES[name]
    shared = draw(some.booleans())
    return (
        draw(matrices(m, k, None if shared and batches else batches, dtype)),
        draw(matrices(k, n, batches, dtype)),
        draw(matrices(m, n, batches, out)).copy() if draw(some.booleans())
        else draw(matrices(m, n, batches, out)),
        name,
    )


def exact(a, b):
    return a.astype("f8") @ b.astype("f8")


@steady
@given(problems())
def test_any_product_is_right(problem):
    a, b, out, name = problem
    out[...] = 77
    args = estoc.GemmArguments(a, b, out)
    assert args.A.shape == a.shape
    assert args.A.dtype == name
    kernels = estoc.get_kernels(args)
    assert kernels
    kernels[0].run(args, threads=1)
    np.testing.assert_array_equal(out.astype("f8"), exact(a, b))
    out[...] = 77
    assert estoc.matmul(a, b, out) is out
    np.testing.assert_array_equal(out.astype("f8"), exact(a, b))


@steady
@given(some.integers(0, 5).flatmap(lambda rank: some.tuples(*[some.integers(0, 4)] * rank)),
       some.sampled_from(sorted(DTYPES)), some.data())
def test_any_view_is_read_as_it_is(shape, name, data):
    whole = np.zeros([3 * extent + 1 for extent in shape], DTYPES[name][0])
    view = whole[(..., *(slice(0, 3 * e, data.draw(some.integers(1, 3))) for e in shape))]
    view = view.transpose(data.draw(some.permutations(range(len(shape)))))
    tensor = estoc.Tensor(view)
    assert tensor.shape == view.shape
    assert tensor.ndim == view.ndim
    assert tensor.dtype == view.dtype
    for mine, theirs, extent in zip(tensor.strides, view.strides, view.shape):
        assert extent <= 1 or not view.size or mine * view.itemsize == theirs
    if view.size:
        assert tensor.data_ptr == view.__array_interface__["data"][0]


@pytest.mark.skipif(torch is None, reason="torch is not installed")
@steady
@given(problems())
def test_torch_and_numpy_agree(problem):
    a, b, out, name = problem
    assume(name != "bf16" and out.size and a.size)
    args = estoc.GemmArguments(*(torch.from_numpy(one) for one in (a, b, out)))
    plain = estoc.GemmArguments(a, b, out)
    for mine, theirs in ((args.A, plain.A), (args.B, plain.B), (args.out, plain.out)):
        assert (mine.shape, mine.dtype, mine.data_ptr) == (theirs.shape, theirs.dtype, theirs.data_ptr)
        assert mine.alignment == theirs.alignment
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(out.astype("f8"), exact(a, b))


def resident_bytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("framework", ["numpy", "torch"])
def test_a_hundred_thousand_calls_leak_nothing(framework):
    a, b, out = (np.ones((4, 4), "f4") for _ in range(3))
    if framework == "torch":
        if torch is None:
            pytest.skip("torch is not installed")
        a, b, out = (torch.from_numpy(one) for one in (a, b, out))
    kernel = estoc.get_kernels(estoc.GemmArguments(a, b, out))[0]
    args = estoc.GemmArguments(a, b, out)
    artifact = kernel.compile(args)
    plan = estoc.plan(a, b, out, threads=1)

    def calls(count):
        for _ in range(count):
            mine = estoc.GemmArguments(a, b, out)
            kernel.supports(mine)
            kernel.run(mine, artifact, threads=1)
            plan(a, b, out)
            plan()
            estoc.matmul(a, b, out)
            estoc.matmul(a, b)
            estoc.get_kernels(mine)[0].metadata

    calls(2000)
    gc.collect()
    counts = [sys.getrefcount(one) for one in (a, b, out, kernel, artifact, plan, args)]
    resident = resident_bytes()
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    calls(2000)
    gc.collect()
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert after - before < 4096
    calls(100_000 // 8)
    gc.collect()
    assert resident_bytes() - resident < 4 << 20
    assert [sys.getrefcount(one) for one in (a, b, out, kernel, artifact, plan, args)] == counts
