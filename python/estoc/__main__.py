"""The command line: python -m estoc."""

import sys

from ._estoc import _run_command


def main() -> int:
    """Runs the command line with the words of the process; its exit status."""
    return _run_command(["estoc", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
