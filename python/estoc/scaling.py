"""Products of quantised operands with scales, in one call."""

from __future__ import annotations

import functools

from ._estoc import (
    EpilogueArguments,
    GemmArguments,
    GroupedGemmArguments,
    InvalidTypeError,
    InvalidValueError,
    PerformanceControls,
    ScaledTensor,
    Tensor,
    _run_remembered,
)
from ._estoc import dtype as _dtype
from ._problem_log import note
from .library import ScaleMode, ScaleSwizzleMode
from .planning import _as_tensor, _group_count, _new_tensor, _with_bias

__all__ = ["scaled_grouped_mm", "scaled_mm"]

# What torch.nn.functional.ScalingType calls them.
_TORCH_RECIPES = {
    "TensorWise": ScaleMode.tensorwise,
    "RowWise": ScaleMode.rowwise,
    "BlockWise1x16": ScaleMode.blockwise_1x16,
    "BlockWise1x32": ScaleMode.blockwise_1x32,
    "BlockWise1x128": ScaleMode.blockwise_1x128,
    "BlockWise128x128": ScaleMode.blockwise_128x128,
}


def scaled_mm(
    a: object,
    b: object,
    scale_a: object,
    scale_b: object,
    *,
    recipe_a: object = None,
    recipe_b: object = None,
    swizzle_a: object = None,
    swizzle_b: object = None,
    bias: object = None,
    out: object = None,
    out_dtype: object = None,
    out_scale_mode: object = None,
    out_powers_of_two: bool = False,
    epilogue: EpilogueArguments | None = None,
    accumulator_type: object = None,
    performance: PerformanceControls | None = None,
    stream: object = None,
) -> object:
    """out = (a * scale_a) @ (b * scale_b), the scales being those of elements, blocks, rows or tensors.

    Parameters
    ----------
    a : tensor of shape (M, K) or (L, M, K)
        Of e4m3, e5m2, e2m1, i8 or another type that ScaledTensor takes; or a ScaledTensor.
    b : tensor of shape (K, N) or (L, K, N)
        Likewise.
    scale_a, scale_b : tensor or pair of tensors
        Factors that values are multiplied by. Of a tensor one f32, of rows (M, 1) and (1, N) in f32,
        of blocks the operand's shape with K, and for 128x128 the other mode, divided by the block
        and rounded up: f32 for blocks of 128, e8m0 for 32, e4m3 for 16. A pair has the scale of the
        whole tensor, one f32, behind that of blocks. None where the operand is a ScaledTensor.
    recipe_a, recipe_b : ScaleMode, str or torch.nn.functional.ScalingType, optional
        Which elements share a scale; by default what dtype and shape of the scale say.
    swizzle_a, swizzle_b : ScaleSwizzleMode or str, optional
        How the scales lie in memory.
    bias : tensor of shape (N,), optional
        Is added to the rows of the product.
    out : tensor or ScaledTensor of shape (M, N) or (L, M, N), optional
        Where the product goes; by default a new tensor of the framework of `a`. A ScaledTensor is
        quantised: data and scales are written.
    out_dtype : dtype, optional
        Of a new tensor: bf16 for torch, else f32, unless given; with out_scale_mode that of `a`.
    out_scale_mode : ScaleMode, str or torch.nn.functional.ScalingType, optional
        Has the product be quantised to new tensors: blockwise_1x128, 1x32 or 1x16, along N.
    out_powers_of_two : bool
        The f32 scales of that are rounded up to powers of two.
    epilogue, accumulator_type, performance
        As of GemmArguments.
    stream
        As of Kernel.run.

    Returns
    -------
    tensor, or pair of tensors
        `out`, or the new one; with out_scale_mode new data and scales. Data of e2m1 are bytes, two
        numbers each, the first one in the low half.

    Raises
    ------
    InvalidValueError, InvalidTypeError
        For a scale that does not fit its operand, and what GemmArguments refuses.
    UnsupportedError
        When no kernel supports the operands, with the reasons.
    """
    left = _scaled(a, scale_a, recipe_a, swizzle_a, "a")
    right = _scaled(b, scale_b, recipe_b, swizzle_b, "b")
    result = out
    if out_scale_mode is not None:
        out, result = _quantised(left, right, out, out_dtype, out_scale_mode, out_powers_of_two)
    elif out is None:
        shape = (*_batches(left, right), left.shape[-2], right.shape[-1])
        result = out = _new_tensor(left.base, shape, _output_name(left.base, out_dtype))
    elif out_dtype is not None:
        raise InvalidValueError("out_dtype: expected none beside out, got one")
    if bias is not None:
        if epilogue is not None:
            raise InvalidValueError("bias: expected none beside an epilogue, got one")
        epilogue = EpilogueArguments("D = accum + bias", bias=bias)
    args = GemmArguments(
        left, right, out, accumulator_type, epilogue=epilogue, performance=performance
    )
    _multiply(args, stream)
    return result


def scaled_grouped_mm(
    mat_a: object,
    mat_b: object,
    scale_a: object,
    scale_b: object,
    *,
    offs: object = None,
    recipe_a: object = None,
    recipe_b: object = None,
    swizzle_a: object = None,
    swizzle_b: object = None,
    bias: object = None,
    out: object = None,
    out_dtype: object = None,
    epilogue: object = None,
    zero_rest: bool = False,
    layout: str = "ends",
    accumulator_type: object = None,
    performance: PerformanceControls | None = None,
    stream: object = None,
) -> object:
    """Products of groups of quantised operands, as torch.nn.functional.scaled_grouped_mm has them.

    Parameters
    ----------
    mat_a, mat_b : tensor
        As of grouped_mm, of the dtypes of scaled_mm; or a ScaledTensor.
    scale_a, scale_b : tensor or pair of tensors
        As of scaled_mm; those of an operand of three modes have G in front: for 128x128 (G, K / 128,
        N / 128). Rows may do without the mode of one element: (M,) and (G, N).
    offs, bias, out, epilogue, zero_rest, layout
        As of grouped_mm.
    recipe_a, recipe_b, swizzle_a, swizzle_b, out_dtype, accumulator_type, performance, stream
        As of scaled_mm.

    Returns
    -------
    tensor
        `out`, or a new one of the framework of `mat_a`.

    Raises
    ------
    InvalidValueError, InvalidTypeError
        For a scale that does not fit its operand, and what GroupedGemmArguments refuses.
    UnsupportedError
        When no kernel supports the operands, with the reasons.
    """
    left = _scaled(mat_a, _with_both_modes(mat_a, scale_a, -2), recipe_a, swizzle_a, "a")
    right = _scaled(mat_b, _with_both_modes(mat_b, scale_b, -1), recipe_b, swizzle_b, "b")
    if out is None:
        shape: tuple[int, ...] = (left.shape[-2], right.shape[-1])
        if len(left.shape) == len(right.shape):
            many = len(left.shape) == 3
            groups = left.shape[0] if many else _group_count(Tensor(offs), layout)
            shape = (groups, *shape)
        out = _new_tensor(left.base, shape, _output_name(left.base, out_dtype))
    elif out_dtype is not None:
        raise InvalidValueError("out_dtype: expected none beside out, got one")
    if bias is not None:
        epilogue = _with_bias(bias, epilogue, Tensor(out))
    args = GroupedGemmArguments(
        left, right, out, accumulator_type, offs, zero_rest, epilogue, performance, layout
    )
    _multiply(args, stream)
    return out


def _multiply(args: GemmArguments | GroupedGemmArguments, stream: object) -> None:
    if _run_remembered(args, stream):
        note(args)


def _with_both_modes(operand: object, scale: object, rows: int) -> object:
    """Scales of rows (M,), (G, M) or (G, N) with a mode of one element beside that of the rows."""
    if scale is None or isinstance(operand, ScaledTensor) or isinstance(scale, (tuple, list)):
        return scale
    shape = _as_tensor(operand).shape
    given = _as_tensor(scale)
    if tuple(given.shape) != (*shape[:-2], shape[rows]):
        return scale
    at = len(shape) if rows == -2 else len(shape) - 2
    at = min(at, len(given.shape))
    wider = (*given.shape[:at], 1, *given.shape[at:])
    strides = (*given.strides[:at], 0, *given.strides[at:])
    return Tensor(given.tensor, None, wider, strides)


# Columns that share a scale, and the dtype of that.
_OUT_BLOCKS = {
    ScaleMode.blockwise_1x16: (16, "e4m3"),
    ScaleMode.blockwise_1x32: (32, "e8m0"),
    ScaleMode.blockwise_1x128: (128, "f32"),
}


def _quantised(
    left: ScaledTensor, right: ScaledTensor, out: object, dtype: object, recipe: object, powers: bool
) -> tuple[ScaledTensor, tuple[object, object]]:
    """A new quantised out, and its tensors."""
    if out is not None:
        raise InvalidValueError("out_scale_mode: expected none beside out, got one")
    mode = _mode(recipe, "out")
    if mode not in _OUT_BLOCKS:
        known = ", ".join(one.name for one in _OUT_BLOCKS)
        raise InvalidValueError(f"out_scale_mode: expected one of {known}, got {recipe!r}")
    block, scale_dtype = _OUT_BLOCKS[mode]
    name = str(left.dtype if dtype is None else _dtype(dtype))
    if name not in ("e4m3", "e5m2", "e2m1"):
        raise InvalidTypeError(f"out_dtype: expected e4m3, e5m2 or e2m1 with scales, got {name}")
    rows = (*_batches(left, right), left.shape[-2])
    columns = right.shape[-1]
    scale = _new_tensor(left.base, (*rows, -(-columns // block)), scale_dtype)
    if name == "e2m1":
        data = _new_tensor(left.base, (*rows, -(-columns // 2)), "u8")
        strides = [columns, 1] if len(rows) == 1 else [rows[1] * columns, columns, 1]
        base = Tensor(data, name, (*rows, columns), tuple(strides))
    else:
        data = _new_tensor(left.base, (*rows, columns), name)
        base = Tensor(data)
    return ScaledTensor(base, scale, mode, powers_of_two=powers), (data, scale)


def _output_name(like: Tensor, dtype: object) -> str:
    if dtype is not None:
        return str(_dtype(dtype))
    is_torch = type(like.tensor).__module__.partition(".")[0] == "torch"
    return "bf16" if is_torch else "f32"


def _batches(left: ScaledTensor, right: ScaledTensor) -> tuple[int, ...]:
    batched = [one.shape[0] for one in (left, right) if len(one.shape) == 3]
    return (max(batched),) if batched else ()


def _scaled(
    operand: object, scale: object, recipe: object, swizzle: object, name: str
) -> ScaledTensor:
    if isinstance(operand, ScaledTensor):
        if scale is not None:
            raise InvalidValueError(f"scale_{name}: expected None beside a ScaledTensor, got one")
        return operand
    if scale is None:
        raise InvalidTypeError(f"scale_{name}: expected a tensor, got None")
    second = None
    if isinstance(scale, (tuple, list)):
        if len(scale) not in (1, 2):
            raise InvalidValueError(f"scale_{name}: expected one or two tensors, got {len(scale)}")
        scale, second = (*scale, None)[:2]
    base = _as_tensor(operand)
    factors = _as_tensor(scale)
    mode = _mode(recipe, name)
    if mode is None:
        mode = _mode_by_shape(tuple(base.shape), str(factors.dtype), tuple(factors.shape), name)
    return ScaledTensor(base, factors, mode, swizzle, second)


def _mode(recipe: object, name: str) -> ScaleMode | None:
    if recipe is None or isinstance(recipe, ScaleMode):
        return recipe
    text = recipe if isinstance(recipe, str) else getattr(recipe, "name", None)
    if text in _TORCH_RECIPES:
        return _TORCH_RECIPES[text]
    if text in ScaleMode.__members__:
        return ScaleMode[text]
    known = ", ".join([*ScaleMode.__members__, *_TORCH_RECIPES])
    raise InvalidValueError(f"recipe_{name}: expected one of {known}, got {recipe!r}")


@functools.lru_cache(maxsize=1024)
def _mode_by_shape(
    base: tuple[int, ...], dtype: str, shape: tuple[int, ...], name: str
) -> ScaleMode:
    """The mode of scales of that dtype and shape, of an operand of shape `base`."""
    if dtype == "e8m0":
        return ScaleMode.blockwise_1x32
    if dtype == "e4m3":
        return ScaleMode.blockwise_1x16
    if all(extent == 1 for extent in shape):
        return ScaleMode.tensorwise
    rows, columns = base[-2:]
    across = columns if name == "b" else rows
    depth = rows if name == "b" else columns
    blocks = -(-depth // 128)

    def place(outer: int, inner: int) -> tuple[int, int]:
        return (inner, outer) if name == "b" else (outer, inner)

    # Of modes that mean the same for this operand, the last one is taken.
    known = {
        place(-(-across // 128), blocks): ScaleMode.blockwise_128x128,
        place(across, blocks): ScaleMode.blockwise_1x128,
        place(across, 1): ScaleMode.rowwise,
    }
    mode = known.get(shape[-2:]) if len(shape) == len(base) else None
    if mode is None:
        wanted = ", ".join(f"{shape} ({mode.name})" for shape, mode in known.items())
        raise InvalidValueError(f"scale_{name}.shape: expected () (tensorwise), {wanted}, got {shape}")
    return mode
