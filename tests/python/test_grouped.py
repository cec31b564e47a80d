"""Grouped products: arguments, grouped_mm against NumPy, and what is refused."""

import pickle

import numpy as np
import pytest

import estoc

ENDS = [10, 10, 3, 43, 60]


def ranges(ends, extent):
    """What each group has of a mode."""
    begin = 0
    for end in ends:
        end = max(begin, min(end, extent))
        yield slice(begin, end)
        begin = end


def integers(*shape, dtype="f4", seed=0):
    return np.random.default_rng(seed).integers(-3, 4, shape).astype(dtype)


def operands(along, extent=50, groups=5, dtype="f4"):
    m, n, k = (extent if mode == along else size for mode, size in (("m", 7), ("n", 9), ("k", 6)))
    a = integers(*((groups,) if along in "nl" else ()), m, k, dtype=dtype)
    b = integers(*((groups,) if along in "ml" else ()), k, n, dtype=dtype, seed=1)
    return a, b


def expected(along, a, b, ends, out):
    """`out` with the products of its groups; NumPy's own."""
    a, b = a.astype("f8"), b.astype("f8")
    if along == "l":
        out[...] = a @ b
        return out
    extent = {"m": a.shape[-2], "n": b.shape[-1], "k": a.shape[-1]}[along]
    for group, part in enumerate(ranges(ends, extent)):
        if along == "m":
            out[part] = a[part] @ b[group]
        elif along == "n":
            out[:, part] = a[group] @ b[:, part]
        else:
            out[group] = a[:, part] @ b[part]
    return out


@pytest.mark.parametrize("along", ["m", "n", "k", "l"])
@pytest.mark.parametrize("ends", [ENDS, [0] * 5, [-4, 50, 7, 2**31 - 1, 0], [10, 20, 30, 40, 50]])
def test_every_layout(along, ends):
    a, b = operands(along)
    offs = None if along == "l" else np.array(ends, "i4")
    for zero_rest in (False, True):
        made = estoc.grouped_mm(a, b, offs=offs)
        out = np.full(made.shape, 77, made.dtype)
        assert estoc.grouped_mm(a, b, offs=offs, out=out, zero_rest=zero_rest) is out
        wanted = expected(along, a, b, ends, np.full(made.shape, 0 if zero_rest else 77.0))
        np.testing.assert_array_equal(out, wanted)


def test_dtypes_of_results():
    a, b = operands("m", dtype="f2")
    offs = np.array(ENDS, "i4")
    assert estoc.grouped_mm(a, b, offs=offs).dtype == np.float16
    assert estoc.grouped_mm(a, b, offs=offs, out_dtype="f32").dtype == np.float32
    assert estoc.grouped_mm(a, b, offs=offs, out_dtype=np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="out_dtype: expected f64, f32, f16, bf16 or i32, got i8"):
        estoc.grouped_mm(a, b, offs=offs, out_dtype="i8")
    with pytest.raises(TypeError, match="out_dtype: expected None beside out"):
        estoc.grouped_mm(a, b, offs=offs, out_dtype="f32", out=np.zeros((50, 9), "f4"))


def test_epilogues_and_biases():
    a, b = operands("m")
    offs = np.array([20, 30, 30, 40, 50], "i4")
    plain = expected("m", a, b, offs, np.zeros((50, 9)))
    bias = integers(9, seed=3)
    np.testing.assert_array_equal(estoc.grouped_mm(a, b, offs=offs, bias=bias), plain + bias)
    relu = estoc.grouped_mm(a, b, offs=offs, epilogue="D = relu(accum)")
    np.testing.assert_array_equal(relu, np.maximum(plain, 0))
    a, b = operands("k")
    plain = expected("k", a, b, offs, np.zeros((5, 7, 9)))
    each = integers(5, 9, seed=4)
    wanted = plain + each[:, None, :]
    np.testing.assert_array_equal(estoc.grouped_mm(a, b, offs=offs, bias=each), wanted)
    with pytest.raises(ValueError, match=r"bias\.shape: expected \(5, 9\), one row for each group"):
        estoc.grouped_mm(a, b, offs=offs, bias=each[:4])
    with pytest.raises(TypeError, match="bias: expected None beside an epilogue"):
        estoc.grouped_mm(a, b, offs=offs, bias=each, epilogue="D = relu(accum)")
    a, b = operands("m")
    with pytest.raises(ValueError, match="a bias for each group is there where"):
        estoc.grouped_mm(a, b, offs=offs, bias=each)


def test_repeated_calls_read_the_offsets_of_now():
    a, b = operands("m")
    offs = np.array(ENDS, "i4")
    for ends in (ENDS, [1, 2, 3, 4, 5], [50, 50, 50, 50, 50], ENDS):
        offs[...] = ends
        out = np.full((50, 9), 77, "f4")
        estoc.grouped_mm(a, b, offs=offs, out=out)
        np.testing.assert_array_equal(out, expected("m", a, b, ends, np.full((50, 9), 77.0)))


@pytest.mark.parametrize("zero_rest", [False, True])
def test_every_layout_of_offsets(zero_rest):
    a, b = operands("m", extent=8, groups=3)
    rest = 0 if zero_rest else 77

    def multiplied(layout, offs, parts, a=a):
        out = np.full((*a.shape[:-1], 9), 77, "f4")
        wanted = np.full((a.size // 6, 9), rest, "f4")
        for group, part in enumerate(parts):
            wanted[part] = a.reshape(-1, 6)[part] @ b[group]
        offs = np.array(offs, "i4")
        estoc.grouped_mm(a, b, offs=offs, layout=layout, out=out, zero_rest=zero_rest)
        np.testing.assert_array_equal(out.reshape(-1, 9), wanted)
        assert estoc.grouped_mm(a, b, offs=offs, layout=layout).shape == out.shape

    multiplied("prefix", [1, 3, 3, 7], [slice(1, 3), slice(3, 3), slice(3, 7)])
    multiplied("ranges", [[0, 2], [3, 4], [5, 8]], [slice(0, 2), slice(3, 4), slice(5, 8)])
    masked = integers(3, 4, 6, seed=2)
    parts = [slice(0, 2), slice(4, 4), slice(8, 12)]
    multiplied("masked", [2, 0, 4], parts, masked)
    multiplied("masked", [2, -1, 9], parts, masked)


def test_layouts_of_sums():
    a, b = operands("k", extent=8, groups=2)
    offs = np.array([1, 3, 7], "i4")
    out = estoc.grouped_mm(a, b, offs=offs, layout="prefix")
    np.testing.assert_array_equal(out, [a[:, 1:3] @ b[1:3], a[:, 3:7] @ b[3:7]])


def test_offsets_are_checked():
    status = np.zeros(1, "i4")
    estoc.check_groups(grouped(), status)
    wrong = grouped(offsets=np.array([2, 1, 19], "i4"))
    with pytest.raises(ValueError, match=r"offsets\[1\]: expected at least 2 and at most 10, got 1"):
        estoc.check_groups(wrong, status)
    assert status == [2]
    with pytest.raises(ValueError, match=r"offsets\[1\]"):
        estoc.check_groups(wrong)
    with pytest.raises(TypeError, match="args: expected GroupedGemmArguments, got those of gemm"):
        estoc.check_groups(estoc.parse_problem("gemm m=1 n=1 k=1 a=f32"))
    read_only = np.zeros(1, "i4")
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="status: expected a tensor that can be written"):
        estoc.check_groups(wrong, read_only)


def test_an_index_gives_ranges():
    index = np.array([-1, 0, 0, 2, -1], "i4")
    ranges = estoc.ranges_of_index(index, 3)
    np.testing.assert_array_equal(ranges, [[1, 3], [0, 0], [3, 4]])
    out = np.full((3, 2), 9, "i4")
    assert estoc.ranges_of_index(index, 3, out=out) is out
    np.testing.assert_array_equal(out, ranges)
    estoc.check_group_index(index, 3)
    with pytest.raises(ValueError, match=r"index\[3\]: expected groups below 2"):
        estoc.check_group_index(index, 2)
    with pytest.raises(ValueError, match=r"ranges: expected \(G, 2\) without gaps"):
        estoc.ranges_of_index(index, 3, out=np.zeros((3, 3), "i4"))


def grouped(**changes):
    given = {
        "A": np.ones((10, 16), "f2"),
        "B": np.ones((3, 16, 8), "f2"),
        "out": np.zeros((10, 8), "f4"),
        "accumulator_type": "f32",
        "offsets": np.array([2, 2, 9], "i4"),
    }
    return estoc.GroupedGemmArguments(**(given | changes))


def test_arguments():
    args = grouped(zero_rest=True, epilogue="D = relu(accum)")
    assert args.operation == "grouped_gemm"
    assert args.offsets.shape == (3,)
    assert args.zero_rest
    assert args.epilogue is not None
    assert args.problem == (
        "grouped_gemm m=10 n=8 k=16 g=3 along=m zero_rest=1 a=f16:t b=f16:t out=f32:t acc=f32 "
        'epi="D = relu(accum)"'
    )
    (kernel,) = estoc.get_kernels(args)
    assert kernel.metadata.operands.A.dtype == estoc.f16
    kernel.run(args)
    assert (args.out.tensor[:9] == 16).all()
    assert estoc.check_output(args).passed
    again = pickle.loads(pickle.dumps(args))
    assert repr(again) == repr(args)
    assert again.problem == args.problem
    prefix = grouped(offsets=np.array([0, 2, 2, 9], "i4"), layout="prefix")
    assert prefix.layout == "prefix"
    assert pickle.loads(pickle.dumps(prefix)).problem == prefix.problem
    assert " layout=prefix " in prefix.problem
    batched = grouped(A=np.ones((3, 10, 16), "f2"), out=np.zeros((3, 10, 8), "f4"), offsets=None)
    assert batched.offsets is None
    assert "along=l" in estoc.parse_problem(batched.problem).problem


def test_plans_of_groups():
    args = grouped()
    plan = estoc.plan(args)
    plan()
    assert (args.out.tensor[:9] == 16).all() and (args.out.tensor[9:] == 0).all()
    out = np.zeros((10, 8), "f4")
    plan(args.A.tensor, args.B.tensor, out, np.array([0, 4, 4], "i4"))
    assert (out[:4] == 16).all() and (out[4:] == 0).all()
    with pytest.raises(TypeError, match="expected the tensors A, B, out and offsets, or none"):
        plan(out)


def test_kernels_of_other_operations_refuse():
    kernel = estoc.kernel_by_name("cpu_gemm-f16-f16-f32-f32")
    assert kernel.supports(grouped()).error == "operation: expected gemm, got grouped_gemm"
    with pytest.raises(estoc.UnsupportedError, match="grouped_gemm"):
        kernel.run(grouped())


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"A": np.zeros((10, 16, 1, 1), "f2")}, ValueError, r"A\.shape: expected 2 or 3 modes"),
        ({"B": np.zeros((3, 15, 8), "f2")}, ValueError, r"B\.shape: expected K = 16, got 15"),
        ({"out": np.zeros((10, 9), "f4")}, ValueError, r"out\.shape: expected N = 8, got 9"),
        ({"offsets": np.zeros(4, "i4")}, ValueError, r"offsets\.shape: expected G = 3 like B"),
        ({"offsets": np.zeros(3, "f4")}, TypeError, r"offsets\.dtype: expected i32, got f32"),
        ({"offsets": None}, ValueError, "offsets: expected the ends of the groups, got none"),
        ({"zero_rest": "yes"}, TypeError, "zero_rest"),
        ({"layout": "prefix"}, ValueError, r"offsets\.shape: expected G \+ 1 = 4 with G like B, got 3"),
        ({"layout": "starts"}, ValueError, "layout: expected ends, prefix, masked, ranges or pointers"),
        ({"layout": 3}, TypeError, "layout: expected a str, got 3"),
        ({"layout": "masked"}, ValueError, r"A\.shape, B\.shape: expected 3 modes each"),
    ],
)
def test_refusals(changes, error, message):
    with pytest.raises(error, match=message):
        grouped(**changes)


def gathered(count, extent=50, groups=5):
    """Operands of which an index chooses rows of A, some of which A does not have."""
    a, b = operands("m", extent, groups)
    a = a[:count]
    rows = np.random.default_rng(2).integers(-1, count + 1, extent).astype("i4")
    copied = np.where(((rows >= 0) & (rows < count))[:, None], a[np.clip(rows, 0, count - 1)], 0)
    return a, b, rows, copied


def test_rows_of_a_by_an_index():
    a, b, rows, copied = gathered(11)
    ends = np.array(ENDS, "i4")
    out = estoc.grouped_mm(a, b, offs=ends, rows=rows, zero_rest=True)
    assert out.shape == (50, 9)
    np.testing.assert_array_equal(out, estoc.grouped_mm(copied, b, offs=ends, zero_rest=True))
    rows[:] = 3
    estoc.grouped_mm(a, b, offs=ends, rows=rows, out=out, bias=np.ones(9, "f4"))
    np.testing.assert_array_equal(out[0], a[3] @ b[0] + 1)


def test_arguments_with_rows():
    a, b, rows, copied = gathered(11)
    ends = np.array(ENDS, "i4")
    out = np.zeros((50, 9), "f4")
    args = estoc.GroupedGemmArguments(a, b, out, offsets=ends, rows=rows)
    assert args.rows.shape == (50,)
    assert " rows=11 " in args.problem
    estoc.plan(args)()
    np.testing.assert_array_equal(out[:43], estoc.grouped_mm(copied, b, offs=ends)[:43])
    assert estoc.GroupedGemmArguments(a, b, np.zeros((11, 9), "f4"), offsets=ends).rows is None


def test_rows_that_do_not_fit_are_refused():
    a, b, rows, _ = gathered(11)
    ends = np.array(ENDS, "i4")
    with pytest.raises(TypeError, match="rows.dtype: expected i32"):
        estoc.grouped_mm(a, b, offs=ends, rows=rows.astype("f4"))
    with pytest.raises(ValueError, match="rows.shape: expected M = 50"):
        estoc.grouped_mm(a, b, offs=ends, rows=rows[:9], out=np.zeros((50, 9), "f4"))
    with pytest.raises(ValueError, match="rows: expected none"):
        estoc.grouped_mm(*operands("k"), offs=ends, rows=rows)
    with pytest.raises(TypeError, match="expected lists of matrices with out"):
        estoc.grouped_mm([a], [b[0]], rows=rows)
