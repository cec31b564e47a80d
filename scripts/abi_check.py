#!/usr/bin/env python3
"""Compares the C interface with that of the last release: what programs are linked to must stay.

Usage: abi_check.py [REVISION]     (by default the newest tag v*)
Reads symbols.txt and layout.txt of tests/c_api, which a test holds to the library, now and at that
revision. A function, member or enumerator that is gone or has moved, or a struct that shrank, breaks
programs: exit status 1, but for a new minor version before 1.0, which may (docs/platforms.md). New
functions, and members at the end of structs, are listed. Without a release there is nothing to keep.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SYMBOLS, LAYOUT, PROJECT = "tests/c_api/symbols.txt", "tests/c_api/layout.txt", "CMakeLists.txt"


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def layout_of(text):
    """{name: value} of structs (their size), members ("struct.member") and enumerators."""
    values, struct = {}, ""
    for line in text.splitlines():
        name, value = line.split()
        if not line.startswith(" "):
            struct = name
        values[f"{struct}.{name}" if line.startswith(" ") else name] = int(value)
    return values


def compare(symbols, layout, new_symbols, new_layout):
    """What breaks programs, and what is new, from the four texts."""
    was, now = set(symbols.split()), set(new_symbols.split())
    broken = [f"{name} is gone" for name in sorted(was - now)]
    before, after = layout_of(layout), layout_of(new_layout)
    structs = {name.split(".")[0] for name in before if "." in name}
    for name, value in before.items():
        if name not in after:
            broken.append(f"{name} is gone")
        elif after[name] < value or (after[name] != value and name not in structs):
            broken.append(f"{name} was {value}, is {after[name]}")
    return broken, sorted(now - was) + [name for name in after if name not in before]


def minor_version(text):
    major, minor = re.search(r"project\(estoc VERSION (\d+)\.(\d+)", text).groups()
    return int(major), int(minor)


def main():
    revision = sys.argv[1] if len(sys.argv) > 1 else git("describe", "--tags", "--abbrev=0", "--match=v*")
    if not revision:
        print("abi_check: there is no release yet")
        return 0
    revision = revision.strip()
    old = [git("show", f"{revision}:{path}") for path in (SYMBOLS, LAYOUT, PROJECT)]
    if None in old:
        print(f"abi_check: expected a revision with {SYMBOLS}, got {revision}", file=sys.stderr)
        return 2
    new = [(ROOT / path).read_text() for path in (SYMBOLS, LAYOUT, PROJECT)]
    broken, added = compare(*old[:2], *new[:2])
    for line in broken:
        print(f"broken: {line}")
    for name in added:
        print(f"new: {name}")
    print(f"{len(broken)} broken, {len(added)} new since {revision}")
    before, now = minor_version(old[2]), minor_version(new[2])
    may_break = now > before if before[0] == 0 else now[0] > before[0]
    return int(bool(broken) and not may_break)


if __name__ == "__main__":
    sys.exit(main())
