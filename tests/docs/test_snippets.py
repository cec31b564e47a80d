#!/usr/bin/env python3
"""Checks that snippets are found, and that a wrong output and a broken link are noticed."""

import pathlib
import sys
import tempfile
import unittest

from check_links import broken
from snippets import find, matches, run

DOCUMENT = """# Title
```cpp
not_run();
```
```cpp run
int main() {}
```

```text output
7
```
Text.
```sh run
echo hello
```
Not its output:
```text output
hello
```
"""


class Snippets(unittest.TestCase):
    def test_finds_the_marked_blocks(self):
        self.assertEqual(list(find(DOCUMENT)), [("cpp run", "int main() {}\n", "7\n"),
                                                ("sh run", "echo hello\n", None)])

    def test_compares_output(self):
        self.assertTrue(matches("a\nb\n", "a\nb\n"))
        self.assertTrue(matches("a ... c\n...\nz\n", "a b c\n1\n2\nz\n"))
        self.assertTrue(matches("a\n...\nz", "a\nz\n"))
        self.assertFalse(matches("a\nb\n", "a\nc\n"))
        self.assertFalse(matches("a\n", "a\nb\n"))
        self.assertFalse(matches("a.c\n", "abc\n"))

    def test_runs(self):
        with tempfile.TemporaryDirectory() as folder:
            expected = pathlib.Path(folder, "expected")
            source = pathlib.Path(__file__).resolve().parents[2]
            for code, wanted, status in [("print(7)", "7\n", 0), ("print(7)", "8\n", 1),
                                         ("print(7)", "", 0), ("raise SystemExit(3)", "", 1),
                                         ("open('examples/make_digits.py')", "", 0)]:
                with self.subTest(code=code, wanted=wanted):
                    expected.write_text(wanted)
                    self.assertEqual(run(expected, source, [sys.executable, "-c", code]), status)

    def test_finds_broken_links(self):
        with tempfile.TemporaryDirectory() as folder:
            document = pathlib.Path(folder, "a.md")
            document.write_text("[a](a.md#x-1) [b](#an-h-b_c) [c](https://c) and\n[d](d.md)\n"
                                "```\n[e](e.md)\n```\n[f](a.md#z)\n# X\n# An `H`: [B_c](a.md)\n# X\n")
            self.assertEqual(list(broken(document)), [(2, "d.md"), (6, "a.md#z")])


if __name__ == "__main__":
    unittest.main(buffer=True)
