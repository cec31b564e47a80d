"""Grouped products with scales against NumPy in float64: each way of dividing, each recipe, refusals."""

import estoc
import numpy as np
import pytest
from estoc import ScaleMode

ml_dtypes = pytest.importorskip("ml_dtypes")
E4M3 = ml_dtypes.float8_e4m3fn
M, N, K, G = 70, 140, 300, 3
ENDS = np.array([20, 20, 61], "i4")


def data(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(E4M3)


def scales(shape, seed):
    return np.random.default_rng(seed).random(shape, np.float32) + np.float32(0.5)


def spread(scale, shape, block):
    """The scale of each element."""
    for mode in (-2, -1):
        extent = shape[mode]
        times = 1 if scale.shape[mode] == extent else extent if scale.shape[mode] == 1 else block
        scale = np.repeat(scale, times, mode)
        scale = scale[..., :extent] if mode == -1 else scale[..., :extent, :]
    return scale.astype("f8")


@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [((M, 1), (G, 1, N)), ((M, 3), (G, 3, 2)), ((M, 3), (G, 3, N)), ((1, 1), (1, 1, 1))],
)
def test_groups_of_rows(shape_a, shape_b):
    a, b = data((M, K), 0), data((G, K, N), 1)
    scale_a, scale_b = scales(shape_a, 2), scales(shape_b, 3)
    out = np.full((M, N), 7, "f4")
    estoc.scaled_grouped_mm(a, b, scale_a, scale_b, offs=ENDS, out=out)
    whole_a = a.astype("f8") * spread(scale_a, a.shape, 128)
    whole_b = b.astype("f8") * spread(np.broadcast_to(scale_b, (G, *shape_b[1:])), b.shape, 128)
    begin = 0
    for g, end in enumerate(ENDS):
        np.testing.assert_allclose(out[begin:end], whole_a[begin:end] @ whole_b[g], rtol=1e-4, atol=1e-2)
        begin = end
    assert (out[begin:] == 7).all()


def test_rows_of_scales_may_lack_a_mode():
    a, b = data((M, K), 0), data((G, K, N), 1)
    scale_a, scale_b = scales((M,), 2), scales((G, N), 3)
    short = estoc.scaled_grouped_mm(a, b, scale_a, scale_b, offs=ENDS, zero_rest=True)
    full = estoc.scaled_grouped_mm(
        a, b, scale_a[:, None], scale_b[:, None, :], offs=ENDS, zero_rest=True
    )
    np.testing.assert_array_equal(short, full)
    assert (short[ENDS[-1] :] == 0).all()


@pytest.mark.parametrize(("shape_a", "shape_b"), [((G, M, 1), (1, N)), ((G, 1, 3), (3, N))])
def test_groups_of_columns(shape_a, shape_b):
    a, b = data((G, M, K), 0), data((K, N), 1)
    scale_a, scale_b = scales(shape_a, 2), scales(shape_b, 3)
    out = estoc.scaled_grouped_mm(a, b, scale_a, scale_b, offs=ENDS, zero_rest=True)
    whole_a = a.astype("f8") * spread(scale_a, a.shape, 128)
    whole_b = b.astype("f8") * spread(scale_b, b.shape, 128)
    begin = 0
    for g, end in enumerate(ENDS):
        exact = whole_a[g] @ whole_b[:, begin:end]
        np.testing.assert_allclose(out[:, begin:end], exact, rtol=1e-4, atol=1e-2)
        begin = end


@pytest.mark.parametrize(("shape_a", "shape_b"), [((M, 1), (1, N)), ((M, 3), (3, 2))])
def test_groups_of_summands(shape_a, shape_b):
    ends = np.array([100, 190, 300], "i4")
    a, b = data((M, K), 0), data((K, N), 1)
    scale_a, scale_b = scales(shape_a, 2), scales(shape_b, 3)
    out = estoc.scaled_grouped_mm(a, b, scale_a, scale_b, offs=ends)
    whole_a = a.astype("f8") * spread(scale_a, a.shape, 128)
    whole_b = b.astype("f8") * spread(scale_b, b.shape, 128)
    begin = 0
    for g, end in enumerate(ends):
        exact = whole_a[:, begin:end] @ whole_b[begin:end]
        np.testing.assert_allclose(out[g], exact, rtol=1e-4, atol=1e-2)
        begin = end


def test_bytes_bias_and_dtype():
    rng = np.random.default_rng(0)
    a = rng.integers(-9, 9, (M, K), dtype=np.int8)
    b = rng.integers(-9, 9, (G, K, N), dtype=np.int8)
    scale_a, scale_b, bias = scales((M,), 2), scales((G, N), 3), scales((N,), 4)
    out = estoc.scaled_grouped_mm(
        a, b, scale_a, scale_b, offs=ENDS, bias=bias, accumulator_type="f32", zero_rest=True
    )
    exact = (a[:20].astype("f8") @ b[0]) * scale_a[:20, None] * scale_b[0] + bias
    np.testing.assert_allclose(out[:20], exact, rtol=1e-4, atol=1e-2)
    assert out.dtype == np.float32
    with pytest.raises(TypeError, match="expected f32 or f64 with scales of rows of each group"):
        estoc.scaled_grouped_mm(a, b, scale_a, scale_b, offs=ENDS, accumulator_type="i32")


def test_refuses_scales_that_do_not_fit():
    a, b = data((M, K), 0), data((G, K, N), 1)
    with pytest.raises(ValueError, match=r"B.scale.shape: expected \(3, 3, 2\)"):
        estoc.scaled_grouped_mm(
            a, b, scales((M, 3), 2), scales((1, 3, 2), 3), offs=ENDS,
            recipe_b=ScaleMode.blockwise_128x128,
        )  # fmt: skip
