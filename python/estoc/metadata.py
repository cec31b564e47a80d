"""What is known of a kernel without compiling it."""

from ._estoc import (
    BLASDesignMetadata,
    DesignMetadata,
    ElementwiseOperandsMetadata,
    GemmOperandsMetadata,
    KernelMetadata,
    Sm100DesignMetadata,
    TensorAttributes,
)

__all__ = [
    "BLASDesignMetadata",
    "DesignMetadata",
    "ElementwiseOperandsMetadata",
    "GemmOperandsMetadata",
    "KernelMetadata",
    "Sm100DesignMetadata",
    "TensorAttributes",
]
