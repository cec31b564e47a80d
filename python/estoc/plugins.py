"""Modules that register kernel classes: those named by a caller, and those of installed packages."""

import os

__all__ = [
    "GROUP",
    "PluginError",
    "load_entry_points",
    "load_plugin",
]

GROUP = "estoc.kernels"


class PluginError(ImportError):
    """A plugin could not be imported."""


def load_plugin(name: str) -> object:
    """Imports the module of that name, or the file, so that it registers its kernel classes.

    Raises
    ------
    PluginError
        When there is none, or it raises.
    """
    import importlib
    import sys

    if not name:
        raise PluginError("--plugin: expected the name of a module, or a file that ends in .py")
    if "" not in sys.path:
        sys.path.append("")  # modules of the folder that the command is run in, after all others
    try:
        return _import_file(name) if name.endswith(".py") else importlib.import_module(name)
    except Exception as error:
        raise PluginError(f"--plugin {name}: {type(error).__name__}: {error}") from error


def load_entry_points() -> list[str]:
    """Loads the entry points of the group estoc.kernels; the names of those loaded.

    An entry point is a module, a kernel class, or a function without parameters that registers
    some. One that raises keeps no other from being loaded, and is warned of.
    """
    from importlib.metadata import entry_points

    loaded = []
    for point in entry_points(group=GROUP):
        try:
            _use(point.load())
            loaded.append(point.name)
        except Exception as error:
            import warnings

            warnings.warn(
                f"entry point {point.name} of {GROUP}: {type(error).__name__}: {error}",
                RuntimeWarning,
                stacklevel=2,
            )
    return loaded


def _import_file(path: str) -> object:
    import importlib.util
    import sys
    import zlib

    if not os.path.exists(path):
        raise FileNotFoundError(f"{path}: there is no such file")
    # A name that no other module has: the file may be called numpy.py.
    place = zlib.crc32(os.path.realpath(path).encode(errors="surrogateescape"))
    name = f"_estoc_plugin_{os.path.splitext(os.path.basename(path))[0]}_{place:08x}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _use(loaded: object) -> None:
    import types

    from .providers import is_registered, register

    if isinstance(loaded, types.ModuleType):
        return
    if isinstance(loaded, type):
        if not is_registered(loaded):
            register(loaded)
    else:
        loaded()
