#!/usr/bin/env python3
"""Holds the names of all kernels and the source of chosen ones against the files in this folder."""

import argparse
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent
NAMES = FOLDER / "kernel_names.txt"
UNITS = FOLDER / "units"
CLASSES = ("cpu_gemm", "cpu_scaled_gemm", "cpu_quantised_gemm", "cpu_grouped_gemm",
           "cpu_elementwise", "simt_gemm", "simt_scaled_gemm", "simt_quantised_gemm",
           "simt_scaled_quantised_gemm", "simt_grouped_gemm", "simt_scaled_grouped_gemm",
           "cpu_scaled_grouped_gemm", "simt_elementwise", "sm80_gemm", "sm90_gemm",
           "sm90_fast_gemm", "sm90_swapped_gemm", "sm90_swapped_fast_gemm", "sm90_prepared_gemm",
           "sm90_bf16x6_gemm", "sm90_scaled_gemm", "sm90_swapped_scaled_gemm", "sm80_dequantised_gemm",
           "sm90_dequantised_gemm", "sm80_scaled_gemm",
           "sm100_gemm", "sm100_i8_gemm", "sm100_prepared_gemm", "sm100_scaled_gemm",
           "sm100_dequantised_gemm", "sm90_grouped_gemm", "sm90_swapped_grouped_gemm",
           "sm90_scaled_grouped_gemm", "sm90_swapped_scaled_grouped_gemm", "sm90_quantised_gemm",
           "sm90_scaled_quantised_gemm", "sm80_quantised_gemm", "sm80_grouped_gemm",
           "sm100_grouped_gemm", "sm100_swapped_grouped_gemm", "sm100_dynamic_gemm",
           "sm80_f32_gemm", "sm90_swapped_dequantised_gemm", "sm120_gemm", "sm120_scaled_gemm",
           "simt_pointer_gemm", "sm80_pointer_gemm", "sm90_f64_gemm", "simt_gathered_gemm",
           "sm80_gathered_gemm", "sm90_gathered_gemm", "sm90_pointer_gemm")


def output_of(command):
    """What the command prints; its messages are the error."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(f"{' '.join(command)}\n{done.stderr}")
        sys.exit(77 if "NVRTC" in done.stderr else 1)
    return done.stdout


def names_of(estoc):
    """One line for each kernel class: its name, how many kernels it has, and a hash of their names."""
    lines = []
    for name in CLASSES:
        rows = output_of([estoc, "--no-color", "list", "--limit", "0", "--filter", f"class={name}"]).splitlines()
        kernels = sorted(row.split()[0] for row in rows if row.startswith(name + "-"))
        digest = hashlib.sha256("\n".join(kernels).encode()).hexdigest()
        lines.append(f"{name} {len(kernels)} {digest[:16]}")
    total = output_of([estoc, "list", "--count"]).strip()
    return "\n".join([*lines, f"all {total}", ""])


def unit_of(estoc, case, folder):
    """The source that one kernel is compiled from."""
    output_of([estoc, "compile", case["problem"], "--target", case["target"], "--top", "1", "--filter",
               f"name={case['kernel']}", "--output", str(folder / "unit.estoc"), "--emit", "cu"])
    texts = list(folder.glob("*.cu"))
    assert len(texts) == 1, texts
    text = texts[0].read_text()
    texts[0].unlink()
    return text


def expected_and_found(estoc, what):
    """(file, what is in it) for each golden."""
    if what == "names":
        yield NAMES, names_of(estoc)
        return
    cases = json.loads((UNITS / "cases.json").read_text())
    with tempfile.TemporaryDirectory() as folder:
        for case in cases:
            yield UNITS / f"{case['name']}.cu.txt", unit_of(estoc, case, pathlib.Path(folder))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("names", "units"))
    parser.add_argument("estoc", help="the command-line program")
    parser.add_argument("--update", action="store_true", help="write the files anew")
    arguments = parser.parse_args()
    failures = 0
    for path, found in expected_and_found(arguments.estoc, arguments.what):
        if arguments.update:
            path.write_text(found)
        elif not path.exists() or path.read_text() != found:
            print(f"{path.relative_to(FOLDER)} differs; run with --update and look at the difference")
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
