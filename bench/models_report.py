"""What bench/results/models says of the kernels that are ranked first: a table by kind of problem,
and a picture of their speed over cuBLASLt's by the rows of A.
"""

import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "bench" / "problems" / "models.txt"
RESULTS = ROOT / "bench" / "results" / "models"

LEFT, TOP, WIDE, HIGH = 60, 34, 560, 260
LOWEST, HIGHEST = 0.75, 1.15
MOST_ROWS = 16384


class Row:
    """A problem, and cuBLASLt's best time over that of our first kernel."""

    def __init__(self, line):
        figures = json.loads(line)
        self.words = [word for word in figures["problem"].split() if not word.startswith("acc=")]
        self.sizes = {word[0]: int(word[2:]) for word in self.words[1:] if word[:2] in ("m=", "n=", "k=", "l=")}
        times = {"cuda": [], "cublaslt": []}
        for kernel in figures["kernels"]:
            times[kernel["provider"]].append(kernel["seconds"]["median"])
        self.ratio = min(times["cublaslt"]) / times["cuda"][0]

    def key(self):
        return tuple(self.sizes.get(mode, 1) for mode in "mnkl")

    def extents(self):
        m, n, k, l = self.key()
        return f"{m} x {n} x {k}" + (f", {l} of them" if l > 1 else "")


def newest():
    return max(path for path in RESULTS.glob("*_h200.jsonl"))


def read_rows():
    return [Row(line) for line in newest().read_text().splitlines()]


def kinds():
    """(name, keys of its problems) in the order of the file."""
    found = []
    for line in PROBLEMS.read_text().splitlines()[1:]:
        if line.startswith("#"):
            found.append((line[2:], []))
            continue
        sizes = dict(word.split("=", 1) for word in line.split()[1:])
        found[-1][1].append(tuple(int(sizes.get(mode, 1)) for mode in "mnkl"))
    return found


def summary(name, rows):
    mean = math.exp(sum(math.log(row.ratio) for row in rows) / len(rows))
    worst = min(rows, key=lambda row: row.ratio)
    return f"| {name} | {len(rows)} | {mean:.3f} | {worst.ratio:.2f} | {worst.extents()} |\n"


def table():
    rows = {row.key(): row for row in read_rows()}
    text = "| problems, M x N x K | number | mean | worst | which |\n|---|---|---|---|---|\n"
    for name, keys in kinds():
        of_kind = [rows[key] for key in keys if key in rows]
        if of_kind:
            text += summary(name, of_kind)
    return text + summary("all", list(rows.values()))


def x_of(m):
    return LEFT + 12 + (WIDE - 24) * math.log2(m) / math.log2(MOST_ROWS)


def y_of(ratio):
    inside = min(max(ratio, LOWEST), HIGHEST)
    return TOP + HIGH * (HIGHEST - inside) / (HIGHEST - LOWEST)


def picture():
    """A dot a problem."""
    size = f'width="{LEFT + WIDE + 20}" height="{TOP + HIGH + 44}"'
    body = [f'<rect {size} fill="#ffffff"/>']

    def text(x, y, words, anchor="middle"):
        body.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333333">{words}</text>')

    text(LEFT, 20, "Our first kernel's speed over cuBLASLt's best, bf16, NVIDIA H200, by M", "start")
    steps = round((HIGHEST - LOWEST) / 0.05)
    for step in range(steps + 1):
        ratio = LOWEST + 0.05 * step
        colour = "#333333" if abs(ratio - 1) < 1e-9 else "#dddddd"
        y = y_of(ratio)
        body.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{LEFT + WIDE}" y2="{y:.1f}" stroke="{colour}"/>')
        text(LEFT - 8, y + 4, f"{ratio:.2f}", "end")
    for power in range(0, 15, 2):
        text(x_of(2**power), TOP + HIGH + 18, f"{2**power}")
    text(LEFT + WIDE / 2, TOP + HIGH + 36, "M")
    for row in read_rows():
        body.append(
            f'<circle cx="{x_of(row.sizes["m"]):.1f}" cy="{y_of(row.ratio):.1f}" r="3.5" fill="#1f6fb4" '
            f'fill-opacity="0.6"><title>{row.extents()}: {row.ratio:.2f}</title></circle>')
    return (f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12">\n'
            + "\n".join(body) + "\n</svg>\n")
