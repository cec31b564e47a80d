"""What torch.ops.estoc has: schemas, kernels, shapes for tracing, gradients and autocast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from .._estoc import EpilogueArguments, InvalidValueError
from .._estoc import matmul as _matmul
from ..planning import grouped_mm as _grouped_mm
from ..scaling import scaled_mm as _scaled_mm
from ._gradients import Program

__all__ = [
    "SCHEMAS",
    "dense",
    "linear",
    "matmul",
]

SCHEMAS = (
    "matmul(Tensor a, Tensor b, ScalarType? out_dtype=None) -> Tensor",
    "linear(Tensor x, Tensor weight, Tensor? bias, str? epilogue, Tensor[] operands, "
    "str names, ScalarType? out_dtype) -> Tensor",
    "grouped_mm(Tensor a, Tensor b, Tensor? offs=None, ScalarType? out_dtype=None, "
    "bool zero_rest=False) -> Tensor",
    "scaled_mm(Tensor a, Tensor b, Tensor[] scale_a, Tensor[] scale_b, Tensor? bias=None, "
    "ScalarType? out_dtype=None, str? recipe_a=None, str? recipe_b=None, str? swizzle_a=None, "
    "str? swizzle_b=None) -> Tensor",
)

_LIBRARY = torch.library.Library("estoc", "FRAGMENT")
_HALF = (torch.float16, torch.bfloat16, torch.float32)


_PLAIN = (Tensor, torch.nn.Parameter)

# Whether something is between a call and the kernels: a mode, a transform, tracing.
_dispatch_modes = torch._C._len_torch_dispatch_stack
_function_mode = torch._C._is_torch_function_mode_enabled
_transform: Callable[[], Any] = torch._C._functorch.peek_interpreter_stack
_compiling = torch.compiler.is_compiling


# The ways that a call can go.
_DISPATCHED, _RECORDED, _DIRECT = range(3)


def _way(tensors: Sequence[Tensor]) -> int:
    """Direct, or with a gradient recorded, where torch's dispatcher has nothing else to do."""
    if _compiling() or _dispatch_modes() or _function_mode() or _transform() is not None:
        return _DISPATCHED
    if torch._C._is_any_autocast_enabled() or torch.autograd.forward_ad._current_level >= 0:
        return _DISPATCHED
    recorded = False
    for one in tensors:
        if type(one) not in _PLAIN or one.is_meta:
            return _DISPATCHED
        recorded |= one.requires_grad
    return _RECORDED if recorded and torch.is_grad_enabled() else _DIRECT


def matmul(a: Tensor, b: Tensor, out_dtype: torch.dtype | None = None) -> Tensor:
    """The operator, by the shortest way."""
    way = _way((a, b))
    if way == _DIRECT:
        return _multiply(a, b, out_dtype, None)
    call = _Matmul.apply if way == _RECORDED else torch.ops.estoc.matmul
    result: Tensor = call(a, b, out_dtype)
    return result


def linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    epilogue: str | None,
    operands: Sequence[Tensor],
    names: str,
    out_dtype: torch.dtype | None,
) -> Tensor:
    """The operator, by the shortest way."""
    tensors = [x, weight, *operands] if bias is None else [x, weight, bias, *operands]
    way = _way(tensors)
    if way == _DIRECT:
        return _run_linear(x, weight, bias, epilogue, operands, names, out_dtype)
    result: Tensor
    if way == _RECORDED:
        result = _Linear.apply(x, weight, bias, epilogue, names, out_dtype, *operands)
    else:
        operator = torch.ops.estoc.linear
        result = operator(x, weight, bias, epilogue, operands, names, out_dtype)
    return result


def dense(operand: Tensor) -> Tensor:
    """The operand, or a copy where neither its rows nor its columns are contiguous."""
    strides = operand.stride()
    return operand if 1 in strides[-2:] else operand.contiguous()


def _multiply(a: Tensor, b: Tensor, out_dtype: torch.dtype | None, epilogue: object) -> Tensor:
    """a @ b of two or three modes in a new tensor, whatever the extents."""
    empty = 0 in a.shape or 0 in b.shape
    if out_dtype is None and not empty:
        return _matmul(dense(a), dense(b), epilogue=epilogue)
    out = a.new_empty(_product_shape(a, b), dtype=out_dtype or _result_dtype(a))
    if out.numel() == 0:
        return out
    if empty:  # an accumulator of zeros, which is what a product of zeros has
        a, b = a.new_zeros(*a.shape[:-1], 1), b.new_zeros(*b.shape[:-2], 1, b.shape[-1])
    return _matmul(dense(a), dense(b), out, epilogue=epilogue)


def _addition_of(bias: Tensor) -> EpilogueArguments:
    """The epilogue that adds a bias."""
    return EpilogueArguments("D = accum + bias", bias=bias)


def _linear_epilogue(
    bias: Tensor | None, program: str | None, operands: Sequence[Tensor], names: Sequence[str]
) -> EpilogueArguments | None:
    """What `linear` applies to the accumulator."""
    if program is None:
        return None if bias is None else _addition_of(bias)
    given = dict(zip(names, operands, strict=True))
    if bias is not None:
        given["bias"] = bias
    return EpilogueArguments(program, **given)


def _result_dtype(a: Tensor) -> torch.dtype:
    """That of a product whose dtype is not said."""
    if not a.dtype.is_floating_point:
        return torch.int32
    return torch.bfloat16 if a.dtype.itemsize == 1 else a.dtype


def _product_shape(a: Tensor, b: Tensor) -> tuple[Any, ...]:
    if a.dim() == 2 and b.dim() == 2:
        return (a.shape[0], b.shape[1])
    return (a.shape[0] if a.dim() == 3 else b.shape[0], a.shape[-2], b.shape[-1])


# What runs on tensors with data.


def _run_matmul(a: Tensor, b: Tensor, out_dtype: torch.dtype | None = None) -> Tensor:
    return _multiply(a, b, out_dtype, None)


def _run_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    epilogue: str | None,
    operands: Sequence[Tensor],
    names: str,
    out_dtype: torch.dtype | None,
) -> Tensor:
    return _multiply(
        x, weight.t(), out_dtype, _linear_epilogue(bias, epilogue, operands, names.split())
    )


def _run_grouped_mm(
    a: Tensor,
    b: Tensor,
    offs: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    zero_rest: bool = False,
) -> Tensor:
    return _grouped_mm(dense(a), dense(b), offs=offs, out_dtype=out_dtype, zero_rest=zero_rest)


def _run_scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Sequence[Tensor],
    scale_b: Sequence[Tensor],
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    recipe_a: str | None = None,
    recipe_b: str | None = None,
    swizzle_a: str | None = None,
    swizzle_b: str | None = None,
) -> Tensor:
    return _scaled_mm(
        a,
        b,
        tuple(scale_a),
        tuple(scale_b),
        recipe_a=recipe_a,
        recipe_b=recipe_b,
        swizzle_a=swizzle_a,
        swizzle_b=swizzle_b,
        bias=bias,
        out_dtype=out_dtype,
    )


# What tracing sees: shapes, which may be symbols, and dtypes.


def _same(name: str, got: Any, expected: Any, of: str) -> None:
    torch._check(got == expected, lambda: f"{name}: expected {of} of {expected}, got {got}")


def _fake_matmul(a: Tensor, b: Tensor, out_dtype: torch.dtype | None = None) -> Tensor:
    for name, one in (("a", a), ("b", b)):
        if one.dim() not in (2, 3):
            raise InvalidValueError(f"{name}: expected two or three modes, got {one.dim()}")
    _same("b", b.shape[-2], a.shape[-1], "rows")
    return a.new_empty(_product_shape(a, b), dtype=out_dtype or _result_dtype(a))


def _fake_linear(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    epilogue: str | None,
    operands: Sequence[Tensor],
    names: str,
    out_dtype: torch.dtype | None,
) -> Tensor:
    if bias is not None:
        _same("bias", bias.shape[-1], weight.shape[0], "a last mode")
    return _fake_matmul(x, weight.t(), out_dtype)


def _fake_grouped_mm(
    a: Tensor,
    b: Tensor,
    offs: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    zero_rest: bool = False,
) -> Tensor:
    _same("b", b.shape[-2], a.shape[-1], "rows")
    shape: tuple[Any, ...] = (a.shape[-2], b.shape[-1])
    if a.dim() == 3 and b.dim() == 3:
        shape = (a.shape[0], *shape)
    elif offs is None:
        raise InvalidValueError(
            "offs: expected a tensor, got None, and not both operands have 3 modes"
        )
    elif a.dim() == b.dim():
        shape = (offs.shape[0], *shape)
    return a.new_empty(shape, dtype=out_dtype or _result_dtype(a))


def _fake_scaled_mm(
    a: Tensor,
    b: Tensor,
    scale_a: Sequence[Tensor],
    scale_b: Sequence[Tensor],
    bias: Tensor | None = None,
    out_dtype: torch.dtype | None = None,
    recipe_a: str | None = None,
    recipe_b: str | None = None,
    swizzle_a: str | None = None,
    swizzle_b: str | None = None,
) -> Tensor:
    return a.new_empty(_product_shape(a, b), dtype=out_dtype or torch.bfloat16)


# Gradients: products by the same operators, so that they compile and differentiate like others.


def _keep_matmul(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])


def _sum_of_batches(gradient: Tensor, like: Tensor) -> Tensor:
    return gradient if gradient.dim() == like.dim() else gradient.sum(0)


def _backward_matmul(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    a, b = ctx.saved_tensors
    product = matmul
    of_a, of_b = ctx.needs_input_grad[:2]
    return (
        _sum_of_batches(product(gradient.to(b.dtype), b.mT, a.dtype), a) if of_a else None,
        _sum_of_batches(product(a.mT, gradient.to(a.dtype), b.dtype), b) if of_b else None,
        None,
    )


def _keep_linear(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    x, weight, bias, program, operands, names, _ = inputs
    given = [*names.split(), *(() if bias is None else ("bias",))]
    if program is None and bias is not None:
        program = "D = accum + bias"
    ctx.program, ctx.given = program, given
    ctx.of_operands = len(operands)
    ctx.save_for_backward(x, weight, *operands, *(() if bias is None else (bias,)))


def _backward_linear(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    x, weight, *values = ctx.saved_tensors
    product = matmul
    of_x, of_weight = ctx.needs_input_grad[:2]
    of_given: dict[str, Tensor] = {}
    if ctx.program is not None:
        program = Program(ctx.program)
        wide = torch.float64 if x.dtype == torch.float64 else torch.float32
        # The accumulator is computed again instead of kept, where a derivative depends on it.
        accum = product(x, weight.t(), wide) if program.needs_accumulator else None
        known = dict(zip(ctx.given, values, strict=True))
        gradient, of_given = program.gradients(gradient, accum, known, wide)
    gradient = gradient.to(x.dtype)
    operands = [of_given.get(name) for name in ctx.given[: ctx.of_operands]]
    return (
        product(gradient, weight, x.dtype) if of_x else None,
        product(gradient.t(), x, weight.dtype) if of_weight else None,
        of_given.get("bias"),
        None,
        operands,
        None,
        None,
    )


class _Matmul(torch.autograd.Function):
    """The operator's gradient for tensors that need nothing else of the dispatcher."""

    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, out_dtype: torch.dtype | None) -> Tensor:
        _keep_matmul(ctx, (a, b), a)
        return _multiply(a, b, out_dtype, None)

    backward = staticmethod(_backward_matmul)


class _Linear(torch.autograd.Function):
    """Likewise."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        bias: Tensor | None,
        epilogue: str | None,
        names: str,
        out_dtype: torch.dtype | None,
        *operands: Tensor,
    ) -> Tensor:
        _keep_linear(ctx, (x, weight, bias, epilogue, operands, names, out_dtype), x)
        return _run_linear(x, weight, bias, epilogue, operands, names, out_dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        of_x, of_weight, of_bias, _, of_operands, _, _ = _backward_linear(ctx, gradient)
        return (of_x, of_weight, of_bias, None, None, None, *of_operands)


def _keep_grouped_mm(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    a, b, offs, _, _ = inputs
    ctx.divided = offs is not None
    ctx.save_for_backward(a, b, *(() if offs is None else (offs,)))


def _backward_grouped_mm(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
    a, b, *rest = ctx.saved_tensors
    offs = rest[0] if ctx.divided else None
    product = torch.ops.estoc.grouped_mm
    of_a, of_b = ctx.needs_input_grad[:2]
    # What of an operand belongs to no group has a gradient of 0.
    return (
        product(gradient.to(b.dtype), b.mT, offs, a.dtype, True) if of_a else None,
        product(a.mT, gradient.to(a.dtype), offs, b.dtype, True) if of_b else None,
        None,
        None,
        None,
    )


# Autocast: floating operands become what torch.autocast says, as those of torch.mm do.


def _cast(value: Any, dtype: torch.dtype) -> Any:
    if isinstance(value, Tensor):
        return value.to(dtype) if value.dtype in _HALF else value
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Tensor):
        return [_cast(one, dtype) for one in value]
    return value


def _autocast_kernel(name: str, device: str) -> Callable[..., Tensor]:
    key = getattr(torch._C.DispatchKey, f"Autocast{device.upper()}")
    excluded = torch._C.DispatchKeySet(key)

    def kernel(*arguments: Any, **named: Any) -> Tensor:
        dtype = torch.get_autocast_dtype(device)
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            operands = [_cast(one, dtype) for one in arguments]
            result: Tensor = getattr(torch.ops.estoc, name)(*operands, **named)
            return result

    return kernel


def _register() -> None:
    run = (_run_matmul, _run_linear, _run_grouped_mm, _run_scaled_mm)
    fake = (_fake_matmul, _fake_linear, _fake_grouped_mm, _fake_scaled_mm)
    gradients = {
        "matmul": (_backward_matmul, _keep_matmul),
        "linear": (_backward_linear, _keep_linear),
        "grouped_mm": (_backward_grouped_mm, _keep_grouped_mm),
    }
    for schema, kernel, shapes in zip(SCHEMAS, run, fake, strict=True):
        name = schema.partition("(")[0]
        _LIBRARY.define(schema, tags=(torch.Tag.pt2_compliant_tag,))
        for key in ("CPU", "CUDA"):
            _LIBRARY.impl(name, kernel, key)
        torch.library.register_fake(f"estoc::{name}", shapes, lib=_LIBRARY)
        if name not in gradients:
            continue
        backward, keep = gradients[name]
        torch.library.register_autograd(
            f"estoc::{name}", backward, setup_context=keep, lib=_LIBRARY
        )
        for device in ("cpu", "cuda"):
            kernel = _autocast_kernel(name, device)
            _LIBRARY.impl(name, kernel, f"Autocast{device.upper()}")


_register()
