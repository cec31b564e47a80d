#!/usr/bin/env python3
"""Checks that every test that docs/reliability.md names exists.

Usage: check_promises.py SOURCE_DIR BUILD_DIR

A name is that of a test of ctest (with or without the program's in front), of a feature of
estoc_gpu_test, of a function or a file of Python's tests; `*` stands for any end.
"""

import fnmatch
import json
import pathlib
import re
import subprocess
import sys

NAME = re.compile(r"`([^`]+)`")


def promised(page):
    """The names in the last cell of each row of a table."""
    for line in page.splitlines():
        cells = line.strip().strip("|").split(" | ")
        if line.startswith("| ") and len(cells) == 2 and not cells[0].startswith("promise"):
            yield from NAME.findall(cells[1])


def known(source, build):
    listed = subprocess.run(
        ["ctest", "--test-dir", build, "--show-only=json-v1"],
        check=True, capture_output=True, text=True,
    )
    names = {test["name"] for test in json.loads(listed.stdout)["tests"]}
    names |= {name.split(".", 1)[1] for name in names if "." in name}
    names |= {name.rsplit(".", 1)[1] for name in names if "." in name}
    for path in (source / "tests" / "gpu").glob("*.cpp"):
        names |= set(re.findall(r'\{"([a-z0-9_]+)",', path.read_text(encoding="utf-8")))
    for path in (source / "tests" / "python").rglob("*.py"):
        names.add(str(path.relative_to(source)))
        names |= set(re.findall(r"def (test_\w+)", path.read_text(encoding="utf-8")))
    return names


def main():
    source, build = map(pathlib.Path, sys.argv[1:])
    page = (source / "docs" / "reliability.md").read_text(encoding="utf-8")
    names = known(source, build)
    wanted = sorted(set(promised(page)))
    # What follows a name is a parameter of it.
    missing = [name for name in wanted
               if not fnmatch.filter(names, name) and not fnmatch.filter(names, name + "[./ ]*")]
    for name in missing:
        print(f"docs/reliability.md: there is no test '{name}'", file=sys.stderr)
    if not wanted:
        sys.exit("docs/reliability.md: no promise names a test")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
