"""Runs a program of the tests on the kernels that are due, which changed.py says.

Usage: run_due.py FOLDER PROGRAM [OPTION]...
       run_due.py FOLDER --write FILE
A change in FOLDER, of the program's own sources, reaches every kernel as code does that families share, but a
change of NAME_test.cpp makes all kernels of its tests due. The program takes --turns FILE; --write makes that file
alone.
"""

import subprocess
import sys
import tempfile

from changed import REST, SHARED, changed_days, changed_names, today


def write_turns(names, folder, path):
    """Writes the file that says which kernels are due where files of those names changed."""
    if names is None:
        lines = ["1 0\n"]
    else:
        own = [name for name in names if name.startswith(folder)]
        tests = [name for name in own if name.endswith("_test.cpp")]
        lines = [f"{REST if own == tests else SHARED} {today()}\n"]
        lines += [f"{name} 1\n" for name in tests]
        lines += [f"{header} {days}\n" for header, days in sorted(changed_days(names).items())]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)


def main():
    folder, *command = sys.argv[1:]
    if command[0] == "--write":
        write_turns(changed_names(), folder, command[1])
        return 0
    with tempfile.TemporaryDirectory() as scratch:
        path = f"{scratch}/turns.txt"
        write_turns(changed_names(), folder, path)
        return subprocess.run([*command, "--turns", path], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
