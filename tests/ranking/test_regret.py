"""Replays the ranking on the measured tables: each shape by a fit that has not seen it.

Usage: test_regret.py ESTOC_RANKING FOLDER...
"""

import gzip
import pathlib
import subprocess
import sys
import tempfile


def unpack(folder, scratch):
    """The newest table of each device in a folder, unpacked."""
    newest = {}
    for path in sorted(folder.glob("*.jsonl.gz")):
        _, device = path.name.removesuffix(".jsonl.gz").split("_", 1)
        newest[device] = path
    if not newest:
        sys.exit(f"{folder}: there is no table")
    tables = []
    for device, path in newest.items():
        tables.append(pathlib.Path(scratch) / f"{folder.name}_{device}.jsonl")
        tables[-1].write_bytes(gzip.decompress(path.read_bytes()))
    return tables


def main():
    program, *folders = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        tables = [table for folder in folders for table in unpack(pathlib.Path(folder), scratch)]
        for command in ("regret", "shipped"):
            print(f"== {command}", flush=True)
            if subprocess.run([program, command, *tables], check=False).returncode != 0:
                sys.exit(f"{command}: below the floor")


if __name__ == "__main__":
    main()
