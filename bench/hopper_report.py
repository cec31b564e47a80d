"""What bench/results/hopper says of the kinds of problems in bench/problems/hopper.txt: for each
device a table of ratios, with what is to be reached.
"""

import json
import math
import pathlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROBLEMS = ROOT / "bench" / "problems" / "hopper.txt"
RESULTS = ROOT / "bench" / "results" / "hopper"


class Kind:
    """Problems of one kind. `goal` and `floor`: the mean ratio, and the worst one or '-'."""

    def __init__(self, line):
        self.name, goal, floor, *pairs = (part.strip() for part in line.split("|"))
        self.goal, self.floor = goal.split(), floor.split()
        self.pairs = bool(pairs)
        self.problems = []


class Timed:
    """A problem's figures: words of its text, seconds of our first kernel and of cuBLASLt's fastest."""

    def __init__(self, line):
        figures = json.loads(line)
        self.device = figures["device"]
        self.words = set(figures["problem"].split())
        times = {}
        for kernel in figures["kernels"]:
            times.setdefault(kernel["provider"], []).append(kernel["seconds"]["median"])
        self.first = times["cuda"][0]
        self.baseline = min(times.get("cublaslt", [math.nan]))


def kinds():
    found = []
    for line in PROBLEMS.read_text().splitlines():
        if line.startswith("#") and "|" in line:
            found.append(Kind(line[2:]))
        elif not line.startswith("#"):
            found[-1].problems.append(line)
    return found


def read_results():
    """Results by device. Of a problem in several files, the one whose name comes last counts."""
    found = {}
    for path in sorted(RESULTS.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            timed = Timed(line)
            found.setdefault(timed.device, []).insert(0, timed)
    return found


def spelled(word):
    """A word as results spell it: layouts are not left out."""
    return word + ":t" if word.startswith("out=") and ":" not in word else word


def find(timed, problem):
    words = {spelled(word) for word in problem.split()}
    if not any(word.startswith("l=") for word in words):
        words.add("l=1")
    optional = {"fast_accumulation=1", "allow_bf16x6=1"}
    for each in timed:
        if words <= each.words and (each.words & optional) <= words:
            return each
    return None


def ratios(kind, timed):
    """(ratio, problem) of what was timed."""
    found = [(find(timed, problem), problem) for problem in kind.problems]
    if kind.pairs:
        return [(aligned.first / own.first, problem)
                for (own, problem), (aligned, _) in zip(found[::2], found[1::2]) if own and aligned]
    return [(own.baseline / own.first, problem)
            for own, problem in found if own and not math.isnan(own.baseline)]


def short(problem):
    """What tells a problem from the others of its kind."""
    sizes = dict(word.split("=", 1) for word in problem.split()[1:])
    extents = " x ".join(sizes[mode] for mode in "mnk")
    types = f"{sizes['a']} {sizes['b']}"
    return f"`{extents} {types}{' fast' if 'fast_accumulation' in sizes else ''}`"


def row(kind, timed):
    found = ratios(kind, timed)
    if not found:
        return ""
    mean = math.exp(sum(math.log(ratio) for ratio, _ in found) / len(found))
    worst, problem = min(found)
    number = len(kind.problems) // (2 if kind.pairs else 1)
    timed_of = str(number) if len(found) == number else f"{len(found)} of {number}"
    bounds = [" ".join(bound).replace(" ", "; ").replace("; -", "") for bound in (kind.goal, kind.floor)]
    return f"| {kind.name} | {timed_of} | {mean:.3f} | {worst:.3f} | {short(problem)} | {bounds[0]} | {bounds[1]} |\n"


def table():
    text = ""
    for device, timed in sorted(read_results().items()):
        text += f"**{device}**\n\n"
        text += "| problems | number | mean | worst | which | to reach | at least |\n|---|---|---|---|---|---|---|\n"
        text += "".join(row(kind, timed) for kind in kinds()) + "\n"
    return text


if __name__ == "__main__":
    print(table(), end="")
