"""Products of quantised operands with scales, in one call."""

from __future__ import annotations

from ._estoc import (
    EpilogueArguments,
    GemmArguments,
    InvalidTypeError,
    InvalidValueError,
    PerformanceControls,
    ScaledTensor,
    Tensor,
)
from ._estoc import dtype as _dtype
from .library import ScaleMode, ScaleSwizzleMode
from .manifest import get_kernels
from .planning import _new_tensor

__all__ = ["scaled_mm"]

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
    out : tensor of shape (M, N) or (L, M, N), optional
        Where the product goes; by default a new tensor of the framework of `a`.
    out_dtype : dtype, optional
        Of a new tensor: bf16 for torch, else f32, unless given.
    epilogue, accumulator_type, performance
        As of GemmArguments.
    stream
        As of Kernel.run.

    Returns
    -------
    tensor
        `out`, or the new one.

    Raises
    ------
    InvalidValueError, InvalidTypeError
        For a scale that does not fit its operand, and what GemmArguments refuses.
    UnsupportedError
        When no kernel supports the operands, with the reasons.
    """
    left = _scaled(a, scale_a, recipe_a, swizzle_a, "a")
    right = _scaled(b, scale_b, recipe_b, swizzle_b, "b")
    if out is None:
        shape = (*_batches(left, right), left.shape[-2], right.shape[-1])
        out = _new_tensor(left.base, shape, _output_name(left.base, out_dtype))
    elif out_dtype is not None:
        raise InvalidValueError("out_dtype: expected none beside out, got one")
    if bias is not None:
        if epilogue is not None:
            raise InvalidValueError("bias: expected none beside an epilogue, got one")
        epilogue = EpilogueArguments("D = accum + bias", bias=bias)
    args = GemmArguments(
        left, right, out, accumulator_type, epilogue=epilogue, performance=performance
    )
    get_kernels(args)[0].run(args, stream=stream)
    return out


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
    base = operand if isinstance(operand, Tensor) else Tensor(operand)
    factors = scale if isinstance(scale, Tensor) else Tensor(scale)
    mode = _mode(recipe, name) or _mode_by_shape(base, factors, name)
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


def _mode_by_shape(base: Tensor, scale: Tensor, name: str) -> ScaleMode:
    dtype = str(scale.dtype)
    if dtype == "e8m0":
        return ScaleMode.blockwise_1x32
    if dtype == "e4m3":
        return ScaleMode.blockwise_1x16
    shape = tuple(scale.shape)
    if all(extent == 1 for extent in shape):
        return ScaleMode.tensorwise
    rows, columns = base.shape[-2:]
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
    mode = known.get(shape[-2:]) if len(shape) == len(base.shape) else None
    if mode is None:
        wanted = ", ".join(f"{shape} ({mode.name})" for shape, mode in known.items())
        raise InvalidValueError(f"scale_{name}.shape: expected () (tensorwise), {wanted}, got {shape}")
    return mode
