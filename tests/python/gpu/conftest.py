"""What the tests on a GPU share. Without one none of them is collected; the summary says why."""

import pytest

import estoc

GPUS = estoc.cuda_devices()
collect_ignore_glob = [] if GPUS else ["test_*.py"]


@pytest.fixture(scope="session")
def target():
    """What the first GPU's kernels are compiled for."""
    return GPUS[0]["target"]
