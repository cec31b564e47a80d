"""What scripts/abi_check.py takes for a break of the C interface, and what not."""

import importlib.util
import pathlib
import subprocess
import sys
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "abi_check.py"
SPEC = importlib.util.spec_from_file_location("abi_check", SCRIPT)
abi_check = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(abi_check)

SYMBOLS = "estoc_a\nestoc_b\n"
LAYOUT = "estoc_plan 16\n  struct_size 0\n  m 8\nESTOC_F32 3\n"


class AbiCheck(unittest.TestCase):
    def broken(self, symbols=SYMBOLS, layout=LAYOUT):
        return abi_check.compare(SYMBOLS, LAYOUT, symbols, layout)[0]

    def test_what_stays_is_no_break(self):
        self.assertEqual(abi_check.compare(SYMBOLS, LAYOUT, SYMBOLS, LAYOUT), ([], []))

    def test_growth_is_no_break(self):
        grown = LAYOUT.replace("estoc_plan 16", "estoc_plan 24").replace("m 8\n", "m 8\n  n 16\n")
        broken, added = abi_check.compare(SYMBOLS, LAYOUT, SYMBOLS + "estoc_c\n", grown + "ESTOC_F64 4\n")
        self.assertEqual((broken, added), ([], ["estoc_c", "estoc_plan.n", "ESTOC_F64"]))

    def test_breaks_are_named(self):
        self.assertEqual(self.broken(symbols="estoc_a\n"), ["estoc_b is gone"])
        self.assertEqual(self.broken(layout=LAYOUT.replace("  m 8\n", "")), ["estoc_plan.m is gone"])
        self.assertEqual(self.broken(layout=LAYOUT.replace("m 8", "m 12")), ["estoc_plan.m was 8, is 12"])
        self.assertEqual(self.broken(layout=LAYOUT.replace("16", "12")), ["estoc_plan was 16, is 12"])
        self.assertEqual(self.broken(layout=LAYOUT.replace("F32 3", "F32 4")), ["ESTOC_F32 was 3, is 4"])

    def test_against_this_revision_nothing_is_broken(self):
        if abi_check.git("rev-parse", "HEAD") is None:
            self.skipTest("this is no clone")
        done = subprocess.run([sys.executable, "-B", SCRIPT, "HEAD"], capture_output=True, text=True, check=False)
        self.assertIn("broken, ", done.stdout + done.stderr)
        unknown = subprocess.run([sys.executable, "-B", SCRIPT, "no-such-tag"], capture_output=True, text=True,
                                 check=False)
        self.assertEqual(unknown.returncode, 2)


if __name__ == "__main__":
    unittest.main()
