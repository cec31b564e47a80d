"""Runs a program written for the CUTLASS API: python -m estoc.compat program.py [ARGUMENT...]."""

import os
import runpy
import sys

from . import install

_USAGE = "usage: python -m estoc.compat (PROGRAM.py | -m MODULE) [ARGUMENT...]"


def main() -> int:
    """Installs the import names and runs the program as Python would; 2 when there is none."""
    words = sys.argv[1:]
    as_module = words[:1] == ["-m"]
    if as_module:
        words = words[1:]
    if not words or words[0].startswith("-"):
        print(_USAGE, file=sys.stderr)
        return 2
    if not as_module and not os.path.exists(words[0]):
        print(f"estoc.compat: {words[0]}: there is no such file", file=sys.stderr)
        return 2
    install()
    sys.argv = words
    if as_module:
        sys.path.insert(0, "")
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        runpy.run_path(words[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
