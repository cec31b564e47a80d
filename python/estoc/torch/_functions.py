"""The operators as functions with keywords and defaults."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from .._estoc import InvalidTypeError, InvalidValueError
from . import _operators

__all__ = ["bmm", "grouped_mm", "linear", "matmul", "scaled_mm"]


def matmul(a: Tensor, b: Tensor, *, out_dtype: torch.dtype | None = None) -> Tensor:
    """a @ b; gradients are recorded, and are products by Estoc as well.

    Parameters
    ----------
    a : tensor of shape (M, K) or (L, M, K)
    b : tensor of shape (K, N) or (L, K, N)
    out_dtype : torch.dtype, optional
        By default that of `a`; bf16 for floats of eight bits, i32 for integers.

    Returns
    -------
    tensor of shape (M, N) or (L, M, N)

    Raises
    ------
    ValueError
        Shapes or devices that do not fit.
    UnsupportedError
        When no kernel supports the operands, with the reasons.
    """
    return _operators.matmul(a, b, out_dtype)


def bmm(a: Tensor, b: Tensor, *, out_dtype: torch.dtype | None = None) -> Tensor:
    """matmul of (L, M, K) and (L, K, N), as torch.bmm."""
    for name, one in (("a", a), ("b", b)):
        if one.dim() != 3:
            raise InvalidValueError(f"{name}: expected three modes, got {one.dim()}")
    return matmul(a, b, out_dtype=out_dtype)


def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    epilogue: str | None = None,
    *,
    out_dtype: torch.dtype | None = None,
    **operands: Tensor,
) -> Tensor:
    """x @ weight.T with an epilogue, in one kernel; as torch.nn.functional.linear without one.

    Parameters
    ----------
    x : tensor of shape (..., K)
    weight : tensor of shape (N, K)
    bias : tensor of shape (N,), optional
        The operand `bias` of the epilogue; without an epilogue it is added.
    epilogue : str, optional
        The text of an epilogue program whose one output is D, such as "D = gelu(accum + bias)".
    out_dtype : torch.dtype, optional
        By default that of `x`.
    **operands
        The other tensors of the epilogue: of the result's shape, or that broadcast to (M, N), M
        being the product of all modes of `x` but the last.

    Returns
    -------
    tensor of shape (..., N)

    Raises
    ------
    ValueError
        Shapes, devices or an epilogue that do not fit.
    UnsupportedError
        When no kernel supports the operands; in the backward pass, for an operation of the
        epilogue that has no derivative here.
    """
    if "accum" in operands or "bias" in operands or "D" in operands:
        raise InvalidTypeError("operands: expected names other than accum, bias and D")
    if operands and epilogue is None:
        raise InvalidTypeError(
            f"{next(iter(operands))}: expected an epilogue that names it, got none"
        )
    rows = x if x.dim() == 2 else x.reshape(-1, x.shape[-1])
    values = [
        one.reshape(-1, one.shape[-1]) if one.dim() == x.dim() > 2 else one
        for one in operands.values()
    ]
    result = _operators.linear(rows, weight, bias, epilogue, values, " ".join(operands), out_dtype)
    return result if x.dim() == 2 else result.reshape(*x.shape[:-1], weight.shape[0])


def grouped_mm(
    mat_a: Tensor,
    mat_b: Tensor,
    *,
    offs: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    zero_rest: bool = False,
) -> Tensor:
    """Products of groups, as torch.nn.functional.grouped_mm has them, with gradients.

    Parameters
    ----------
    mat_a, mat_b : tensor
        (M, K) and (G, K, N): rows are divided; (G, M, K) and (K, N): columns; (M, K) and (K, N):
        the sums over K; (G, M, K) and (G, K, N): a batched product.
    offs : tensor of shape (G,), dtype torch.int32, optional
        Where each group ends, on the operands' device, where it stays.
    out_dtype : torch.dtype, optional
        By default that of `mat_a`.
    zero_rest : bool
        Rows or columns of no group are 0, else anything. Their gradients are 0.

    Returns
    -------
    tensor of shape (M, N) or (G, M, N)

    Raises
    ------
    ValueError
        Shapes or devices that do not fit.
    UnsupportedError
        When no kernel supports the operands, with the reasons.
    """
    result: Tensor = torch.ops.estoc.grouped_mm(mat_a, mat_b, offs, out_dtype, zero_rest)
    return result


def scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Tensor | Sequence[Tensor],
    scale_b: Tensor | Sequence[Tensor],
    *,
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    recipe_a: object = None,
    recipe_b: object = None,
    swizzle_a: object = None,
    swizzle_b: object = None,
) -> Tensor:
    """(a * scale_a) @ (b * scale_b) of quantised operands; without gradients.

    Parameters
    ----------
    a, b, scale_a, scale_b, bias, recipe_a, recipe_b, swizzle_a, swizzle_b
        As of estoc.scaled_mm.
    out_dtype : torch.dtype, optional
        bf16 unless given.

    Returns
    -------
    tensor of shape (M, N) or (L, M, N)

    Raises
    ------
    ValueError
        Shapes, scales or devices that do not fit.
    UnsupportedError
        When no kernel supports the operands, with the reasons.
    """
    result: Tensor = torch.ops.estoc.scaled_mm(
        a,
        b,
        _several(scale_a),
        _several(scale_b),
        bias,
        out_dtype,
        _name(recipe_a),
        _name(recipe_b),
        _name(swizzle_a),
        _name(swizzle_b),
    )
    return result


def _several(scale: Tensor | Sequence[Tensor]) -> list[Tensor]:
    return [scale] if isinstance(scale, Tensor) else list(scale)


def _name(of: object) -> str | None:
    """What a recipe or swizzle, one of an enumeration or its name, is called."""
    return of if of is None or isinstance(of, str) else str(getattr(of, "name", of))
