"""The same results by fewer words, and the same refusals: plan and matmul."""

import gc
import inspect
import os
import pickle
import sys
import threading
import types
import warnings
import weakref

import ml_dtypes
import numpy as np
import pytest

import estoc


def test_plan(gemm):
    a, b, out, wanted = gemm()
    plan = estoc.plan(a, b, out)
    plan()
    np.testing.assert_array_equal(out, wanted)
    assert plan.kernel.name in repr(plan)
    assert plan.args.out.tensor is out
    a2, b2, out2, wanted2 = gemm(m=7, n=5, k=9)
    plan(a2, b2, out2)
    np.testing.assert_array_equal(out2, wanted2)
    out[...] = 77
    plan(a, b, out, stream=None)
    np.testing.assert_array_equal(out, wanted)
    with pytest.raises(TypeError):
        type(plan)()


def test_plan_of_a_chosen_kernel(gemm):
    a, b, out, wanted = gemm()
    args = estoc.GemmArguments(a, b, out)
    kernels = estoc.get_kernels(args)
    for kernel in kernels:
        out[...] = 77
        plan = estoc.plan(args, compiled_artifact=kernel.compile(args))
        assert plan.kernel == kernel
        plan(a, b, out)
        np.testing.assert_array_equal(out, wanted)
    other = estoc.GemmArguments(*(one.astype("f8") for one in (a, b, out)))
    artifact = estoc.get_kernels(other)[0].compile(other)
    with pytest.raises(estoc.UnsupportedError):
        estoc.plan(args, compiled_artifact=artifact)
    with pytest.raises(TypeError, match=r"compiled_artifact: expected an estoc.CompiledArtifact"):
        estoc.plan(args, compiled_artifact=kernels[0])


def test_plans_of_elementwise_operations(random):
    a, b = random.standard_normal((2, 6, 5)).astype("f4")
    out = np.empty((6, 5), "f4")
    args = estoc.ElementwiseArguments("add", a, b, out)
    plan = estoc.plan(args)
    assert plan.args is args
    plan()
    np.testing.assert_array_equal(out, a + b)
    for _ in range(10):
        plan(b, b, out)
        np.testing.assert_array_equal(out, b + b)
        plan(a, b, out)
        np.testing.assert_array_equal(out, a + b)
    longer = np.ones((40, 7), "f4")
    plan(longer, longer, longer)
    np.testing.assert_array_equal(longer, np.full((40, 7), 2, "f4"))

    plan = estoc.plan(estoc.ElementwiseArguments("relu", a, None, out), keep=False)
    plan(b, out)
    np.testing.assert_array_equal(out, np.maximum(b, 0))
    frozen = out.copy()
    frozen.flags.writeable = False
    for call, message in [
        (lambda: plan(a, b, out), "expected the tensors A and out, or none, got 3"),
        (lambda: plan(), "expected the tensors A and out, got none, and the plan keeps none"),
        (lambda: plan(a, frozen), "out: expected a tensor that can be written"),
        (lambda: estoc.plan(args, b), "expected arguments of an operation alone"),
        (lambda: estoc.plan(args, epilogue="D = accum"), "expected arguments of an operation alone"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            call()


def test_plan_refusals(gemm):
    a, b, out, _ = gemm()
    plan = estoc.plan(a, b, out, keep=False)
    frozen = out.copy()
    frozen.flags.writeable = False
    assert plan.args is None
    for call, error, message in [
        (lambda: plan(), TypeError, "got none, and the plan keeps none"),
        (lambda: plan(a), TypeError, "expected the tensors A, B and out, or none, got 1"),
        (lambda: plan(a, b, None), TypeError, "out: expected a tensor"),
        (lambda: plan(a, b, out, strem=0), TypeError, "expected no keyword but stream, got strem"),
        (lambda: plan(a, b, out, stream="x"), TypeError, "stream: expected a stream of torch"),
        (lambda: plan(a, b, out[:4]), ValueError, r"out\.shape: expected M = 12, got 4"),
        (lambda: plan(a, b, frozen), ValueError, "expected a tensor that can be written"),
        (lambda: plan(a, b, a[:, :8]), ValueError, "out"),
        (lambda: plan(a.astype("f8"), b, out), estoc.UnsupportedError, r"A\.dtype: expected f32"),
        (lambda: plan(a, b, out.astype("f8")), estoc.UnsupportedError, r"out\.dtype: expected f32"),
    ]:
        with pytest.raises(error, match=message):
            call()
    with pytest.raises(
        estoc.UnsupportedError, match=r"^no kernel supports the arguments; cpu_gemm: A\.dtype: "
    ):
        estoc.plan(a.astype("?"), b.astype("?"), out)


def test_plan_takes_operands_of_the_epilogue_for_one_call(gemm):
    a, b, out, wanted = gemm()
    bias = np.arange(out.shape[1], dtype="f4")
    epilogue = estoc.EpilogueArguments("D = alpha * accum + bias", alpha=1.0, bias=bias)
    plan = estoc.plan(a, b, out, epilogue=epilogue)
    a2, b2, out2, wanted2 = gemm(m=7)
    for _ in range(3):
        plan()
        np.testing.assert_array_equal(out, wanted + bias)
        plan(bias=2 * bias)
        np.testing.assert_array_equal(out, wanted + 2 * bias)
        plan(a, b, out, stream=None, alpha=3)
        np.testing.assert_array_equal(out, 3 * wanted + bias)
        plan(a2, b2, out2, alpha=np.float32(0.5), bias=-bias)
        np.testing.assert_array_equal(out2, 0.5 * wanted2 - bias)
        plan(a2, b2, out2)
        np.testing.assert_array_equal(out2, wanted2 + bias)
    for call, error, message in [
        (lambda: plan(beta=1), TypeError, "but stream and operands of the epilogue, got beta"),
        (lambda: plan(bias=1.5), ValueError, "bias: expected f32 .* got the scalar 1.5"),
        (lambda: plan(bias=bias[:2]), ValueError, "bias: expected a tensor like f32 .* got f32"),
        (lambda: plan(bias="x"), TypeError, "bias: expected a tensor"),
        (lambda: plan(alpha=bias), ValueError, "alpha: expected the scalar 1, got f32"),
    ]:
        with pytest.raises(error, match=message):
            call()
        plan()
        np.testing.assert_array_equal(out, wanted + bias)


def test_matmul_remembers_epilogues_with_operands(gemm):
    a, b, out, wanted = gemm()
    for factor in range(5):
        bias = factor * np.arange(out.shape[1], dtype="f4")
        epilogue = estoc.EpilogueArguments("D = x * accum + bias", x=float(factor), bias=bias)
        found = estoc.matmul(a, b, epilogue=epilogue)
        np.testing.assert_array_equal(found, factor * wanted + bias)
        assert estoc.matmul(a, b, out, epilogue=lambda accum: -accum) is out
        np.testing.assert_array_equal(out, -wanted)


def test_plan_keeps_or_frees_tensors(gemm):
    class Array(np.ndarray):
        pass

    a, b, out, _ = gemm()
    own = out.view(Array)
    gone = weakref.ref(own)
    keeps = estoc.plan(a, b, own)
    frees = estoc.plan(a, b, own, keep=False)
    del own
    gc.collect()
    assert gone() is not None
    del keeps
    gc.collect()
    assert gone() is None
    frees(a, b, out)


def test_calls_leak_nothing(gemm):
    a, b, out, _ = gemm()
    plan = estoc.plan(a, b, out, keep=False)
    before = [sys.getrefcount(one) for one in (a, b, out, plan, plan.kernel)]
    for _ in range(3000):
        plan(a, b, out)
        with pytest.raises(TypeError):
            plan(a, b)
    gc.collect()
    after = [sys.getrefcount(one) for one in (a, b, out, plan, plan.kernel)]
    assert after == before


def test_one_plan_in_many_threads(gemm):
    problems = [gemm(m=m) for m in range(4, 20)]
    plan = estoc.plan(*problems[0][:3], threads=1)
    failed = []

    def work(a, b, out, wanted):
        try:
            for _ in range(100):
                out[...] = 77
                plan(a, b, out)
                np.testing.assert_array_equal(out, wanted)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=problem) for problem in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


@pytest.mark.parametrize("batches", [None, 2])
@pytest.mark.parametrize(
    ("dtype", "out"),
    [("f4", "f4"), ("f8", "f8"), ("f2", "f2"), ("i1", "i4"), (ml_dtypes.bfloat16,) * 2],
)
def test_matmul(gemm, dtype, out, batches):
    a, b, result, wanted = gemm(dtype=dtype, out=out, batches=batches)
    found = estoc.matmul(a, b)
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)
    assert estoc.matmul(a, b, result) is result
    np.testing.assert_array_equal(result, wanted)


def test_matmul_of_eight_bit_floats(gemm):
    a, b, _, wanted = gemm(dtype=ml_dtypes.float8_e4m3fn)
    found = estoc.matmul(a, b)
    assert found.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(found, wanted)


def test_matmul_with_one_matrix_for_all_batches(gemm):
    a, _, _, _ = gemm(batches=3)
    _, b, _, _ = gemm()
    np.testing.assert_array_equal(estoc.matmul(a, b), a @ b)


def test_matmul_refusals(gemm):
    a, b, _, _ = gemm()
    with pytest.raises(ValueError, match="K = 16"):
        estoc.matmul(a, b[:3])
    with pytest.raises(ValueError, match="two or three modes, got 1 and 2"):
        estoc.matmul(estoc.Tensor(a[0]), b)
    with pytest.raises(TypeError, match="b: expected a tensor"):
        estoc.matmul(a, "b")


def test_matmul_is_called_like_a_function_of_python(gemm):
    a, b, out, wanted = gemm()
    np.testing.assert_array_equal(estoc.matmul(b=b, a=a), wanted)
    assert estoc.matmul(a, b, out=out, stream=None) is out
    assert str(inspect.signature(estoc.matmul)).startswith("(a, b, out=None, *, accumulator_type=")
    assert pickle.loads(pickle.dumps(estoc.matmul)) is estoc.matmul
    for call, message in [
        (lambda: estoc.matmul(a), "expected the tensors a and b, got 1"),
        (lambda: estoc.matmul(), "expected the tensors a and b, got 0"),
        (lambda: estoc.matmul(a, b, out, None), "at most a, b and out without their names, got 4"),
        (lambda: estoc.matmul(a, b, strem=0), "got strem"),
        (lambda: estoc.matmul(a, b, a=a), "got a twice"),
        (lambda: estoc.matmul(a, b, stream="x"), "stream: expected a stream of torch"),
        (lambda: estoc.matmul(a, b, accumulator_type="f31"), "accumulator_type: expected a dtype"),
    ]:
        with pytest.raises(TypeError, match=message):
            call()


def test_matmul_makes_a_new_result_each_time(gemm):
    problems = [gemm(dtype=dtype, out=out) for dtype, out in [("f4", "f4"), ("i1", "i4")] * 20]
    found = [estoc.matmul(a, b) for a, b, _, _ in problems]
    for result, (_, _, _, wanted) in zip(found, problems, strict=True):
        np.testing.assert_array_equal(result, wanted)
        assert result.flags.writeable and result.flags.c_contiguous


def test_matmul_tells_signatures_apart(gemm):
    a, b, out, wanted = gemm()
    views = [(a, b), (a.T.copy().T, b), (a, b.T.copy().T), (a[None], b[None]), (a[None], b)]
    for _ in range(3):
        for left, right in views:
            np.testing.assert_array_equal(estoc.matmul(left, right).reshape(wanted.shape), wanted)
        for epilogue, factor in [("D = 2 * accum", 2), ("D = -accum", -1), (None, 1)]:
            np.testing.assert_array_equal(estoc.matmul(a, b, epilogue=epilogue), factor * wanted)
            estoc.matmul(a, b, out, epilogue=epilogue)
            np.testing.assert_array_equal(out, factor * wanted)
        narrow = estoc.matmul(a.astype("f2"), b.astype("f2"))
        assert narrow.dtype == np.float16
        np.testing.assert_array_equal(narrow, wanted)


def test_calls_see_what_has_changed_in_place(gemm):
    a, b, out, wanted = gemm()
    plan = estoc.plan(a, b, out)
    for factor in range(1, 6):  # on the same memory: bound once, launched again
        a *= 2
        plan(a, b, out)
        np.testing.assert_array_equal(out, 2**factor * wanted)
        plan()
        estoc.matmul(a, b, out)
        np.testing.assert_array_equal(out, 2**factor * wanted)


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_calls_on_one_tensor_that_is_elsewhere(gemm, moved):
    a, b, out, _ = gemm()
    plan = estoc.plan(a, b, out)
    others = [2 * a, 3 * b, out.copy()]
    for call in (plan, estoc.matmul):
        for _ in range(3):
            operands = [a, b, out]
            call(*operands)
            operands[moved] = others[moved]
            operands[2][...] = 77
            call(*operands)
            np.testing.assert_array_equal(operands[2], operands[0] @ operands[1])


def test_plan_of_less_aligned_tensors(gemm):
    a, b, out, wanted = gemm()
    plan = estoc.plan(a, b, out)
    plan(a, b, out)

    def moved(array):
        memory = np.empty(array.nbytes + 260, "u1")
        start = -memory.ctypes.data % 256 + 4
        view = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        view[...] = array
        return view

    a2, b2, out2 = moved(a), moved(b), moved(out)
    for _ in range(3):
        out2[...] = 77
        plan(a2, b2, out2)
        np.testing.assert_array_equal(out2, wanted)
        np.testing.assert_array_equal(estoc.matmul(a2, b2), wanted)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_calls_in_a_forked_child(gemm):
    a, b, out, wanted = gemm(m=200, n=300, k=100)
    plan = estoc.plan(a, b, out)
    for _ in range(3):
        plan(a, b, out)
        plan()
        estoc.matmul(a, b)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        right = []
        for call in (lambda: plan(a, b, out), plan, lambda: estoc.matmul(a, b, out)):
            out[...] = 77
            call()
            right.append(bool((out == wanted).all()))
        os.write(writing, repr(right).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reading, 100) == b"[True, True, True]"


class Leaf(np.ndarray):
    """What is asked of a tensor of torch whose gradient is wanted."""

    requires_grad = True


def test_matmul_warns_where_a_gradient_would_be_lost(gemm, monkeypatch):
    enabled = True
    grad = types.SimpleNamespace(is_grad_enabled=lambda: enabled)
    a, b, _, wanted = gemm(m=11, n=7, k=5)
    estoc.matmul(a.view(Leaf), b)  # without torch there is no gradient
    monkeypatch.setitem(sys.modules, "torch", grad)
    for operands in ((a[1:].view(Leaf), b), (a[1:], b[:, 1:].view(Leaf))):
        with pytest.warns(RuntimeWarning, match="matmul records no gradient"):
            estoc.matmul(*operands)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estoc.matmul(a[2:], b)
        enabled = False
        estoc.matmul(a[3:].view(Leaf), b)
        with pytest.raises(RuntimeWarning):
            enabled = True
            estoc.matmul(a[4:].view(Leaf), b)
    np.testing.assert_array_equal(estoc.matmul(a.view(Leaf), b), wanted)
