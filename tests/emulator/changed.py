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
# But for these, which reach the tests that stand there.
TESTS = re.compile(r"tests/emulator/(host/\w+_test\.cpp|mutations/\w+\.py|test_\w+\.py)")
KERNELS = "estoc/kernels/"
HOST = "src/providers/cuda/"
# Every so many days it is the turn of a kernel: one that changed itself, one that is of the changed kernels'
# family, one that the change reaches by way of what families share, and another.
ITSELF, OWN, SHARED, REST = 1, 3, 6, 12


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


def name_of(path):
    """sm90_gemm of estoc/kernels/sm90_gemm.cuh and src/providers/cuda/sm90_gemm.cpp."""
    return path.split("/")[-1].partition(".")[0]


def kernels_by_host(hosts, kernels):
    """The kernels whose classes a file of HOST is part of, by its name; `hosts` has each file's text. A class
    stands in a file that is named as a kernel, which includes those that it is made of."""
    parts, builds = {}, {}
    for path, text in hosts.items():
        host = name_of(path)
        parts.setdefault(host, set()).update(re.findall(rf'"{HOST[4:]}(\w+)\.h"', text))
        builds.setdefault(host, set()).update(k for k in kernels if f"estoc/abi/{name_of(k)}.cuh" in text)
    named = {name_of(kernel): kernel for kernel in kernels}
    found = {host: set() for host in parts}
    for host in parts.keys() & named.keys():
        reached, new = set(), {host}
        while new:
            reached |= new
            new = set().union(*(parts.get(part, ()) for part in new)) - reached
        for part in reached & found.keys():
            found[part] |= builds[host] | {named[host]}
    return found


def reached_by(name, texts, kernels, hosts):
    """The headers and kernels that a changed file reaches; None: it is no part of kernels."""
    header = name.removeprefix("device/")
    if header in texts:
        return grown({header}, texts)
    if name.startswith(FOLDERS) and not TESTS.fullmatch(name):
        return name.startswith(HOST) and hosts.get(name_of(name)) or kernels
    return None


def days_by_header(names, texts, host_texts):
    """For headers that the changed files reach, every how many days a kernel that includes one is due."""
    kernels = {name for name in texts if name.startswith(KERNELS)}
    families = {family(kernel) for kernel in kernels}
    hosts = kernels_by_host(host_texts, kernels)
    changes = []
    for name in names:
        reached = reached_by(name, texts, kernels, hosts)
        if reached is None:
            continue
        users = {family(kernel) for kernel in kernels & reached}
        own = {family(name)} & families or (users if len(users) == 1 else set())
        # What a kernel costs is no part of what it does, but for the knobs it runs with.
        changes.append((name, reached, set() if name_of(name).endswith("_cost") else own))
    changed = set().union(*(own for _, _, own in changes))
    own_days = min(max(OWN, len(changed)), SHARED)
    days = {}
    for name, reached, own in changes:
        for user in reached:
            is_itself = user in kernels and name.endswith(user)
            every = ITSELF if is_itself else own_days if family(user) in own else SHARED
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
    hosts = {path.name: path.read_text() for path in (ROOT / HOST).iterdir()}
    return days_by_header(names, texts, hosts)


def today():
    return datetime.date.today().toordinal()


def is_due(number, days, day):
    """Whether a day is the turn of a kernel or fault: each has one in so many days. Neighbours have the
    same, as numbers also choose what is tried. tests/support/turns.cpp has this too."""
    return (number // 3 + day) % days == 0
