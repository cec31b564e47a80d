"""Estoc's products as operators of PyTorch, with compile, export, autograd and autocast.

    import estoc.torch

    y = estoc.torch.matmul(a, b)                               # records gradients
    z = estoc.torch.linear(x, weight, bias, "D = gelu(accum + bias)")
    estoc.torch.enable_inductor()                              # max-autotune times Estoc's kernels

Importing this module imports torch and registers `torch.ops.estoc.*`; importing estoc does neither.
"""

from ._functions import bmm, grouped_mm, linear, matmul, scaled_mm
from ._inductor import disable_inductor, enable_inductor, inductor_enabled
from ._nvgemm import disable_nvgemm, enable_nvgemm, nvgemm_enabled

__all__ = [
    "bmm",
    "disable_inductor",
    "disable_nvgemm",
    "enable_inductor",
    "enable_nvgemm",
    "grouped_mm",
    "inductor_enabled",
    "linear",
    "matmul",
    "nvgemm_enabled",
    "scaled_mm",
]
