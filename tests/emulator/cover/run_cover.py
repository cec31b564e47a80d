"""Runs the cover of kernels that include changed headers, and a part of the others by the date.

Usage: run_cover.py estoc_emulator_cover
"""

import datetime
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from changed import changed_headers  # noqa: E402

REST = 8  # every so many days each kernel has its turn


def main():
    headers = changed_headers()
    if headers is None:
        return subprocess.run(sys.argv[1:], check=False).returncode
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write("".join(f"{header}\n" for header in sorted(headers)))
        file.flush()
        day = datetime.date.today().toordinal() % REST
        part = ["--changed", file.name, "--rest", str(REST), "--day", str(day)]
        return subprocess.run([*sys.argv[1:], *part], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
