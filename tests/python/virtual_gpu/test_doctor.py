"""The doctor where there are GPUs: a product is compiled for them, run and checked."""

import json
import os
import subprocess
import sys


def test_each_kind_of_gpu_multiplies():
    done = subprocess.run(
        [sys.executable, "-m", "estoc", "doctor", "--json"],
        env=os.environ | {"ESTOC_VIRTUAL_GPU": "sm_90a:NVIDIA H200,sm_80"},
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(done.stdout)
    assert done.returncode == 0, found
    devices = [one["found"] for one in found if one["what"] == "device"]
    assert devices[1:] == ["NVIDIA H200, sm_90a", "Virtual GPU sm_80, sm_80"]
    for target in ("sm_90a", "sm_80"):
        products = [one for one in found if one["what"] == f"product on {target}"]
        assert products and products[0]["found"].startswith("right, by ")
