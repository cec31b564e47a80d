#!/usr/bin/env python3
"""Checks that each wrapper of device/estoc/ptx has its host twin in emulator/include/estoc/ptx, with
the same template and parameters; the twin may add the file to the line of a report.

Usage: check_twins.py; prints the differences and exits 1 if there are any.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICE = ROOT / "device/estoc/ptx"
TWIN = ROOT / "emulator/include/estoc/ptx"


def without_details(text):
    """The text without namespaces `detail` and comments."""
    text = re.sub(r"namespace detail \{.*?\}  // namespace detail", "", text, flags=re.S)
    return re.sub(r"//[^\n]*", "", text)


def signatures(text, mark):
    """Each function's template, result, name and parameters, in one spelling, sorted."""
    pattern = r"(?:^(template <[^;{]*?>)\s*)?^" + mark + r" ([^;{=]*?\w+\([^;{]*?\))\s*\{"
    found = []
    for template, rest in re.findall(pattern, without_details(text), re.M | re.S):
        rest = re.sub(r",?\s*int(\s+line)?\s*=\s*__builtin_LINE\(\)", "", rest)
        rest = re.sub(r",\s*const char\* file\s*=\s*__builtin_FILE\(\)", "", rest)
        found.append(re.sub(r"\s+", "", template + " " + rest))
    return sorted(found)


def differences():
    for path in sorted(DEVICE.glob("*.cuh")):
        twin = TWIN / path.name
        if not twin.is_file():
            yield f"{path.name} has no twin"
            continue
        ours = signatures(path.read_text(encoding="utf-8"), "__device__ __forceinline__")
        theirs = signatures(twin.read_text(encoding="utf-8"), "inline")
        for missing in sorted(set(ours) - set(theirs)):
            yield f"{path.name}: no twin of {missing}"
        for extra in sorted(set(theirs) - set(ours)):
            yield f"{path.name}: a twin of nothing: {extra}"
        if not ours:
            yield f"{path.name}: no function was found"


def main():
    found = list(differences())
    print("\n".join(found + [f"{len(found)} differences"]))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
