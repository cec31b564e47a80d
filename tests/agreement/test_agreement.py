"""The comparison with a GPU, which is the virtual one: all agrees, and a wrong bit is found.

Usage: test_agreement.py PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile

COUNT = 14


def run(program, *options):
    command = [program, *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)


def main(program):
    with tempfile.TemporaryDirectory() as folder:
        recorded = str(pathlib.Path(folder) / "recorded.json")
        done = run(program, "--record", recorded, "--limit", str(COUNT))
        assert done.returncode == 0, done.stdout + done.stderr
        report = pathlib.Path(folder) / "report.json"
        options = ["--compare", recorded, "--report", str(report)]
        for gpu in ([], ["--rehearse"]):
            done = run(program, *options, *gpu)
            assert done.returncode == 0, done.stdout + done.stderr
            found = json.loads(report.read_text(encoding="utf-8"))
            assert found["compared"] == COUNT and found["reals"], found
            assert found["gpu"].startswith("the emulator" if gpu else "Virtual GPU"), found
        for planted in (0, COUNT - 1):  # integers, reals
            entry = json.loads(pathlib.Path(recorded).read_text(encoding="utf-8"))[planted]
            done = run(program, *options, "--rehearse", "--plant", str(planted))
            assert done.returncode == 1, done.stdout
            found = json.loads(report.read_text(encoding="utf-8"))
            assert found["compared"] == COUNT, found
            assert list(found["failures"]) == [f"{entry['kernel']}: {entry['problem']}"], found


main(sys.argv[1])
