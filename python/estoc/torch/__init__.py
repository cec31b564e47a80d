"""Estoc's products as operators of PyTorch, with compile, export, autograd and autocast.

    import estoc.torch

    y = estoc.torch.matmul(a, b)                               # records gradients
    z = estoc.torch.linear(x, weight, bias, "D = gelu(accum + bias)")

Importing this module imports torch and registers `torch.ops.estoc.*`; importing estoc does neither.
"""

from ._functions import bmm, grouped_mm, linear, matmul, scaled_mm

__all__ = [
    "bmm",
    "grouped_mm",
    "linear",
    "matmul",
    "scaled_mm",
]
