"""What changed in the device code, so that tests look at all that it reaches and at a part of the rest.

What changed is what scripts/changed.sh prints. With ESTOC_TEST_EVERYTHING in the environment, as
scripts/nightly.sh has it, or where it is not known, everything counts as changed.
"""

import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Changes there may reach every kernel.
FOLDERS = ("emulator/", "tests/emulator/", "src/epilogue/", "src/jit/", "src/providers/cuda/")


def includes(text):
    """The headers of device/ that a text includes, as estoc/NAME.cuh."""
    return set(re.findall(r'#include [<"](estoc/[^>"]+)[>"]', text))


def grown(headers, texts):
    """The headers, and those that include them, also by way of others; `texts` is by header."""
    while True:
        more = {name for name, text in texts.items() if includes(text) & headers} - headers
        if not more:
            return headers
        headers = headers | more


def headers_of(names):
    """Of the changed files the headers of device/, and what includes them; None: all may be."""
    if any(name.startswith(FOLDERS) for name in names):
        return None
    device = ROOT / "device"
    texts = {path.relative_to(device).as_posix(): path.read_text() for path in device.rglob("*.cuh")}
    changed = {name.removeprefix("device/") for name in names if name.startswith("device/")}
    return grown(changed, texts)


def changed_names():
    """The files that changed; None: all may have."""
    if os.environ.get("ESTOC_TEST_EVERYTHING"):
        return None
    command = [ROOT / "scripts/changed.sh"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split("\n") if done.returncode == 0 else None


def changed_headers():
    """headers_of what changed."""
    names = changed_names()
    return headers_of(names) if names is not None else None
