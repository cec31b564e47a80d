#!/usr/bin/env python3
"""Runs the cells of notebooks in order, without Jupyter, and compares what they print with what they show.

    notebooks.py check FILE...     1 when a cell raises or shows something else
    notebooks.py update FILE...    stores what the cells print

Cells are plain Python that prints: no magic commands, no pictures.
"""

import contextlib
import io
import json
import pathlib
import sys
import types


def lines(text):
    """As notebooks store text: a list of lines with their ends."""
    return text.splitlines(keepends=True)


def output_of(code, namespace, name):
    """What a cell prints, as the outputs of a notebook."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(code, name, "exec"), namespace)
    text = printed.getvalue()
    return [{"name": "stdout", "output_type": "stream", "text": lines(text)}] if text else []


def run(path):
    """The notebook with the outputs and numbers that its cells have when they run in order."""
    notebook = json.loads(path.read_text())
    module = types.ModuleType("__main__")
    sys.modules["__main__"] = module  # what pickles and introspection of a notebook see
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    for number, cell in enumerate(cells, 1):
        name = f"{path.name}, cell {number}"
        cell["outputs"] = output_of("".join(cell["source"]), vars(module), name)
        cell["execution_count"] = number
    return notebook


def text_of(notebook):
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def main():
    verb, *files = sys.argv[1:]
    wrong = 0
    for path in map(pathlib.Path, files):
        now = text_of(run(path))
        if verb == "update":
            path.write_text(now)
        elif now != path.read_text():
            wrong = 1
            shown = json.loads(path.read_text())["cells"]
            for before, after in zip(shown, json.loads(now)["cells"], strict=True):
                if before != after:
                    print(f"{path.name} shows\n{before.get('outputs')}\nand prints\n{after['outputs']}")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
