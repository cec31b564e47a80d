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


OF_ITS_OWN_MEANS = """
import numpy as np
import estoc

@estoc.register
class NumpyProduct(estoc.Kernel):
    targets = ("cpu",)

    @staticmethod
    def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
        kernels = []
        for name, dtype in [("numpy.double", estoc.f64), ("numpy.single", estoc.f32)]:
            attributes = estoc.TensorAttributes(dtype, None)
            metadata = estoc.KernelMetadata(
                kernel_name=name,
                kernel_class=NumpyProduct,
                operands=estoc.GemmOperandsMetadata(attributes, attributes, attributes, dtype),
            )
            if metadata_filter(metadata):
                kernels.append(NumpyProduct(metadata))
        return kernels

    def _supports(self, args):
        if args.extents[0] > 100:
            return estoc.Status.fail("A.shape: expected at most 100 rows")
        return estoc.Status.success()

    def predict(self, args):
        return 1e-9

    def compile(self, args, cc=None):
        return estoc.CompiledArtifact(np.matmul, self)

    def _run(self, args, artifact, stream, workspace=None):
        if args.extents[0] == 13:
            raise ArithmeticError("thirteen rows")
        artifact.compiled_obj(np.asarray(args.A), np.asarray(args.B), out=np.asarray(args.out))
"""
NAME = "numpy_product-kernel.numpy_single-f32-f32-f32-f32"


@pytest.fixture
def own_means(tmp_path):
    """A function that runs the command with a plugin whose kernels NumPy runs."""
    (tmp_path / "product.py").write_text(OF_ITS_OWN_MEANS)
    return lambda *words: command("--plugin", "product", *words, folder=tmp_path)


def test_kernels_that_run_by_means_of_their_own(own_means):
    assert NAME in own_means("list", "--provider", "python").stdout
    found = own_means("find", "gemm m=12 n=9 k=5 a=f32:n", "--target", "cpu")
    assert (found.returncode, found.stderr) == (0, "")
    assert NAME in found.stdout.splitlines()[1], "the one that is expected to be fastest"
    run = own_means("run", "gemm l=2 m=12 n=9 k=5 a=f32:n", "--target", "cpu", "--check")
    assert (run.returncode, run.stderr) == (0, "")
    assert NAME in run.stdout and "check    ok" in run.stdout
    check = own_means("check", NAME.replace("single", "double").replace("f32", "f64"))
    assert check.returncode == 0 and "0 wrong" in check.stdout


def test_what_such_kernels_refuse(own_means):
    explained = own_means("explain", "gemm m=101 n=9 k=5 a=f32", "--target", "cpu").stdout
    assert "A.shape: expected at most 100 rows" in explained
    fused = 'gemm m=8 n=9 k=5 a=f32 epi="D = -accum"'
    explained = own_means("explain", fused, "--target", "cpu").stdout
    assert "numpy_product" in explained and "epilogue: expected none" in explained
    explained = own_means("explain", "gemm m=12 n=9 k=5 a=f32", "--target", "sm_90a").stdout
    assert "target: expected one of cpu, got sm_90a" in explained
    run = own_means("run", "gemm m=13 n=9 k=5 a=f32", "--target", "cpu", "--kernel", NAME)
    assert run.returncode != 0
    assert "kernel class numpy_product, _run: ArithmeticError: thirteen rows" in run.stderr


def test_files_of_compiled_kernels(own_means, tmp_path):
    """Their kernels are found again where the class is registered, and nowhere else."""
    problem = "gemm m=12 n=9 k=5 a=f32"
    compiled = own_means("compile", problem, "--target", "cpu", "-o", "kernels.estoc")
    assert (compiled.returncode, compiled.stderr) == (0, "")
    run = ("run", problem, "--target", "cpu", "--artifact", "kernels.estoc", "--check")
    again = own_means(*run)
    assert again.returncode == 0, again.stderr
    assert NAME in again.stdout and "check    ok" in again.stdout
    without = command(*run, folder=tmp_path)
    assert without.returncode == 3 or without.returncode == 4
    assert NAME in without.stderr


LEFT_OUT = """
import estoc

@estoc.register
class Broken(estoc.Kernel):
    @staticmethod
    def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
        return [1 // 0]

@estoc.register
class Odd(estoc.Kernel):
    @staticmethod
    def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
        return [Odd(estoc.KernelMetadata(kernel_name="odd", kernel_class=Odd, operands="three"))]

@estoc.register_provider("dsl")
class Dsl:
    @classmethod
    def generate_kernels(cls, metadata_filter, epilogue_args=None, cc=None):
        return []
"""


def test_classes_that_raise_are_named(tmp_path):
    (tmp_path / "slow.py").write_text(LEFT_OUT)
    words = ("find", "gemm m=4 n=4 k=4 a=f32")
    plain = command(*words, folder=tmp_path)
    noted = command("--plugin", "slow", *words, folder=tmp_path)
    assert (noted.returncode, noted.stdout) == (plain.returncode, plain.stdout)
    assert plain.stderr == ""
    assert noted.stderr.splitlines() == [
        "warning: python.broken: ZeroDivisionError: integer division or modulo by zero",
        "warning: python.odd: InvalidTypeError: odd.operands: expected GemmOperandsMetadata or "
        "ElementwiseOperandsMetadata, got str",
    ]


def test_modules_of_the_folder_hide_no_others(tmp_path):
    """A script of an installed package does not have the folder it is started in on sys.path."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    (tmp_path / "extra.py").write_text(PLUGIN + REGISTER)
    script = (
        "import sys; sys.path = [one for one in sys.path if one]\n"
        "from estoc import plugins\n"
        "plugins.load_plugin('extra')\n"
        "import json; print(json.dumps(1))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "1\n", "")


def test_files_take_the_place_of_no_module(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name, text in [("textwrap", "value = 1"), ("numpy", "1 / 0"), ("other/textwrap", "value = 2")]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / f"{name}.py").write_text(text)
    before = dict(sys.modules)
    first = plugins.load_plugin(str(tmp_path / "textwrap.py"))
    second = plugins.load_plugin(str(tmp_path / "other/textwrap.py"))
    assert (first.value, second.value) == (1, 2)
    for loaded in (first, second):
        assert sys.modules.pop(loaded.__name__) is loaded
    with pytest.raises(plugins.PluginError, match="ZeroDivisionError"):
        plugins.load_plugin(str(tmp_path / "numpy.py"))
    assert {name for name in sys.modules if "plugin_" in name} == {
        name for name in before if "plugin_" in name
    }
    assert sys.modules["numpy"] is before["numpy"]
    assert sys.modules.get("textwrap") is before.get("textwrap")
