"""A file of the problems that a program meets, for tuning and warming up."""

import os
import threading
from typing import Any

from ._estoc import Error, GemmArguments, GroupedGemmArguments, RuntimeArguments, _log_problems

__all__ = ["log_problems", "note", "note_grouped"]


class log_problems:
    """Writes each problem that this process meets to a file, once, while the context lasts.

    These are the problems of plans, and of calls of `matmul`, `grouped_mm` and the like that find
    a kernel: those whose signature the process has not met before. `estoc tune @FILE` tunes them,
    `warmup("@FILE")` compiles their kernels. Lines are added to a file that is there; one context at
    a time.

    Parameters
    ----------
    path : path

    Raises
    ------
    OSError
        For a file that cannot be written.
    """

    def __init__(self, path: "str | os.PathLike[str]") -> None:
        self._path = os.fspath(path)
        self._lock = threading.Lock()
        self._known: set[str] = set()

    def __enter__(self) -> "log_problems":
        global _open
        if os.path.exists(self._path):
            with open(self._path, encoding="utf-8") as file:
                self._known = {line.strip() for line in file}
        with open(self._path, "a", encoding="utf-8"):
            pass
        _open = self
        _log_problems(_note_gemm)
        return self

    def __exit__(self, *raised: object) -> None:
        global _open
        _log_problems(None)
        _open = None

    def add(self, args: RuntimeArguments) -> None:
        """Writes the problem that the arguments are an instance of."""
        problem = args.problem
        with self._lock:
            if problem in self._known:
                return
            self._known.add(problem)
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(problem + "\n")


_open: log_problems | None = None


def note(args: RuntimeArguments) -> None:
    """Adds the problem to the file that is open, if there is one and text can describe it."""
    if _open is not None:
        try:
            _open.add(args)
        except Error:
            pass


def _note_gemm(a: Any, b: Any, out: Any, accumulator_type: Any, epilogue: Any) -> None:
    """What matmul tells; it has carried out the product."""
    note(GemmArguments(a, b, out, accumulator_type, epilogue=epilogue))


def note_grouped(
    a: Any,
    b: Any,
    out: Any,
    offsets: Any,
    epilogue: Any,
    zero_rest: bool,
    layout: str,
    rows: Any = None,
) -> None:
    """The same of grouped_mm."""
    if _open is not None:
        note(GroupedGemmArguments(a, b, out, None, offsets, zero_rest, epilogue, None, layout, rows))
