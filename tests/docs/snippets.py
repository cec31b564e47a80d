#!/usr/bin/env python3
"""Finds the snippets of the documents that are marked to be run, and runs them.

A fenced block whose first line is ```cpp run, ```c run or ```sh run is a snippet: a whole C++ or C
program, or a shell script; ```cpp gpu and ```c gpu are programs that run on the virtual GPU. A block ```text output right after it is what it must print; a line `...` in it stands
for any lines, and ... within a line for any text.

    snippets.py extract OUT FILE...            writes each snippet to OUT, and OUT/snippets.cmake
    snippets.py run EXPECTED SOURCE COMMAND... runs a command and compares what it prints

A snippet runs in an empty folder that has the repository's `examples` and `scripts` in it.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(?P<info>.*)\n(?P<body>(?:.*\n)*?)^```[ ]*$", re.MULTILINE)
SUFFIX = {"cpp run": ".cpp", "cpp gpu": ".cpp", "c run": ".c", "c gpu": ".c", "sh run": ".sh"}


def find(text):
    """Yields (kind, code, expected output or None) for each snippet of a document."""
    blocks = list(FENCE.finditer(text))
    for block, after in zip(blocks, blocks[1:] + [None]):
        kind = block["info"].strip()
        if kind in SUFFIX:
            follows = (after and after["info"].strip() == "text output"
                       and not text[block.end():after.start()].strip())
            yield kind, block["body"], after["body"] if follows else None


def matches(expected, printed):
    """True when the printed text is the expected one, `...` standing for anything."""
    pattern = ""
    for line in expected.rstrip().splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            parts = [re.escape(part) for part in line.rstrip().split("...")]
            pattern += ".*".join(parts) + r"[ ]*\n"
    return re.fullmatch(pattern, printed.rstrip() + "\n") is not None


def write_if_changed(path, text):
    if not path.is_file() or path.read_text() != text:
        path.write_text(text)


def extract(out, documents):
    """Writes the snippets of the documents, and calls of estoc_snippet() for CMake."""
    out.mkdir(parents=True, exist_ok=True)
    calls = ["# Written by snippets.py."]
    for document in documents:
        for number, (kind, code, expected) in enumerate(find(document.read_text()), 1):
            suffix = SUFFIX[kind]
            name = f"{document.stem}_{number}"
            title = f"Snippet {number} of {document.name}."
            if suffix == ".sh":
                code = f"# {title}\nset -eu\n{code}"
            else:
                code = f"/* {title} */\n{code}"
            write_if_changed(out / (name + suffix), code)
            write_if_changed(out / (name + ".expected"), expected or "")
            calls.append(f"estoc_snippet({name} {suffix} {out / name})")
            if kind.endswith(" gpu"):
                calls.append(f"estoc_on_virtual_gpu(docs.{name})")
    write_if_changed(out / "snippets.cmake", "\n".join(calls) + "\n")


def run(expected, source, command):
    """Runs the command in a scratch folder; 1 when it fails or prints something unexpected."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ("examples", "scripts"):
            pathlib.Path(folder, name).symlink_to(source / name)
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, check=False)
    print(done.stdout, end="")
    if done.returncode:
        print(f"exit status {done.returncode}")
        return 1
    wanted = expected.read_text()
    if wanted and not matches(wanted, done.stdout):
        print(f"the document says that it prints\n{wanted}")
        return 1
    return 0


def main():
    verb, first, *rest = sys.argv[1:]
    if verb == "extract":
        extract(pathlib.Path(first), [pathlib.Path(name) for name in rest])
        return 0
    return run(pathlib.Path(first), pathlib.Path(rest[0]), rest[1:])


if __name__ == "__main__":
    sys.exit(main())
