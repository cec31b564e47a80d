"""Small functions that authors of kernels need."""

from ._estoc import (
    cuda_devices,
    is_device_cc_supported,
    strides_to_layout_string,
    to_cuda_stream,
)

__all__ = [
    "cuda_devices",
    "is_device_cc_supported",
    "strides_to_layout_string",
    "to_cuda_stream",
]
