"""The modules that stand for the CUTLASS API, and the finders that import statements meet."""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["API", "DSL", "ApiFinder", "DslFinder"]

API = "cutlass_api"
DSL = "cutlass"

# Modules of the API, each with the one of Estoc whose names it has.
_MODULES = {
    API: "estoc",
    f"{API}.arguments": "estoc.arguments",
    f"{API}.artifact": "estoc.artifact",
    f"{API}.kernel": "estoc.kernel",
    f"{API}.library": "estoc.library",
    f"{API}.manifest": "estoc.manifest",
    f"{API}.metadata": "estoc.metadata",
    f"{API}.providers": "estoc.providers",
    f"{API}.providers.cutedsl": "estoc.providers.cutedsl",
    f"{API}.providers.cutedsl.kernel": "estoc.providers.cutedsl",
    f"{API}.status": "estoc.status",
    f"{API}.utils": "estoc.utils",
}
# What the packages show of theirs; the other modules show all.
_NAMES = {
    API: ("Kernel", "KernelMetadata", "Manifest", "Status", "__version__", "get_kernels"),
    f"{API}.providers.cutedsl": ("CuTeDSLProvider",),
    f"{API}.providers.cutedsl.kernel": ("CuteDslKernel",),
    f"{API}.utils": ("is_device_cc_supported", "strides_to_layout_string"),
}

# The dtypes of CuTe DSL that Estoc has, and those that programs name in tables; bits of an element.
_DTYPES = {
    "Boolean": 8,
    "Int4": 4,
    "Int8": 8,
    "Int16": 16,
    "Int32": 32,
    "Int64": 64,
    "Uint4": 4,
    "Uint8": 8,
    "Float4E2M1FN": 4,
    "Float8E4M3FN": 8,
    "Float8E5M2": 8,
    "Float8E8M0FNU": 8,
    "Float16": 16,
    "BFloat16": 16,
    "TFloat32": 32,
    "Float32": 32,
    "Float64": 64,
}
_DSL_HINT = "CuTe DSL is not installed here: pip install nvidia-cutlass-dsl"


class _Finder(MetaPathFinder, Loader):
    """What both finders are: their modules are those of sys.modules that they have loaded."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def found(self) -> list[str]:
        """The names of the modules that this finder has loaded."""
        return [
            name
            for name, module in list(sys.modules.items())
            if getattr(getattr(module, "__spec__", None), "loader", None) is self
        ]


class ApiFinder(_Finder):
    """Finds cutlass_api and its modules."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _MODULES:
            return None
        return ModuleSpec(fullname, self, origin="estoc.compat", is_package=bool(_below(fullname)))

    def exec_module(self, module: ModuleType) -> None:
        fullname = module.__name__
        source = importlib.import_module(_MODULES[fullname])
        module.__doc__ = source.__doc__
        for name in _NAMES.get(fullname, getattr(source, "__all__", ())):
            setattr(module, name, getattr(source, name))
        if fullname == f"{API}.utils":
            vars(module)["to_cuda_stream"] = _to_cuda_stream
        for name in _below(fullname):
            importlib.import_module(f"{fullname}.{name}")
        _refuse_others(module, "estoc.compat has what the documents of that API use")


class DslFinder(_Finder):
    """Finds a package cutlass of dtypes, for programs that use nothing else of CuTe DSL."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname == DSL:
            return ModuleSpec(fullname, self, origin="estoc.compat", is_package=True)
        if fullname == f"{DSL}.cute" and DSL in self.found():
            raise ModuleNotFoundError(f"No module named '{fullname}'; {_DSL_HINT}", name=fullname)
        return None

    def exec_module(self, module: ModuleType) -> None:
        for name, width in _DTYPES.items():
            setattr(module, name, type(name, (), {"width": width, "__module__": DSL}))
        _refuse_others(module, _DSL_HINT)


def _below(package: str) -> list[str]:
    """The modules right below a package of the API, without its name in front."""
    start = f"{package}."
    names = [name.removeprefix(start) for name in _MODULES if name.startswith(start)]
    return [name for name in names if "." not in name]


def _refuse_others(module: ModuleType, reason: str) -> None:
    """Gives the module an answer to names that it has not."""

    def refuse(name: str) -> Any:
        known = ", ".join(sorted(each for each in vars(module) if not each.startswith("_")))
        raise AttributeError(
            f"module '{module.__name__}' has no attribute '{name}', only {known}; {reason}"
        )

    vars(module)["__getattr__"] = refuse


def _to_cuda_stream(stream: object) -> object:
    """The stream as CUDA Python's CUstream, which CuTe DSL takes; without that package its address.

    Raises
    ------
    TypeError
        For what is no stream of torch, CuPy or CUDA Python, no number and not None.
    """
    from ..utils import to_cuda_stream

    address = to_cuda_stream(stream)
    try:
        from cuda.bindings.driver import CUstream
    except ImportError:
        return address
    return CUstream(address)
