"""The notebooks of examples/notebooks: every cell runs, and prints what is stored beneath it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
NOTEBOOKS = sorted((HERE.parents[1] / "examples/notebooks").glob("*.ipynb"))


def check(*files):
    return subprocess.run(
        [sys.executable, HERE / "notebooks.py", "check", *files],
        env=os.environ | {"ESTOC_TUNED": "off"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(notebook):
    done = check(notebook)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_links(notebook):
    """Those to other files of the repository lead somewhere."""
    import re

    text = "".join("".join(cell["source"]) for cell in json.loads(notebook.read_text())["cells"])
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text):
        assert (notebook.parent / target).exists(), target


def test_there_are_four():
    assert len(NOTEBOOKS) == 4


@pytest.mark.parametrize(
    ("source", "said"), [("print(8)", "and prints"), ("raise OSError('gone')", "cell 1")]
)
def test_a_wrong_notebook_is_noticed(tmp_path, source, said):
    cell = {
        "cell_type": "code",
        "execution_count": 1,
        "id": "one",
        "metadata": {},
        "outputs": [{"name": "stdout", "output_type": "stream", "text": ["7\n"]}],
        "source": [source],
    }
    notebook = {"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "wrong.ipynb").write_text(json.dumps(notebook, indent=1) + "\n")
    done = check(tmp_path / "wrong.ipynb")
    assert done.returncode == 1
    assert said in done.stdout + done.stderr
