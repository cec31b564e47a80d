"""A pack in a folder of packages: the first call needs no compiler."""

import os
import subprocess
import sys

PRODUCT = "gemm m=64 n=64 k=64 a=bf16:t b=bf16:n"


def estoc(*words, **variables):
    return subprocess.run(
        [sys.executable, "-m", "estoc", *words],
        env={**os.environ, "ESTOC_VIRTUAL_GPU": "sm_90a", **variables},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_pack_in_a_folder_of_packages_spares_the_compiler(tmp_path):
    folder = tmp_path / "estoc_kernels"
    folder.mkdir()
    done = estoc("compile", PRODUCT, "-o", str(folder / "sm_90a.estoc"))
    assert done.returncode == 0, done.stderr
    without_compiler = {
        "ESTOC_NVRTC": str(tmp_path / "none.so"),
        "ESTOC_CACHE_DIR": str(tmp_path / "cache"),
        "ESTOC_KERNEL_PACK": "",
    }
    refused = estoc("run", PRODUCT, **without_compiler)
    assert refused.returncode == 3 and "ESTOC_NVRTC" in refused.stderr
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = estoc("run", PRODUCT, "--check", PYTHONPATH=path, **without_compiler)
    assert done.returncode == 0, done.stderr
    assert "ok: " in done.stdout
