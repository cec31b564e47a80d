"""Answers to the import names of the CUTLASS API, so that programs written for it run on Estoc.

    import estoc.compat

    estoc.compat.install()
    import cutlass_api                      # estoc's classes and functions by their names there

`python -m estoc.compat program.py` does so for a program that is left as it is. Nothing is installed
by importing estoc or this module, and no top-level package is.
"""

import importlib.util
import sys

from .._estoc import ExistsError
from ._finders import API, DSL, ApiFinder, DslFinder

__all__ = ["install", "installed", "uninstall"]


def install() -> None:
    """Lets `import cutlass_api` find Estoc from now on, in this process; once more does nothing.

    Where no package `cutlass` can be found, `import cutlass` finds one that has the dtypes and
    nothing else: kernels written in CuTe DSL need nvidia-cutlass-dsl.

    Raises
    ------
    ExistsError
        When another cutlass_api has been imported already.
    """
    if installed():
        return
    other = sys.modules.get(API)
    if other is not None:
        where = getattr(other, "__file__", None) or "another place"
        raise ExistsError(f"cutlass_api: expected none imported before install(), got that of {where}")
    sys.meta_path.insert(0, ApiFinder())
    if DSL not in sys.modules and importlib.util.find_spec(DSL) is None:
        sys.meta_path.append(DslFinder())


def uninstall() -> bool:
    """Takes the import names back; False when they were not installed.

    What a program has imported by them stays usable.
    """
    was_installed = installed()
    for finder in [each for each in sys.meta_path if isinstance(each, (ApiFinder, DslFinder))]:
        sys.meta_path.remove(finder)
        for name in finder.found():
            del sys.modules[name]
    return was_installed


def installed() -> bool:
    """Whether `import cutlass_api` finds Estoc."""
    return any(isinstance(finder, ApiFinder) for finder in sys.meta_path)
