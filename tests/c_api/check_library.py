#!/usr/bin/env python3
"""Checks what the shared library shows and weighs.

    check_library.py LIBRARY HEADER [MEGABYTES]

It must export the functions that the header declares and nothing else, need no library but the C
library's, stay loaded after dlclose, as its threads do, and, where MEGABYTES is given, be no larger
once it is stripped.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

C_LIBRARY = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so\..*")


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(library):
    """Names that the library defines for others."""
    lines = output_of("nm", "--dynamic", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def declared(header):
    text = pathlib.Path(header).read_text(encoding="utf-8")
    return set(re.findall(r"^ESTOC_API\b[^;(]*?(\w+)\(", text, re.MULTILINE))


def needed(library):
    return re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "--dynamic", library))


def stripped_bytes(library):
    with tempfile.NamedTemporaryFile() as file:
        output_of("strip", "--strip-unneeded", "-o", file.name, library)
        return pathlib.Path(file.name).stat().st_size


def main():
    library, header, *limit = sys.argv[1:]
    problems = [f"exported, but not declared: {name}"
                for name in sorted(exported(library) - declared(header))]
    problems += [f"declared, but not exported: {name}"
                 for name in sorted(declared(header) - exported(library))]
    problems += [f"needs {name}" for name in needed(library) if not C_LIBRARY.fullmatch(name)]
    if "NODELETE" not in output_of("readelf", "--dynamic", library):
        problems.append("can be unloaded while its threads run")
    size = stripped_bytes(library)
    if limit and size > float(limit[0]) * 1e6:
        problems.append(f"has {size} bytes stripped, more than {limit[0]} MB")
    print("\n".join(problems + [f"{len(declared(header))} functions, {size} bytes stripped"]))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
