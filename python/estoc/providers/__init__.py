"""Sources of kernel classes: the library's own, and those that programs register."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, TypeVar, overload

from .._estoc import (
    ExistsError,
    InvalidTypeError,
    Kernel,
    KernelMetadata,
    NotFoundError,
    _provider_names,
    _register_cuda_class,
    _register_kernel_class,
    _register_provider,
    _unregister_kernel_class,
    _unregister_provider,
)
from ..cuda import CudaKernelClass, _snake_case

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
    """Base of providers. Every class of a provider is in the library's registry."""

    name: ClassVar[str] = ""
    kernel_classes: ClassVar[list[type]] = []

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        cls.kernel_classes = []

    @classmethod
    def register(cls, kernel_class: KernelClass) -> KernelClass:
        """Makes a kernel class known; also as a decorator. Its kernels are found from then on.

        Raises
        ------
        TypeError
            For something that is no subclass of estoc.Kernel or estoc.CudaKernelClass.
        ExistsError
            When the class is registered already, or another one of its name is.
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
        else:
            _register_kernel_class(cls.name, _name_of(kernel_class), kernel_class)
        cls.kernel_classes.append(kernel_class)
        return kernel_class

    @classmethod
    def unregister(cls, kernel_class: type) -> bool:
        """Takes a kernel class away again; False when it was not there."""
        if kernel_class not in cls.kernel_classes:
            return False
        cls.kernel_classes.remove(kernel_class)
        return _unregister_kernel_class(_name_of(kernel_class))

    @classmethod
    def generate_kernels(
        cls,
        metadata_filter: Callable[[KernelMetadata], bool],
        epilogue_args: object = None,
        cc: int | None = None,
    ) -> list[Kernel]:
        """Every kernel that passes the filter, of the classes derived from estoc.Kernel."""
        return [
            kernel
            for kernel_class in cls.kernel_classes
            if issubclass(kernel_class, Kernel)
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
    """The providers by name, in the library's order; called, the list of their names."""

    def __init__(self, providers: Iterable[type[Provider]]) -> None:
        self._classes = {provider.name: provider for provider in providers}

    def __getitem__(self, name: str) -> type[Provider]:
        return self._classes[name]

    def __iter__(self) -> Iterator[str]:
        return (name for name in _provider_names() if name in self._classes)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __call__(self) -> list[str]:
        return list(self)

    def __repr__(self) -> str:
        return f"<providers {', '.join(self)}>"


_BUILT_IN = (CudaProvider, CublasltProvider, CpuProvider, PythonProvider)
available_providers = _Providers(_BUILT_IN)
_register_provider(PythonProvider.name)


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
        if not callable(getattr(provider, "generate_kernels", None)):
            raise InvalidTypeError(
                f"provider {name}: expected a classmethod generate_kernels, got none"
            )
        if name in _provider_names():
            raise ExistsError(f"provider {name} exists already")
        if _is_plain(provider):
            _register_provider(name)
        else:  # the library makes a provider for a class
            _register_kernel_class(name, _name_of(provider), provider)
        provider.name = name
        available_providers._classes[name] = provider
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
        kernel_class in getattr(provider, "kernel_classes", ())
        for provider in available_providers.values()
    )


def unregister(what: type | str) -> bool:
    """Takes a kernel class, or a provider by its name, away again; False when it is not there."""
    if not isinstance(what, str):
        return any(
            provider.unregister(what)
            for provider in available_providers.values()
            if hasattr(provider, "unregister")
        )
    if what not in available_providers or available_providers[what] in _BUILT_IN:
        return False
    provider = available_providers._classes.pop(what)
    for kernel_class in list(getattr(provider, "kernel_classes", ())):
        provider.unregister(kernel_class)
    if _is_plain(provider):
        return _unregister_provider(what)
    return _unregister_kernel_class(_name_of(provider))


def _provider(name: str) -> type[Provider]:
    if name in available_providers:
        return available_providers[name]
    raise NotFoundError(f"provider: expected one of {', '.join(available_providers)}, got {name}")


def _name_of(kernel_class: type) -> str:
    """The name of the class in the library."""
    if issubclass(kernel_class, CudaKernelClass):
        return kernel_class.name
    return _snake_case(kernel_class.__name__)


def _is_plain(provider: type) -> bool:
    """Whether the kernels are those of registered classes, and not of its own generate_kernels."""
    own = getattr(provider.generate_kernels, "__func__", None)
    return own is Provider.generate_kernels.__func__
