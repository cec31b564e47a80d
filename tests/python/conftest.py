"""What the tests of the Python package share; says loudly which frameworks are missing."""

import importlib.util
import os

import numpy as np
import pytest

import estoc

# What was tuned on the machine must not decide what tests find.
os.environ["ESTOC_TUNED"] = "off"

# What is imported, and what brings it.
FRAMEWORKS = {name: name for name in ("torch", "jax", "cupy", "triton")} | {
    "cutlass": "nvidia-cutlass-dsl"
}
MISSING = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is None]


def pytest_terminal_summary(terminalreporter):
    """Names what the tests that did not run would have needed."""
    missing = [f"{name}; to test it: pip install {FRAMEWORKS[name]}" for name in MISSING]
    if not estoc.cuda_devices():
        missing.append("anything on a GPU, as there is none here")
    if "virtual_gpu" not in os.environ.get("ESTOC_NVRTC", ""):
        missing.append("the virtual GPU; to test it: scripts/test_python.sh")
    if missing:
        terminalreporter.section("not tested")
        for one in missing:
            terminalreporter.line(f"NOT TESTED: {one}")


@pytest.fixture(scope="session")
def _compiles():
    """What NVRTC says of the smallest kernel; None when it compiles."""
    shapes = ((16, 16), (16, 16), (16, 16))
    args = estoc.GemmArguments(*(estoc.Tensor.describe("f32", s, device="cuda") for s in shapes))
    kernels = estoc.get_kernels(args, "class=simt_gemm", target="sm_80")
    try:
        kernels[0].compile(args, target="sm_80")
    except estoc.Error as error:
        return str(error)
    return None


@pytest.fixture
def nvrtc(_compiles):
    """Tests that use it are skipped, with the reason, where NVRTC is missing."""
    if _compiles is not None:
        pytest.skip(f"needs NVRTC: {_compiles}")


@pytest.fixture
def random():
    """Random numbers, the same ones for each test."""
    return np.random.default_rng(2026)


@pytest.fixture
def gemm(random):
    """A function that makes operands of small integers and their exact product."""

    def make(m=12, n=8, k=16, batches=None, dtype="f4", out="f4"):
        lead = () if batches is None else (batches,)
        a = random.integers(-3, 4, (*lead, m, k)).astype(dtype)
        b = random.integers(-3, 4, (*lead, k, n)).astype(dtype)
        wanted = (a.astype("f8") @ b.astype("f8")).astype(out)
        return a, b, np.full((*lead, m, n), 77, out), wanted

    return make
