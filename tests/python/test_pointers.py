"""Lists of matrices, and tables of pointers: each group has matrices of its own."""

import struct

import numpy as np
import pytest

import estoc

SIZES = [(50, 9, 7), (0, 3, 2), (1, 9, 1), (33, 1, 8), (4, 4, 0)]


def matrices(rows_of_a=True, rows_of_b=True, dtype="f4"):
    random = np.random.default_rng(7)

    def made(rows, columns, by_rows):
        values = random.integers(-3, 4, (rows, columns)).astype(dtype)
        return values if by_rows else np.asfortranarray(values)

    a = [made(m, k, rows_of_a) for m, n, k in SIZES]
    return a, [made(k, n, rows_of_b) for m, n, k in SIZES]


@pytest.mark.parametrize("rows_of_a", [True, False])
@pytest.mark.parametrize("rows_of_b", [True, False])
def test_lists_of_matrices(rows_of_a, rows_of_b):
    a, b = matrices(rows_of_a, rows_of_b)
    out = estoc.grouped_mm(a, b)
    assert isinstance(out, list)
    for left, right, result in zip(a, b, out):
        np.testing.assert_array_equal(result, left @ right)


def test_outputs_that_are_given_keep_what_is_beside_them():
    a, b = matrices()
    memory = [np.full((m, n + 3), 77, "f4") for m, n, _ in SIZES]
    out = [one[:, : one.shape[1] - 3] for one in memory]
    assert estoc.grouped_mm(a, b, out=out)[0] is out[0]
    for left, right, result, whole in zip(a, b, out, memory):
        np.testing.assert_array_equal(result, left @ right)
        np.testing.assert_array_equal(whole[:, -3:], 77)


def test_parts_of_matrices_and_dtypes_of_results():
    a, b = matrices(dtype="f2")
    wide = [np.tile(one, (1, 2))[:, : one.shape[1]] for one in a]
    for left, right, result in zip(a, b, estoc.grouped_mm(wide, b, out_dtype="f32")):
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, left.astype("f4") @ right.astype("f4"))
    assert estoc.grouped_mm(a, b)[0].dtype == np.float16
    assert estoc.grouped_mm([], []) == []


def test_lists_of_torch():
    torch = pytest.importorskip("torch")
    a, b = matrices()
    given = [[torch.from_numpy(one).bfloat16() for one in each] for each in (a, b)]
    for left, right, result in zip(a, b, estoc.grouped_mm(*given, out_dtype=torch.float32)):
        assert isinstance(result, torch.Tensor)
        assert result.dtype == torch.float32
        np.testing.assert_array_equal(result.numpy(), left @ right)


def entries(a, b, out):
    rows = [
        struct.pack(
            "<3Q6i", x.ctypes.data, y.ctypes.data, z.ctypes.data, *x.shape[:1], *y.shape[::-1],
            x.shape[1], y.shape[1], z.shape[1],
        )
        for x, y, z in zip(a, b, out)
    ]
    return np.frombuffer(b"".join(rows), "i4").reshape(len(rows), 12).copy()


def described(rows, columns):
    return estoc.Tensor.describe("f32", (2, rows, columns), alignment=4)


def test_tables_of_pointers_are_read_at_each_launch():
    random = np.random.default_rng(3)
    sets = [
        [random.integers(-3, 4, shape).astype("f4") for shape in shapes]
        for shapes in (((5, 6), (2, 3)), ((6, 4), (3, 4)), ((5, 4), (2, 4)))
    ]
    a, b, out = sets
    table = entries(*sets)
    args = estoc.GroupedGemmArguments(
        described(8, 8), described(8, 4), described(8, 4), "f32", table, layout="pointers"
    )
    assert args.layout == "pointers"
    assert "layout=pointers" in args.problem
    plan = estoc.plan(args)
    kernel = estoc.get_kernels(args)[0]
    for run in (plan, lambda: kernel.run(args)):
        for one in out:
            one[...] = 77
        run()
        for left, right, result in zip(*sets):
            np.testing.assert_array_equal(result, left @ right)
    table[1, 6] = 1  # m
    table[0, 8] = 0  # k
    for one in out:
        one[...] = 77
    plan()
    np.testing.assert_array_equal(out[0], 0)
    np.testing.assert_array_equal(out[1][0], (a[1] @ b[1])[0])
    np.testing.assert_array_equal(out[1][1], 77)
    result = described(8, 4)
    table[1, 6] = 2
    assert estoc.grouped_mm(
        described(8, 8), described(8, 4), offs=table, out=result, layout="pointers"
    ) is result
    np.testing.assert_array_equal(out[1], a[1] @ b[1])


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"mat_b": np.ones((2, 2), "f4")}, TypeError, "mat_b: expected a list of matrices, got nd"),
        ({"mat_b": [np.ones((7, 9), "f4")]}, ValueError, "mat_b: expected 2 matrices like mat_a, g"),
        ({"mat_b": [np.ones((7, 9), "f4")] * 2}, ValueError, r"mat_b\[1\]\.shape: expected K = 5"),
        ({"mat_a": [np.ones(7, "f4")] * 2}, ValueError, r"mat_a\[0\]\.shape: expected 2 modes"),
        ({"mat_a": [np.ones((3, 7), "f4"), np.ones((3, 5), "f2")]}, TypeError, r"mat_a\[1\]\.dtype"),
        ({"out": [np.ones((3, 9), "f4")] * 2}, ValueError, r"out\[1\]\.shape: expected \(3, 4\), g"),
        ({"out": [np.ones((3, 9), "f4")]}, ValueError, "out: expected 2 matrices like mat_a, got 1"),
        ({"offs": np.ones(2, "i4")}, TypeError, "expected lists of matrices with out, out_dtype a"),
        ({"zero_rest": True}, TypeError, "expected lists of matrices with out, out_dtype and str"),
        ({"mat_a": [np.ones((6, 14), "f4")[::2, ::2], np.ones((3, 5), "f4")]}, ValueError,
         "mat_a: expected matrices all of which have contiguous rows, or all contiguous columns"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said(change, error, words):
    given = {
        "mat_a": [np.ones((3, 7), "f4"), np.ones((3, 5), "f4")],
        "mat_b": [np.ones((7, 9), "f4"), np.ones((5, 4), "f4")],
        **change,
    }
    with pytest.raises(error, match=words):
        estoc.grouped_mm(given.pop("mat_a"), given.pop("mat_b"), **given)
