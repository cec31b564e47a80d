#!/usr/bin/env python3
"""Checks that functions.h has every function of runtime.h, in its order and with its parameters.

Usage: check_functions.py; prints the differences and exits 1 if there are any.
"""

import pathlib
import re
import sys

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "emulator/include/emulator"


def squeezed(text):
    return re.sub(r"\s+", "", text)


def declared():
    """Result, name and parameters of the functions that runtime.h declares."""
    text = (INCLUDE / "runtime.h").read_text(encoding="utf-8")
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"(enum class|struct) \w+ \{.*?\};", "", text, flags=re.S)
    found = re.findall(r"^((?:const )?\w+[&*]?) (\w+)\(([^;]*?)\);", text, re.M | re.S)
    return [tuple(map(squeezed, function)) for function in found]


def listed():
    """The same of the list in functions.h."""
    text = (INCLUDE / "functions.h").read_text(encoding="utf-8").replace("\\\n", " ")
    text = text[text.index("ESTOC_EMULATOR_FUNCTIONS(F)"):]
    found = re.findall(r"\bF\(\w+,\s*([^,]+),\s*(\w+),\s*\(([^()]*)\)", text)
    return [tuple(map(squeezed, function)) for function in found]


def main():
    ours, theirs = declared(), listed()
    found = [f"functions.h lacks {function}" for function in ours if function not in theirs]
    found += [f"functions.h has {function}, which runtime.h has not"
              for function in theirs if function not in ours]
    if not found and ours != theirs:
        found.append("functions.h has another order than runtime.h")
    print("\n".join(found + [f"{len(ours)} functions, {len(found)} differences"]))
    return 1 if found or not ours else 0


if __name__ == "__main__":
    sys.exit(main())
