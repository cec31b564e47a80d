"""What is to be computed and on which operands."""

from ._estoc import (
    ElementwiseArguments,
    EpilogueArguments,
    GemmArguments,
    GroupedGemmArguments,
    PerformanceControls,
    RuntimeArguments,
    ScaledTensor,
    Tensor,
)

__all__ = [
    "ElementwiseArguments",
    "EpilogueArguments",
    "GemmArguments",
    "GroupedGemmArguments",
    "PerformanceControls",
    "RuntimeArguments",
    "ScaledTensor",
    "Tensor",
]
