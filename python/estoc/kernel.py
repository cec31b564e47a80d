"""The kernel: what get_kernels finds, and the base of kernels written in Python."""

from ._estoc import BoundKernel, Kernel, KernelList

__all__ = ["BoundKernel", "Kernel", "KernelList"]
