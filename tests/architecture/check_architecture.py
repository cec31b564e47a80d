#!/usr/bin/env python3
"""Checks the rules of docs/architecture.md that a compiler does not: which folder may include
which, which file alone may do what, how a source file opens, and which test each file of src has.

Usage: check_architecture.py [ROOT]; prints the violations, one a line, and exits 1 if there are any.
"""

import fnmatch
import pathlib
import re
import sys

# What each folder of src/ may include, besides itself, the public headers and what those may
# include in turn. A folder that is not here may not exist.
MAY_INCLUDE = {
    "core": [],
    "c_api": [],
    "model": ["core"],
    "operations": ["epilogue", "check"],
    "io": ["model"],
    "check": ["model"],
    "epilogue": ["model"],
    "jit": ["core"],
    "records": ["operations"],
    "discovery": ["operations", "records"],
    "run": ["discovery"],
    "moe": ["run", "jit"],
    "groups": ["operations", "jit"],
    "tune": ["discovery", "check", "jit"],
    "cost": ["jit", "operations"],
    "providers": ["epilogue", "jit", "cost"],
}

# The layers of public headers: each header includes only those of its own and of earlier ones. And
# the last layer that a folder of src/ may include; other folders may include all.
PUBLIC_LAYERS = {
    "words": "dtype error_kinds environment interrupt kernel_cache kernel_pack library_search log "
             "numeric profiling status target text_file",
    "tensors": "device tensor tensor_file",
    "epilogues": "epilogue epilogue_graph",
    "arguments": "arguments",
    "problems": "background_tuner check device_check groups metadata problem",
    "designs": "design_space",
    "classes": "kernel_class",
    "kernels": "cuda_kernel_class kernel",
    "searches": "bundle compile_all discovery element_epilogue measure moe tuned",
    "calls": "plan tune",
}
LAST_PUBLIC_LAYER = {
    "core": "tensors", "io": "tensors", "epilogue": "arguments", "check": "problems",
    "groups": "problems", "model": "designs", "operations": "designs", "cost": "classes",
    "jit": "kernels", "providers": "searches", "records": "searches", "discovery": "searches",
}  # fmt: skip

# Single files that may include more: the list of providers tells discovery what is built in, the
# host side of a kernel shares headers of one folder with its device side, the command runs the emulator, and
# of the emulator the part that builds kernels knows the library.
EXTRA_INCLUDES = {
    r"src/providers/providers\.cpp": [r"discovery/builtin\.h", r"providers/\w+/.*"],
    r"(src/providers|src/tune|src/moe|src/groups|emulator|tests)/.*": [r"estoc/abi/\w+\.cuh"],
    r"src/jit/abi_type\.h": [r"estoc/abi/types\.cuh"],
    r"(device|emulator)/.*": [r"estoc/.*\.cuh"],
    r"cli/.*": [r"emulator/run\.h"],
    r"emulator/host/.*": [r"(core|jit)/.*"],
    r"emulator/gpu/.*": [r"core/(architectures|env)\.h", r"jit/cuda_types\.h", r"kernel_build\.h"],
    r"tests/emulator/.*": [r"estoc/.*\.cuh", r"sm\d+_kernel\.cuh", r"\.\./golden/epilogues/\w+\.cuh"],
    r"tests/conformance/.*": [r"(estoc|conformance)/.*\.cuh"],
}

# Folders of device/estoc, each of which includes only itself and those before it. What it shares with
# the host comes first; "" are the headers beside the folders.
DEVICE_LAYERS = ["abi", "ptx", "", "tile", "epilogue", "sm90", "sm100", "moe",
                 "kernels"]

# Headers of other projects, and the only places that may include them.
THIRD_PARTY = {
    r"fmt/.*": r"(src|emulator|cli|tests|bench|python)/.*",
    r"nlohmann/.*": r"(src/io|src/jit|src/records|src/tune|src/discovery|cli|bench|tests)/.*",
    r"xxhash\.h": r"(src/core|tests)/.*",
    r"estoc_sqlite\.h": r"src/records/sqlite\.cpp",
    r"Eigen/.*|unsupported/Eigen/.*": r"(src/providers/cpu|bench|tests)/.*",
    r"CLI/.*": r"(cli|tests)/.*",
    r"nanobind/.*": r"python/.*",
    r"(cuda|nvrtc|cublasLt)\.h": r"src/jit/.*|src/providers/cublaslt/.*",
}

# Code that only the files on the right may hold.
SINGLE_OWNER = [
    ("getenv", r"\b(secure_)?getenv\b", r"src/core/env\.cpp|tests/.*"),
    ("asm", r"\basm\b|\b__asm__\b", r"device/estoc/ptx/.*|emulator/src/fiber\.cpp"),
    ("printing", r"\b(v?f?printf|f?puts|putchar)\s*\(|\bstd::(cout|cerr|clog)\b|\bfmt::print\b",
     r"(cli|examples|tests|bench|python)/.*"),
    ("ending the process", r"\b(abort|exit|_exit|quick_exit|terminate)\s*\(",
     r"(cli|examples|tests|bench|emulator)/.*"),
    ("using namespace", r"\busing\s+namespace\b", r"(cli|examples|tests|bench)/.*\.cpp"),
]

# Lines a file may have; those that a command writes may have more.
LIMIT = 700
WARN = 600
WRITTEN = re.compile(r"src/cost/residuals_\w+\.cpp")
CODE = {".cpp", ".h", ".hpp", ".cuh", ".cu", ".def"}
# Files of src/ without a unit test of their own name, and the tests that cover them.
COVERED = "tests/architecture/covered.txt"
TREES = ["include", "src", "device", "emulator", "cli", "python", "examples", "bench", "tests"]


def sources(root):
    """The files with code in them, as paths relative to root, sorted."""
    for tree in TREES:
        for path in sorted((root / tree).rglob("*")):
            if path.is_file() and path.suffix in CODE | {".py"}:
                yield path.relative_to(root).as_posix()
    for path in sorted((root / "scripts").glob("*")):
        if path.suffix in {".py", ".sh"}:
            yield path.relative_to(root).as_posix()


def code_only(text):
    """The text with comments and string literals blanked, line by line the same."""
    pattern = re.compile(
        r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def folder_of(path):
    """The first folder below src/ of "src/core/hash.h" or "core/hash.h"."""
    return path.removeprefix("src/").split("/")[0]


def reachable(folder):
    """What a folder may include, directly or by way of those it may include."""
    seen = set()
    waiting = list(MAY_INCLUDE.get(folder, []))
    while waiting:
        other = waiting.pop()
        if other not in seen:
            seen.add(other)
            waiting += MAY_INCLUDE[other]
    return seen


def allowed_by(table, path, header):
    return any(re.fullmatch(key, path) and any(re.fullmatch(value, header) for value in values)
               for key, values in table.items())


def device_layer(header):
    """The place in DEVICE_LAYERS of "estoc/tile/raster.cuh"; None of a folder that is not there."""
    inner = header.removeprefix("estoc/").removesuffix(".cuh")
    folder = inner.split("/")[0] if "/" in inner else ""
    return DEVICE_LAYERS.index(folder) if folder in DEVICE_LAYERS else None


def check_device_include(path, header):
    """Why device code may not include other device code; None when it may."""
    own = device_layer(path.removeprefix("device/"))
    other = device_layer(header)
    if own is None or other is None:
        return f"a folder of device/estoc that has no place in DEVICE_LAYERS: {path}, {header}"
    return None if other <= own else f"device/estoc: {path} may not include {header}, a later layer"


def public_layer(header):
    """The place in PUBLIC_LAYERS of "estoc/tensor.hpp"; None of one that is not there."""
    name = header.removeprefix("estoc/").removesuffix(".hpp")
    places = [place for place, names in enumerate(PUBLIC_LAYERS.values()) if name in names.split()]
    return places[0] if places else None


def check_public_include(path, header):
    """Why a public header, or a file of src/, may not include a public header; None when it may."""
    if not header.endswith(".hpp"):
        return None
    other = public_layer(header)
    if other is None:
        return f"{header} has no place in PUBLIC_LAYERS"
    if path.startswith("include/") and path != "include/estoc/estoc.hpp":
        own = public_layer(path.removeprefix("include/"))
        if own is not None and other > own:
            return f"a public header may not include one of a later layer: {header}"
    last = LAST_PUBLIC_LAYER.get(folder_of(path)) if path.startswith("src/") else None
    if last is not None and other > list(PUBLIC_LAYERS).index(last):
        return f"{folder_of(path)} may not include {header}, a later layer than {last}"
    return None


def check_include(root, path, header, quoted):
    """Why the file at `path` may not include `header`; None when it may."""
    for pattern, owners in THIRD_PARTY.items():
        if re.fullmatch(pattern, header):
            return None if re.fullmatch(owners, path) else f"may not include <{header}>"
    if path.startswith("device/") or header.endswith(".cuh"):
        allowed = allowed_by(EXTRA_INCLUDES, path, header)
        if not allowed:
            return f"device code and the host share abi/ alone, not {header}"
        return check_device_include(path, header) if path.startswith("device/") else None
    public = header.startswith("estoc/")
    if public and path.startswith(("include/", "src/")):
        if problem := check_public_include(path, header):
            return problem
    if path.startswith("include/"):
        if public or not quoted and re.fullmatch(r"\w+|std(def|int)\.h", header):
            return None
        return f"a public header includes public headers and C++'s own, not {header}"
    if not quoted or public or path.startswith(("tests/", "bench/", "device/")):
        return None
    same_folder = (root / path).parent / header
    if path.startswith("emulator/"):
        allowed = (same_folder.is_file() or header.startswith("emulator/")
                   or allowed_by(EXTRA_INCLUDES, path, header))
        return None if allowed else f"the emulator may not include {header}"
    if path.startswith("src/"):
        if same_folder.is_file() or allowed_by(EXTRA_INCLUDES, path, header):
            return None
        own = folder_of(path)
        to = folder_of(header)
        if own == to == "providers":
            same_provider = path.split("/")[2] == header.split("/")[1] or header.count("/") == 1
            return None if same_provider else f"a provider may not include another: {header}"
        if own == to or to in reachable(own):
            return None
        return f"{own} may not include {header}"
    if same_folder.is_file() or header.startswith(path.split("/")[0] + "/"):
        return None
    if allowed_by(EXTRA_INCLUDES, path, header):
        return None
    return f"only public headers may be included here, not {header}"


def check_opening(path, text):
    """Why the file does not open with a sentence on what it is for; None when it does."""
    lines = [line for line in text.splitlines() if not line.startswith("#!")]
    first = lines[0] if lines else ""
    opening = r'"""[A-Z].*' if path.endswith(".py") else r"(//|#|/\*) \W?\w.*"
    if re.match(opening, first):
        return None
    return "does not open with a sentence that says what the file is for"


def check_file(root, path):
    """Yields the violations in one file as (line or 0, message)."""
    text = (root / path).read_text(encoding="utf-8")
    if problem := check_opening(path, text):
        yield 1, problem
    length = text.count("\n")
    if length > LIMIT and not WRITTEN.fullmatch(path):
        yield 0, f"has {length} lines, more than {LIMIT}: split it"
    if pathlib.PurePath(path).suffix not in CODE:
        return
    if path.startswith("src/") and folder_of(path) not in MAY_INCLUDE:
        yield 0, f"the folder src/{folder_of(path)} is not in the list of folders"
        return
    bare_text = code_only(text)
    for match in re.finditer(r"\brc::check\(", bare_text):
        if not re.search(r"\b(EXPECT|ASSERT)_TRUE\(\s*$", bare_text[:match.start()]):
            yield bare_text.count("\n", 0, match.start()) + 1, "rc::check() by itself fails no test"
    code = bare_text.splitlines()
    for number, (line, bare) in enumerate(zip(text.splitlines(), code), 1):
        match = re.match(r'\s*#\s*include\s*(["<])([^">]+)[">]', line)
        if match and bare.lstrip().startswith("#"):
            if problem := check_include(root, path, match[2], match[1] == '"'):
                yield number, problem
        for what, pattern, owners in SINGLE_OWNER:
            if re.search(pattern, bare) and not re.fullmatch(owners, path):
                yield number, f"{what} is not allowed here: {line.strip()}"


def check_umbrella(root):
    """Yields a violation for each public header that estoc.hpp leaves out."""
    umbrella = root / "include/estoc/estoc.hpp"
    included = set(re.findall(r'#include "(.*)"', umbrella.read_text(encoding="utf-8")))
    for header in sorted(umbrella.parent.glob("*.hpp")):
        # The command is a library of its own, for programs that want to be it.
        if header.name not in {"estoc.hpp", "command.hpp"} and f"estoc/{header.name}" not in included:
            yield f"include/estoc/estoc.hpp: does not include estoc/{header.name}"


def covered(root):
    """The lines of COVERED as (number, pattern, tests)."""
    text = (root / COVERED).read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            pattern, tests = line.split(":")
            yield number, pattern.strip(), tests.split()


def check_tests(root):
    """Yields a violation for each file of src/ without a test, and for lines of COVERED that say nothing."""
    unit = root / "tests/unit"
    tested = {path.relative_to(unit).as_posix().removesuffix("_test.cpp")
              for path in unit.rglob("*_test.cpp")}
    stems = {path.relative_to(root / "src").with_suffix("").as_posix()
             for path in (root / "src").rglob("*") if path.suffix in {".cpp", ".h"}}
    left = stems - tested
    for number, pattern, tests in covered(root):
        matching = set(fnmatch.filter(stems - tested, pattern))
        if not matching:
            yield f"{COVERED}:{number}: no file of src without a test of its own is named {pattern}"
        for test in tests:
            if not any(root.glob(test)):
                yield f"{COVERED}:{number}: there is no {test}"
        left -= matching
    for stem in sorted(left):
        yield f"src/{stem}: has no tests/unit/{stem}_test.cpp, nor a line in {COVERED}"
    for folder in sorted({test.rpartition("/")[0] for test in tested}):
        if not (root / "src" / folder).is_dir():
            yield f"tests/unit/{folder}: mirrors no folder of src"


def check_tree(root):
    """The violations in the tree, as "path:line: message"."""
    found = [f"{path}:{line}: {message}" if line else f"{path}: {message}"
             for path in sources(root) for line, message in check_file(root, path)]
    return found + list(check_umbrella(root)) + list(check_tests(root))


def main():
    default = pathlib.Path(__file__).resolve().parents[2]
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default
    count = 0
    for path in sources(root):
        count += 1
        length = (root / path).read_text(encoding="utf-8").count("\n")
        if WARN < length <= LIMIT:
            print(f"warning: {path} has {length} lines; split it before it reaches {LIMIT}")
    violations = check_tree(root)
    print("\n".join(violations + [f"{count} files, {len(violations)} violations"]))
    return 1 if violations or not count else 0


if __name__ == "__main__":
    sys.exit(main())
