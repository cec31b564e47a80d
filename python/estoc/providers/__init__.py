"""Sources of kernel classes: the library's own, and those that programs register."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, TypeVar, overload

from .._estoc import (
    ExistsError,
    InvalidTypeError,
    Kernel,
    KernelList,
    KernelMetadata,
    NotFoundError,
    RuntimeArguments,
    _ask_supports,
    _MetadataFilter,
    _native_providers,
    _register_cuda_class,
    _target_cc,
    _unregister_native_class,
)
from ..cuda import CudaKernelClass

__all__ = [
    "CpuProvider",
    "CublasltProvider",
    "CudaProvider",
    "Provider",
    "PythonProvider",
    "available_providers",
    "register",
    "register_provider",
    "unregister",
]

_BASES = (Kernel, CudaKernelClass)
KernelClass = TypeVar("KernelClass", bound=type)


class Provider:
    """Base of providers: holds the kernel classes written in Python that belong to it."""

    name: ClassVar[str] = ""
    kernel_classes: ClassVar[list[type[Kernel]]] = []
    cuda_classes: ClassVar[list[type[CudaKernelClass]]] = []

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.kernel_classes = []
        cls.cuda_classes = []

    @classmethod
    def register(cls, kernel_class: KernelClass) -> KernelClass:
        """Makes a kernel class known; also as a decorator. Its kernels are found from then on.

        Raises
        ------
        TypeError
            For something that is no subclass of estoc.Kernel or estoc.CudaKernelClass.
        ExistsError
            When the class is registered already.
        """
        if not (isinstance(kernel_class, type) and issubclass(kernel_class, _BASES)):
            raise InvalidTypeError(
                "kernel_class: expected a subclass of estoc.Kernel or estoc.CudaKernelClass, "
                f"got {kernel_class!r}"
            )
        if is_registered(kernel_class):
            raise ExistsError(f"kernel class {kernel_class.__name__} is registered already")
        if issubclass(kernel_class, CudaKernelClass):
            _register_cuda_class(cls.name, kernel_class())
            cls.cuda_classes.append(kernel_class)
        else:
            cls.kernel_classes.append(kernel_class)
        return kernel_class

    @classmethod
    def unregister(cls, kernel_class: type) -> bool:
        """Takes a kernel class away again; False when it was not there."""
        if kernel_class in cls.cuda_classes:
            cls.cuda_classes.remove(kernel_class)
            return _unregister_native_class(kernel_class.name)
        if kernel_class not in cls.kernel_classes:
            return False
        cls.kernel_classes.remove(kernel_class)
        return True

    @classmethod
    def generate_kernels(
        cls,
        metadata_filter: Callable[[KernelMetadata], bool],
        epilogue_args: object = None,
        cc: int | None = None,
    ) -> list[Kernel]:
        """Every kernel of the registered classes that passes the filter."""
        return [
            kernel
            for kernel_class in cls.kernel_classes
            for kernel in kernel_class.generate_kernels(
                metadata_filter, epilogue_args=epilogue_args, cc=cc
            )
        ]


class CpuProvider(Provider):
    """Kernels that run on the host."""

    name = "cpu"


class CudaProvider(Provider):
    """Kernels of the library's own for NVIDIA GPUs."""

    name = "cuda"


class CublasltProvider(Provider):
    """Kernels of cuBLASLt, where it is installed."""

    name = "cublaslt"


class PythonProvider(Provider):
    """Kernels written in Python that name no other provider."""

    name = "python"


class _Providers(Mapping):
    """The providers by name, in order; called, the list of their names."""

    def __init__(self, providers: Iterable[type[Provider]]) -> None:
        self._providers = {provider.name: provider for provider in providers}

    def __getitem__(self, name: str) -> type[Provider]:
        return self._providers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._providers)

    def __len__(self) -> int:
        return len(self._providers)

    def __call__(self) -> list[str]:
        return list(self._providers)

    def __repr__(self) -> str:
        return f"<providers {', '.join(self)}>"

    def _add(self, name: str, provider: type) -> None:
        self._providers[name] = provider

    def _remove(self, name: str) -> bool:
        return self._providers.pop(name, None) is not None


_BUILT_IN = (CpuProvider, CudaProvider, CublasltProvider, PythonProvider)
available_providers = _Providers(_BUILT_IN)


def register_provider(name: str) -> Callable[[type], type]:
    """Decorator that makes a class a provider.

    The class has a classmethod generate_kernels(metadata_filter, epilogue_args=None, cc=None), or
    derives from estoc.providers.Provider, which brings it and `register`.

    Raises
    ------
    ExistsError
        When the name is taken.
    """

    def decorate(provider: type) -> type:
        if name in available_providers or name in _native_providers():
            raise ExistsError(f"provider {name} exists already")
        if not callable(getattr(provider, "generate_kernels", None)):
            raise InvalidTypeError(
                f"provider {name}: expected a classmethod generate_kernels, got none"
            )
        provider.name = name
        available_providers._add(name, provider)
        return provider

    return decorate


@overload
def register(kernel_class: KernelClass, *, provider: str = "python") -> KernelClass: ...
@overload
def register(
    kernel_class: None = None, *, provider: str = "python"
) -> Callable[[KernelClass], KernelClass]: ...
def register(kernel_class=None, *, provider="python"):
    """Makes a kernel class known to the provider of that name; also as a decorator.

    Parameters
    ----------
    kernel_class : type
        A subclass of estoc.Kernel or estoc.CudaKernelClass.
    provider : str
        A provider of available_providers.

    Raises
    ------
    NotFoundError
        When there is no such provider.
    ExistsError
        When the class is registered already.
    """
    target = _provider(provider)
    return target.register if kernel_class is None else target.register(kernel_class)


def is_registered(kernel_class: type) -> bool:
    """Whether some provider has that kernel class."""
    return any(
        kernel_class in getattr(provider, classes, ())
        for provider in available_providers.values()
        for classes in ("kernel_classes", "cuda_classes")
    )


def unregister(what: type | str) -> bool:
    """Takes a kernel class, or a provider by its name, away again; False when it is not there."""
    if isinstance(what, str):
        if any(provider.name == what for provider in _BUILT_IN):
            return False
        for kernel_class in list(getattr(available_providers.get(what), "cuda_classes", ())):
            available_providers[what].unregister(kernel_class)
        return available_providers._remove(what)
    found = [
        provider.unregister(what)
        for provider in available_providers.values()
        if hasattr(provider, "unregister")
    ]
    return any(found)


def _provider(name: str) -> type[Provider]:
    if name in available_providers:
        return available_providers[name]
    raise NotFoundError(f"provider: expected one of {', '.join(available_providers)}, got {name}")


def _split(
    providers: Iterable[object] | str | None,
) -> tuple[list[str] | None, list[type[Provider]]]:
    """The native names (None: all) and the classes that may have kernels written in Python."""
    if providers is None:
        return None, _with_kernels(available_providers.values())
    if isinstance(providers, (str, type)):
        providers = [providers]
    names = [getattr(one, "name", one) for one in providers]
    known = set(_native_providers())
    chosen = [_provider(name) for name in names if name not in known or name in available_providers]
    return [name for name in names if name in known], _with_kernels(chosen)


def _with_kernels(providers: Iterable[type]) -> list[type]:
    return [one for one in providers if getattr(one, "kernel_classes", True)]


def _sources(provider: type) -> list[tuple[str, type]]:
    """What is asked on its own, so that one class that raises does not hide the others."""
    own = getattr(provider.generate_kernels, "__func__", None)
    if own is Provider.generate_kernels.__func__:
        return [(kernel_class.__name__, kernel_class) for kernel_class in provider.kernel_classes]
    return [(provider.__name__, provider)]


def _python_kernels(
    found: KernelList,
    providers: list[type[Provider]],
    args: RuntimeArguments | None,
    accepts: _MetadataFilter,
    cc: int | None,
    target: str | None,
) -> None:
    """Adds what classes written in Python offer to the list."""
    capability = _target_cc(cc, target)
    epilogue = None if args is None else args.epilogue
    for provider in providers:
        for name, source in _sources(provider):
            try:
                offered = source.generate_kernels(accepts, epilogue_args=epilogue, cc=capability)
                _insert(found, offered, args, cc, target)
            except Exception as error:
                if accepts.failed:
                    raise
                found._add_failure(provider.name, name, f"{type(error).__name__}: {error}")


def _supports(
    kernel: Kernel, args: RuntimeArguments, cc: int | None, target: str | None
) -> object:
    """Whether a kernel supports the arguments; what the author's code raises is raised here."""
    if type(kernel).supports is Kernel.supports:
        return _ask_supports(kernel, args, cc, target)
    return kernel.supports(args, cc=cc, target=target)


def _insert(
    found: KernelList,
    offered: Iterable[Kernel],
    args: RuntimeArguments | None,
    cc: int | None,
    target: str | None,
) -> None:
    for kernel in offered:
        if args is None:
            found._insert(kernel)
        elif _supports(kernel, args, cc, target):
            predict = getattr(kernel, "predict", None)
            found._insert(kernel, None if predict is None else predict(args))
