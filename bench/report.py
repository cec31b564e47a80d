#!/usr/bin/env python3
"""Puts the figures of bench/results into the documents: five problems into the README, with
docs/speed_h200.svg, all that `estoc bench --report` prints into docs/performance.md, and the newest
figures of estoc_epilogue_bench into docs/epilogues.md.

Usage: report.py ESTOC [--check]    (--check changes nothing and fails when a file is out of date)
"""

import json
import pathlib
import subprocess
import sys

import hopper_report
import models_report

ROOT = pathlib.Path(__file__).resolve().parent.parent
RESULTS = ROOT / "bench" / "results"
PICTURE = "docs/speed_h200.svg"
MODELS_PICTURE = "docs/models_h200.svg"
BEGIN, END = "<!-- bench:begin -->\n", "<!-- bench:end -->\n"
MODELS = "<!-- models:begin -->\n", "<!-- models:end -->\n"
HOPPER = "<!-- hopper:begin -->\n", "<!-- hopper:end -->\n"

# The problems of the README, and their names in the picture.
SHOWN = {
    "gemm m=4096 n=4096 k=4096 a=bf16:t b=bf16:n out=bf16": "bf16, 4096",
    "gemm m=8192 n=8192 k=8192 a=bf16:t b=bf16:n out=bf16": "bf16, 8192",
    "gemm m=8192 n=8192 k=8192 a=e4m3:t b=e4m3:n out=bf16": "e4m3, 8192",
    "gemm m=8192 n=8192 k=8192 a=i8:t b=i8:n out=i32": "i8, 8192",
    "gemm m=4096 n=4096 k=4096 a=f64:t b=f64:n out=f64": "f64, 4096",
}


def cells_of(line):
    return [cell.strip() for cell in line.strip("|\n").split("|")]


def shown_rows(report):
    """The cells of the problems in SHOWN: problem, class, burst, ratio, sustained, ratio."""
    rows = {}
    for line in report.splitlines():
        if line.startswith("| `"):
            cells = cells_of(line)
            rows.setdefault(cells[0].strip("`"), cells)
    return [rows[problem] for problem in SHOWN]


def short_table(rows):
    titles = ["problem", "burst", "over cuBLASLt", "sustained", "over cuBLASLt"]
    table = [titles, ["---"] * len(titles)] + [[row[0], *row[2:]] for row in rows]
    return "".join(f"| {' | '.join(row)} |\n" for row in table)


def picture(rows):
    """Two bars a problem: Estoc and cuBLASLt, TFLOP/s, burst."""
    left, wide, high = 110, 480, 44
    rates = [(float(row[2].split()[0]), float(row[3])) for row in rows]
    most = max(max(rate, rate / ratio) for rate, ratio in rates)
    body = []

    def text(x, y, words, anchor="start"):
        body.append(f'<text x="{x}" y="{y}" text-anchor="{anchor}" fill="#333333">{words}</text>')

    def bar(y, rate, colour):
        length = wide * rate / most
        body.append(
            f'<rect x="{left}" y="{y}" width="{length:.1f}" height="15" fill="{colour}"/>')
        text(f"{left + length + 6:.1f}", y + 12, f"{rate:.0f}")

    text(left, 22, "TFLOP/s on an NVIDIA H200, burst; m = n = k")
    for place, (name, (rate, ratio)) in enumerate(zip(SHOWN.values(), rates)):
        y = 36 + high * place
        text(left - 8, y + 20, name, "end")
        bar(y, rate, "#1f6fb4")
        bar(y + 16, rate / ratio, "#d1761b")
    y = 36 + high * len(rates)
    for x, colour, name in ((left, "#1f6fb4", "Estoc"), (left + 90, "#d1761b", "cuBLASLt")):
        body.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        text(x + 18, y + 11, name)
    size = f'width="{left + wide + 60}" height="{y + 22}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
        f'<rect {size} fill="#ffffff"/>\n' + "\n".join(body) + "\n</svg>\n"
    )


def epilogue_table():
    """Rows of epilogues, columns of sizes: fused over plain, and by separate kernels over plain."""
    newest = max(RESULTS.glob("*_epilogues.jsonl"), key=order)
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


def replaced(page, marks, table):
    """The page with what is between the marks replaced."""
    begin, end = marks
    before, rest = page.split(begin)
    return before + begin + table + end + rest.split(end)[1]


def with_table(name, table):
    """A page with its first table replaced."""
    return replaced((ROOT / name).read_text(), (BEGIN, END), table)


def performance_page(report):
    """docs/performance.md with its tables replaced."""
    page = with_table("docs/performance.md", report)
    page = replaced(page, MODELS, models_report.table())
    return replaced(page, HOPPER, hopper_report.table())


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    command = [sys.argv[1], "bench", "--report", str(RESULTS)]
    report = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    rows = shown_rows(report)
    made = {
        "README.md": with_table("README.md", short_table(rows)),
        "docs/performance.md": performance_page(report),
        "docs/epilogues.md": with_table("docs/epilogues.md", epilogue_table()),
        PICTURE: picture(rows),
        MODELS_PICTURE: models_report.picture(),
    }
    for name, text in made.items():
        path = ROOT / name
        if "--check" not in sys.argv[2:]:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            return f"{name}: the figures are out of date; run bench/report.py"
    return 0


if __name__ == "__main__":
    sys.exit(main())
