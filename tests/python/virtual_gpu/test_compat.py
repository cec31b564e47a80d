"""Programs of the CUTLASS API, unchanged but for the GPU's kind, with a virtual GPU in its place."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"


@pytest.mark.parametrize("program", ["overview", "first_gemm"])
@pytest.mark.parametrize(("cc", "device"), [(100, "sm_100a:NVIDIA B200"), (90, "sm_90a:NVIDIA H200")])
def test_programs_of_the_documents(program, cc, device):
    done = subprocess.run(
        [sys.executable, "-m", "estoc.compat", PROGRAMS / f"{program}.py", str(cc)],
        env={**os.environ, "ESTOC_VIRTUAL_GPU": device},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{program}: ran to the end\n")


def test_another_gpu_does_not_pass_the_gate():
    done = subprocess.run(
        [sys.executable, "-m", "estoc.compat", PROGRAMS / "first_gemm.py", "100"],
        env={**os.environ, "ESTOC_VIRTUAL_GPU": "sm_90a"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "expected compute capability 100" in done.stderr
