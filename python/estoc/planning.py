"""Plans for operations that are repeated, and matmul, a GEMM in one call."""

import sys
import warnings

from ._estoc import (
    GemmArguments,
    InvalidTypeError,
    PerformanceControls,
    Plan,
    RuntimeArguments,
    Tensor,
    _make_plan,
    _result,
    matmul,
    to_cuda_stream,
)
from ._workspace import torch_on_stream

__all__ = ["Plan", "matmul", "plan"]


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
    programmatic: bool = False,
    keep: bool = True,
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

    Raises
    ------
    UnsupportedError
        When no kernel supports the arguments, with the reasons.
    """
    described = (b, out, accumulator_type, epilogue, performance)
    if not isinstance(a, RuntimeArguments):
        a = GemmArguments(a, b, out, accumulator_type, epilogue=epilogue, performance=performance)
    elif any(one is not None for one in described):
        raise InvalidTypeError(
            "plan: expected arguments of an operation alone, got more that describes it"
        )
    return _make_plan(a, workspace, threads, programmatic, keep)


def _warn_of_gradients(left: Tensor, right: Tensor) -> None:
    """Warns where torch would record what matmul does, the first time that it does that."""
    if _records_gradients(left) or _records_gradients(right):
        warnings.warn(
            "estoc.matmul records no gradient, and an operand requires one: call it within "
            "torch.no_grad(), or define a torch.autograd.Function",
            RuntimeWarning,
            stacklevel=2,
        )


def _records_gradients(operand: Tensor) -> bool:
    """Whether torch would record what is done with the operand."""
    if not getattr(operand.tensor, "requires_grad", False):
        return False
    torch = sys.modules.get("torch")
    return torch is not None and torch.is_grad_enabled()


def _empty(a: object, left: Tensor, right: Tensor, stream: object = None) -> object:
    """A new tensor for the product, made by the framework of `a` for work on `stream`."""
    if stream is None or left.device == "cpu":
        return _new(a, left, right)
    given = a.tensor if isinstance(a, Tensor) else a
    kind = type(given).__module__.partition(".")[0]
    address = to_cuda_stream(stream)
    if kind == "cupy":
        import cupy

        with given.device, cupy.cuda.ExternalStream(address):
            return _new(a, left, right)
    if not hasattr(given, "new_empty"):
        return _new(a, left, right)
    with torch_on_stream(given.device, address):
        return _new(a, left, right)


def _new(a: object, left: Tensor, right: Tensor) -> object:
    return _new_tensor(a, *_result(left, right))


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

    return {
        "f64": torch.float64,
        "f32": torch.float32,
        "f16": torch.float16,
        "bf16": torch.bfloat16,
        "i32": torch.int32,
    }[name]


def _numpy_dtype(name: str) -> object:
    if name == "bf16":
        import ml_dtypes

        return ml_dtypes.bfloat16
    return {"f64": "f8", "f32": "f4", "f16": "f2", "i32": "i4"}[name]
