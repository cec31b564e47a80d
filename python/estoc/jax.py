"""Products for JAX: under jit, vmap, grad and shard_map, on the CPU and on GPUs.

XLA calls Estoc directly, without Python. Results are JAX arrays. Needs jax.
"""

import functools
import pathlib
import re
from typing import Any, NamedTuple

import jax
import jax.ffi
import jax.numpy as jnp

from ._estoc import InvalidTypeError, InvalidValueError, Tensor, _jax_handlers, _result
from ._estoc import dtype as _dtype

__all__ = ["grouped_matmul", "matmul", "scaled_matmul"]

_TARGET = "estoc_product"
_DTYPES = {
    "f64": "float64",
    "f32": "float32",
    "tf32": "float32",
    "f16": "float16",
    "bf16": "bfloat16",
    "i32": "int32",
}


class _What(NamedTuple):
    """What is computed, apart from the operands; the attributes of a call."""

    kind: str = "dense"
    swapped: str = ""  # operands whose last two modes are the other way round in memory
    out: str = ""  # dtype of the result
    accumulator: str = ""
    epilogue: str = ""
    names: str = ""  # of the epilogue's operands


def matmul(
    a: Any,
    b: Any,
    *,
    out_dtype: Any = None,
    accumulator_type: Any = None,
    epilogue: str | None = None,
    **operands: Any,
) -> jax.Array:
    """out = a @ b, with the kernel to use first.

    Differentiable in reverse mode, any number of times, unless there is an epilogue.

    Parameters
    ----------
    a : array of shape (..., M, K)
    b : array of shape (..., K, N)
        Modes in front of the last two broadcast.
    out_dtype : dtype, optional
        Left out, i32 of integers, bf16 of floats of eight bits, else the dtype of `a`.
    accumulator_type : dtype, optional
    epilogue : str, optional
        The text of a program with the one output D, such as ``"D = relu(accum + bias)"``.
    operands : array
        The operands of the epilogue, by name; each broadcasts to the matrix (M, N).

    Returns
    -------
    array of shape (..., M, N)

    Raises
    ------
    ValueError, TypeError
        Shapes or dtypes that do not fit; when traced. What no kernel supports is an error of the
        call.
    """
    a, b = jnp.asarray(a), jnp.asarray(b)
    if min(a.ndim, b.ndim) < 2:
        raise InvalidValueError(
            f"matmul: expected arrays of two modes or more, got {a.shape} and {b.shape}"
        )
    if a.shape[-1] != b.shape[-2]:
        raise InvalidValueError(f"b.shape: expected K = {a.shape[-1]}, got {b.shape[-2]}")
    what = _What(
        out=_out_dtype(a, b, out_dtype),
        accumulator="" if accumulator_type is None else _dtype(accumulator_type).name,
        epilogue=epilogue or "",
        names=",".join(operands),
    )
    if epilogue is not None:
        if max(a.ndim, b.ndim) > 2:
            raise InvalidValueError(
                f"epilogue: expected none of a batch, got one with {a.shape} and {b.shape}; vmap does it"
            )
        return _call(what, (a.shape[0], b.shape[1]), (a, b, *map(jnp.asarray, operands.values())))
    if operands:
        raise InvalidTypeError(f"operands: expected an epilogue beside {what.names}, got none")
    if a.ndim > 2 and b.ndim == 2:
        rows = a.reshape(-1, a.shape[-1])
        return _dense(what, rows, b).reshape(*a.shape[:-1], b.shape[-1])
    modes = max(a.ndim, b.ndim)
    a, b = (one.reshape((1,) * (modes - one.ndim) + one.shape) for one in (a, b))
    return _dense(what, a, b)


def scaled_matmul(
    a: Any, b: Any, scale_a: Any, scale_b: Any, *, out_dtype: Any = None
) -> jax.Array:
    """out = (a * scale_a) @ (b * scale_b), with scales of tensors or rows. No gradient.

    Parameters
    ----------
    a, b : array of shape (M, K), (K, N)
        Of float8_e4m3fn, float8_e5m2, int8 or another dtype that has products.
    scale_a : array of shape () or (M, 1), dtype f32
    scale_b : array of shape () or (1, N), dtype f32
    out_dtype : dtype, optional
        As of matmul; of integers f32.

    Raises
    ------
    ValueError
        Shapes that do not fit. Scales of blocks are there outside of JAX alone: estoc.scaled_mm.
    """
    a, b = jnp.asarray(a), jnp.asarray(b)
    scale_a, scale_b = (jnp.asarray(one, jnp.float32) for one in (scale_a, scale_b))
    for name, scale, rows in (
        ("scale_a", scale_a, (*a.shape[:1], 1)),
        ("scale_b", scale_b, (1, *b.shape[1:])),
    ):
        if scale.shape not in ((), rows):
            raise InvalidValueError(f"{name}.shape: expected () or {rows}, got {scale.shape}")
    if out_dtype is None and jnp.issubdtype(a.dtype, jnp.integer):
        out_dtype = jnp.float32
    return matmul(
        a, b, out_dtype=out_dtype, epilogue="D = accum * scale_a * scale_b",
        scale_a=scale_a, scale_b=scale_b,
    )  # fmt: skip


def grouped_matmul(a: Any, b: Any, offs: Any, *, out_dtype: Any = None) -> jax.Array:
    """Products of groups; differentiable in `a` and `b` in reverse mode.

    The numbers of modes say what `offs` divides: (M, K) and (G, K, N), rows, the result is (M, N);
    (G, M, K) and (K, N), columns, the result is (M, N); (M, K) and (K, N), the sums over K, the
    result is (G, M, N). Rows or columns of no group are zeros.

    Parameters
    ----------
    a, b : array
    offs : array of shape (G,), dtype i32
        Where each group ends.
    out_dtype : dtype, optional
        As of matmul.

    Raises
    ------
    ValueError
        Shapes that do not fit.
    """
    a, b, offs = jnp.asarray(a), jnp.asarray(b), jnp.asarray(offs)
    modes = (a.ndim, b.ndim)
    if modes not in ((2, 3), (3, 2), (2, 2)) or offs.ndim != 1 or offs.dtype != jnp.int32:
        raise InvalidValueError(
            "grouped_matmul: expected operands of (2, 3), (3, 2) or (2, 2) modes and offs (G,) of "
            f"i32, got {a.shape}, {b.shape} and {offs.dtype} {offs.shape}"
        )
    groups = {3: (a if a.ndim == 3 else b).shape[0]}.get(max(modes), offs.shape[0])
    if a.shape[-1] != b.shape[-2] or groups != offs.shape[0]:
        raise InvalidValueError(
            f"grouped_matmul: expected one K and one number of groups, got {a.shape}, {b.shape} "
            f"and offs {offs.shape}"
        )
    return _grouped(_What(kind="grouped", out=_out_dtype(a, b, out_dtype)), a, b, offs)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _dense(what: _What, a: jax.Array, b: jax.Array) -> jax.Array:
    """A product of arrays with the same number of modes."""
    batch = jnp.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return _call(what, (*batch, *_matrix_shape(what, a, b)), (a, b))


def _dense_forward(what: _What, a: jax.Array, b: jax.Array) -> tuple[jax.Array, Any]:
    return _dense(what, a, b), (a, b)


def _dense_backward(what: _What, saved: Any, given: jax.Array) -> tuple[jax.Array, jax.Array]:
    a, b = saved
    for_a, for_b = _backward(what, a, b, given)
    return (
        _summed(_dense(for_a[0], *for_a[1]), a.shape),
        _summed(_dense(for_b[0], *for_b[1]), b.shape),
    )


_dense.defvjp(_dense_forward, _dense_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def _grouped(what: _What, a: jax.Array, b: jax.Array, offs: jax.Array) -> jax.Array:
    """A grouped product, whose rest is zeros."""
    shape = _matrix_shape(what, a, b)
    if a.ndim == b.ndim == 2:
        shape = (offs.shape[0], *shape)
    return _call(what, shape, (a, b, offs))


def _grouped_forward(
    what: _What, a: jax.Array, b: jax.Array, offs: jax.Array
) -> tuple[jax.Array, Any]:
    return _grouped(what, a, b, offs), (a, b, offs)


def _grouped_backward(what: _What, saved: Any, given: jax.Array) -> tuple[Any, Any, None]:
    a, b, offs = saved
    for_a, for_b = _backward(what, a, b, given)
    return _grouped(for_a[0], *for_a[1], offs), _grouped(for_b[0], *for_b[1], offs), None


_grouped.defvjp(_grouped_forward, _grouped_backward)


def _backward(what: _What, a: Any, b: Any, given: Any) -> tuple[Any, Any]:
    """The two products that give the gradients, each as what it is and its operands."""
    of_a, of_b = "a" in what.swapped, "b" in what.swapped
    given_a, given_b = given.astype(a.dtype), given.astype(b.dtype)
    if of_a:  # a holds the transpose: its gradient is b @ given^T
        for_a = _swapped(what, of_b, True, a), (b, given_a)
    else:
        for_a = _swapped(what, False, not of_b, a), (given_a, b)
    if of_b:
        for_b = _swapped(what, True, of_a, b), (given_b, a)
    else:
        for_b = _swapped(what, not of_a, False, b), (a, given_b)
    return for_a, for_b


def _swapped(what: _What, a: bool, b: bool, like: jax.Array) -> _What:
    """The same kind of product of operands that lie so, with a result of the dtype of `like`."""
    swapped = ("a" if a else "") + ("b" if b else "")
    return what._replace(swapped=swapped, out=_dtype(like.dtype).name)


def _summed(gradient: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """The gradient of an operand that was broadcast to the shape that it has."""
    modes = tuple(
        mode for mode, extent in enumerate(shape) if extent == 1 != gradient.shape[mode]
    )
    return gradient.sum(axis=modes, keepdims=True) if modes else gradient


def _matrix_shape(what: _What, a: jax.Array, b: jax.Array) -> tuple[int, int]:
    """(M, N) of a product."""
    rows = a.shape[-1 if "a" in what.swapped else -2]
    return rows, b.shape[-2 if "b" in what.swapped else -1]


def _out_dtype(a: jax.Array, b: jax.Array, wanted: Any) -> str:
    """The name of the result's dtype."""
    if wanted is not None:
        name = _dtype(wanted).name
    else:
        name = _result(*(Tensor.describe(_dtype(one.dtype), (1, 1)) for one in (a, b)))[1]
    if name not in _DTYPES:
        raise InvalidValueError(f"out_dtype: expected one of {', '.join(_DTYPES)}, got {name}")
    return name


def _call(what: _What, shape: tuple[int, ...], operands: tuple[jax.Array, ...]) -> jax.Array:
    """The call that XLA makes."""
    _register()
    plain = what.kind == "dense" and not what.epilogue
    call = jax.ffi.ffi_call(
        _TARGET,
        jax.ShapeDtypeStruct(shape, _DTYPES[what.out]),
        vmap_method="expand_dims" if plain else "sequential",
    )
    return call(
        *operands,
        kind=what.kind,
        swapped=what.swapped,
        accumulator=what.accumulator,
        epilogue=what.epilogue,
        names=what.names,
        rest="zero",
    )


@functools.cache
def _register() -> None:
    """Makes the handlers known to XLA, as of the version of its interface that this jaxlib has."""
    header = pathlib.Path(jax.ffi.include_dir(), "xla/ffi/api/c_api.h")
    found = re.search(r"#define XLA_FFI_API_MINOR (\d+)", header.read_text())
    for platform, handler in _jax_handlers(int(found[1]) if found else 1).items():
        jax.ffi.register_ffi_target(_TARGET, handler, platform=platform)
