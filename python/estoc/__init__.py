"""Estoc finds, compiles and runs the GEMM kernel that fits a problem.

    args = estoc.GemmArguments(a, b, out)     # tensors of torch, JAX, CuPy, NumPy, DLPack
    kernels = estoc.get_kernels(args)         # all that can carry it out, the fastest first
    kernels[0].run(args)
"""

from . import _libraries  # first: it says where NVIDIA's libraries are
from . import (
    arguments,
    artifact,
    cuda,
    kernel,
    library,
    manifest,
    metadata,
    providers,
    status,
    utils,
)
from . import _estoc
from ._estoc import *
from ._estoc import __version__
from ._problem_log import log_problems
from .compiling import compile_all, warmup
from .cuda import CudaKernelClass
from .experts import Moe, moe
from .library import ScaleMode, ScaleSwizzleMode
from .manifest import Manifest, get_kernels
from .measuring import KernelTiming, Measurement, measure
from .planning import grouped_mm, plan, ranges_of_index
from .scaling import scaled_grouped_mm, scaled_mm
from .providers import available_providers, register, register_provider, unregister
from .tuning import tune

__all__ = [
    "__version__",
    "arguments",
    "artifact",
    "available_providers",
    "compile_all",
    "cuda",
    "CudaKernelClass",
    "get_kernels",
    "grouped_mm",
    "kernel",
    "KernelTiming",
    "library",
    "log_problems",
    "Manifest",
    "manifest",
    "measure",
    "Measurement",
    "metadata",
    "Moe",
    "moe",
    "plan",
    "providers",
    "ranges_of_index",
    "register",
    "register_provider",
    "scaled_grouped_mm",
    "scaled_mm",
    "ScaleMode",
    "ScaleSwizzleMode",
    "status",
    "tune",
    "unregister",
    "utils",
    "warmup",
]
__all__ += _estoc.__all__
