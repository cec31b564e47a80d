"""Products of vectors and of several batch modes, results of other dtypes, functions as epilogues."""

import numpy as np
import pytest

import estoc


def whole(*shape, seed=1):
    return np.random.default_rng([seed, *shape]).integers(-4, 5, shape).astype("f4")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((5, 3), (3,)),
        ((3,), (3, 4)),
        ((3,), (3,)),
        ((2, 5, 3), (3,)),
        ((3,), (2, 3, 4)),
        ((2, 6, 5, 3), (2, 6, 3, 4)),
        ((2, 6, 5, 3), (3, 4)),
        ((5, 3), (2, 6, 3, 4)),
        ((1, 1, 5, 3), (2, 6, 3, 4)),
        ((2, 6, 5, 3), (1, 1, 3, 4)),
        ((1, 1, 5, 3), (1, 1, 3, 4)),
        ((2, 0, 5, 3), (2, 0, 3, 4)),
        ((2, 3, 2, 5, 3), (2, 3, 2, 3, 4)),
    ],
)
def test_as_numpy(left, right):
    a, b = whole(*left), whole(*right, seed=2)
    found = estoc.matmul(a, b)
    wanted = np.matmul(a, b)
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found, wanted)


def test_heads_between_rows():
    """Of (batch, rows, heads, width), seen with heads before rows."""
    a = whole(2, 5, 3, 4).transpose(0, 2, 1, 3)
    b = whole(2, 6, 3, 4, seed=2).transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(estoc.matmul(a, b), a @ b)


def test_an_epilogue_of_a_batch():
    a, b, bias = whole(2, 3, 5, 4), whole(4, 6, seed=2), whole(6, seed=3)
    epilogue = estoc.EpilogueArguments("D = relu(accum + bias)", bias=bias)
    np.testing.assert_array_equal(estoc.matmul(a, b, epilogue=epilogue), np.maximum(a @ b + bias, 0))


def test_modes_that_do_not_fit():
    with pytest.raises(ValueError, match=r"b.shape: expected batch modes \(2, 6\) or none, got \(6,\)"):
        estoc.matmul(whole(2, 6, 5, 3), whole(6, 3, 4))
    with pytest.raises(ValueError, match="a, b: expected tensors of one or more modes, got 0 and 1"):
        estoc.matmul(np.float32(3).reshape(()), whole(3))
    with pytest.raises(ValueError, match="out: expected None for vectors"):
        estoc.matmul(whole(5, 3), whole(3), whole(5))
    with pytest.raises(ValueError, match="K = 3"):
        estoc.matmul(whole(5, 3), whole(4))


def test_dtype_of_the_result():
    a, b = whole(5, 3).astype("f2"), whole(3, 4, seed=2).astype("f2")
    for dtype, name in [("f32", "f4"), (np.float32, "f4"), (estoc.f16, "f2")]:
        found = estoc.matmul(a, b, out_dtype=dtype)
        assert found.dtype == name
        np.testing.assert_array_equal(found, a.astype("f4") @ b.astype("f4"))
    assert estoc.matmul(a, b[:, 0], out_dtype="f32").dtype == "f4"
    with pytest.raises(ValueError, match="out_dtype: expected f64, f32, f16, bf16 or i32, got u8"):
        estoc.matmul(a, b, out_dtype="u8")
    with pytest.raises(TypeError, match="out_dtype: expected None beside out"):
        estoc.matmul(a, b, np.empty((5, 4), "f4"), out_dtype="f32")


BEFORE = 2.0


def test_functions_are_read_once_and_their_numbers_each_time():
    factor = 3.0

    def scaled(accum, offset=1):
        return BEFORE * accum * factor + offset

    a, b = whole(5, 3), whole(3, 4, seed=2)
    for BEFORE_now, factor_now in [(2.0, 3.0), (4.0, 3.0), (4.0, 5.0)]:
        globals()["BEFORE"], factor = BEFORE_now, factor_now
        wanted = BEFORE_now * factor_now * (a @ b) + 1
        np.testing.assert_array_equal(estoc.matmul(a, b, epilogue=scaled), wanted)
        assert estoc.EpilogueArguments(scaled).text == estoc.EpilogueArguments(scaled).text
    globals()["BEFORE"] = "a word"
    with pytest.raises(ValueError, match="expected BEFORE to be a number or a parameter, got str"):
        estoc.matmul(a, b, epilogue=scaled)
    globals()["BEFORE"] = 2.0


def test_equal_functions_with_other_operands():
    def added(accum, C=0.5):
        return accum + C

    a, b = whole(5, 3), whole(3, 4, seed=2)
    for _ in range(2):
        np.testing.assert_array_equal(estoc.matmul(a, b, epilogue=added), a @ b + 0.5)
        given = estoc.EpilogueArguments(added, C=whole(5, 4, seed=3))
        np.testing.assert_array_equal(estoc.matmul(a, b, epilogue=given), a @ b + whole(5, 4, seed=3))


def test_a_function_without_numbers():
    def rectified(accum):
        return relu(accum)  # noqa: F821

    a, b = whole(5, 3), whole(3, 4, seed=2)
    for _ in range(3):
        np.testing.assert_array_equal(estoc.matmul(a, b, epilogue=rectified), np.maximum(a @ b, 0))
