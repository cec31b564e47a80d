"""The command line with kernel classes of plugins and of installed packages."""

import os
import shutil
import subprocess
import sys

import pytest

from estoc import plugins

PLUGIN = """
import estoc

class Extra(estoc.CudaKernelClass):
    def configurations(self):
        yield {"a": "f32", "tile": (8, 8, 1)}
    def code(self, config, target):
        return estoc.CudaCode('extern "C" __global__ void estoc_kernel() {}')
    def plan(self, config, args, workspace, launch):
        launch.kernel(1, 1)
"""
REGISTER = "\nestoc.register(Extra)\n"


def command(*words, folder, **environment):
    return subprocess.run(
        [sys.executable, "-m", "estoc", *words],
        cwd=folder,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "words",
    [
        ("--plugin", "extra", "list", "--provider", "python"),
        ("--plugin=extra", "list", "--provider", "python"),
        ("list", "--provider", "python", "--plugin", "./extra.py"),
    ],
)
def test_plugin(words, tmp_path):
    (tmp_path / "extra.py").write_text(PLUGIN + REGISTER)
    done = command(*words, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "extra-f32-tile8x8x1" in done.stdout


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("missing", None, "--plugin missing: ModuleNotFoundError"),
        ("missing.py", None, "there is no such file"),
        ("broken", "1 / 0", "--plugin broken: ZeroDivisionError: division by zero"),
        ("", None, "--plugin: expected the name of a module"),
    ],
)
def test_wrong_plugins(name, text, message, tmp_path):
    if text:
        (tmp_path / f"{name}.py").write_text(text)
    done = command("--plugin", name, "list", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("estoc: ")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def package(folder, name, point, text):
    """What an installed distribution with one entry point looks like."""
    (folder / f"{name}.py").write_text(text)
    metadata = folder / f"{name}-1.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(f"[{plugins.GROUP}]\n{name} = {point}\n")


@pytest.mark.parametrize(
    ("point", "text"),
    [
        ("theirs", PLUGIN + REGISTER),
        ("theirs:Extra", PLUGIN),
        ("theirs:Extra", PLUGIN + REGISTER),
        ("theirs:add", PLUGIN + "\ndef add():\n    estoc.register(Extra)\n"),
    ],
)
def test_entry_points(point, text, tmp_path):
    package(tmp_path, "theirs", point, text)
    done = command("list", "--provider", "python", folder="/", PYTHONPATH=_path(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    assert "extra-f32-tile8x8x1" in done.stdout


def test_an_entry_point_that_raises(tmp_path):
    package(tmp_path, "theirs", "theirs", "1 / 0")
    done = command("list", "--count", folder="/", PYTHONPATH=_path(tmp_path))
    assert done.returncode == 0
    assert "entry point theirs of estoc.kernels: ZeroDivisionError" in done.stderr


def _path(folder):
    return os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])


def test_the_compiled_command_says_what_to_do():
    program = shutil.which("estoc", path=os.environ.get("ESTOC_PROGRAMS", ""))
    if program is None:
        pytest.skip("ESTOC_PROGRAMS names no folder with the compiled command")
    done = subprocess.run([program, "list", "--plugin", "x"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "python3 -m estoc --plugin MODULE" in done.stderr


PYTHON_ALONE = """
import estoc

@estoc.register
class Slow(estoc.Kernel):
    @staticmethod
    def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
        return []

@estoc.register_provider("dsl")
class Dsl:
    @classmethod
    def generate_kernels(cls, metadata_filter, epilogue_args=None, cc=None):
        return []
"""


def test_kernels_that_only_python_runs_are_said_to_be_left_out(tmp_path):
    (tmp_path / "slow.py").write_text(PYTHON_ALONE)
    for words in (["find", "gemm m=4 n=4 k=4 a=f32"], ["list", "--count"]):
        plain = command(*words, folder=tmp_path)
        noted = command("--plugin", "slow", *words, folder=tmp_path)
        assert (noted.returncode, noted.stdout) == (plain.returncode, plain.stdout)
        assert plain.stderr == ""
        assert len(noted.stderr.splitlines()) == 1
        assert noted.stderr.startswith("estoc: note: kernels of Slow, Dsl are left out: ")
    assert command("--plugin", "slow", "devices", folder=tmp_path).stderr == ""
