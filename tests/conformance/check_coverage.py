#!/usr/bin/env python3
"""Checks that the conformance kernels use every instruction wrapper of device/estoc/ptx but those of
GPUs that are not at hand.

Usage: check_coverage.py; prints the wrappers that are not used and exits 1 if there are any.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
WITHOUT_CARD = (
    "launch_control.cuh",
    "mma_scaled.cuh",
    "tcgen05.cuh",
    "tcgen05_memory.cuh",
    "tma_gather.cuh",
    "tma_pair.cuh",
)


def main():
    texts = "".join(path.read_text("utf-8") for path in (ROOT / "tests/conformance").glob("*.cuh"))
    used = set(re.findall(r"ptx::(\w+)\s*[<(]", texts)) | {"bit_cast"}
    missing = []
    count = 0
    for path in sorted((ROOT / "device/estoc/ptx").glob("*.cuh")):
        if path.name in WITHOUT_CARD:
            continue
        text = path.read_text("utf-8")
        text = re.sub(r"namespace detail \{.*?\}  // namespace detail", "", text, flags=re.S)
        names = re.findall(r"^__device__ __forceinline__ [^(;=]*?(\w+)\(", text, re.M)
        count += len(names)
        missing += [f"{path.name}: {name}" for name in names if name not in used]
    print("\n".join(missing + [f"{count} wrappers, {len(missing)} without a conformance test"]))
    return 1 if missing or count < 90 else 0


if __name__ == "__main__":
    sys.exit(main())
