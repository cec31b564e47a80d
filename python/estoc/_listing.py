"""Kernels that run by means of their own, as the command line has them."""

from collections.abc import Mapping, Sequence
from typing import Any

from ._estoc import (
    BoundKernel,
    ElementwiseOperandsMetadata,
    GemmOperandsMetadata,
    InvalidTypeError,
    InvalidValueError,
    Kernel,
    RuntimeArguments,
    Status,
    Tensor,
    _ask_supports,
    _known_targets,
    _list_class,
)
from .cuda import _snake_case

__all__ = ["list_kernel_classes"]


class Listed:
    """A class derived from estoc.Kernel, with its kernels as configurations of the library's."""

    abi = ""

    def __init__(self, kernel_class: type[Kernel], kernels: Sequence[Kernel]) -> None:
        self.name = _snake_case(kernel_class.__name__)
        self.kernels = {_label(kernel.name): kernel for kernel in kernels}
        first = kernels[0].metadata
        elementwise = isinstance(first.operands, ElementwiseOperandsMetadata)
        self.operation = "elementwise" if elementwise else "gemm"
        least = min(kernel.metadata.min_cc for kernel in kernels)
        self.targets = _targets(kernel_class, least)

    def configurations(self) -> list[dict[str, Any]]:
        return [_configuration(label, kernel) for label, kernel in self.kernels.items()]

    def supports(self, config: Mapping[str, Any], args: RuntimeArguments, target: str) -> Status:
        return _ask_supports(self.kernels[config["kernel"]], args, None, target)

    def predict(
        self, config: Mapping[str, Any], args: RuntimeArguments, target: str
    ) -> float | None:
        predict = getattr(self.kernels[config["kernel"]], "predict", None)
        return None if predict is None else predict(args)

    def workspace_size(self, config: Mapping[str, Any], args: RuntimeArguments) -> int:
        return self.kernels[config["kernel"]].get_workspace_size(args)

    def bind(
        self, config: Mapping[str, Any], args: RuntimeArguments, workspace: Tensor | None
    ) -> BoundKernel:
        kernel = self.kernels[config["kernel"]]
        artifact = kernel.compile(args)
        return kernel.bind(args, artifact, workspace=workspace, assume_supported_args=True)


def list_kernel_classes(classes: Sequence[tuple[str, type[Kernel]]]) -> dict[str, str]:
    """Makes (provider, class) known to the library; why not, by name, of those that cannot be."""
    left_out = {}
    for provider, kernel_class in classes:
        try:
            kernels = kernel_class.generate_kernels(lambda _: True, epilogue_args=None, cc=None)
            if kernels:
                _list_class(provider, Listed(kernel_class, kernels))
        except Exception as error:
            left_out[kernel_class.__name__] = f"{type(error).__name__}: {error}"
    return left_out


def _targets(kernel_class: type[Kernel], least_cc: int) -> list[str]:
    """What the kernels run on: of the names that the class gives, or of all."""
    known = dict(_known_targets())
    given = getattr(kernel_class, "targets", None)
    names = list(known) if given is None else [given] if isinstance(given, str) else list(given)
    for name in names:
        if name not in known:
            raise InvalidValueError(
                f"targets: expected names such as 'cpu' or 'sm_90a', got {name!r}"
            )
    return [name for name in names if known[name] >= least_cc]


def _label(name: str) -> str:
    """The name of a kernel as a part of a longer one."""
    return "".join(one if one.isalnum() else "_" for one in name.lower())


def _configuration(label: str, kernel: Kernel) -> dict[str, Any]:
    operands = kernel.metadata.operands
    config: dict[str, Any] = {"kernel": label}
    if isinstance(operands, GemmOperandsMetadata):
        config["acc"] = operands.accumulator_type
    elif isinstance(operands, ElementwiseOperandsMetadata):
        config["op"] = operands.op
    else:
        raise InvalidTypeError(
            f"{kernel.name}.operands: expected GemmOperandsMetadata or "
            f"ElementwiseOperandsMetadata, got {type(operands).__name__}"
        )
    parts = {"a": operands.A, "b": operands.B, "out": operands.out}
    return config | {key: one.dtype for key, one in parts.items()}
