"""Scaled products in Python: scaled_mm against NumPy in float64, recipes, and what is refused."""

import pickle

import estoc
import numpy as np
import pytest
from estoc import ScaledTensor, ScaleMode, Tensor

ml_dtypes = pytest.importorskip("ml_dtypes")
E4M3 = ml_dtypes.float8_e4m3fn


def random_e4m3(shape, seed):
    return np.random.default_rng(seed).standard_normal(shape).astype(E4M3)


def scales(shape, seed):
    return np.random.default_rng(seed).random(shape, np.float32) + np.float32(0.5)


def spread(scale, shape):
    """The scale of each element: blocks repeated along both modes."""
    for mode, extent in enumerate(shape):
        block = 1 if scale.shape[mode] == extent else 128 if scale.shape[mode] != 1 else extent
        scale = np.repeat(scale, block, mode)[(slice(None),) * mode + (slice(extent),)]
    return scale.astype(np.float64)


@pytest.mark.parametrize(
    ("shape_a", "shape_b"),
    [
        ((40, 1), (1, 50)),
        ((1, 1), (1, 1)),
        ((40, 3), (3, 1)),
        ((40, 3), (3, 50)),
        ((1, 3), (3, 1)),
    ],
)
def test_finds_the_recipe_by_shape(shape_a, shape_b):
    a, b = random_e4m3((40, 300), 0), random_e4m3((300, 50), 1)
    scale_a, scale_b = scales(shape_a, 2), scales(shape_b, 3)
    out = estoc.scaled_mm(a, b, scale_a, scale_b)
    exact = (a.astype("f8") * spread(scale_a, a.shape)) @ (b.astype("f8") * spread(scale_b, b.shape))
    np.testing.assert_allclose(out, exact, rtol=1e-4, atol=1e-3)
    assert out.dtype == np.float32


def test_takes_recipes_by_name():
    a, b = random_e4m3((8, 128), 0), random_e4m3((128, 8), 1)
    scale_a, scale_b = scales((8, 1), 2), scales((1, 8), 3)
    by_shape = estoc.scaled_mm(a, b, scale_a, scale_b)
    for recipe in ("rowwise", "RowWise", ScaleMode.rowwise):
        named = estoc.scaled_mm(a, b, scale_a, scale_b, recipe_a=recipe, recipe_b=recipe)
        np.testing.assert_array_equal(named, by_shape)
    with pytest.raises(ValueError, match="recipe_a: expected one of tensorwise"):
        estoc.scaled_mm(a, b, scale_a, scale_b, recipe_a="rows")


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16"])
def test_bytes_with_scales_of_rows(dtype):
    rng = np.random.default_rng(0)
    a = rng.integers(-127, 128, (33, 70), dtype=np.int8)
    b = rng.integers(-127, 128, (70, 20), dtype=np.int8)
    scale_a, scale_b = scales((33, 1), 1) / 100, scales((1, 20), 2) / 100
    bias = scales((20,), 3)
    out = estoc.scaled_mm(a, b, scale_a, scale_b, bias=bias, out_dtype=dtype)
    exact = (a.astype("f8") @ b) * scale_a * scale_b + bias
    np.testing.assert_allclose(out.astype("f8"), exact, rtol=1e-2, atol=1e-3)


def test_two_levels_and_the_blocked_order():
    ones = np.full((64, 160), 0x22, np.uint8)  # of e2m1, two to a byte
    a = Tensor(ones, dtype="e2m1", shape=(128, 160))
    b = Tensor(ones, dtype="e2m1", shape=(160, 128), strides=(1, 160))
    scale = Tensor(np.full((128, 12), 0x38, np.uint8), dtype="e4m3")
    half = np.array(0.5, np.float32)
    scaled = ScaledTensor(a, scale, ScaleMode.blockwise_1x16, "swizzle_32x4x4", half)
    assert scaled.tensor_scale.shape == ()
    again = pickle.loads(pickle.dumps(ScaledTensor(a, scale, scaled.mode, scaled.swizzle)))
    assert (again.mode, again.swizzle, again.tensor_scale) == (scaled.mode, scaled.swizzle, None)
    b_scale = Tensor(np.full((10, 128), 0x40, np.uint8), dtype="e4m3")
    out = estoc.scaled_mm(scaled, b, None, (b_scale, half))
    assert (out == 160 * 0.5 * 2 * 0.5).all()


def test_writes_where_it_is_told():
    a, b = random_e4m3((8, 128), 0), random_e4m3((128, 8), 1)
    out = np.empty((8, 8), np.float32)
    one = np.ones((), np.float32)
    assert estoc.scaled_mm(a, b, one, one, out=out) is out
    np.testing.assert_allclose(out, a.astype("f8") @ b.astype("f8"), rtol=1e-4, atol=1e-4)
    with pytest.raises(ValueError, match="out_dtype: expected none beside out"):
        estoc.scaled_mm(a, b, one, one, out=out, out_dtype="f16")


def test_says_what_does_not_fit():
    a, b = random_e4m3((8, 256), 0), random_e4m3((256, 8), 1)
    one = np.ones((), np.float32)
    with pytest.raises(ValueError, match=r"scale_a.shape: expected \(\) \(tensorwise\)"):
        estoc.scaled_mm(a, b, scales((8, 5), 0), one)
    with pytest.raises(TypeError, match="scale_b: expected a tensor, got None"):
        estoc.scaled_mm(a, b, one, None)
    scaled = ScaledTensor(a, one, ScaleMode.tensorwise)
    with pytest.raises(ValueError, match="scale_a: expected None beside a ScaledTensor"):
        estoc.scaled_mm(scaled, b, one, one)
    assert estoc.scaled_mm(scaled, b, None, one).shape == (8, 8)


def test_arguments_can_be_checked_and_described():
    a = ScaledTensor(random_e4m3((8, 256), 0), scales((8, 2), 1), ScaleMode.blockwise_1x128)
    b = ScaledTensor(random_e4m3((256, 8), 2), scales((2, 1), 3), ScaleMode.blockwise_128x128)
    args = estoc.GemmArguments(a, b, np.empty((8, 8), np.float32))
    assert "a=e4m3:t*1x128:t b=e4m3:t*128x128" in args.problem
    estoc.get_kernels(args)[0].run(args)
    assert estoc.check_output(args).passed


@pytest.mark.parametrize(
    ("mode", "dtype", "powers", "block", "largest"),
    [
        ("blockwise_1x128", "e4m3", False, 128, 448),
        ("BlockWise1x128", "e5m2", True, 128, 57344),
        (ScaleMode.blockwise_1x32, None, False, 32, 448),
    ],
)
def test_quantises_its_output(mode, dtype, powers, block, largest):
    a, b = random_e4m3((40, 256), 0), random_e4m3((256, 300), 1)
    scale_a, scale_b = scales((40, 2), 2), scales((2, 3), 3)
    plain = estoc.scaled_mm(a, b, scale_a, scale_b)
    data, scale = estoc.scaled_mm(
        a, b, scale_a, scale_b, out_dtype=dtype, out_scale_mode=mode, out_powers_of_two=powers
    )
    blocks = -(-300 // block)
    assert scale.shape == (40, blocks)
    padded = np.pad(plain, ((0, 0), (0, blocks * block - 300))).reshape(40, blocks, block)
    wanted = (np.abs(padded).max(-1) / np.float32(largest)).astype("f4")
    if powers or block == 32:
        wanted = np.exp2(np.ceil(np.log2(wanted)))
    np.testing.assert_allclose(scale.astype("f4"), wanted, rtol=1e-5)
    factors = np.repeat(scale.astype("f4"), block, 1)[:, :300]
    step = 2.0 ** (-2 if dtype == "e5m2" else -3)
    error = np.abs(data.astype("f4") * factors - plain)
    assert (error <= np.abs(plain) * step / 2 * 1.01 + factors * 2.0**-9).all()


def test_quantises_to_four_bits():
    a = np.ones((2, 16), "f4").astype(E4M3)
    numbers = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])
    b = (numbers[np.arange(32) % 8] / 4).astype("f4").astype(E4M3) * np.ones((16, 1), E4M3)
    ones = np.ones((2, 1), "f4"), np.ones((1, 32), "f4")
    data, scale = estoc.scaled_mm(a, b, *ones, out_dtype="e2m1", out_scale_mode="blockwise_1x16")
    assert data.shape == (2, 16)
    assert data.dtype == np.uint8
    np.testing.assert_array_equal(scale.astype("f4"), np.full((2, 2), 4))
    np.testing.assert_array_equal(data[0] & 15, (np.arange(32) % 8)[::2])
    np.testing.assert_array_equal(data[0] >> 4, (np.arange(32) % 8)[1::2])


def test_writes_a_quantised_out_and_pickles_it():
    data, scale = np.zeros((8, 128), E4M3), np.zeros((8, 1), "f4")
    out = ScaledTensor(data, scale, "blockwise_1x128", powers_of_two=True)
    assert out.powers_of_two
    x, y = np.full((8, 4), 2, "f4"), np.full((4, 128), 100, "f4")
    args = estoc.GemmArguments(x, y, out)
    assert args.out.powers_of_two
    assert "*1x128" in args.problem
    assert "+pow2" in args.problem
    assert pickle.loads(pickle.dumps(args)).out.powers_of_two
    estoc.get_kernels(args)[0].run(args)
    assert (scale == 2).all()
    assert (data.astype("f4") == 384).all()  # 400 lies halfway to 416


def test_refuses_outputs_that_make_no_sense():
    a, b = random_e4m3((8, 128), 0), random_e4m3((128, 8), 1)
    factors = scales((8, 1), 2), scales((1, 8), 3)
    with pytest.raises(ValueError, match="out_scale_mode: expected one of blockwise_1x16"):
        estoc.scaled_mm(a, b, *factors, out_scale_mode="rowwise")
    with pytest.raises(TypeError, match="out_dtype: expected e4m3, e5m2 or e2m1 with scales, got f16"):
        estoc.scaled_mm(a, b, *factors, out_dtype="f16", out_scale_mode="blockwise_1x32")
    with pytest.raises(ValueError, match="expected none beside out"):
        out = np.empty((8, 8), E4M3)
        estoc.scaled_mm(a, b, *factors, out=out, out_scale_mode="blockwise_1x32")
