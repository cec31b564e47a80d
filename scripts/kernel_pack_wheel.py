#!/usr/bin/env python3
"""Makes a wheel of a pack of kernels: `pip install` puts the pack where Estoc finds it.

Usage: kernel_pack_wheel.py PACK [--out FOLDER]
PACK is named after its target, such as sm_90a.estoc; the wheel, estoc_kernels_sm90a, is for this
version of Estoc. The same pack gives the same wheel. Prints the wheel's path.
"""

import argparse
import base64
import hashlib
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The oldest that the format can say, so that bytes do not depend on the day.
DATE = (1980, 1, 1, 0, 0, 0)


def version():
    text = (ROOT / "CMakeLists.txt").read_text()
    return re.search(r"project\(estoc VERSION ([0-9.]+)", text).group(1)


def metadata(name, target):
    """The texts of the .dist-info folder, less its record."""
    return {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version()}\n"
                    f"Summary: Compiled kernels of Estoc for {target}\nLicense: Apache-2.0\n"
                    f"Requires-Dist: estoc=={version()}\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: estoc\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def make(pack, folder):
    target = pack.stem
    data = pack.read_bytes()
    if not re.fullmatch(r"(sm|compute)_\d+a?", target) or not data.startswith(b"ESTOCBIN"):
        sys.exit(f"kernel_pack_wheel: expected a pack named after its target, such as sm_90a.estoc, got {pack}")
    name = "estoc-kernels-" + target.replace("_", "")
    stem = f"{name.replace('-', '_')}-{version()}"
    files = {f"estoc_kernels/{pack.name}": data}
    for file, text in metadata(name, target).items():
        files[f"{stem}.dist-info/{file}"] = text.encode()
    record = f"{stem}.dist-info/RECORD"
    lines = [f"{path},sha256={digest(content)},{len(content)}\n" for path, content in files.items()]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    wheel = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            entry = zipfile.ZipInfo(path, DATE)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return wheel


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path())
    options = parser.parse_args()
    print(make(options.pack, options.out))


if __name__ == "__main__":
    main()
