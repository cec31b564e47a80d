"""Plans for operations that are repeated; matmul and grouped_mm, products in one call."""

import math
import sys
import warnings
from typing import Any

from ._estoc import (
    CompiledArtifact,
    EpilogueArguments,
    GemmArguments,
    InvalidTypeError,
    InvalidValueError,
    PerformanceControls,
    Plan,
    RuntimeArguments,
    Tensor,
    _grouped_mm,
    _grouped_result,
    _ranges_of_index,
    _make_plan,
    _result,
    _with_columns_of_out,
    matmul,
    to_cuda_stream,
)
from ._estoc import dtype as _dtype
from ._pointers import WORDS, PointerTable, check_count, check_extents, fill, matrices_of
from ._problem_log import note, note_grouped
from ._workspace import torch_on_stream

__all__ = ["Plan", "grouped_mm", "matmul", "plan", "ranges_of_index"]


def plan(
    a: object,
    b: object = None,
    out: object = None,
    accumulator_type: object = None,
    *,
    epilogue: object = None,
    performance: PerformanceControls | None = None,
    workspace: object = None,
    threads: int = 0,
    programmatic: bool = True,
    keep: bool = True,
    compiled_artifact: CompiledArtifact | None = None,
) -> Plan:
    """Chooses and compiles the kernel for out = a @ b; the result runs it, again and again.

    `plan(args)` does that for the arguments of any operation, such as ElementwiseArguments.

    Parameters
    ----------
    a, b, out, accumulator_type, epilogue, performance
        As of GemmArguments.
    workspace : tensor, optional
        Scratch memory for every call: calls must not overlap then.
    threads : int
        Host threads of a cpu kernel; 0: one for each core.
    programmatic : bool
        As of Kernel.run.
    keep : bool
        Keep the tensors, so that the plan can be called without any.
    compiled_artifact : CompiledArtifact, optional
        Of the kernel to use, one of the library's; left out, the first of get_kernels is compiled.

    Raises
    ------
    UnsupportedError
        When no kernel supports the arguments, or that of the artifact does not, with the reasons.
    """
    described = (b, out, accumulator_type, epilogue, performance)
    if not isinstance(a, RuntimeArguments):
        a = GemmArguments(a, b, out, accumulator_type, epilogue=epilogue, performance=performance)
    elif any(one is not None for one in described):
        raise InvalidTypeError(
            "plan: expected arguments of an operation alone, got more that describes it"
        )
    note(a)
    return _make_plan(a, compiled_artifact, workspace, threads, programmatic, keep)


def grouped_mm(
    mat_a: object,
    mat_b: object,
    *,
    offs: object = None,
    bias: object = None,
    out: object = None,
    out_dtype: object = None,
    epilogue: object = None,
    zero_rest: bool = False,
    layout: str = "ends",
    rows: object = None,
    stream: object = None,
) -> object:
    """Products of groups, as torch.nn.functional.grouped_mm has them. No gradient is recorded.

    The numbers of modes of the operands say what `offs` divides: (M, K) and (G, K, N), rows, the
    result is (M, N); (G, M, K) and (K, N), columns, the result is (M, N); (M, K) and (K, N), the
    sums over K, the result is (G, M, N). (G, M, K) and (G, K, N) are a batched product. Lists of
    matrices, (M, K) and (K, N) of any sizes each, are products of their own; the result is a list.
    Their table of pointers is copied to the device by this call, which a stream capture does not
    allow.

    Parameters
    ----------
    mat_a, mat_b : tensor or list of tensors
    offs : tensor of shape (G,), dtype i32, optional
        Where each group ends, on the operands' device, where it stays. Any sizes, 0 included;
        whatever it holds, nothing outside the operands is read or written.
    bias : tensor, optional
        Added to the products: one that broadcasts to the result, or (G, N) where the result has
        three modes.
    out : tensor or list of tensors, optional
        Left out, made by the framework of `mat_a` (NumPy, torch, CuPy).
    out_dtype : dtype, optional
        Of a result that is made: else as of matmul.
    epilogue : str, function or EpilogueArguments, optional
        What is applied to the accumulator, in place of a bias.
    zero_rest : bool
        Rows or columns of no group are products of zeros; else they are left as they are, which
        in a result that is made is anything.
    layout : str
        What `offs` says of the groups: "ends"; "prefix", of shape (G + 1,), where each begins and
        the last one ends; "masked", of shape (G,), how many rows of (G, M, K) and of the result
        (G, M, N) each has; "ranges", of shape (G, 2), where each begins and ends; "pointers", of
        shape (G, 12), an entry of 48 bytes for each: addresses of its A, B and out in 64 bits, then
        m, n, k and the three leading dimensions in 32. Operands and `out` are then of
        Tensor.describe, with the largest sizes and the alignment in bytes that addresses and
        leading dimensions are promised to have.
    rows : tensor of shape (M,), dtype i32, optional
        For groups of rows: row i of the product's A is mat_a[rows[i]], which is not copied, or
        zeros where `mat_a`, of any number of rows, has no such row. The result has M rows.
    stream : optional
        As of Kernel.run.

    Returns
    -------
    tensor
        `out`.

    Raises
    ------
    ValueError
        Shapes, strides or devices that do not fit.
    UnsupportedError
        When no kernel supports the arguments, with the reasons.
    """
    if isinstance(mat_a, (list, tuple)):
        others = (offs, bias, epilogue, rows)
        if any(one is not None for one in others) or zero_rest or layout != "ends":
            raise InvalidTypeError(
                "grouped_mm: expected lists of matrices with out, out_dtype and stream alone, got "
                "more"
            )
        return _grouped_lists(mat_a, mat_b, out, out_dtype, stream)
    if out is None:
        columns = _with_columns_of_out(_as_tensor(mat_b), epilogue)
        out = _empty_grouped(mat_a, columns, offs, layout, out_dtype, stream, rows)
    elif out_dtype is not None:
        raise InvalidTypeError("out_dtype: expected None beside out, whose dtype holds")
    if bias is not None:
        epilogue = _with_bias(bias, epilogue, Tensor(out))
    if _grouped_mm(mat_a, mat_b, out, offs, epilogue, zero_rest, layout, stream, rows):
        note_grouped(mat_a, mat_b, out, offs, epilogue, zero_rest, layout, rows)
    return out


def ranges_of_index(
    index: object, groups: int, *, out: object = None, stream: object = None
) -> object:
    """Offsets of layout "ranges" for groups that are given by an index.

    Parameters
    ----------
    index : tensor of shape (E,), dtype i32
        The group of each row, negative for a row of no group. Groups are in ascending order, each
        in one piece; between them there may be any number of rows of no group.
    groups : int
    out : tensor of shape (G, 2), dtype i32, optional
        Left out, made by the framework of `index`.
    stream : optional
        As of Kernel.run.

    Returns
    -------
    tensor
        `out`: where each group begins and ends, 0 and 0 for one without rows.

    Raises
    ------
    ValueError, TypeError
        For tensors that do not fit.
    """
    if out is None:
        given = _as_tensor(index)
        out = _made(index, given, (groups, 2), "i32", stream)
    _ranges_of_index(index, out, stream)
    return out


def _with_bias(bias: object, epilogue: object, out: Tensor) -> EpilogueArguments:
    """The epilogue that adds a bias."""
    if epilogue is not None:
        raise InvalidTypeError("bias: expected None beside an epilogue, which can add it")
    given = _as_tensor(bias)
    rows, columns = out.shape[-2:]
    if len(given.shape) == 2 and len(out.shape) == 3:
        groups = out.shape[0]
        if given.shape != (groups, columns):
            raise InvalidValueError(
                f"bias.shape: expected ({groups}, {columns}), one row for each group, "
                f"got {given.shape}"
            )
        strides = given.strides
        given = Tensor(given.tensor, None, (groups, 1, columns), (strides[0], 0, strides[1]))
    elif len(given.shape) == 2 and len(out.shape) == 2 and given.shape[0] not in (1, rows):
        raise InvalidValueError(
            f"bias.shape: expected one that broadcasts to {out.shape}, got {given.shape}; a bias "
            "for each group is there where the result has three modes"
        )
    return EpilogueArguments("D = accum + bias", bias=given)


def _as_tensor(given: object) -> Tensor:
    """What a tensor of a framework, or of the library, is to the library."""
    return given if isinstance(given, Tensor) else Tensor(given)


def _group_count(offs: Tensor, layout: str) -> int:
    """The groups that offsets state."""
    return max(offs.shape[0] - 1, 0) if layout == "prefix" else offs.shape[0]


def _grouped_lists(
    mat_a: Any, mat_b: Any, out: Any, out_dtype: object, stream: object
) -> list[object]:
    """Products of matrices that lie anywhere, by a table of pointers."""
    a, b = matrices_of(mat_a, "mat_a"), matrices_of(mat_b, "mat_b")
    check_count("mat_b", b, len(a))
    if out is not None and out_dtype is not None:
        raise InvalidTypeError("out_dtype: expected None beside out, whose dtype holds")
    if out is None:
        check_extents(a, b, None)
        pairs = list(zip(mat_a, a, b))
        if out_dtype is None:
            out = [_empty(given, left, right, stream) for given, left, right in pairs]
        else:
            out = [_empty_of(given, left, right, out_dtype, stream) for given, left, right in pairs]
    results = matrices_of(out, "out")
    check_count("out", results, len(a))
    check_extents(a, b, results)
    if not a:
        return list(out)
    table = PointerTable(a, b, results)
    try:
        words = _made(mat_a[0], a[0], (len(a), WORDS), "i32", stream)
    except InvalidTypeError:
        raise InvalidTypeError(
            "mat_a: expected matrices of NumPy, torch or CuPy, by which a table can be made, got "
            f"{type(mat_a[0]).__name__}; pass a table as offs with layout='pointers'"
        ) from None
    fill(words, table.data, stream)
    if _grouped_mm(*table.descriptions, words, None, False, "pointers", stream):
        for left, right in zip(a, b):
            _warn_of_gradients(left, right)
    return list(out)


def _empty_grouped(
    mat_a: object,
    mat_b: object,
    offs: object,
    layout: str,
    dtype: object,
    stream: object,
    rows: object,
) -> object:
    """A new tensor for a grouped product, as _empty makes one."""
    left, right = _as_tensor(mat_a), _as_tensor(mat_b)
    groups = 0 if offs is None else _group_count(Tensor(offs), layout)
    shape, name = _grouped_result(left, right, groups, dtype)
    if rows is not None and len(shape) == 2:
        shape = (*_as_tensor(rows).shape[:1], shape[1])
    return _made(mat_a, left, shape, _checked_result(name), stream)


def _warn_of_gradients(left: Tensor, right: Tensor) -> None:
    """Warns where torch would record what matmul does, the first time that it does that."""
    if _records_gradients(left) or _records_gradients(right):
        warnings.warn(
            "estoc.matmul records no gradient, and an operand requires one: call it within "
            "torch.no_grad(), or call estoc.torch.matmul",
            RuntimeWarning,
            stacklevel=2,
        )


def _records_gradients(operand: Tensor) -> bool:
    """Whether torch would record what is done with the operand."""
    if not getattr(operand.tensor, "requires_grad", False):
        return False
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled()


def _checked_result(name: str) -> str:
    """The name of a dtype, which a result that is made may have."""
    if name not in ("f64", "f32", "f16", "bf16", "i32"):
        raise InvalidValueError(
            f"out_dtype: expected f64, f32, f16, bf16 or i32, got {name}; pass out for others"
        )
    return name


def _matmul_of_modes(
    a: Any,
    b: Any,
    out: object,
    accumulator_type: object,
    epilogue: object,
    stream: object,
    tuner: Any,
    out_dtype: object,
) -> Any:
    """The product of vectors, or of operands with two batch modes and more, as one of matrices."""
    if out is not None:
        raise InvalidValueError(
            "out: expected None for vectors and for more than one batch mode, got a tensor"
        )
    left, right = _as_tensor(a).shape, _as_tensor(b).shape
    reshaped = hasattr(a, "reshape") and hasattr(b, "reshape")
    if not left or not right or not reshaped:
        wanted = "one or more modes" if reshaped else "two or three modes"
        raise InvalidValueError(
            f"a, b: expected tensors of {wanted}, got {len(left)} and {len(right)}"
        )
    rows, columns = left[-2:-1], right[-1:] if len(right) > 1 else ()
    batch = max(left[:-2], right[:-2], key=lambda modes: (math.prod(modes) != 1, len(modes)))
    made = matmul(
        _as_matrices(a, left[-2:] if rows else (1, *left), batch, "a"),
        _as_matrices(b, right[-2:] if columns else (*right, 1), batch, "b"),
        accumulator_type=accumulator_type,
        epilogue=epilogue,
        stream=stream,
        tuner=tuner,
        out_dtype=out_dtype,
    )
    return made.reshape(batch + rows + (made.shape[-1:] if columns else ()))


def _as_matrices(operand: Any, matrix: tuple[int, ...], batch: tuple[int, ...], name: str) -> Any:
    """The operand as one matrix, or as one for each index of the batch modes."""
    own = tuple(operand.shape)[:-2]
    if math.prod(own) == 1:
        return operand.reshape(matrix)
    if own != batch:
        raise InvalidValueError(f"{name}.shape: expected batch modes {batch} or none, got {own}")
    return operand.reshape((math.prod(batch), *matrix))


def _empty_of(a: object, left: Tensor, right: Tensor, dtype: object, stream: object) -> object:
    """A new tensor of a dtype for the product."""
    shape, _ = _result(left, right)
    return _made(a, left, shape, _checked_result(str(_dtype(dtype))), stream)


def _empty(a: object, left: Tensor, right: Tensor, stream: object = None) -> object:
    """A new tensor for the product, made by the framework of `a` for work on `stream`."""
    return _made(a, left, *_result(left, right), stream)


def _made(a: object, left: Tensor, shape: tuple[int, ...], name: str, stream: object) -> object:
    """A new tensor of that shape and dtype; `left` is what `a` is to the library."""
    if stream is None or left.device == "cpu":
        return _new_tensor(a, shape, name)
    given = a.tensor if isinstance(a, Tensor) else a
    kind = type(given).__module__.partition(".")[0]
    address = to_cuda_stream(stream)
    if kind == "cupy":
        import cupy

        with given.device, cupy.cuda.ExternalStream(address):
            return _new_tensor(a, shape, name)
    if not hasattr(given, "new_empty"):
        return _new_tensor(a, shape, name)
    with torch_on_stream(given.device, address):
        return _new_tensor(a, shape, name)


def _new_tensor(a: object, shape: object, name: str) -> object:
    """A new tensor of the framework of `a`, on its device, of the dtype of that name."""
    if isinstance(a, Tensor):
        a = a.tensor
    kind = type(a).__module__.partition(".")[0]
    if kind == "torch" or hasattr(a, "new_empty"):  # a subclass is of another module
        return a.new_empty(shape, dtype=_torch_dtype(name))
    if kind == "cupy":
        import cupy

        return cupy.empty(shape, _numpy_dtype(name))
    if Tensor(a).device == "cpu":
        import numpy

        return numpy.empty(shape, _numpy_dtype(name))
    raise InvalidTypeError(f"out: expected a tensor, as none can be made for {type(a).__name__}")


def _torch_dtype(name: str) -> object:
    import torch

    return getattr(torch, _dtype(name).numpy_name, None)  # e8m0 since torch 2.7


def _numpy_dtype(name: str) -> object:
    import numpy

    theirs = _dtype(name).numpy_name
    if hasattr(numpy, theirs):
        return getattr(numpy, theirs)
    import ml_dtypes

    return getattr(ml_dtypes, theirs)
