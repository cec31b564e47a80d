"""What is there on this machine, whether it works, and what to do about what does not."""

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
from typing import Any, NamedTuple

from ._estoc import __version__, tuned, tuned_path

__all__ = ["Finding", "findings", "main"]

# What works with Estoc, by the names of distributions, and what for.
_PACKAGES = {
    "numpy": "arrays on the CPU",
    "ml_dtypes": "bf16 and fp8 in NumPy",
    "torch": "tensors of PyTorch",
    "jax": "estoc.jax",
    "cupy-cuda13x": "arrays of CuPy",
    "triton": "estoc.triton",
    "nvidia-cutlass-dsl": "kernels in CuTe DSL",
}
# What to do about a library that is missing; the driver brings NVML.
_REMEDIES = {
    "NVRTC": "pip install nvidia-cuda-nvrtc",
    "cuBLASLt": "pip install nvidia-cublas, for NVIDIA's kernels beside ours",
}
_PROBLEM = "gemm m=256 n=256 k=256 a={dtype}"
_SECONDS = 300


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes
    ----------
    state : str
        ``"ok"``; ``"--"``, not there and not needed for what is; ``"!!"``, to be repaired.
    what, found : str
    remedy : str
        What to do; empty where nothing is needed.
    """

    state: str
    what: str
    found: str
    remedy: str = ""


def findings() -> list[Finding]:
    """Everything that was looked at. Compiles and runs a product on the CPU and on each GPU."""
    devices = _command("devices", "--json")
    if devices.returncode != 0:
        return [Finding("!!", "command", _last_line(devices.stderr), "reinstall estoc")]
    seen = json.loads(devices.stdout)
    gpus = [one for one in seen["devices"] if one["target"] != "cpu"]
    found = [
        Finding("ok", "estoc", f"{__version__}, Python {platform.python_version()}"),
        *(Finding("ok", "device", f"{one['name']}, {one['target']}") for one in seen["devices"]),
        *(_library(one, bool(gpus)) for one in seen["libraries"]),
        *(_pack(one) for one in seen["packs"]),
        _cache(),
        _records(),
        *(_package(name, purpose) for name, purpose in _PACKAGES.items()),
        _product("cpu", "f32"),
    ]
    if gpus and all(one.state == "ok" for one in found if one.what in ("CUDA driver", "NVRTC")):
        found += [_product(target, "bf16") for target in sorted({one["target"] for one in gpus})]
    return found


def main(words: list[str] | None = None) -> int:
    """Prints the findings, or with --json a list of them; 1 when something is to be repaired."""
    words = [] if words is None else words
    if words not in ([], ["--json"]):
        print("usage: python -m estoc doctor [--json]", file=sys.stderr)
        return 2
    found = findings()
    if words:
        print(json.dumps([one._asdict() for one in found], indent=2))
    else:
        width = max(len(one.what) for one in found)
        for one in found:
            print(f"{one.state}  {one.what:{width}}  {one.found}")
            if one.remedy:
                print(f"    {'':{width}}  -> {one.remedy}")
    return int(any(one.state == "!!" for one in found))


def _command(*words: str) -> "subprocess.CompletedProcess[str]":
    """Runs the command in a process of its own, whose crash is a finding too."""
    try:
        return subprocess.run(
            [sys.executable, "-m", "estoc", *words],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 1, "", f"not done after {_SECONDS} s")


def _last_line(text: str) -> str:
    """The last line of what a command says, without its first word."""
    lines = [line for line in text.splitlines() if line.startswith("error: ")] or text.splitlines()
    return lines[-1].removeprefix("error: ") if lines else "it said nothing"


def _library(library: dict[str, str], gpu: bool) -> Finding:
    name = library["name"]
    if not library["problem"]:
        return Finding("ok", name, f"{library['version']}, {library['path']}")
    if name == "CUDA driver":
        return Finding("--", name, library["problem"], "for a GPU, install NVIDIA's driver")
    if library["problem"].startswith("switched off"):
        return Finding("--", name, library["problem"])
    needed = gpu and name == "NVRTC"
    return Finding("!!" if needed else "--", name, library["problem"], _REMEDIES.get(name, ""))


def _pack(pack: dict[str, Any]) -> Finding:
    """A file of compiled kernels that the library found."""
    if not pack["problem"]:
        text = f"{pack['path']}: {pack['kernels']} kernels for {', '.join(pack['targets'])}"
        return Finding("ok", "pack", text)
    return Finding(
        "!!", "pack", f"{pack['path']}: {pack['problem']}",
        "install the pack of this version, or make it with scripts/kernel_pack.sh",
    )  # fmt: skip


def _cache() -> Finding:
    """The folder of compiled kernels, and whether it can be written."""
    done = _command("cache", "path")
    if done.returncode != 0:
        return Finding("!!", "cache", _last_line(done.stderr), "set ESTOC_CACHE_DIR to a folder")
    folder = done.stdout.strip()
    there = folder
    while there and not os.path.exists(there):
        there = os.path.dirname(there)
    if os.path.isdir(there) and os.access(there, os.W_OK | os.X_OK):
        return Finding("ok", "cache", folder)
    return Finding(
        "!!", "cache", f"{folder} cannot be written: kernels are compiled each time",
        "set ESTOC_CACHE_DIR to a folder that can",
    )  # fmt: skip


def _records() -> Finding:
    """The kernels that tuning found."""
    try:
        count = len(tuned())
    except Exception as error:
        return Finding("!!", "tuning", str(error), "remove the file, or set ESTOC_TUNED to another")
    return Finding("ok", "tuning", f"records: {count}, {tuned_path() or 'switched off: ESTOC_TUNED=off'}")


def _package(name: str, purpose: str) -> Finding:
    try:
        return Finding("ok", name, f"{importlib.metadata.version(name)}, for {purpose}")
    except importlib.metadata.PackageNotFoundError:
        return Finding("--", name, f"not installed, for {purpose}")


def _product(target: str, dtype: str) -> Finding:
    """A product that is compiled, run and compared with float64."""
    words = ("run", _PROBLEM.format(dtype=dtype), "--target", target, "--check", "--json")
    done = _command(*words)
    what = f"product on {target}"
    if done.returncode != 0:
        return Finding("!!", what, _last_line(done.stderr), "estoc " + " ".join(words[:-1]))
    result: dict[str, Any] = json.loads(done.stdout)
    return Finding("ok", what, f"right, by {result['kernel']}")
