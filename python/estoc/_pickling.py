"""The functions that pickles call: pickle finds these by name."""

from ._estoc import (
    CompiledArtifact,
    ElementwiseArguments,
    EpilogueArguments,
    GemmArguments,
    GroupedGemmArguments,
    ScaledTensor,
    Tensor,
    _make_artifact,
    _make_kernel,
    _make_metadata,
)

__all__ = [
    "CompiledArtifact",
    "ElementwiseArguments",
    "GemmArguments",
    "GroupedGemmArguments",
    "ScaledTensor",
    "Tensor",
    "describe",
    "make_artifact",
    "make_elementwise",
    "make_epilogue",
    "make_kernel",
    "make_metadata",
]


def describe(*parts):
    """A tensor without data."""
    return Tensor.describe(*parts)


def make_kernel(*parts):
    """A kernel of the library from its name and knobs."""
    return _make_kernel(*parts)


def make_metadata(*parts):
    """The metadata of a kernel of the library from its name."""
    return _make_metadata(*parts)


def make_artifact(*parts):
    """A compiled kernel from its code."""
    return _make_artifact(*parts)


def make_elementwise(A, out, epilogue, performance):
    """Elementwise arguments with an epilogue."""
    return ElementwiseArguments(A, out, epilogue=epilogue, performance=performance)


def make_epilogue(text, operands):
    """An epilogue from its text and operands."""
    return EpilogueArguments(text, **operands)
