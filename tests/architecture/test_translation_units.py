"""Tests that scripts/translation_units.sh shows clang-tidy every file that changed."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = "scripts/translation_units.sh"
FILES = {
    "src/core/table.h": "",
    "src/core/pair.h": "",
    "src/core/pair.cpp": '#include "core/pair.h"',
    "src/model/table_user.cpp": '#include "core/table.h"',
    "src/cost/features.h": "",
    "src/cost/samples.h": '#include "cost/features.h"',
    "src/cost/fit.cpp": '#include "cost/samples.h"',
    "src/cost/unused.h": "",
    "tests/a/support.h": "",
    "tests/a/test.cpp": '#include "support.h"',
    "tests/b/features.h": "",
    "tests/b/support.h": "",
    "tests/b/test.cpp": '#include "features.h"\n#include "support.h"',
}


class TranslationUnits(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp()).resolve()
        self.addCleanup(shutil.rmtree, self.folder)
        for name, text in FILES.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        (self.folder / "scripts").mkdir()
        shutil.copy(ROOT / SCRIPT, self.folder / "scripts")
        subprocess.run(["git", "init", "-q"], cwd=self.folder, check=True)

    def units(self, *names):
        done = subprocess.run(
            [self.folder / SCRIPT, "built"], input="".join(f"{name}\n" for name in names),
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        return [line.removeprefix(f"{self.folder}/") for line in done.stdout.split()]

    def test_sources_are_their_own(self):
        self.assertEqual(self.units("src/core/pair.cpp", "a.cuh"), ["src/core/pair.cpp"])

    def test_public_headers_have_generated_ones(self):
        found = self.units("include/estoc/c/base.h", "include/estoc/dtype.hpp")
        folder = "built/tests/headers/estoc_"
        self.assertEqual(found, [f"{folder}base_h.cpp", f"{folder}dtype_hpp.cpp"])

    def test_a_header_beside_its_source(self):
        self.assertEqual(self.units("src/core/pair.h"), ["src/core/pair.cpp"])

    def test_a_header_by_a_source_that_includes_it(self):
        self.assertEqual(self.units("src/core/table.h"), ["src/model/table_user.cpp"])

    def test_a_source_beside_it_comes_first(self):
        self.assertEqual(self.units("tests/b/support.h"), ["tests/b/test.cpp"])

    def test_by_way_of_another_header(self):
        self.assertEqual(self.units("src/cost/features.h"), ["src/cost/fit.cpp"])

    def test_what_nothing_includes_hides_no_other_file(self):
        found = self.units("src/cost/unused.h", "src/core/table.h")
        self.assertEqual(found, ["src/model/table_user.cpp"])


if __name__ == "__main__":
    unittest.main()
