"""Packs of kernels: a wheel of one installs it where the library finds it."""

import json
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAKE = [sys.executable, "-B", str(ROOT / "scripts" / "kernel_pack_wheel.py")]


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=False, **options)


def estoc(*words, path=""):
    places = [str(path), os.environ.get("PYTHONPATH", "")]
    return run(
        sys.executable, "-m", "estoc", *words,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))},
    )  # fmt: skip


@pytest.fixture(name="pack")
def pack_of_the_cpu(tmp_path):
    """A file that is a pack, though of no kernel for the target it is named after."""
    file = tmp_path / "sm_90a.estoc"
    done = estoc("compile", "gemm m=8 n=8 k=8 a=f32", "--target", "cpu", "-o", str(file))
    assert done.returncode == 0, done.stderr
    return file


def test_a_wheel_installs_a_pack_where_it_is_found(pack, tmp_path):
    made = run(*MAKE, str(pack), "--out", str(tmp_path))
    assert made.returncode == 0, made.stderr
    wheel = pathlib.Path(made.stdout.strip())
    assert wheel.name.startswith("estoc_kernels_sm90a-") and wheel.name.endswith("-py3-none-any.whl")
    site = tmp_path / "site"
    installed = run(
        sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index",
        "--no-deps", "--target", str(site), str(wheel),
    )  # fmt: skip
    assert installed.returncode == 0, installed.stderr
    found = json.loads(estoc("devices", "--json", path=site).stdout)["packs"]
    assert [one["path"] for one in found] == [str(site / "estoc_kernels" / "sm_90a.estoc")]
    assert "no kernel for sm_90a" in found[0]["problem"]
    doctor = estoc("doctor", "--json", path=site)
    (finding,) = [one for one in json.loads(doctor.stdout) if one["what"] == "pack"]
    assert doctor.returncode == 1
    assert finding["state"] == "!!" and "kernel_pack.sh" in finding["remedy"]


def test_wheels_of_one_pack_are_equal(pack, tmp_path):
    wheels = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        done = run(*MAKE, str(pack), "--out", str(tmp_path / name))
        wheels.append(pathlib.Path(done.stdout.strip()).read_bytes())
    assert wheels[0] == wheels[1]
    with zipfile.ZipFile(next((tmp_path / "first").iterdir())) as archive:
        assert archive.testzip() is None
        assert archive.read("estoc_kernels/sm_90a.estoc") == pack.read_bytes()


@pytest.mark.parametrize(("name", "text"), [("sm_90a.estoc", "no pack"), ("kernels.estoc", "ESTOCBIN")])
def test_what_is_no_pack_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    done = run(*MAKE, str(tmp_path / name), "--out", str(tmp_path))
    assert done.returncode != 0
    assert "expected a pack named after its target" in done.stderr
