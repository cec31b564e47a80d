"""Kernel classes written in Python whose kernels are CUDA code.

The library does for them what it does for its own: they are found, ranked, compiled, kept in the
cache, saved, launched, and known to the command line.
"""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from ._estoc import (
    CudaCode,
    CudaLaunch,
    EpilogueGraph,
    MissingMethodError,
    RuntimeArguments,
    Status,
    Tensor,
)

__all__ = ["CudaCode", "CudaKernelClass", "CudaLaunch"]


class CudaKernelClass:
    """Base of kernel classes written in Python whose kernels are CUDA code.

    A class says which kernels there are (`configurations`), what the code of one is (`code`), and
    what a launch consists of (`plan`); `estoc.register` makes it known. Any thread may call the
    methods.

    Attributes
    ----------
    name : str
        First part of the kernels' names: lower-case letters, digits, ``_``. Left out, made of the
        name of the class.
    operation : str
        ``"gemm"`` or ``"elementwise"``.
    targets : sequence of str, optional
        What the code can be for, ``("sm_90a",)``; None: everything from sm_80 on.
    abi : str
        Any text that changes when the code takes other parameters: saved files with another one
        are refused.
    waits_for_dependencies : bool
        Every kernel executes griddepcontrol.wait before it touches memory, so that a launch may
        begin while the one ahead of it runs.
    """

    name: ClassVar[str] = ""
    operation: ClassVar[str] = "gemm"
    targets: ClassVar[Iterable[str] | None] = None
    abi: ClassVar[str] = ""
    waits_for_dependencies: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" not in cls.__dict__:
            cls.name = _snake_case(cls.__name__)

    def configurations(self) -> Iterable[Mapping[str, Any]]:
        """The kernels there are, each a dict; read once, when the class is registered.

        Keys that the library compares with the arguments: ``a``, ``b``, ``acc``, ``out`` (dtypes;
        B follows A, the accumulator A, and out the accumulator where they are left out),
        ``layouts`` (``"tnt"``, ``x`` for any), ``align_a``, ``align_b``, ``align_out`` (bytes) and
        ``op`` of elementwise kernels. Others say how a kernel is built: ``tile``, ``cluster``,
        ``instruction`` (two or three numbers), ``stages``, ``split``, ``schedule``, and further
        keys with numbers or text. All dicts have the same keys.
        """
        raise MissingMethodError(f"{type(self).__name__}: expected a method configurations")

    def code(self, config: Mapping[str, Any], target: str) -> CudaCode:
        """The code of one kernel for a target such as ``"sm_90a"``."""
        raise MissingMethodError(f"{type(self).__name__}: expected a method code")

    def fused_code(
        self, config: Mapping[str, Any], target: str, epilogue: EpilogueGraph
    ) -> CudaCode:
        """The code of one kernel with an epilogue that `supports_epilogue` allowed.

        Its source begins with `epilogue.source`, and the kernel takes `launch.epilogue`.
        """
        raise MissingMethodError(f"{type(self).__name__}: expected a method fused_code")

    def plan(
        self,
        config: Mapping[str, Any],
        args: RuntimeArguments,
        workspace: Tensor | None,
        launch: CudaLaunch,
    ) -> None:
        """Adds the steps of a launch on `args`, which have data, to `launch`.

        The tensors are views of the caller's memory; they and `launch` are for this call alone.
        """
        raise MissingMethodError(f"{type(self).__name__}: expected a method plan")

    def supports(self, config: Mapping[str, Any], args: RuntimeArguments, target: str) -> Status:
        """Conditions that the configuration cannot state, such as sizes."""
        return Status.success()

    def supports_epilogue(
        self, config: Mapping[str, Any], epilogue: EpilogueGraph, target: str
    ) -> Status:
        """Whether `fused_code` compiles the kernel with that epilogue, which has no reductions."""
        return Status.fail(f"epilogue: expected none, got {epilogue.text}")

    def predict(
        self, config: Mapping[str, Any], args: RuntimeArguments, target: str
    ) -> float | None:
        """The seconds expected, by which the kernel is ranked; None: it comes last."""
        return None

    def workspace_size(self, config: Mapping[str, Any], args: RuntimeArguments) -> int:
        """Bytes of workspace that a launch needs."""
        return 0


def _snake_case(name: str) -> str:
    words = (f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    return "".join(words).strip("_")
