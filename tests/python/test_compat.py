"""The import names of the CUTLASS API: when they are answered, what they have, and what they refuse."""

import os
import pathlib
import subprocess
import sys

import pytest

import estoc
from estoc import compat


@pytest.fixture
def api():
    compat.install()
    import cutlass_api

    yield cutlass_api
    compat.uninstall()


def python(*words, **options):
    return subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, check=False, **options
    )


def test_nothing_is_answered_before():
    code = (
        "import importlib.util, estoc, estoc.compat\n"
        "print(importlib.util.find_spec('cutlass_api'), estoc.compat.installed())"
    )
    assert python("-c", code).stdout == "None False\n"


def test_import_names(api):
    import cutlass_api.metadata
    from cutlass_api.arguments import EpilogueArguments, GemmArguments
    from cutlass_api.artifact import CompiledArtifact
    from cutlass_api.metadata import KernelMetadata
    from cutlass_api.providers.cutedsl import CuTeDSLProvider
    from cutlass_api.providers.cutedsl.kernel import CuteDslKernel
    from cutlass_api.status import Status

    assert cutlass_api is api
    assert GemmArguments is estoc.GemmArguments
    assert EpilogueArguments is estoc.EpilogueArguments
    assert CompiledArtifact is estoc.CompiledArtifact
    assert KernelMetadata is estoc.KernelMetadata
    assert Status is estoc.Status
    assert issubclass(CuteDslKernel, api.Kernel)
    assert CuTeDSLProvider is estoc.available_providers["cutedsl"]
    assert api.get_kernels is estoc.get_kernels
    assert api.library.ScaleMode.Blockwise1x32 is estoc.ScaleMode.blockwise_1x32
    assert int(api.utils.to_cuda_stream(7)) == estoc.to_cuda_stream(7)


def test_specs(api):
    """Programs ask importlib whether the packages are there."""
    from importlib.util import find_spec

    assert find_spec("cutlass_api").origin == "estoc.compat"
    assert find_spec("cutlass_api.metadata").submodule_search_locations is None
    assert find_spec("cutlass_api.nothing") is None


@pytest.mark.parametrize("module", ["cutlass_api", "cutlass_api.metadata", "cutlass_api.utils"])
def test_unknown_names(api, module):
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'Nothing', only "):
        sys.modules[module].Nothing
    with pytest.raises(ImportError, match="Nothing"):
        exec(f"from {module} import Nothing")
    with pytest.raises(ModuleNotFoundError):
        exec(f"import {module}.nothing")


def test_what_is_there_is_listed(api):
    with pytest.raises(AttributeError, match="BLASDesignMetadata.*Sm100DesignMetadata"):
        api.metadata.Sm90DesignMetadata


def test_dtypes_without_cute_dsl(api):
    cutlass = pytest.importorskip("cutlass")
    if cutlass.__spec__.origin != "estoc.compat":
        pytest.skip("nvidia-cutlass-dsl is installed")
    for name, dtype in [("Float16", "f16"), ("BFloat16", "bf16"), ("Float8E4M3FN", "e4m3")]:
        one = getattr(cutlass, name)
        assert estoc.dtype(one).name == dtype
        assert not estoc.dtype(dtype) != one
        assert one.width == estoc.dtype(dtype).bits
    with pytest.raises(AttributeError, match="pip install nvidia-cutlass-dsl"):
        cutlass.pipeline
    with pytest.raises(ModuleNotFoundError, match="pip install nvidia-cutlass-dsl"):
        import cutlass.cute  # noqa: F401


def test_another_cutlass_is_left_alone(tmp_path):
    (tmp_path / "cutlass").mkdir()
    (tmp_path / "cutlass/__init__.py").write_text("mine = 3\n")
    code = (
        "import estoc.compat; estoc.compat.install()\n"
        "import cutlass, cutlass_api\n"
        "print(cutlass.mine, estoc.compat.uninstall(), 'cutlass' in sys.modules)"
    )
    done = python("-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}")
    assert done.stdout == "3 True True\n", done.stderr


def test_another_api_is_not_replaced(tmp_path):
    (tmp_path / "cutlass_api.py").write_text("")
    code = "import cutlass_api, estoc.compat; estoc.compat.install()"
    done = python("-c", code, env=os.environ | {"PYTHONPATH": paths(tmp_path)})
    assert "ExistsError: cutlass_api: expected none imported before install(), got" in done.stderr


def paths(first):
    return f"{first}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"


def test_uninstall():
    compat.install()
    compat.install()
    import cutlass_api

    assert compat.installed()
    assert compat.uninstall()
    assert not compat.uninstall()
    assert not compat.installed()
    with pytest.raises(ModuleNotFoundError):
        import cutlass_api.metadata
    assert cutlass_api.metadata.KernelMetadata is estoc.KernelMetadata
    assert not [finder for finder in sys.meta_path if "estoc" in type(finder).__module__]


PROGRAM = """
import sys
import numpy as np
import beside
import cutlass_api

a, out = np.eye(3, dtype="f4"), np.empty((3, 3), "f4")
args = cutlass_api.arguments.GemmArguments(a, a, out, accumulator_type=np.float32)
cutlass_api.get_kernels(args)[0].run(args)
print(__name__, sys.argv[1:], out.trace(), beside.word)
raise SystemExit(5)
"""


@pytest.fixture
def program(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "beside.py").write_text("word = 'found'\n")
    return tmp_path / "program.py"


def test_running_a_program(program):
    for words, folder in ([program], "/"), (["-m", "program"], program.parent):
        done = python("-m", "estoc.compat", *words, "--one", "2", cwd=folder)
        assert (done.returncode, done.stderr) == (5, "")
        assert done.stdout == "__main__ ['--one', '2'] 3.0 found\n"


def test_no_program():
    done = python("-m", "estoc.compat")
    assert (done.returncode, done.stderr[:6]) == (2, "usage:")
    done = python("-m", "estoc.compat", pathlib.Path("no.py"))
    assert (done.returncode, done.stderr) == (2, "estoc.compat: no.py: there is no such file\n")
