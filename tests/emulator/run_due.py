"""Runs a program of the tests on the kernels that are due, which changed.py says.

Usage: run_due.py FOLDER REST PROGRAM [OPTION]...
       run_due.py FOLDER REST --write FILE
A change in FOLDER, of the program's own sources, makes every kernel due, but a change of NAME_test.cpp those of
its tests; of kernels that no change reaches every REST-th is. The program takes --turns FILE; --write makes that
file alone.
"""

import subprocess
import sys
import tempfile

from changed import changed_days, changed_names, today


def write_turns(names, folder, rest, path):
    """Writes the file that says which kernels are due where files of those names changed."""
    own = [name for name in names or () if name.startswith(folder)]
    if names is None or not all(name.endswith("_test.cpp") for name in own):
        lines = ["1 0\n"]
    else:
        lines = [f"{rest} {today()}\n"]
        lines += [f"{name} 1\n" for name in own]
        lines += [f"{header} {days}\n" for header, days in sorted(changed_days(names).items())]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def main():
    folder, rest, *command = sys.argv[1:]
    if command[0] == "--write":
        write_turns(changed_names(), folder, rest, command[1])
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/turns.txt"
        write_turns(changed_names(), folder, rest, path)
        return subprocess.run([*command, "--turns", path], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
