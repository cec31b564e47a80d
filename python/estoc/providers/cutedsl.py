"""Kernels written in CuTe DSL: their provider, and the base of their classes.

Only compiling and launching such a kernel needs the package nvidia-cutlass-dsl.
"""

from collections.abc import Callable
from typing import Any, ClassVar

from .._estoc import InvalidTypeError, Kernel, Tensor, _known_targets
from . import Provider, register_provider

__all__ = ["CuTeDSLProvider", "CuteDslKernel"]

# What CuTe DSL calls the dtypes.
_CLASSES = {
    "f64": "Float64",
    "f32": "Float32",
    "tf32": "TFloat32",
    "f16": "Float16",
    "bf16": "BFloat16",
    "e4m3": "Float8E4M3FN",
    "e5m2": "Float8E5M2",
    "e8m0": "Float8E8M0FNU",
    "e2m1": "Float4E2M1FN",
    "i32": "Int32",
    "i8": "Int8",
    "u8": "Uint8",
}


@register_provider("cutedsl")
class CuTeDSLProvider(Provider):
    """Kernels written in CuTe DSL."""


class CuteDslKernel(Kernel):
    """Base of classes whose kernels CuTe DSL compiles.

    Attributes
    ----------
    targets : sequence of str
        What the kernels run on; by default every CUDA architecture.
    """

    targets: ClassVar[Any] = tuple(name for name, _ in _known_targets() if name != "cpu")

    def cute_compile(self, entry: Callable[..., Any], *arguments: object) -> Callable[..., Any]:
        """What `cute.compile` makes of a function decorated with `cute.jit`.

        Parameters
        ----------
        entry
            The function, or an object with such a `__call__`.
        arguments
            Of a call. An estoc.Tensor stands for every tensor of its dtype, rank, alignment and
            mode of stride 1, with any extents and other strides; it may be a description.

        Raises
        ------
        ImportError
            When nvidia-cutlass-dsl is not installed.
        """
        cute = _cute()
        return cute.compile(entry, *(_placeholder(each, cute) for each in arguments))

    def cute_run(self, compiled: Callable[..., Any], *arguments: object) -> None:
        """Calls what `cute_compile` has made, on tensors with data."""
        cute = _cute()
        compiled(*(_with_data(each, cute) for each in arguments))


def _cute() -> Any:
    """The package cutlass.cute."""
    try:
        import cutlass.cute
        import cutlass.cute.runtime
    except ImportError as error:
        raise ImportError(
            f"kernels in CuTe DSL need it: pip install nvidia-cutlass-dsl ({error})", name="cutlass"
        ) from error
    return cutlass.cute


def _placeholder(argument: object, cute: Any) -> object:
    """What stands for a tensor while its kernel is compiled; other arguments stay."""
    if not isinstance(argument, Tensor):
        return argument
    leading = _leading(argument)
    extents = tuple(cute.sym_int() for _ in argument.shape)
    strides = tuple(1 if mode == leading else cute.sym_int64() for mode in range(len(extents)))
    return cute.runtime.make_fake_tensor(
        _numeric(argument), extents, strides, assumed_align=_alignment(argument)
    )


def _with_data(argument: object, cute: Any) -> object:
    """The cute.Tensor of a tensor; other arguments stay."""
    if not isinstance(argument, Tensor):
        return argument
    made = cute.runtime.from_dlpack(argument, assumed_align=_alignment(argument))
    return made.mark_layout_dynamic(leading_dim=_leading(argument))


def _leading(tensor: Tensor) -> int | None:
    """The mode of stride 1: the last of them."""
    modes = [mode for mode, stride in enumerate(tensor.strides) if stride == 1]
    return modes[-1] if modes else None


def _alignment(tensor: Tensor) -> int:
    """Bytes that every element is aligned to: all that a kernel may assume of other tensors."""
    return max(tensor.dtype.bits // 8, 1)


def _numeric(tensor: Tensor) -> Any:
    """The class of CuTe DSL that is the dtype of the tensor."""
    import cutlass

    name = _CLASSES.get(tensor.dtype.name)
    if name is None or not hasattr(cutlass, name):
        raise InvalidTypeError(f"dtype: expected one that CuTe DSL has, got {tensor.dtype}")
    return getattr(cutlass, name)
