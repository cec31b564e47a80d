#!/usr/bin/env python3
"""Puts the table that `estoc bench --report bench/results` makes into the README, and that of the
newest figures of estoc_epilogue_bench into docs/epilogues.md.

Usage: report.py ESTOC [--check]    (--check changes nothing and fails when a table is out of date)
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN, END = "<!-- bench:begin -->\n", "<!-- bench:end -->\n"


def epilogue_table():
    """Rows of epilogues, columns of sizes: fused over plain, and by separate kernels over plain."""
    newest = max((ROOT / "bench" / "results").glob("*_epilogues.jsonl"), key=order)
    cells, sizes = {}, []
    for line in newest.read_text().splitlines():
        figures = json.loads(line)
        size = figures["size"]
        sizes += [size] if size not in sizes else []
        cells.setdefault(figures["epilogue"], {})[size] = (
            f"{figures['fused_over_plain']:.2f} / {figures['separate_over_plain']:.2f}"
        )
    rows = [["epilogue", *sizes], ["---"] * (1 + len(sizes))]
    rows += [[name, *(row.get(size, "") for size in sizes)] for name, row in cells.items()]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def order(path):
    """The newest comes last; the figures of torch, which have the same ending, come first."""
    return ("torch" not in path.name, path.name)


def with_table(text, table):
    before, rest = text.split(BEGIN)
    return before + BEGIN + table + END + rest.split(END)[1]


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    report = [sys.argv[1], "bench", "--report", str(ROOT / "bench" / "results")]
    speed = subprocess.run(report, stdout=subprocess.PIPE, text=True, check=True).stdout
    for name, table in (("README.md", speed), ("docs/epilogues.md", epilogue_table())):
        page = ROOT / name
        text = page.read_text()
        made = with_table(text, table)
        if "--check" not in sys.argv[2:]:
            page.write_text(made)
        elif made != text:
            return f"{name}: the table of speed is out of date"
    return 0


if __name__ == "__main__":
    sys.exit(main())
