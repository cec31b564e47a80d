"""Tensors of CuTe DSL as operands. The extension module calls this for a cute.Tensor."""

from typing import Any

from ._estoc import InvalidTypeError, Tensor

__all__ = ["operand"]


def operand(tensor: Any) -> Tensor:
    """The estoc.Tensor of a cute.Tensor on a GPU, which it keeps alive.

    Raises
    ------
    TypeError
        For one that is not in a GPU's memory, or whose modes are nested.
    """
    shape, strides = tuple(tensor.shape), tuple(tensor.stride)
    if tensor.memspace.name != "gmem" or not all(isinstance(one, int) for one in shape + strides):
        raise InvalidTypeError(
            f"tensor: expected a cute.Tensor in a GPU's memory with plain modes, got {tensor}"
        )
    kind = tensor.element_type
    size = max(kind.width // 8, 1)
    memory = type("Memory", (), {})()
    memory.tensor = tensor
    memory.__cuda_array_interface__ = {
        "version": 3,
        "data": (tensor.data_ptr, False),
        "typestr": {1: "|u1", 2: "<f2", 4: "<f4", 8: "<f8"}[size],
        "shape": shape,
        "strides": tuple(size * stride for stride in strides),
    }
    return Tensor(memory, kind)
