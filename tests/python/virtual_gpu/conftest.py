"""What tests share that run under scripts/virtual_gpu.sh. Without it none of them is collected."""

import os

import numpy as np
import pytest
from device_arrays import DeviceArray, Driver

import estoc

# What the script names; under it a driver that does not start fails the tests.
collect_ignore_glob = [] if "virtual_gpu" in os.environ.get("ESTOC_NVRTC", "") else ["test_*.py"]


@pytest.fixture(scope="session")
def driver():
    assert len(estoc.cuda_devices()) == 2, "run this under scripts/virtual_gpu.sh"
    return Driver()


@pytest.fixture
def product(driver):
    """A function that makes operands on a device, an output full of 77s, and what belongs there."""

    def make(m=24, n=40, k=16, device=0, dtype="f2", seed=1):
        random = np.random.default_rng(seed)
        a = random.integers(-3, 4, (m, k)).astype(dtype)
        b = random.integers(-3, 4, (k, n)).astype(dtype)
        out = np.full((m, n), 77, "f4")
        wanted = (a.astype("f8") @ b.astype("f8")).astype("f4")
        return (*(DeviceArray(driver, each, device) for each in (a, b, out)), wanted)

    return make
