"""The doctor, python -m estoc doctor: what it finds here, and what it says of what is broken."""

import json
import os
import subprocess
import sys

import pytest

import estoc
from estoc import doctor


def run(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "estoc", "doctor", *words],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


def by_name(findings):
    return {one["what"]: one for one in findings}


def test_this_machine(tmp_path):
    done = run("--json", ESTOC_CACHE_DIR=str(tmp_path / "new"), ESTOC_TUNED=str(tmp_path / "t.db"))
    assert done.returncode == 0, done.stderr
    found = by_name(json.loads(done.stdout))
    assert found["estoc"]["found"].startswith(estoc.__version__)
    assert found["cache"] == {
        "state": "ok", "what": "cache", "found": str(tmp_path / "new"), "remedy": "",
    }  # fmt: skip
    assert found["tuning"]["found"] == f"records: 0, {tmp_path / 't.db'}"
    assert found["product on cpu"]["found"] == "right, by cpu_gemm-f32-f32-f32-f32"
    assert found["numpy"]["state"] == "ok"
    assert {"CUDA driver", "NVRTC", "cuBLASLt"} <= set(found)


def test_text():
    done = run()
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["ok", "estoc"]
    assert any(line.startswith("ok  product on cpu") for line in lines)
    assert all(line[:2] in ("ok", "--", "!!", "  ") for line in lines)


def test_words():
    done = run("--nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage:")


def test_a_broken_database(tmp_path):
    (tmp_path / "t.db").write_text("this is no database " * 100)
    done = run("--json", ESTOC_TUNED=str(tmp_path / "t.db"))
    assert done.returncode == 1
    finding = by_name(json.loads(done.stdout))["tuning"]
    assert (finding["state"], "t.db" in finding["found"]) == ("!!", True)
    assert "ESTOC_TUNED" in finding["remedy"]


def test_a_cache_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = run("--json", ESTOC_CACHE_DIR=str(tmp_path / "file"))
    finding = by_name(json.loads(done.stdout))["cache"]
    assert (done.returncode, finding["state"]) == (1, "!!")
    assert "ESTOC_CACHE_DIR" in finding["remedy"]


@pytest.mark.parametrize(
    ("gpu", "name", "state"),
    [(True, "NVRTC", "!!"), (False, "NVRTC", "--"), (True, "cuBLASLt", "--"), (True, "NVML", "--")],
)
def test_libraries_that_are_missing(gpu, name, state):
    """NVRTC is needed where there is a GPU; the others never are."""
    library = {"name": name, "path": "", "version": "", "problem": f"{name} was not found"}
    finding = doctor._library(library, gpu)
    assert (finding.state, finding.found) == (state, f"{name} was not found")
    assert ("pip install" in finding.remedy) == (name != "NVML")


def test_a_library_that_is_switched_off():
    library = {"name": "cuBLASLt", "path": "", "version": "", "problem": "switched off: by hand"}
    assert doctor._library(library, True) == ("--", "cuBLASLt", "switched off: by hand", "")


def test_a_product_that_fails(monkeypatch):
    def fails(*words):
        return subprocess.CompletedProcess(words, 4, "", "warning: x\nerror: the driver says no\nhint: y")

    monkeypatch.setattr(doctor, "_command", fails)
    finding = doctor._product("sm_90a", "bf16")
    assert (finding.state, finding.found) == ("!!", "the driver says no")
    assert finding.remedy.startswith("estoc run gemm m=256")
    assert doctor.findings()[0].what == "command"
