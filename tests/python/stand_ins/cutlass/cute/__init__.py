"""What programs use of cutlass.cute: decorators, the indices of a thread, and compile."""

import functools
import itertools
from types import SimpleNamespace

from . import runtime
from .runtime import FakeStream, FakeTensor, Tensor, sym_int, sym_int64

__all__ = ["Tensor", "arch", "compile", "jit", "kernel", "runtime", "sym_int", "sym_int64"]

_place = SimpleNamespace(block=None, thread=None)
arch = SimpleNamespace(block_idx=lambda: _place.block, thread_idx=lambda: _place.thread)


def jit(function):
    return function


class _Launch:
    def __init__(self, run):
        self.run = run

    def launch(self, grid, block, stream):
        for place in itertools.product(*map(range, grid)):
            for thread in itertools.product(*map(range, block)):
                _place.block, _place.thread = place, thread
                self.run()


def kernel(function):
    @functools.wraps(function)
    def call(*arguments):
        return _Launch(lambda: function(*arguments))

    return call


def compile(entry, *placeholders):  # noqa: A001
    """A function that takes tensors like the placeholders, and refuses others."""

    def run(*arguments):
        for given, wanted in zip(arguments, placeholders, strict=True):
            if isinstance(wanted, FakeTensor):
                assert isinstance(given, Tensor) and given.is_like(wanted), (given, wanted)
            else:
                assert isinstance(wanted, FakeStream) and type(given).__name__ == "CUstream"
        entry(*arguments)

    return run
