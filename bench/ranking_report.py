#!/usr/bin/env python3
"""Puts the figures of the ranking into docs/performance.md, and draws docs/ranking_h200.svg.

Usage: ranking_report.py ESTOC_RANKING [--check [--due] | --unpack FOLDER]

Reads the newest table of each device in bench/results/ranking, and in few_rows, parts, thin, widths, narrow, layers,
hundreds, tens, fused, short and edges beside it, which estoc_ranking joins. Each problem is judged by a fit that has
not seen its shape.
--check changes nothing and fails when page or picture are out of date, or where the ranking is below
its floor, by those fits or by what the library ships. With --due only by the latter where nothing that
fits are made of has changed, except every few days (tests/emulator/changed.py). --unpack writes the tables as
fits take them, to FOLDER/DEVICE, prints their paths in the order of fits, and changes nothing else.
"""

import gzip
import json
import math
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests" / "emulator"))

import changed  # noqa: E402

TABLES = ROOT / "bench" / "results" / "ranking"
FEW_ROWS = ROOT / "bench" / "results" / "few_rows"
NAMES = "few_rows parts thin widths narrow layers hundreds tens fused short edges".split()
JOINED = [TABLES, *(TABLES.parent / name for name in NAMES)]
# All their kernels were timed on one card: fits take no other times of their problems.
WHOLE = ("hundreds", "tens")
# In older tables than these, swapped kernels of few rows stored the results of an epilogue element by element.
FUSED = ("fused", "tens", "edges")
PAGE = ROOT / "docs" / "performance.md"
PICTURE = ROOT / "docs" / "ranking_h200.svg"
BEGIN, END = "<!-- ranking:begin -->\n", "<!-- ranking:end -->\n"


# What fits and their figures are made of, and what may reach them by way of arguments and spaces.
OWN = (
    "src/cost/", "src/providers/", "tests/ranking/", "bench/ranking_report.py", "docs/performance.md", "docs/ranking_",
    *(f"bench/results/{folder.name}/" for folder in JOINED),
)  # fmt: skip
SHARED = ("src/", "include/", "device/estoc/abi/")


class Row:
    """What `estoc_ranking regret --rows` says of a problem: its kind, its band of M, and microseconds."""

    def __init__(self, line):
        self.problem, self.kind, self.band, *times = line.split("\t")
        self.first, self.best, self.library, self.first_of_all = map(float, times)
        self.m = int(self.problem.split("m=")[1].split()[0])

    def ours(self):
        return self.best / self.first

    def whole_list(self):
        best = min(time for time in (self.best, self.library) if time > 0)
        return best / self.first_of_all


def newest_tables():
    """The newest tables of each device: {"h200": [path, path]}."""
    newest = {}
    for folder in JOINED:
        for path in sorted(folder.glob("*.jsonl.gz")):
            device = path.name.removesuffix(".jsonl.gz").split("_", 1)[1]
            newest.setdefault(device, {})[folder] = path
    return {device: list(newest[device].values()) for device in sorted(newest, reverse=True)}


def unpacked(paths, folder):
    """Tables as text in a new folder, in their order: of joined ones the last counts."""
    folder.mkdir(parents=True)
    texts = [folder / f"{path.parent.name}.jsonl" for path in paths]
    for path, text in zip(paths, texts):
        text.write_bytes(gzip.decompress(path.read_bytes()))
    return texts


def as_fitted(paths, folder):
    """The same without times that fits are not made of: see WHOLE and FUSED."""
    texts = unpacked(paths, folder)
    whole = {problem_of(line) for text in texts if text.stem in WHOLE for line in text.read_text().splitlines()}
    for text in texts:
        header, *rows = text.read_text().splitlines()
        if text.stem not in WHOLE:
            rows = [row for row in rows if problem_of(row) not in whole]
        if text.stem not in FUSED:
            rows = [without_older_stores(row) for row in rows]
        text.write_text("\n".join([header, *rows]) + "\n")
    return texts


def problem_of(line):
    """The problem of a line of a table; None: it is the first one, of the device."""
    return json.loads(line).get("problem")


def without_older_stores(line):
    """A row of a table without swapped kernels of few rows where they have an epilogue."""
    row = json.loads(line)
    if "epi=" not in row["problem"]:
        return line
    row["kernels"] = [k for k in row["kernels"] if "sm90_swapped_gemm" not in k[0] or "-alignOut1-" not in k[0]]
    return json.dumps(row)


def fits_are_due(names, day):
    """Whether fits are to be judged on a day after these files changed; None: all may have."""
    if names is None or any(name.startswith(OWN) for name in names):
        return True
    every = changed.SHARED if any(name.startswith(SHARED) for name in names) else changed.REST
    return changed.is_due(0, every, day)


def shipped_is_good(program, tables):
    """Whether the ranking that the library ships is above the floor."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        texts = [t for device, paths in tables.items() for t in as_fitted(paths, folder / device)]
        return subprocess.run([program, "shipped", *texts], check=False).returncode == 0


def read_rows(program, tables, unpack=unpacked):
    """Rows of each device, and what is below the floor; a device's fit sees the others' tables."""
    rows, low, running = {}, [], {}
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        texts = [t for device, paths in tables.items() for t in unpack(paths, folder / device)]
        for command in (["regret", "--rows", folder], ["shipped"]):
            running[command[0]] = subprocess.Popen([program, *command, *texts])
        for name, process in running.items():
            if process.wait() > 1:
                sys.exit(f"{program} {name} ended with {process.returncode}")
            if process.returncode == 1:
                low.append(name)
        for device in tables:
            (path,) = folder.glob(f"*{device.upper()}*.txt")
            rows[device] = [Row(line) for line in path.read_text().splitlines()]
    return rows, low


LOW = 0.85


def cell(figures):
    if not figures:
        return ""
    low = sum(figure < LOW for figure in figures)
    return f"{sum(figures) / len(figures):.3f} / {min(figures):.2f} / {low}"


def table(rows):
    """Mean regret, the worst, and how many are low, by device, for all problems, each kind, and each band of M."""
    first = next(iter(rows.values()))
    bands = {row.band: None for row in sorted(first, key=lambda row: row.m)}
    groups = [("all", lambda row: True)]
    kinds = sorted({row.kind for row in first})
    groups += [(kind, lambda row, kind=kind: row.kind == kind) for kind in kinds]
    groups += [(band, lambda row, band=band: row.band == band) for band in bands]
    lines = [["problems", "number"], ["---", "---:"]]
    for device in rows:
        lines[0] += [f"{device.upper()}, ours", f"{device.upper()}, whole list"]
        lines[1] += ["---", "---"]
    for name, takes in groups:
        line = [name, str(sum(map(takes, first)))]
        for of_device in rows.values():
            taken = [row for row in of_device if takes(row)]
            line += [cell([r.ours() for r in taken]), cell([r.whole_list() for r in taken])]
        lines.append(line)
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


class Chart:
    """Speed over cuBLASLt's by M, on a logarithmic axis."""

    WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 430, 60, 20, 44, 96
    MOST_M, MOST_SPEED = 8192, 1.2

    def __init__(self, title):
        self.body = []
        self.text(self.LEFT, 24, title, size=15)
        for tenths in range(0, 13, 2):
            y = self.y(tenths / 10)
            grey = "#888888" if tenths == 10 else "#dddddd"
            self.line(self.LEFT, y, self.WIDTH - self.RIGHT, y, grey)
            self.text(self.LEFT - 8, y + 4, f"{tenths / 10:.1f}", anchor="end")
        for exponent in range(0, 14, 2):
            x = self.x(2**exponent)
            self.text(x, self.y(0) + 18, str(2**exponent), anchor="middle")
        self.text(self.WIDTH - self.RIGHT, self.y(0) + 18, "M", anchor="end")

    def x(self, m):
        wide = self.WIDTH - self.LEFT - self.RIGHT - 60
        return self.LEFT + 20 + wide * math.log(m) / math.log(self.MOST_M)

    def y(self, speed):
        return self.HEIGHT - self.BOTTOM - (
            (self.HEIGHT - self.TOP - self.BOTTOM) * min(speed, self.MOST_SPEED) / self.MOST_SPEED
        )

    def line(self, x1, y1, x2, y2, stroke, extra=""):
        self.body.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{stroke}"{extra}/>'
        )

    def text(self, x, y, text, anchor="start", size=12):
        self.body.append(
            f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="#333333" '
            f'font-size="{size}">{text}</text>'
        )

    def dot(self, m, speed, colour, title):
        self.body.append(
            f'<circle cx="{self.x(m):.1f}" cy="{self.y(speed):.1f}" r="3" fill="{colour}" '
            f'fill-opacity="0.35"><title>{title}</title></circle>'
        )

    def curve(self, by_m, colour, dashed):
        points = " ".join(f"{self.x(m):.1f},{self.y(speed):.1f}" for m, speed in by_m)
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        self.body.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" '
            f'stroke-width="2.2"{dashes}/>'
        )

    def entry(self, place, name, colour, dashed):
        x = self.LEFT + 20 + 340 * (place // 2)
        y = self.HEIGHT - 44 + 20 * (place % 2)
        extra = ' stroke-width="2.2"' + (' stroke-dasharray="5 4"' if dashed else "")
        self.line(x, y - 4, x + 32, y - 4, colour, extra)
        self.text(x + 40, y, name)

    def svg(self):
        size = f'width="{self.WIDTH}" height="{self.HEIGHT}"'
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} '
            f'viewBox="0 0 {self.WIDTH} {self.HEIGHT}" font-family="sans-serif">\n'
            f'<rect {size} fill="#ffffff"/>\n' + "\n".join(self.body) + "\n</svg>\n"
        )


def geometric_mean(figures):
    return math.exp(sum(map(math.log, figures)) / len(figures))


def picture(rows):
    """Our first and our best kernel over cuBLASLt's best, before there were tables and after."""
    newest_before = max(TABLES.glob("*_h200_before.json"))
    before = {p["problem"]: p for p in json.loads(newest_before.read_text())["problems"]}
    shared = [row for row in rows if row.problem in before and row.kind == "bf16 tnt"]
    chart = Chart(f"cuBLASLt's best time over ours, H200, {len(shared)} problems in bf16")
    series = []
    for colour, name in (("#d95f02", "before"), ("#1f78b4", "now")):
        for kernel in ("first", "best"):
            by_m = {}
            for row in shared:
                old = before[row.problem]
                speed = old["cublaslt_us"] / old[f"{kernel}_us"]
                if name == "now":
                    speed = row.library / getattr(row, kernel)
                by_m.setdefault(row.m, []).append(speed)
                if kernel == "first":
                    chart.dot(row.m, speed, colour, row.problem)
            means = [(m, geometric_mean(speeds)) for m, speeds in sorted(by_m.items())]
            series.append((means, name, kernel, colour))
    for place, (means, name, kernel, colour) in enumerate(series):
        chart.curve(means, colour, dashed=kernel == "best")
        chart.entry(place, f"our {kernel} kernel, {name}", colour, dashed=kernel == "best")
    return chart.svg()


def with_table(text, made):
    before, rest = text.split(BEGIN)
    return before + BEGIN + made + END + rest.split(END)[1]


def main():
    if len(sys.argv) < 2 or ("--unpack" in sys.argv and (len(sys.argv) != 4 or sys.argv[2] != "--unpack")):
        sys.exit(__doc__)
    if "--due" in sys.argv[2:] and not fits_are_due(changed.changed_names(), changed.today()):
        return 0 if shipped_is_good(sys.argv[1], newest_tables()) else "below the floor: shipped"
    if "--unpack" in sys.argv[2:]:
        for device, paths in newest_tables().items():
            print(*as_fitted(paths, pathlib.Path(sys.argv[3]) / device), sep="\n")
        return 0
    rows, low = read_rows(sys.argv[1], newest_tables(), as_fitted)
    text = PAGE.read_text()
    made = with_table(text, table(rows))
    drawn = picture(rows["h200"])
    if "--check" not in sys.argv[2:]:
        PAGE.write_text(made)
        PICTURE.write_text(drawn)
        return 0
    if low:
        return f"below the floor: {', '.join(low)}"
    if made.split() != text.split():
        return f"{PAGE.relative_to(ROOT)}: the figures of the ranking are out of date"
    if drawn != PICTURE.read_text():
        return f"{PICTURE.relative_to(ROOT)}: the picture of the ranking is out of date"
    return 0


if __name__ == "__main__":
    sys.exit(main())
