"""Classes derived from estoc.Kernel in the form in which the library describes kernel classes."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ._estoc import (
    BoundKernel,
    ElementwiseOperandsMetadata,
    EpilogueGraph,
    GemmOperandsMetadata,
    InvalidTypeError,
    InvalidValueError,
    Kernel,
    RuntimeArguments,
    Status,
    Tensor,
    _check_supports,
    _known_targets,
)

__all__ = ["KernelAdapter", "adapt"]

_MAX_VALUES = 255  # of a key of configurations


class KernelAdapter:
    """The kernels that a class generates, as configurations; those of CudaKernelClass are alike."""

    abi = ""

    def __init__(self, name: str, source: type, kernels: Sequence[Kernel]) -> None:
        self.name = name
        self.kernels = _numbered(kernels)
        first = kernels[0].metadata
        elementwise = isinstance(first.operands, ElementwiseOperandsMetadata)
        self.operation = "elementwise" if elementwise else "gemm"
        self.targets = _targets(source, min(kernel.metadata.min_cc for kernel in kernels))

    def configurations(self) -> list[dict[str, Any]]:
        return [dict(key) | _operands(kernel) for key, kernel in self.kernels.items()]

    def kernel_of(self, config: Mapping[str, Any]) -> Kernel:
        key = tuple((part, config[part]) for part in ("group", "kernel") if part in config)
        return self.kernels[key]

    def supports(self, config: Mapping[str, Any], args: RuntimeArguments, target: str) -> Status:
        kernel = self.kernel_of(config)
        if type(kernel).supports is Kernel.supports:
            return _check_supports(kernel, args, None, target)
        return kernel.supports(args, target=target)

    def supports_epilogue(
        self, config: Mapping[str, Any], epilogue: EpilogueGraph, target: str
    ) -> Status:
        return self.kernel_of(config)._supports_epilogue(epilogue)

    def predict(
        self, config: Mapping[str, Any], args: RuntimeArguments, target: str
    ) -> float | None:
        predict = getattr(self.kernel_of(config), "predict", None)
        return None if predict is None else predict(args)

    def workspace_size(self, config: Mapping[str, Any], args: RuntimeArguments) -> int:
        return self.kernel_of(config).get_workspace_size(args)

    def bind(
        self, config: Mapping[str, Any], args: RuntimeArguments, workspace: Tensor | None
    ) -> BoundKernel:
        kernel = self.kernel_of(config)
        artifact = kernel.compile(args)
        return kernel.bind(args, artifact, workspace=workspace, assume_supported_args=True)


def adapt(name: str, source: type) -> KernelAdapter | None:
    """The kernels of a class, or of a provider with a generate_kernels; None without any."""
    kernels = list(source.generate_kernels(lambda _: True, epilogue_args=None, cc=None))
    return KernelAdapter(name, source, kernels) if kernels else None


def _numbered(kernels: Sequence[Kernel]) -> dict[tuple[tuple[str, Any], ...], Kernel]:
    """The kernels by the keys that tell them apart: their names, or numbers where they are many."""
    labels = [_label(kernel.name) for kernel in kernels]
    if len(set(labels)) == len(kernels) <= _MAX_VALUES:
        keys = [(("kernel", label),) for label in labels]
    else:
        places = (divmod(place, _MAX_VALUES) for place in range(len(kernels)))
        keys = [(("group", group), ("kernel", number)) for group, number in places]
    return dict(zip(keys, kernels, strict=True))


def _targets(source: type, least_cc: int) -> list[str]:
    """What the kernels run on: of the names that the class gives, or of all."""
    known = dict(_known_targets())
    given = getattr(source, "targets", None)
    names = list(known) if given is None else [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in known:
            raise InvalidValueError(
                f"targets: expected names such as 'cpu' or 'sm_90a', got {name!r}"
            )
    return [name for name in names if known[name] >= least_cc]


def _label(name: str) -> str:
    """The name of a kernel as a part of a longer one."""
    return re.sub("[^a-z0-9]", "_", name.lower())


def _operands(kernel: Kernel) -> dict[str, Any]:
    """What the library compares with arguments before it calls the class."""
    operands = kernel.metadata.operands
    if isinstance(operands, GemmOperandsMetadata):
        config: dict[str, Any] = {"acc": operands.accumulator_type}
    elif isinstance(operands, ElementwiseOperandsMetadata):
        config = {"op": operands.op}
    else:
        raise InvalidTypeError(
            f"{kernel.name}.operands: expected GemmOperandsMetadata or "
            f"ElementwiseOperandsMetadata, got {type(operands).__name__}"
        )
    parts = {"a": operands.A, "b": operands.B, "out": operands.out}
    return config | {key: one.dtype for key, one in parts.items()}
