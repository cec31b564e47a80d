"""Finding kernels: those of the library and those written in Python, in one list."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ._estoc import (
    InvalidTypeError,
    Kernel,
    KernelList,
    KernelMetadata,
    RuntimeArguments,
    _find_kernels,
)

__all__ = ["Manifest", "get_kernels"]

MetadataFilter = Callable[[KernelMetadata], bool] | str


def get_kernels(
    args: RuntimeArguments | None = None,
    metadata_filter: MetadataFilter | None = None,
    cc: int | None = None,
    target: str | None = None,
    providers: Iterable[object] | str | None = None,
    *,
    portable: bool = False,
) -> KernelList:
    """Every kernel that carries out `args` and passes the filter, the one to use first.

    Parameters
    ----------
    args : RuntimeArguments, optional
        Left out, every kernel there is, for every target, made as the list is read.
    metadata_filter : function or str, optional
        From KernelMetadata to bool; or text such as ``"a=bf16 tile=128x256x64"``.
    cc : int, optional
        Ten times a compute capability, 90 for 9.0.
    target : str, optional
        ``"cpu"``, ``"sm_90a"``; instead of `cc`. With neither, the device of the operands.
    providers : names or provider classes, optional
        Only kernels of these.
    portable : bool
        Leave out kernels that exist only beside their device, such as a library's.

    Returns
    -------
    KernelList
        Empty when there is none: `kernels[0]` raises NoKernelError, which says why. What a kernel
        class raised is in its `failures`.

    Raises
    ------
    NotFoundError
        For a provider that does not exist.
    ValueError
        For an unknown target, or text that is no filter.
    """
    if args is not None and not isinstance(args, RuntimeArguments):
        raise InvalidTypeError(
            f"args: expected arguments such as estoc.GemmArguments, got {type(args).__name__}"
        )
    names = None
    if providers is not None:
        given = [providers] if isinstance(providers, (str, type)) else providers
        names = [getattr(one, "name", one) for one in given]
    return _find_kernels(args, metadata_filter, cc, target, names, portable)


class Manifest(Sequence[Kernel]):
    """A chosen collection of kernels, to be searched repeatedly.

    Parameters
    ----------
    kernels : iterable of Kernel, optional
        Left out, every kernel that `get_kernels` gives for the other parameters.
    """

    def __init__(self, kernels: Iterable[Kernel] | None = None, **query: object) -> None:
        self._kernels = list(get_kernels(**query) if kernels is None else kernels)

    def add(self, kernel: Kernel) -> None:
        """Adds a kernel; one of the same name is replaced."""
        name = kernel.metadata.kernel_name
        self._kernels = [other for other in self._kernels if other.metadata.kernel_name != name]
        self._kernels.append(kernel)

    def get_kernels(
        self,
        args: RuntimeArguments | None = None,
        metadata_filter: Callable[[KernelMetadata], bool] | None = None,
    ) -> list[Kernel]:
        """Those that support `args` and pass the filter, in the order of the collection."""
        return [
            kernel
            for kernel in self._kernels
            if (metadata_filter is None or metadata_filter(kernel.metadata))
            and (args is None or kernel.supports(args))
        ]

    def __len__(self) -> int:
        return len(self._kernels)

    def __getitem__(self, index):
        return self._kernels[index]

    def __iter__(self) -> Iterator[Kernel]:
        return iter(self._kernels)

    def __repr__(self) -> str:
        return f"<Manifest of {len(self)} kernels>"
