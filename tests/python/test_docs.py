"""Runs the Python snippets of README.md and docs/, and the examples that need no GPU."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests/docs"))
import snippets  # noqa: E402

NEEDS_TORCH = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed"
)


def find():
    """(document and number, code, expected output) of each snippet."""
    snippets.SUFFIX = {"python run": ".py", "python torch": ".py"}
    for document in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for number, (kind, code, expected) in enumerate(snippets.find(document.read_text()), 1):
            marks = [NEEDS_TORCH] if kind == "python torch" else []
            yield pytest.param(code, expected, id=f"{document.stem}_{number}", marks=marks)


@pytest.mark.parametrize(("code", "expected"), list(find()))
def test_snippet(code, expected, tmp_path):
    file = tmp_path / "snippet.py"  # a file, so that functions have a source
    file.write_text(code)
    done = subprocess.run(
        [sys.executable, file], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert expected is None or snippets.matches(expected, done.stdout), done.stdout


@pytest.mark.parametrize("name", ["plain", "fused", "plan", "moe"])
def test_example(name):
    file = ROOT / "examples/python" / f"{name}.py"
    done = subprocess.run([sys.executable, file], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_there_are_snippets():
    assert len(list(find())) >= 6
