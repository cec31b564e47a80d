"""The comparison with a GPU, with the emulator in its place: all is compared, whatever goes wrong.

Usage: test_rehearsal.py PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile

FEW = "box<1"
FIRST = "box<1, true, Store::none> before"


def run(program, *options):
    """(exit status, report) of a rehearsal."""
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report.json"
        command = [program, "--rehearse", "--report", str(file), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, json.loads(file.read_text(encoding="utf-8"))


def main(program):
    status, report = run(program)
    count = report["instruction_cases"]
    assert status == 0 and report["failures"] == {}, report["failures"]
    assert report["compared"] == count > 700, report
    said = {
        "differs": "is to be",
        "breaks": "planted: the device is broken",
        "dies": "ended by signal 6",
        "hangs": "no end after 2 s",
    }
    for kind, words in said.items():
        status, report = run(program, "--only", FEW, "--plant", f"{kind}:{FIRST}", "--seconds", "2")
        assert status == 1, kind
        assert report["compared"] == report["instruction_cases"] >= 3, report
        assert list(report["failures"]) == [FIRST], report
        assert words in report["failures"][FIRST][0], report


main(sys.argv[1])
