"""Epilogues with accumulators in pairs: results that are made, functions as programs, groups."""

import numpy as np
import pytest

import estoc

HALVES = "D = silu(left(accum)) * right(accum)"


def silu(x):
    return x / (1 + np.exp(-x))


def operands(*shape_a, columns):
    rng = np.random.default_rng(5)
    a = rng.standard_normal(shape_a).astype("f4")
    b = rng.standard_normal((*shape_a[:-2], shape_a[-1], columns)).astype("f4")
    return a, b


@pytest.mark.parametrize("shape", [(7, 9), (3, 7, 9), (1, 9)])
def test_a_result_that_is_made_has_half_the_columns(shape):
    a, b = operands(*shape, columns=10)
    product = a.astype("f8") @ b
    halves = estoc.matmul(a, b, epilogue=HALVES)
    assert halves.shape == (*shape[:-1], 5)
    np.testing.assert_allclose(
        halves, silu(product[..., :5]) * product[..., 5:], rtol=2e-5, atol=2e-5
    )
    neighbours = estoc.matmul(a, b, epilogue="D = silu(even(accum)) * odd(accum)")
    np.testing.assert_allclose(
        neighbours, silu(product[..., ::2]) * product[..., 1::2], rtol=2e-5, atol=2e-5
    )


def test_functions_have_them_too():
    def gated(accum, bias):
        D = silu(left(accum) + bias) * right(accum)  # noqa: F821
        return D

    a, b = operands(7, 9, columns=10)
    bias = np.arange(5, dtype="f4")
    out = np.empty((7, 5), "f4")
    estoc.matmul(a, b, out, epilogue=estoc.EpilogueArguments(gated, bias=bias))
    product = a.astype("f8") @ b
    np.testing.assert_allclose(
        out, silu(product[:, :5] + bias) * product[:, 5:], rtol=2e-5, atol=2e-5
    )


def test_groups_have_them():
    a, b = operands(7, 9, columns=10)
    weights = np.stack([b, 2 * b])
    ends = np.array([3, 7], "i4")
    made = estoc.grouped_mm(a, weights, offs=ends, epilogue=HALVES)
    assert made.shape == (7, 5)
    product = np.concatenate([a[:3].astype("f8") @ b, a[3:].astype("f8") @ (2 * b)])
    np.testing.assert_allclose(
        made, silu(product[:, :5]) * product[:, 5:], rtol=2e-5, atol=2e-5
    )


def test_more_batch_modes_and_other_dtypes_have_them():
    a, b = operands(2, 3, 4, 9, columns=10)
    assert estoc.matmul(a, b, epilogue=HALVES).shape == (2, 3, 4, 5)
    wide = estoc.matmul(a[0], b[0], epilogue=HALVES, out_dtype="f16")
    assert wide.dtype == np.float16 and wide.shape == (3, 4, 5)


def test_what_does_not_fit_is_refused():
    a, b = operands(7, 9, columns=9)
    with pytest.raises(ValueError, match="B.shape: expected an even N"):
        estoc.matmul(a, b, epilogue=HALVES)
    a, b = operands(7, 9, columns=10)
    with pytest.raises(ValueError, match="out.shape: expected N = 5, got 10"):
        estoc.matmul(a, b, np.empty((7, 10), "f4"), epilogue=HALVES)
    with pytest.raises(ValueError, match="accum: expected it alone"):
        estoc.matmul(a, b, epilogue="D = left(accum) + accum")
