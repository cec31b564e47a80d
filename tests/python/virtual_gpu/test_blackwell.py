"""The documents' programs with a virtual B200 in the GPU's place."""

import os
import pathlib
import subprocess
import sys

import pytest

PROGRAM = pathlib.Path(__file__).parent / "documents_program.py"


@pytest.mark.parametrize(
    ("cc", "device"), [(100, "sm_100a:NVIDIA B200"), (103, "sm_103a:NVIDIA B300")]
)
def test_documents_run(cc, device):
    done = subprocess.run(
        [sys.executable, str(PROGRAM), str(cc)],
        env={**os.environ, "ESTOC_VIRTUAL_GPU": device},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
