#!/usr/bin/env python3
"""Draws the timeline of one CTA from a file that `estoc run --device emulator --trace FILE` wrote.

Usage: trace_svg.py TRACE.json OUT.svg [--cta N] [--title TEXT]

A row for each warp that does more than wait, one for each warpgroup's products, and the copies that
are under way. The axis is the emulator's count of events: order, not duration.
"""

import argparse
import collections
import html
import json

WIDTH, LEFT, TOP, ROW, GAP = 960, 150, 64, 20, 6
COLOURS = {
    "wait": "#c9ced6", "tma_load": "#3b7dd8", "tma_store": "#8e5bd0", "cp_async": "#3b7dd8",
    "wgmma": "#e08a2c", "mma": "#e08a2c", "loads": "#4aa3a2", "stores": "#8e5bd0",
}
MEANING = {
    "wait": "waits for a barrier", "tma_load": "TMA load", "cp_async": "cp.async group",
    "wgmma": "wgmma", "mma": "mma.sync", "loads": "loads", "tma_store": "TMA store",
    "stores": "stores",
}
ASYNCHRONOUS = {"tma_load", "tma_store", "cp_async", "wgmma"}


def read(path, cta):
    """Slices of one CTA: those of warps by warp, and those of what is under way by title."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    titles = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    warps, under_way = collections.defaultdict(list), collections.defaultdict(list)
    for event in events:
        if event["ph"] != "X" or event["pid"] != cta:
            continue
        title = titles[event["pid"], event["tid"]]
        (warps if title.startswith("warp ") else under_way)[title].append(event)
    return warps, under_way


def slots(events):
    """The events in as few rows as hold them without overlap."""
    rows = []
    for event in sorted(events, key=lambda e: e["ts"]):
        for row in rows:
            if row[-1]["ts"] + row[-1]["dur"] <= event["ts"]:
                row.append(event)
                break
        else:
            rows.append([event])
    return rows


class Picture:
    def __init__(self, begin, end):
        self.begin, self.scale = begin, (WIDTH - LEFT - 20) / max(end - begin, 1)
        self.parts, self.height, self.used = [], TOP, set()

    def x(self, time):
        return LEFT + (time - self.begin) * self.scale

    def text(self, x, y, text, size=12, anchor="start"):
        self.parts.append(f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="#333" '
                          f'text-anchor="{anchor}">{html.escape(text)}</text>')

    def bar(self, event, y, height):
        kind = event["cat"]
        self.used.add(kind)
        width = max(event["dur"] * self.scale, 1)
        tip = f'{event["name"]}, events {event["ts"]} to {event["ts"] + event["dur"]}'
        if event["args"]["source"]:
            tip += f', {event["args"]["source"].rsplit("/", 1)[-1]}'
        self.parts.append(f'<rect x="{self.x(event["ts"]):.1f}" y="{y:.1f}" width="{width:.1f}" '
                          f'height="{height:.1f}" fill="{COLOURS[kind]}"><title>{html.escape(tip)}'
                          f'</title></rect>')

    def row(self, title, rows):
        """One label; the slices of `rows` in lines of their own below each other."""
        line = ROW if len(rows) == 1 else 6
        height = line * len(rows)
        self.parts.append(f'<rect x="{LEFT}" y="{self.height}" width="{WIDTH - LEFT - 20}" '
                          f'height="{height}" fill="#f4f5f7"/>')
        self.text(LEFT - 8, self.height + height / 2 + 4, title, anchor="end")
        for index, events in enumerate(rows):
            for event in events:
                self.bar(event, self.height + index * line, line - (0 if line == ROW else 1))
        self.height += height + GAP

    def write(self, title):
        self.text(12, 22, title, size=14)
        x = LEFT
        for kind in [kind for kind in COLOURS if kind in self.used]:
            self.parts.append(f'<rect x="{x}" y="36" width="12" height="12" fill="{COLOURS[kind]}"/>')
            self.text(x + 17, 46, MEANING[kind])
            x += 30 + 7 * len(MEANING[kind])
        self.text(LEFT, self.height + 14, "events of the emulator →")
        return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {self.height + 26}" '
                f'font-family="sans-serif">\n<rect width="100%" height="100%" fill="#fff"/>\n'
                + "\n".join(self.parts) + "\n</svg>\n")


def draw(warps, under_way, title):
    every = [e for events in [*warps.values(), *under_way.values()] for e in events]
    # The beginning, where barriers are made, is the same for all and tells nothing.
    work = [e for e in every if e["cat"] != "wait"]
    picture = Picture(min(e["ts"] for e in work) - 2, max(e["ts"] + e["dur"] for e in every))
    for name in sorted(warps, key=lambda name: int(name.split()[1])):
        events = [e for e in warps[name] if e["ts"] + e["dur"] > picture.begin]
        warp = int(name.split()[1])
        if warp % 4 and all(e["cat"] == "wait" for e in events):
            continue
        for event in events:
            cut = max(picture.begin - event["ts"], 0)
            event["ts"] += cut
            event["dur"] -= cut
        picture.row(name, [events])
    order = ["TMA loads", "cp.async groups", "wgmma", "TMA stores"]
    for name in sorted(under_way, key=lambda n: ([n.startswith(o) for o in order].index(True), n)):
        picture.row(name, slots(under_way[name]))
    return picture.write(title)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trace")
    parser.add_argument("out")
    parser.add_argument("--cta", type=int, default=1, help="which, counted from 1")
    parser.add_argument("--title", default="Timeline of one CTA")
    options = parser.parse_args()
    warps, under_way = read(options.trace, options.cta)
    if not warps:
        parser.error(f"{options.trace} has no CTA number {options.cta}")
    with open(options.out, "w", encoding="utf-8") as file:
        file.write(draw(warps, under_way, options.title))


if __name__ == "__main__":
    main()
