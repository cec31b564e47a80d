"""Programs of the CUTLASS API on a GPU with torch; only its compute capability stands in them."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

PROGRAMS = pathlib.Path(__file__).parents[1] / "programs"


@pytest.mark.parametrize("program", ["overview", "first_gemm", "own_kernel"])
def test_programs_of_the_documents(program):
    major, minor = torch.cuda.get_device_capability()
    word = f"{10 * major + minor}"
    if program == "own_kernel":
        if importlib.util.find_spec("cutlass") is None:
            pytest.skip("nvidia-cutlass-dsl is not installed")
        word = "gpu"
    done = subprocess.run(
        [sys.executable, "-m", "estoc.compat", PROGRAMS / f"{program}.py", word],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith(f"{program}: ran to the end\n")
