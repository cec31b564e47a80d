"""A GEMM in one call: plan for repeated calls, matmul for a single one."""

from collections import OrderedDict

from ._estoc import (
    GemmArguments,
    InvalidTypeError,
    PerformanceControls,
    Plan,
    RuntimeArguments,
    Tensor,
    UnsupportedError,
    _make_plan,
    dtype,
    explain,
)
from .manifest import get_kernels

__all__ = ["Plan", "matmul", "plan"]


def plan(
    a: object,
    b: object,
    out: object,
    accumulator_type: object = None,
    *,
    epilogue: object = None,
    performance: PerformanceControls | None = None,
    workspace: object = None,
    threads: int = 0,
    keep: bool = True,
) -> Plan:
    """Chooses and compiles the kernel for out = a @ b; the result runs it, again and again.

    Kernels written in Python are not among those to choose from.

    Parameters
    ----------
    a, b, out, accumulator_type, epilogue, performance
        As of GemmArguments.
    workspace : tensor, optional
        Scratch memory for every call.
    threads : int
        Host threads of a cpu kernel; 0: one for each core.
    keep : bool
        Keep the tensors, so that the plan can be called without any.

    Raises
    ------
    UnsupportedError
        When no kernel supports the arguments, with the reasons.
    """
    args = GemmArguments(a, b, out, accumulator_type, epilogue=epilogue, performance=performance)
    kernels = get_kernels(args, providers=_NATIVE)
    if not kernels:
        raise UnsupportedError(_why_none(args))
    artifact = kernels[0].compile(args)
    return _make_plan(kernels[0], args, artifact, workspace, threads, keep)


_NATIVE = ("cpu", "cuda", "cublaslt")
_MOST_PLANS = 256
_plans: "OrderedDict[tuple, Plan]" = OrderedDict()


def matmul(
    a: object,
    b: object,
    out: object = None,
    *,
    accumulator_type: object = None,
    epilogue: object = None,
    stream: object = None,
) -> object:
    """out = a @ b, with the fastest kernel for it.

    Parameters
    ----------
    a : tensor of shape (M, K) or (L, M, K)
    b : tensor of shape (K, N) or (L, K, N)
    out : tensor of shape (M, N) or (L, M, N), optional
        Left out, made by the framework of `a` (NumPy, torch, CuPy), rows contiguous: i32 for
        integers, bf16 for floats of eight bits, else the dtype of `a`.

    Returns
    -------
    tensor
        `out`.
    """
    left, right = Tensor(a), Tensor(b)
    if out is None:
        out = _empty(a, left, right)
    result = Tensor(out)
    key = (
        *(part for one in (left, right, result) for part in _signature(one)),
        None if accumulator_type is None else dtype(accumulator_type),
        epilogue if isinstance(epilogue, str) else None,
    )
    keyed = epilogue is None or isinstance(epilogue, str)  # others hold tensors, or are functions
    found = _plans.get(key) if keyed else None
    if found is None:
        found = plan(left, right, result, accumulator_type, epilogue=epilogue, keep=False)
        if keyed:
            _plans[key] = found
        if len(_plans) > _MOST_PLANS:
            _plans.popitem(last=False)
    found(left, right, result, stream=stream)
    return out


def _signature(one: Tensor) -> tuple:
    return (one.dtype, one.shape, one.strides, one.device, one.alignment)


def _shape(left: Tensor, right: Tensor) -> tuple[int, ...]:
    if not (2 <= left.ndim <= 3 and 2 <= right.ndim <= 3):
        raise InvalidTypeError(
            f"a, b: expected tensors of two or three modes, got {left.ndim} and {right.ndim}"
        )
    batches = [one.shape[0] for one in (left, right) if one.ndim == 3]
    matrix = (left.shape[-2], right.shape[-1])
    return (max(batches), *matrix) if batches else matrix


def _empty(a: object, left: Tensor, right: Tensor) -> object:
    """A new tensor for the product, made by the framework of `a`."""
    shape = _shape(left, right)
    name = left.dtype.name
    name = {"i8": "i32", "u8": "i32", "e4m3": "bf16", "e5m2": "bf16", "tf32": "f32"}.get(name, name)
    kind = type(a).__module__.partition(".")[0]
    if kind == "torch" or hasattr(a, "new_empty"):
        return a.new_empty(shape, dtype=a.dtype if dtype(a.dtype) == name else _torch_dtype(name))
    if kind == "cupy":
        import cupy

        return cupy.empty(shape, _numpy_dtype(name))
    if left.device == "cpu":
        import numpy

        return numpy.empty(shape, _numpy_dtype(name))
    raise InvalidTypeError(f"out: expected a tensor, as none can be made for {type(a).__name__}")


def _torch_dtype(name: str) -> object:
    import torch

    return getattr(torch, {"i32": "int32", "bf16": "bfloat16", "f32": "float32"}[name])


def _numpy_dtype(name: str) -> object:
    if name == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return {"f64": "f8", "f32": "f4", "f16": "f2", "i32": "i4"}[name]


def _why_none(args: RuntimeArguments) -> str:
    reasons = [
        f"{line['kernel_class']}: {line['status'].error}"
        for line in explain(args)
        if not line["status"]
    ]
    return "no kernel supports the arguments; " + "; ".join(reasons)
