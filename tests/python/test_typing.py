"""What type checkers see: the stub, the examples and a program that uses most of the package."""

import os
import pathlib
import subprocess
import sys

import pytest

import estoc

pytest.importorskip("mypy", reason="mypy is not installed")
EXAMPLES = pathlib.Path(__file__).parents[2] / "examples/python"
PACKAGE = pathlib.Path(estoc.__file__).parent

PROGRAM = """
import estoc

def run(a: object, b: object, out: object) -> list[str]:
    args = estoc.GemmArguments(a, b, out, accumulator_type="f32", epilogue="D = relu(accum)")
    kernels = estoc.get_kernels(args, metadata_filter=lambda metadata: metadata.min_cc >= 80)
    kernel: estoc.Kernel = kernels[0]
    names: list[str] = [one.metadata.kernel_name for one in kernels]
    if not (status := kernel.supports(args)):
        message: str | None = status.error
        print(message)
    artifact: estoc.CompiledArtifact = kernel.compile(args, target="sm_90a")
    size: int = kernel.get_workspace_size(args)
    kernel.run(args, artifact, stream=None, workspace=bytearray(size), assume_supported_args=True)
    estoc.get_kernels(estoc.ElementwiseArguments("add", a, b, out))
    estoc.get_kernels(estoc.ElementwiseArguments(a, out, epilogue="D = relu(accum)"))
    plan: estoc.Plan = estoc.plan(a, b, out)
    plan(a, b, out, stream=0)
    shape: tuple[int, ...] = args.out.shape
    dtype: estoc.dtype = args.A.dtype
    m, n, k, batches = args.extents
    try:
        for one in estoc.compile_all(kernels, progress=lambda done, total: done < 3):
            assert isinstance(one, estoc.CompiledArtifact)
    except estoc.CompileError as error:
        print(error.log, shape, dtype, m + n + k + batches)
    reveal_type(estoc.bf16)
    return names

class Own(estoc.Kernel):
    def compile(self, args: object, cc: int | None = None) -> estoc.CompiledArtifact:  # type: ignore
        return estoc.CompiledArtifact(None, self)

registered: type[Own] = estoc.register(Own)
"""
WRONG = """
import estoc
estoc.get_kernels(args="text")
estoc.kernel_by_name(3)
estoc.GemmArguments(1, 2, 3, performance=True)
"""


def mypy(tmp_path, *files):
    return subprocess.run(
        [
            sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent",
            "--ignore-missing-imports", "--cache-dir", tmp_path / "cache", *files,
        ],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(PACKAGE.parent)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_stub_and_the_examples(tmp_path):
    stub = PACKAGE / "_estoc.pyi"
    if not stub.exists():
        pytest.skip("this build has no stub")
    files = sorted(EXAMPLES.glob("*.py"))
    done = mypy(tmp_path, stub, *files)
    assert done.returncode == 0, done.stdout + done.stderr
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = mypy(tmp_path, program)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'Revealed type is "estoc._estoc.dtype"' in done.stdout
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG)
    assert "Found 3 errors" in mypy(tmp_path, wrong).stdout


def test_every_public_name_is_in_the_stub():
    text = (PACKAGE / "_estoc.pyi").read_text() if (PACKAGE / "_estoc.pyi").exists() else None
    if text is None:
        pytest.skip("this build has no stub")
    for name in estoc.__all__:
        if getattr(getattr(estoc, name), "__module__", "") == "estoc._estoc":
            assert f"class {name}" in text or f"def {name}(" in text or f"{name}:" in text, name
