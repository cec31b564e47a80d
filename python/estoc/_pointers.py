"""Lists of matrices as a table of pointers, which grouped products read on the device."""

import ctypes
import math
import struct
from collections.abc import Sequence
from typing import Any

from ._estoc import InvalidTypeError, InvalidValueError, Tensor, to_cuda_stream
from ._workspace import torch_on_stream

__all__ = ["WORDS", "PointerTable", "check_count", "check_extents", "fill", "matrices_of"]

# An entry: addresses of A, B and out, m, n and k, leading dimensions.
_ENTRY = struct.Struct("<3Q6i")
WORDS = _ENTRY.size // 4
# What a description may promise at most.
_ALIGNMENT = 256


def matrices_of(given: Any, name: str) -> list[Tensor]:
    """The tensors of a list of matrices."""
    if not isinstance(given, (list, tuple)):
        raise InvalidTypeError(f"{name}: expected a list of matrices, got {type(given).__name__}")
    tensors = [one if isinstance(one, Tensor) else Tensor(one) for one in given]
    for number, tensor in enumerate(tensors):
        if tensor.ndim != 2:
            raise InvalidValueError(
                f"{name}[{number}].shape: expected 2 modes, got {tensor.ndim}"
            )
        for what in ("dtype", "device"):
            expected, got = getattr(tensors[0], what), getattr(tensor, what)
            if got == expected:
                continue
            error = InvalidTypeError if what == "dtype" else InvalidValueError
            raise error(
                f"{name}[{number}].{what}: expected {expected} like {name}[0], got {got}"
            )
        if not tensor.has_data and 0 not in tensor.shape:
            raise InvalidValueError(f"{name}[{number}]: expected data, got a description")
    return tensors


def check_count(name: str, tensors: Sequence[Tensor], count: int) -> None:
    """Raises where a list is not as long as mat_a."""
    if len(tensors) != count:
        raise InvalidValueError(f"{name}: expected {count} matrices like mat_a, got {len(tensors)}")


def check_extents(
    a: Sequence[Tensor], b: Sequence[Tensor], out: "Sequence[Tensor] | None"
) -> None:
    """Raises where the extents of a group do not fit each other."""
    for number, (left, right) in enumerate(zip(a, b)):
        if right.shape[0] != left.shape[1]:
            raise InvalidValueError(
                f"mat_b[{number}].shape: expected K = {left.shape[1]} like mat_a[{number}], "
                f"got {right.shape[0]}"
            )
        wanted = (left.shape[0], right.shape[1])
        if out is not None and out[number].shape != wanted:
            raise InvalidValueError(
                f"out[{number}].shape: expected {wanted}, got {out[number].shape}"
            )


class _Operand:
    """The matrices of one operand: their leading dimensions, and what they have in common."""

    def __init__(self, tensors: Sequence[Tensor], name: str) -> None:
        self.tensors = tensors
        self.rows = _have_contiguous_rows(tensors, name)
        self.leading = [self._leading(tensor) for tensor in tensors]

    def _leading(self, tensor: Tensor) -> int:
        along, across = (1, 0) if self.rows else (0, 1)
        if tensor.shape[across] > 1:
            return tensor.strides[across]
        return max(tensor.shape[along], 1)

    def describe(self, groups: int, rows: int, columns: int) -> Tensor:
        """A tensor of the largest extents, which promises what all matrices have."""
        dtype = self.tensors[0].dtype
        size = max(dtype.bits // 8, 1)
        common = _ALIGNMENT
        for tensor, leading in zip(self.tensors, self.leading):
            across = tensor.shape[0 if self.rows else 1]
            common = math.gcd(common, tensor.data_ptr, leading * size if across > 1 else 0)
        step = _ALIGNMENT // size
        along, across = (columns, rows) if self.rows else (rows, columns)
        leading = -(-max(along, 1) // step) * step
        strides = (leading, 1) if self.rows else (1, leading)
        return Tensor.describe(
            dtype,
            (groups, rows, columns),
            (max(across, 1) * leading, *strides),
            self.tensors[0].device,
            max(common, size),
        )


def _have_contiguous_rows(tensors: Sequence[Tensor], name: str) -> bool:
    for along in (1, 0):
        if all(
            one.shape[along] <= 1 or 0 in one.shape or one.strides[along] == 1 for one in tensors
        ):
            return along == 1
    raise InvalidValueError(
        f"{name}: expected matrices all of which have contiguous rows, or all contiguous columns, "
        f"got strides {', '.join(str(one.strides) for one in tensors[:8])}"
    )


def _rounded(extent: int) -> int:
    """The next power of two, from 128 on the next multiple: a plan serves many sizes so."""
    if extent >= 128:
        return -(-extent // 128) * 128
    return 1 << (extent - 1).bit_length() if extent > 0 else 0


class PointerTable:
    """The entries of lists of matrices, and descriptions of the operands that go with them."""

    def __init__(self, a: Sequence[Tensor], b: Sequence[Tensor], out: Sequence[Tensor]) -> None:
        operands = [_Operand(*one) for one in ((a, "mat_a"), (b, "mat_b"), (out, "out"))]
        extents = [(one.shape[0], other.shape[1], one.shape[1]) for one, other in zip(a, b)]
        m, n, k = (_rounded(max(each)) for each in zip(*extents))
        groups = len(a)
        left, right, result = operands
        self.descriptions = (
            left.describe(groups, m, k),
            right.describe(groups, k, n),
            result.describe(groups, m, n),
        )
        self.data = bytearray(groups * _ENTRY.size)
        for number in range(groups):
            addresses = (one.tensors[number].data_ptr for one in operands)
            leading = (one.leading[number] for one in operands)
            _ENTRY.pack_into(
                self.data, number * _ENTRY.size, *addresses, *extents[number], *leading
            )


def fill(words: Any, data: bytearray, stream: object) -> None:
    """Copies the entries to a tensor that the library or a framework made for them."""
    target = Tensor(words)
    if target.device == "cpu":
        source = (ctypes.c_char * len(data)).from_buffer(data)
        ctypes.memmove(target.data_ptr, source, len(data))
        return
    if type(words).__module__.partition(".")[0] == "cupy":
        import cupy
        import numpy

        given = numpy.frombuffer(data, "i4").reshape(words.shape)
        words.set(given, cupy.cuda.ExternalStream(to_cuda_stream(stream)) if stream else None)
        return
    import contextlib

    import torch

    given = torch.frombuffer(data, dtype=torch.int32).reshape(words.shape)
    on_stream = contextlib.nullcontext()
    if stream is not None:
        on_stream = torch_on_stream(words.device, to_cuda_stream(stream))
    with torch.no_grad(), on_stream:
        words.copy_(given)
