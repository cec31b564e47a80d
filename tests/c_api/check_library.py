#!/usr/bin/env python3
"""Checks what the shared library shows and weighs, and holds its symbols and layouts to goldens.

    check_library.py library LIBRARY INCLUDE [MEGABYTES]
    check_library.py abi LIBRARY INCLUDE LAYOUT_PROGRAM [--update]
    check_library.py layout INCLUDE OUTPUT

`library`: it must export the functions that the headers declare and nothing else, need no library
but the C library's, stay loaded after dlclose, as its threads do, and, where MEGABYTES is given, be
no larger once it is stripped. `abi`: its symbols are those of symbols.txt, and what LAYOUT_PROGRAM
prints (sizes and offsets of the public structs, values of the enumerations) is layout.txt; both
change on purpose only, with --update. `layout` writes that program.
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile

C_LIBRARY = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux.*)\.so\..*")
# Read by the device as an array, and so without a size.
IN_TABLES = {"estoc_group_entry"}
FOLDER = pathlib.Path(__file__).resolve().parent


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def header_text(include):
    """The C headers below `include`, one after the other, without comments."""
    paths = sorted(pathlib.Path(include, "estoc", "c").glob("*.h"))
    text = "".join(path.read_text(encoding="utf-8") for path in paths)
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def exported(library):
    """Names that the library defines for others."""
    lines = output_of("nm", "--dynamic", "--defined-only", library).splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


def declared(include):
    return set(re.findall(r"^ESTOC_API\b[^;(]*?(\w+)\(", header_text(include), re.MULTILINE))


def structs(include):
    """(name, its members) for each public struct."""
    for name, body in re.findall(r"^typedef struct (\w+) \{(.*?)^\}", header_text(include),
                                 re.MULTILINE | re.DOTALL):
        yield name, re.findall(r"(\w+)(?:\[\d+\])?;", body)


def enumerators(include):
    for body in re.findall(r"^typedef enum \w+ \{(.*?)\}", header_text(include),
                           re.MULTILINE | re.DOTALL):
        yield from re.findall(r"\b(ESTOC_\w+)", body)


def layout_program(include):
    lines = ["/* Written by check_library.py: prints the layout of the C interface. */",
             "#include <stddef.h>", "#include <stdio.h>", "", "#include \"estoc/estoc.h\"", "",
             "int main(void) {"]
    for name, members in structs(include):
        lines.append(f'  printf("{name} %zu\\n", sizeof({name}));')
        lines += [f'  printf("  {member} %zu\\n", offsetof({name}, {member}));' for member in members]
    lines += [f'  printf("{name} %d\\n", (int){name});' for name in enumerators(include)]
    return "\n".join([*lines, "  return 0;", "}", ""])


def needed(library):
    return re.findall(r"NEEDED.*\[(.*)\]", output_of("readelf", "--dynamic", library))


def stripped_bytes(library):
    with tempfile.NamedTemporaryFile() as file:
        output_of("strip", "--strip-unneeded", "-o", file.name, library)
        return pathlib.Path(file.name).stat().st_size


def check_library(library, include, limit):
    problems = [f"exported, but not declared: {name}"
                for name in sorted(exported(library) - declared(include))]
    problems += [f"declared, but not exported: {name}"
                 for name in sorted(declared(include) - exported(library))]
    problems += [f"needs {name}" for name in needed(library) if not C_LIBRARY.fullmatch(name)]
    problems += [f"{name} does not begin with its size"
                 for name, members in structs(include)
                 if members[0] != "struct_size" and name not in IN_TABLES]
    if "NODELETE" not in output_of("readelf", "--dynamic", library):
        problems.append("can be unloaded while its threads run")
    size = stripped_bytes(library)
    if limit and size > float(limit[0]) * 1e6:
        problems.append(f"has {size} bytes stripped, more than {limit[0]} MB")
    print("\n".join(problems + [f"{len(declared(include))} functions, {size} bytes stripped"]))
    return 1 if problems else 0


def check_abi(library, program, update):
    found = {"symbols.txt": "\n".join(sorted(exported(library))) + "\n",
             "layout.txt": output_of(program)}
    failed = 0
    for name, text in found.items():
        golden = FOLDER / name
        if update:
            golden.write_text(text, encoding="utf-8")
        before = golden.read_text(encoding="utf-8")
        print("".join(difflib.unified_diff(before.splitlines(True), text.splitlines(True), name,
                                           "found", n=0)), end="")
        failed |= before != text
    return int(failed)


def main():
    verb, *rest = sys.argv[1:]
    if verb == "layout":
        pathlib.Path(rest[1]).write_text(layout_program(rest[0]), encoding="utf-8")
        return 0
    if verb == "abi":
        return check_abi(rest[0], rest[2], "--update" in rest)
    return check_library(rest[0], rest[1], rest[2:])


if __name__ == "__main__":
    sys.exit(main())
