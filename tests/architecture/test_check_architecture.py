#!/usr/bin/env python3
"""Plants a violation of each rule in an otherwise clean tree and expects it to be caught."""

import pathlib
import tempfile
import unittest

from check_architecture import COVERED, LIMIT, check_tree

CLEAN = {
    "include/estoc/tensor.hpp": "// T.\n#pragma once\n#include <vector>\n#include \"estoc/dtype.hpp\"\n",
    "include/estoc/estoc.hpp": "// All.\n#include \"estoc/tensor.hpp\"\n#include \"estoc/log.hpp\"\n",
    "src/core/env.cpp": "// Env.\n#include \"core/env.h\"\nauto x = std::getenv(\"HOME\");\n",
    "src/model/a.cpp": "// A.\n#include \"core/hash.h\"\n#include \"model/b.h\"\n",
    "src/io/a.cpp": "// A.\n#include <nlohmann/json.hpp>\n#include \"core/hash.h\"\n",
    "src/discovery/a.cpp": "// A.\n#include \"epilogue/dag.h\"\n#include \"core/hash.h\"\n",
    "src/providers/providers.cpp":
        "// The list.\n#include \"discovery/builtin.h\"\n#include \"providers/cpu/gemm.h\"\n",
    "src/providers/cpu/a.cpp": "// A.\n#include <Eigen/Core>\n#include \"providers/cpu/b.h\"\n",
    "src/providers/cuda/a.cpp": "// A.\n#include <estoc/abi/types.cuh>\n#include \"jit/compile.h\"\n",
    "src/model/text.cpp":
        "// Speaks of getenv and printf(\"x\").\nauto s = \"abort()\"; int n = snprintf(b, 1, f);\n",
    "device/estoc/ptx/mma.cuh": "// Mma.\n#include <estoc/abi/types.cuh>\ninline void f() { asm volatile(\"\"); }\n",
    "emulator/include/estoc/ptx/mma.cuh": "// Mma.\n#include <emulator/runtime.h>\n",
    "emulator/src/fiber.cpp": "// Fiber.\n#include <fmt/core.h>\nasm(\"nop\");\n",
    "emulator/host/a.cpp": "// A.\n#include \"emulator/run.h\"\n#include \"jit/compile.h\"\n",
    "cli/emulation.h": "// E.\n#include \"emulator/run.h\"\n",
    "tests/emulator/a.cpp": "// A.\n#include <estoc/kernels/a.cuh>\n",
    "cli/main.cpp": "// Main.\n#include \"cli/table.h\"\n#include <CLI/CLI.hpp>\nstd::cout;\n",
    "examples/digits.cpp": "// Digits.\n#include \"estoc/estoc.hpp\"\n#include <cstdio>\n",
    "tests/unit/core/a.cpp": "// A.\n#include \"core/hash.h\"\nint main() { std::exit(1); }\n",
    "scripts/build.sh": "#!/usr/bin/env bash\n# Builds.\n",
    "tests/x.py": "#!/usr/bin/env python3\n\"\"\"X.\"\"\"\n",
    COVERED: "# All.\n*: tests/x.py\n",
}

# Name of the rule -> a file that breaks it, and a part of the message.
PLANTED = {
    "core may not include model": ("src/core/x.cpp", '#include "model/a.h"', "may not include"),
    "model may not include discovery":
        ("src/model/x.cpp", '#include "discovery/a.h"', "may not include"),
    "io may not include check": ("src/io/x.cpp", '#include "check/a.h"', "may not include"),
    "jit knows no GEMM": ("src/jit/x.cpp", '#include "model/a.h"', "may not include"),
    "a provider may not include discovery":
        ("src/providers/cpu/x.cpp", '#include "discovery/registry.h"', "may not include"),
    "the list includes builtin.h alone":
        ("src/providers/providers.cpp", '#include "discovery/registry.h"', "may not include"),
    "a provider may not include another":
        ("src/providers/cpu/x.cpp", '#include "providers/cuda/a.h"', "may not include another"),
    "an unknown folder": ("src/helpers/x.cpp", "", "not in the list of folders"),
    "a public header may not include a private one":
        ("include/estoc/log.hpp", '#include "core/hash.h"', "public header"),
    "a public header may not include fmt":
        ("include/estoc/log.hpp", "#include <fmt/format.h>", "may not include"),
    "a public header names no POSIX header":
        ("include/estoc/log.hpp", "#include <sys/mman.h>", "public header"),
    "a public header does not name cuda.h":
        ("include/estoc/log.hpp", "#include <cuda.h>", "may not include"),
    "a public header includes no later one":
        ("include/estoc/log.hpp", '#include "estoc/arguments.hpp"', "one of a later layer"),
    "a public header has a layer":
        ("src/io/x.cpp", '#include "estoc/new.hpp"', "no place in PUBLIC_LAYERS"),
    "core knows no arguments":
        ("src/core/x.cpp", '#include "estoc/arguments.hpp"', "a later layer than tensors"),
    "jit makes no plans": ("src/jit/x.cpp", '#include "estoc/plan.hpp"', "a later layer"),
    "the command line uses public headers":
        ("cli/x.cpp", '#include "core/hash.h"', "only public headers"),
    "of the emulator, the command includes what runs kernels":
        ("cli/x.cpp", '#include "emulator/launch.h"', "only public headers"),
    "the emulated machine does not know the library":
        ("emulator/src/x.cpp", '#include "jit/compile.h"', "may not include"),
    "the emulator knows no GEMM":
        ("emulator/host/x.cpp", '#include "discovery/fit.h"', "may not include"),
    "examples use public headers":
        ("examples/x.cpp", '#include "model/a.h"', "only public headers"),
    "device code includes device code":
        ("device/estoc/x.cuh", "#include <cuda_fp16.h>", "device code"),
    "a tile knows no kernel":
        ("device/estoc/tile/x.cuh", "#include <estoc/kernels/a.cuh>", "a later layer"),
    "an unknown folder of device code":
        ("device/estoc/helpers/x.cuh", "#include <estoc/abi/types.cuh>", "no place"),
    "the host includes abi/ alone":
        ("src/providers/cuda/x.cpp", "#include <estoc/numeric.cuh>", "device code"),
    "only providers know of kernels":
        ("src/jit/x.cpp", "#include <estoc/abi/types.cuh>", "device code"),
    "nanobind is python's":
        ("src/model/x.cpp", "#include <nanobind/nanobind.h>", "may not include"),
    "Eigen is the cpu provider's":
        ("src/check/x.cpp", "#include <Eigen/Core>", "may not include"),
    "getenv is env.cpp's": ("src/core/x.cpp", 'auto x = getenv("A");', "getenv"),
    "asm is ptx's": ("src/core/x.cpp", 'void f() { asm volatile("nop"); }', "asm"),
    "the emulator has no asm but to switch stacks":
        ("emulator/src/x.cpp", 'asm("nop");', "asm"),
    "other tests see no device code":
        ("tests/unit/x.cpp", "#include <estoc/numeric.cuh>", "device code"),
    "the library does not print": ("src/core/x.cpp", 'void f() { printf("x"); }', "printing"),
    "nor by streams": ("include/estoc/log.hpp", "auto& x = std::cerr;", "printing"),
    "the library does not exit": ("src/io/x.cpp", "void f() { std::exit(1); }", "ending"),
    "nor abort": ("src/io/x.cpp", "void f() { abort(); }", "ending"),
    "a property fails its test":
        ("tests/unit/core/a.cpp", 'void f() { rc::check("x", [] {}); }', "fails no test"),
    "no using namespace": ("src/io/x.cpp", "using namespace std;", "using namespace"),
}


class CheckArchitecture(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in CLEAN.items():
            self.write(path, text)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text)

    def test_clean_tree_passes(self):
        self.assertEqual(check_tree(self.root), [])

    def test_planted_violations_are_caught(self):
        for name, (path, line, message) in PLANTED.items():
            with self.subTest(name):
                before = CLEAN.get(path)
                self.write(path, f"// X.\n{line}\n")
                found = check_tree(self.root)
                self.assertEqual(len(found), 1, found)
                self.assertTrue(found[0].startswith(path), found[0])
                self.assertIn(message, found[0])
                self.write(path, before) if before else (self.root / path).unlink()

    def test_opening_sentence_is_required(self):
        for path, text in [("src/io/x.cpp", "#include <vector>\n"),
                           ("scripts/x.sh", "#!/bin/sh\nset -e\n"),
                           ("tests/y.py", "import os\n")]:
            with self.subTest(path):
                self.write(path, text)
                self.assertIn("does not open", "".join(check_tree(self.root)))
                (self.root / path).unlink()

    def test_umbrella_is_complete(self):
        self.write("include/estoc/y.hpp", "// Y.\n#pragma once\n")
        self.assertIn("does not include estoc/y.hpp", "".join(check_tree(self.root)))

    def test_each_file_of_src_has_a_test(self):
        lines = "".join(f"{path.removeprefix('src/').rpartition('.')[0]}: tests/x.py\n"
                        for path in CLEAN if path.startswith("src/"))
        self.write(COVERED, lines)
        self.assertEqual(check_tree(self.root), [])
        self.write("src/io/x.h", "// X.\n")
        self.assertIn("src/io/x: has no tests/unit/io/x_test.cpp", "".join(check_tree(self.root)))
        self.write("tests/unit/io/x_test.cpp", "// X.\n")
        self.assertEqual(check_tree(self.root), [])
        self.write(COVERED, lines + "io/x: tests/x.py\n")
        self.assertIn("without a test of its own is named io/x", "".join(check_tree(self.root)))
        self.write(COVERED, lines.replace("tests/x.py", "tests/gone.py", 1))
        self.assertIn("there is no tests/gone.py", "".join(check_tree(self.root)))

    def test_folders_of_tests_mirror_src(self):
        self.write("tests/unit/cpu/x_test.cpp", "// X.\n")
        self.assertIn("tests/unit/cpu: mirrors no folder of src", "".join(check_tree(self.root)))

    def test_long_file_is_reported(self):
        self.write("src/io/x.cpp", "// X.\n" * (LIMIT + 1))
        self.assertEqual(len(check_tree(self.root)), 1)


if __name__ == "__main__":
    unittest.main()
