"""How scale factors of quantised operands belong to the data, and how they lie in memory."""

import enum


class ScaleMode(enum.Enum):
    """Which elements share one scale factor."""

    tensorwise = "tensorwise"
    rowwise = "rowwise"
    blockwise_1x16 = "blockwise_1x16"
    blockwise_1x32 = "blockwise_1x32"
    blockwise_1x128 = "blockwise_1x128"
    blockwise_128x128 = "blockwise_128x128"

    # The names that programs written for the CUTLASS API use.
    Blockwise1x16 = "blockwise_1x16"
    Blockwise1x32 = "blockwise_1x32"


class ScaleSwizzleMode(enum.Enum):
    """How the scale factors are arranged."""

    none = "none"
    swizzle_32x4x4 = "swizzle_32x4x4"

    SwizzleNone = "none"
    Swizzle32x4x4 = "swizzle_32x4x4"


__all__ = ["ScaleMode", "ScaleSwizzleMode"]
