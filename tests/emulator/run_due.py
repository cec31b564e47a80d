"""Runs a program of the tests on the kernels that are due, which changed.py says.

Usage: run_due.py FOLDER REST PROGRAM [OPTION]...
A change in FOLDER, of the program's own sources, makes every kernel due; of those that no change reaches
every REST-th is. The program takes --turns FILE, --rest REST and --day DAY.
"""

import subprocess
import sys
import tempfile

from changed import changed_days, changed_names, today


def options(names, folder, rest, path):
    """The options that leave out what is not due; writes the file of turns."""
    if names is None or any(name.startswith(folder) for name in names):
        return []
    lines = [f"{header} {days}\n" for header, days in sorted(changed_days(names).items())]
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(lines)
    return ["--turns", path, "--rest", rest, "--day", str(today())]


def main():
    folder, rest, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        command += options(changed_names(), folder, rest, f"{scratch}/turns.txt")
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
