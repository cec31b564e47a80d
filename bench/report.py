#!/usr/bin/env python3
"""Puts the table that `estoc bench --report bench/results` makes into the README.

Usage: report.py ESTOC [--check]    (--check changes nothing and fails when the table is out of date)
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- bench:begin -->\n", "<!-- bench:end -->\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    report = [sys.argv[1], "bench", "--report", str(ROOT / "bench" / "results")]
    table = subprocess.run(report, stdout=subprocess.PIPE, text=True, check=True).stdout
    readme = ROOT / "README.md"
    text = readme.read_text()
    before, rest = text.split(BEGIN)
    made = before + BEGIN + table + END + rest.split(END)[1]
    if "--check" in sys.argv[2:]:
        return 0 if made == text else "README.md: the table of speed is out of date"
    readme.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
