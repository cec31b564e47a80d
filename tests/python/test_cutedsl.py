"""Kernels written in CuTe DSL: with a stand-in for it on the host, and compiled by it where it is installed."""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import estoc
from estoc.providers import cutedsl

HERE = pathlib.Path(__file__).parent


def own_kernel(where, **environment):
    return subprocess.run(
        [sys.executable, "-m", "estoc.compat", HERE / "programs/own_kernel.py", where],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


INSTALLED = importlib.util.find_spec("cutlass") is not None


@pytest.mark.skipif(INSTALLED, reason="nvidia-cutlass-dsl would be found before the stand-in")
def test_found_compiled_and_run():
    paths = f"{HERE / 'stand_ins'}:{os.environ.get('PYTHONPATH', '')}"
    done = own_kernel("cpu", PYTHONPATH=paths)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "own_kernel: ran to the end\n"


@pytest.mark.skipif(not INSTALLED, reason="nvidia-cutlass-dsl is not installed")
def test_compiled_by_cute_dsl():
    done = own_kernel("compile", CUTE_DSL_ARCH="sm_90a")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "own_kernel: ran to the end\n"


@pytest.mark.skipif(INSTALLED, reason="nvidia-cutlass-dsl is installed")
def test_without_cute_dsl():
    done = own_kernel("cpu")
    assert done.returncode != 0
    operands = estoc.GemmOperandsMetadata(*[estoc.TensorAttributes("f64", None)] * 3, "f64")
    kernel = cutedsl.CuteDslKernel(estoc.KernelMetadata("one", cutedsl.CuteDslKernel, 0, operands))
    for call in (kernel.cute_compile, kernel.cute_run):
        with pytest.raises(ImportError, match="pip install nvidia-cutlass-dsl"):
            call(print)


class Space:
    """Where a tensor lies."""

    name = "gmem"


class Host(Space):
    """The memory that kernels of the library's launcher do not see."""

    name = "generic"


class _Tensor:
    """A cute.Tensor with the attributes that are read of one."""

    __module__ = "cutlass.cute.runtime"

    def __init__(self, **changes):
        self.shape, self.stride, self.data_ptr = (4, 8), (8, 1), 4096
        self.element_type, self.memspace = type("Float16", (), {"width": 16}), Space
        vars(self).update(changes)


@pytest.mark.parametrize("changes", [{"memspace": Host}, {"shape": ((2, 2), 8)}])
def test_no_operand(changes):
    with pytest.raises(TypeError, match="expected a cute.Tensor in a GPU's memory"):
        estoc.Tensor(_Tensor(**changes))
