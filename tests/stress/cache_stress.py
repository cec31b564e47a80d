#!/usr/bin/env python3
"""Many processes on one cache of kernels, under every fault that can befall them, and hostile files.

    cache_stress.py WORKER [--seconds N] [--processes N] [--megabytes N] [--seed N] [--out FILE]

Phases of --seconds each: processes are killed while they write; files are cut, bits of them flipped,
entries of other versions put in their place; files may not exceed a size; the disk is full. After
each phase the cache must heal. Then files of --megabytes are opened that no program of ours would
write. Prints what was done as JSON; exit status 1 when a result was wrong, a process crashed or the
cache did not heal.
"""

import argparse
import json
import mmap
import os
import pathlib
import platform
import random
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

COUNTERS = ("hits", "misses", "wrong")
MEMORY = 6 << 30  # that a process may take to open a hostile file


class Workers:
    """Processes that use one cache, and what they counted."""

    def __init__(self, worker, folder, count, **options):
        # They leave this process the time to do harm.
        self.command = ["nice", "-n", "10", str(worker), "work", str(folder / "cache")]
        self.folder, self.count, self.options = folder, count, options
        self.started = self.killed = self.crashed = 0
        path = folder / "counters"
        path.write_bytes(bytes(8 * len(COUNTERS)))
        self.counters = path
        self.processes = [self.start() for _ in range(count)]

    def start(self):
        self.started += 1
        return subprocess.Popen(
            [*self.command, str(self.counters), str(self.started)],
            stdout=subprocess.DEVNULL,
            restore_signals=False,
            **self.options,
        )

    def check(self):
        """Counts processes that ended by themselves, which none should, and replaces them."""
        for place, process in enumerate(self.processes):
            if process.poll() is not None:
                self.crashed += 1
                self.processes[place] = self.start()

    def kill_one(self, rng):
        place = rng.randrange(self.count)
        process = self.processes[place]
        if process.poll() is not None:
            return
        process.kill()
        process.wait()
        self.killed += 1
        self.processes[place] = self.start()

    def end(self):
        self.check()
        for process in self.processes:
            process.kill()
            process.wait()
        numbers = struct.unpack(f"{len(COUNTERS)}q", self.counters.read_bytes())
        return {
            **dict(zip(COUNTERS, numbers)),
            "processes": self.count,
            "killed": self.killed,
            "crashed": self.crashed,
        }


def damage(cache, rng):
    """Does something to one file of the cache; says what."""
    files = [path for path in cache.iterdir() if not path.name.startswith(".")]
    if not files:
        return None
    path = rng.choice(files)
    kind = rng.choice(("cut", "flip", "old version", "swap", "delete"))
    try:
        size = path.stat().st_size
        if kind == "cut":
            os.truncate(path, rng.randrange(size + 1))
        elif kind == "flip" and size:
            with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as bytes_:
                bytes_[rng.randrange(size)] ^= 1 << rng.randrange(8)
        elif kind == "old version":
            record = path.with_suffix(".json")
            text = record.read_text(encoding="utf-8", errors="replace")
            record.write_text(text.replace('"schema": 2', '"schema": 1'), encoding="utf-8")
            old = path.name.replace("-00000000", "")
            (cache / old).write_bytes(path.read_bytes())
        elif kind == "swap":
            path.write_bytes(rng.choice(files).read_bytes())
        elif kind == "delete":
            path.unlink()
    except (OSError, ValueError):
        return None  # another process was quicker
    return kind


def heals(worker, folder):
    command = [str(worker), "heal", str(folder / "cache")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.returncode == 0, result.stdout.strip()


def phase(worker, folder, options, rng, step, **kind):
    """Lets workers run while `step` does its harm."""
    workers = Workers(worker, folder, options.processes, **kind)
    done = {}
    end = time.monotonic() + options.seconds
    while time.monotonic() < end:
        what = step(workers)
        if what:
            done[what] = done.get(what, 0) + 1
        workers.check()
        time.sleep(rng.random() * 0.01)
    return {**workers.end(), "faults": done}


def limit_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


def can_mount():
    command = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def full_disk(worker, folder, options):
    """The workers on a file system of 2 MB, on which they want 4 MB."""
    if not can_mount():
        return None
    here = [sys.executable, "-B", __file__, str(worker), "--only-faults", str(folder)]
    here += ["--processes", str(options.processes), "--seconds", str(options.seconds)]
    script = f"mount -t tmpfs -o size=2m,mode=700 none '{folder}' && exec \"$@\""
    command = ["unshare", "--mount", "sh", "-c", script, "sh", *here]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(result.stdout) if result.returncode == 0 else {"crashed": 1, "wrong": 0}


def open_hostile(worker, folder, options):
    kinds = subprocess.run(
        [str(worker), "kinds"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    answers = {}
    for kind in kinds:
        path = folder / "hostile.estoc"
        subprocess.run(
            [str(worker), "make", kind, str(options.megabytes * 1_000_000), str(path)], check=True
        )
        begin = time.monotonic()
        process = subprocess.Popen(
            [str(worker), "open", str(path)],
            stdout=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)),
        )
        text = process.stdout.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stdout.close()
        answers[kind] = {
            "bytes": path.stat().st_size,
            "answer": text.strip().replace(str(path), "FILE"),
            "exit": process.returncode,
            "seconds": round(time.monotonic() - begin, 2),
            "most_memory_bytes": usage.ru_maxrss * 1024,
        }
        path.unlink()
    return answers


def machine():
    model = [line.split(":")[1].strip()
             for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
             if line.startswith("model name")]
    return f"{len(model)} cores of {model[0] if model else platform.machine()}"


def run(options):
    rng = random.Random(options.seed)
    report = {"machine": machine(), "seconds": options.seconds, "phases": {}}
    problems = []

    def judge(name, answer, healed=(True, "")):
        report["phases"][name] = {**answer, "healed": healed[0]}
        if answer["wrong"] or answer["crashed"] or not healed[0]:
            problems.append(f"{name}: {answer} {healed[1]}")

    with tempfile.TemporaryDirectory(prefix="estoc_stress_") as name:
        folder = pathlib.Path(name)
        cache = folder / "cache"
        for title, step, kind in (
            ("kill -9", lambda workers: workers.kill_one(rng), {}),
            ("damage", lambda workers: damage(cache, rng), {}),
            (
                "damage and kill -9",
                lambda workers: workers.kill_one(rng) or damage(cache, rng),
                {},
            ),
            (
                "files of 100 kB at most",
                lambda workers: workers.kill_one(rng),
                {"preexec_fn": limit_files},
            ),
        ):
            shutil.rmtree(cache, ignore_errors=True)
            cache.mkdir(mode=0o700)
            answer = phase(options.worker, folder, options, rng, step, **kind)
            judge(title, answer, heals(options.worker, folder))
        small = folder / "small"
        small.mkdir()
        answer = full_disk(options.worker, small, options)
        if answer:
            judge("a disk of 2 MB", answer)
        report["hostile_files"] = open_hostile(options.worker, folder, options)
    for kind, answer in report["hostile_files"].items():
        if answer["exit"] != 0 or not answer["answer"]:
            problems.append(f"{kind}: {answer}")
    print(json.dumps(report, indent=1))
    if options.out:
        options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def run_only_faults(options):
    """Inside the small file system that full_disk() makes."""
    rng = random.Random(options.seed)
    folder = options.only_faults
    (folder / "cache").mkdir(mode=0o700)
    print(json.dumps(phase(options.worker, folder, options, rng, lambda w: w.kill_one(rng))))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("worker", type=pathlib.Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--processes", type=int, default=32)
    parser.add_argument("--megabytes", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--only-faults", type=pathlib.Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.worker = options.worker.resolve()
    return run_only_faults(options) if options.only_faults else run(options)


if __name__ == "__main__":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    sys.exit(main())
