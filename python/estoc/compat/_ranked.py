"""Kernels by their rank: the first, the second ... of those that get_kernels gives for any arguments.

Inductor's backend NVGEMM asks the CUTLASS API once for all kernels of all products, times the first
few of those that support a product, and remembers what it chose by name. It is given these.
"""

from collections.abc import Callable
from itertools import islice
from types import SimpleNamespace
from typing import Any

from .._estoc import (
    Error,
    GemmArguments,
    GroupedGemmArguments,
    Kernel,
    RuntimeArguments,
    ScaledTensor,
    Status,
    UnsupportedError,
    __version__,
)
from ..manifest import get_kernels

__all__ = ["VERSION", "RankedKernel", "kernel_of_rank", "ranked_kernels", "refusable"]

# ATen's choices are cuBLASLt's kernels already.
_LEFT_OUT = "cublaslt"
_MINIMUM_CC = 80
VERSION = __version__.replace(".", "_").replace("-", "_").replace("+", "_")


class _Refused:
    """Stands for arguments that could not be built; no kernel supports them."""

    def __init__(self, error: Error) -> None:
        self.error = str(error)


class _Compiled:
    """The kernel that has a rank for some arguments, compiled for them."""

    def __init__(self, kernel: Kernel, args: RuntimeArguments) -> None:
        self.kernel = kernel
        self.artifact = kernel.compile(args)
        self.workspace = kernel.get_workspace_size(args)


class RankedKernel:
    """The kernel of a rank, 0 for the first, for whatever arguments it is given.

    It has what Inductor uses of a `cutlass_api.Kernel`.
    """

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.metadata = SimpleNamespace(
            kernel_name=f"estoc_{VERSION}_rank{rank}",
            kernel_class=RankedKernel,
            min_cc=_MINIMUM_CC,
            design=None,  # of no shape of its own: heuristics leave it in its place
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return RankedKernel, (self.rank,)

    def supports(self, args: object) -> Status:
        """Whether there are so many kernels for the arguments; never raises."""
        if isinstance(args, _Refused):
            return Status.fail(args.error)
        try:
            self._find(args)
        except Error as error:
            return Status.fail(str(error))
        return Status.success()

    def get_workspace_size(self, args: RuntimeArguments) -> int:
        """Bytes of workspace that run needs."""
        return self._find(args).get_workspace_size(args)

    def compile(self, args: RuntimeArguments) -> _Compiled:
        """The kernel of this rank, compiled."""
        return _Compiled(self._find(args), args)

    def run(
        self,
        args: RuntimeArguments,
        artifact: _Compiled,
        stream: object = None,
        workspace: Any = None,
        assume_supported_args: bool = False,
    ) -> None:
        """Runs the compiled kernel; operands that it does not take find that of this rank anew.

        Inductor reuses an artifact for operands of equal shapes and other strides, and workspace
        for other extents.
        """
        if workspace is not None and workspace.numel() < artifact.workspace:
            workspace = None
        try:
            artifact.kernel.run(args, artifact.artifact, stream, workspace)
        except UnsupportedError:
            self._find(args).run(args, None, stream)

    def _find(self, args: object) -> Kernel:
        if not isinstance(args, RuntimeArguments):
            raise UnsupportedError(f"args: expected arguments, got {type(args).__name__}")
        return kernel_of_rank(args, self.rank)


def kernel_of_rank(args: RuntimeArguments, rank: int, target: str | None = None) -> Kernel:
    """That one of get_kernels, 0 for the first, but for cuBLASLt's; UnsupportedError for too few."""
    kernels = get_kernels(args, target=target)
    found = next(islice((one for one in kernels if one.metadata.provider != _LEFT_OUT), rank, None), None)
    if found is None:
        raise UnsupportedError(f"rank: there are at most {rank} kernels")
    return found


def ranked_kernels(count: int) -> list[RankedKernel]:
    """Those of ranks 0 to count - 1."""
    return [RankedKernel(rank) for rank in range(count)]


def refusable() -> dict[str, Callable[..., object]]:
    """Functions like the classes of arguments, by their names, that do not raise.

    Inductor builds arguments for each product of a graph and takes no exception: it asks the
    kernels. What the functions give instead is supported by none.
    """
    return {one.__name__: _lenient(one) for one in (GemmArguments, GroupedGemmArguments, ScaledTensor)}


def _lenient(made: Callable[..., object]) -> Callable[..., object]:
    def make(*operands: object, **others: object) -> object:
        refused = next((one for one in operands if isinstance(one, _Refused)), None)
        if refused is not None:
            return refused
        try:
            return made(*operands, **others)
        except Error as error:
            return _Refused(error)

    return make
