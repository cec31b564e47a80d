"""What changed in the device code, so that tests look at all kernels that it is part of and at some of
the rest, each of which has its turn within a few days.

What changed is what scripts/changed.sh prints. With ESTOC_TEST_EVERYTHING in the environment, as
scripts/nightly.sh has it, or where it is not known, every kernel is due.
"""

import datetime
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Changes there may reach every kernel.
FOLDERS = ("emulator/", "src/epilogue/", "src/jit/", "src/providers/cuda/", "tests/emulator/")
KERNELS = "estoc/kernels/"
# Every so many days it is the turn of a kernel: one that is of the changed kernels' family, one that the
# change reaches by way of what families share, and another.
OWN, SHARED, REST = 1, 3, 8


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


def family(name):
    """That of a file in a folder: sm90 of estoc/sm90/load.cuh, estoc/kernels/sm90_gemm.cuh and src/providers/cuda/sm90_gemm.cpp."""
    *_, folder, file = name.split("/")
    return re.split(r"[_.]", folder if re.fullmatch(r"sm\d+", folder) else file)[0]


def days_by_header(names, texts):
    """For headers that the changed files reach, every how many days a kernel that includes one is due."""
    kernels = {name for name in texts if name.startswith(KERNELS)}
    families = {family(kernel) for kernel in kernels}
    days = {}
    for name in names:
        header = name.removeprefix("device/")
        if header in texts:
            reached = grown({header}, texts)
        elif name.startswith(FOLDERS):
            reached = kernels
        else:
            continue
        users = {family(kernel) for kernel in kernels & reached}
        own = {family(name)} & families or (users if len(users) == 1 else set())
        for user in reached:
            every = OWN if user == header or family(user) in own else SHARED
            days[user] = min(days.get(user, REST), every)
    return days


def changed_names():
    """The files that changed; None: all may have."""
    if os.environ.get("ESTOC_TEST_EVERYTHING"):
        return None
    command = [ROOT / "scripts/changed.sh"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.split("\n") if done.returncode == 0 else None


def changed_days(names):
    """days_by_header of the device code."""
    device = ROOT / "device"
    texts = {path.relative_to(device).as_posix(): path.read_text() for path in device.rglob("*.cuh")}
    return days_by_header(names, texts)


def today():
    return datetime.date.today().toordinal()


def is_due(number, days, day):
    """Whether a day is the turn of a kernel or fault: each has one in so many days. Neighbours have the
    same, as numbers also choose what is tried. tests/support/turns.cpp has this too."""
    return (number // 3 + day) % days == 0
