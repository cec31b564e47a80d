"""The package as a whole: what it imports, shows, documents, and how it is called as a program."""

import importlib
import inspect
import os
import pathlib
import pickle
import pydoc
import re
import shutil
import subprocess
import sys

import pytest

import estoc

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUBMODULES = (
    "arguments artifact epilogue kernel library manifest metadata planning providers status utils"
)


def run(*words, **options):
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, **options
    )


def test_no_framework_is_imported():
    code = (
        "import sys\n"
        "before = set(sys.modules)\n"  # an environment may import at its start
        "import estoc\n"
        "dear = {'torch', 'jax', 'cupy', 'numpy', 'ml_dtypes', 'inspect', 'ast'}\n"
        "print(sorted(dear & set(sys.modules) - before))"
    )
    done = run("-c", code)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_import_is_quick():
    code = (
        "import sys, time, enum, typing, collections.abc\n"
        "start = time.process_time()\n"
        "import estoc\n"
        "print(time.process_time() - start)"
    )
    quickest = min(float(run("-c", code).stdout) for _ in range(5))
    assert quickest < 0.06


def test_all_names_exist():
    assert sorted(estoc.__all__) == sorted(set(estoc.__all__))
    for name in estoc.__all__:
        assert hasattr(estoc, name)
    for submodule in SUBMODULES.split():
        module = importlib.import_module(f"estoc.{submodule}")
        assert module.__doc__
        for name in module.__all__:
            assert getattr(module, name) is getattr(estoc, name, getattr(module, name))


def test_every_public_name_is_documented():
    for name in estoc.__all__:
        value = getattr(estoc, name)
        if inspect.isclass(value) or inspect.isroutine(value) or inspect.ismodule(value):
            assert (value.__doc__ or "").strip(), name


def test_version():
    text = (pathlib.Path(__file__).parents[2] / "CMakeLists.txt").read_text()
    assert f"project(estoc VERSION {estoc.__version__} " in text


def test_the_module_shows_nothing_else():
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("needs nm")
    shown = subprocess.run(
        [nm, "--dynamic", "--defined-only", estoc._estoc.__file__],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert [line.split()[-1] for line in shown.splitlines()] == ["PyInit__estoc"]


def test_command_line():
    done = run("-m", "estoc", "find", "gemm m=8 n=8 k=8 a=f32", "--target", "cpu")
    assert done.returncode == 0
    assert "cpu_gemm-f32-f32-f32-f32" in done.stdout
    done = run("-m", "estoc", "find", "gemm m=8")
    assert done.returncode != 0
    assert done.stderr


def test_interpreter_ends_quietly():
    code = (
        "import estoc, numpy as np\n"
        "class Mine(estoc.Kernel):\n"
        "    def generate_kernels(metadata_filter, epilogue_args=None, cc=None):\n"
        "        any = estoc.TensorAttributes('f64', None)\n"
        "        operands = estoc.GemmOperandsMetadata(any, any, any, 'f64')\n"
        "        return [Mine(estoc.KernelMetadata('mine', Mine, 0, operands))]\n"
        "    def predict(self, args):\n"
        "        return 0.0\n"
        "    def compile(self, args, cc=None):\n"
        "        return estoc.CompiledArtifact(np.matmul, self)\n"
        "    def _run(self, args, artifact, stream, workspace=None):\n"
        "        np.matmul(np.asarray(args.A), np.asarray(args.B), out=np.asarray(args.out))\n"
        "estoc.register(Mine)\n"
        "a = np.zeros((2, 2))\n"
        "keep = estoc.get_kernels(estoc.GemmArguments(a, a, np.zeros((2, 2))))\n"
        "kept = [keep[0], keep[0].metadata, estoc.plan(a, a, np.zeros((2, 2)))]\n"
        "assert type(keep[0]) is Mine and type(kept[2].kernel) is Mine\n"
        "kept[2]()\n"
        "estoc.matmul(a, a)\n"
    )
    done = run("-X", "dev", "-c", code)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_library_enums():
    for mode in estoc.library.ScaleMode:
        assert pickle.loads(pickle.dumps(mode)) is mode
    assert estoc.ScaleMode.Blockwise1x32 is estoc.ScaleMode.blockwise_1x32


def members(kind):
    """(name, documentation) of what users see of a class; constructors' parameters count as said."""
    said = " ".join((base.__doc__ or "") for base in kind.__mro__ if base is not object)
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        text = (getattr(value, "__doc__", None) or getattr(kind, name).__doc__ or "").strip()
        own = "\n".join(line for line in text.splitlines() if not re.match(r"\w*\(.*\) ->", line))
        yield name, own.strip() or (f"{name} " if re.search(rf"\b{name}\b", said) else "")


@pytest.mark.parametrize(
    "name", [name for name in estoc.__all__ if inspect.isclass(getattr(estoc, name))]
)
def test_help_says_what_members_are(name):
    assert [member for member, text in members(getattr(estoc, name)) if not text] == []


def test_help_can_be_shown():
    for name in estoc.__all__:
        if name == "__version__":
            continue
        assert name in pydoc.render_doc(getattr(estoc, name), f"{name}: %s")


def test_every_object_has_a_short_repr(gemm):
    a, b, out, _ = gemm()
    args = estoc.GemmArguments(a, b, out)
    kernels = estoc.get_kernels(args)
    for one in (args, args.A, kernels, kernels[0], kernels[0].metadata, kernels[0].metadata.operands,
                kernels[0].compile(args), kernels[0].bind(args), estoc.plan(a, b, out), estoc.f32,
                args.performance, estoc.Status.fail("no"), estoc.CudaCode("x")):
        assert 3 < len(repr(one)) < 250, repr(one)
        assert " object at 0x" not in repr(one)
    assert kernels._repr_html_().startswith("<table>")
    assert "cpu_gemm-f32-f32-f32-f32" in kernels._repr_html_()


def test_plain_values_can_be_pickled(gemm, monkeypatch, tmp_path):
    a, b, out, _ = gemm()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    kernel.run(args)
    monkeypatch.setenv("ESTOC_TUNED", str(tmp_path / "tuned.db"))
    record = estoc.tune(args, budget=0.1, rounds=2, store=False)
    values = [args.performance, args.A.dtype, kernel.metadata, kernel.metadata.operands,
              kernel.metadata.design, estoc.Status.success(), estoc.Status.fail("no"),
              estoc.check_output(args), estoc.CudaCode("x", entries=("y", "z")), record,
              estoc.CudaCode(image=b"\x7fELF\x02\x01\x01" + bytes(57)), estoc.cuda_devices()]
    for value in values:
        again = pickle.loads(pickle.dumps(value))
        assert type(again) is type(value) and repr(again) == repr(value)
    again = pickle.loads(pickle.dumps(record))
    assert again == record and again.knobs == record.knobs and again != "record"
    code = pickle.loads(pickle.dumps(estoc.CudaCode("x", entries=("y", "z"))))
    assert (code.source, code.image, code.entries) == ("x", b"", ["y", "z"])


def test_nvidias_packages_of_this_python_are_found(tmp_path):
    """Also where no variable of the environment tells which Python it is."""
    build = os.environ.get("ESTOC_BUILD", "")
    library = pathlib.Path(build) / "virtual_gpu/libnvrtc.so"
    if not build or not library.exists():
        pytest.skip("ESTOC_BUILD names no build with a library to find")
    folder = tmp_path / "site" / "nvidia/cuda_nvrtc/lib"
    folder.mkdir(parents=True)
    (folder / "libnvrtc.so.12").symlink_to(library.resolve())
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME")}
    path = os.pathsep.join([str(tmp_path / "site"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "estoc", "devices"],
        env=kept | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert str(folder / "libnvrtc.so.12") in done.stdout, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("cmake") is None, reason="needs CMake")
def test_a_free_threaded_python_is_refused_in_words(tmp_path):
    stand_in = tmp_path / "python"
    stand_in.write_text(
        "#!/bin/sh\n"
        'case "$*" in *Py_GIL_DISABLED*) echo 1; exit ;; esac\n'
        f'exec "{sys.executable}" "$@"\n'
    )
    stand_in.chmod(0o755)
    done = subprocess.run(
        [
            "cmake", "-S", str(ROOT / "cmake" / "python_alone"), "-B", str(tmp_path / "build"),
            "-DESTOC_ARCHIVES=none", "-DESTOC_VERSION=0", f"-DPython_EXECUTABLE={stand_in}",
        ],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "not made for free-threaded Python" in done.stderr


def test_nvtx_ranges():
    """Where NVTX's library is there, its functions are called; which ranges there are is tested in C++."""
    try:
        estoc.set_nvtx_ranges(True)
    except estoc.NotFoundError as error:
        assert "NVTX" in str(error)
    np = pytest.importorskip("numpy", reason="numpy is not installed")
    a, out = np.eye(4, dtype="f4"), np.zeros((4, 4), "f4")
    estoc.matmul(a, a, out)
    estoc.set_nvtx_ranges(False)
    assert out.trace() == 4
