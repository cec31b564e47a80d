"""Compiles all kernels of a test where a change may reach their code, and every third otherwise.

Usage: run_part.py estoc_compile_test [OPTION]...
The number after --count or --random-epilogues is that of all of them.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "emulator"))

from changed import changed_names, headers_of  # noqa: E402

REST = 3
NUMBERS = ("--count", "--random-epilogues")


def reaches_kernels(names):
    """Whether a change of these files may change the code of a kernel, or what is tested of it."""
    own = any(name.startswith("tests/compile/") for name in names)
    return own or headers_of(names) != set()


def part_of(command):
    """The command, with a third of the number of kernels."""
    command = list(command)
    for option in NUMBERS:
        if option in command:
            place = command.index(option) + 1
            command[place] = str(-(-int(command[place]) // REST))
    return command


def main():
    command = sys.argv[1:]
    names = changed_names()
    if names is not None and not reaches_kernels(names):
        command = part_of(command)
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
