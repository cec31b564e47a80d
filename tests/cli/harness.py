"""What the tests of the command share: a folder of their own, and ways to run the executable."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree

# What was tuned on the machine must not decide what tests find.
os.environ["ESTOC_TUNED"] = "off"

EXECUTABLE = "estoc"
SANITIZED = os.environ.get("ESTOC_TEST_SANITIZED") == "1"
ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "data"

OK, WRONG, USAGE, NOT_FOUND, FILE, EXECUTION, MEMORY = range(7)


class Page:
    """An HTML page of the command's, which is XML: its tables as lists of rows, its words."""

    def __init__(self, path):
        self.source = path.read_text()
        self.root = xml.etree.ElementTree.fromstring(self.source)
        self.text = " ".join(self.root.itertext())
        self.tables = [
            [["".join(cell.itertext()) for cell in row] for row in table]
            for table in self.root.iter("table")
        ]


class CliTest(unittest.TestCase):
    """Every test has an empty folder, `self.folder`, which is also the working directory."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="estoc_cli_")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def path(self, name):
        return str(self.folder / name)

    def files(self):
        """Names of what lies in the folder, hidden files included."""
        return sorted(entry.name for entry in self.folder.iterdir())

    def start(self, *arguments, **options):
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        return subprocess.Popen([EXECUTABLE, *map(str, arguments)], cwd=self.folder, **options)

    def estoc(self, *arguments, **options):
        return subprocess.run(
            [EXECUTABLE, *map(str, arguments)],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=240,
            **options,
        )

    def ok(self, *arguments, **options):
        """Standard output of a command that must succeed without a word on stderr."""
        result = self.estoc(*arguments, **options)
        self.assertEqual((result.returncode, result.stderr), (OK, ""), arguments)
        return result.stdout

    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--json"))

    def fails(self, code, *arguments, says=(), hint=(), keeps=None):
        """The command must fail with `code`, one sentence and a hint that hold these words, nothing
        on stdout, and nothing written to the folder."""
        before = self.files() if keeps is None else keeps
        result = self.estoc(*arguments)
        message = result.stderr
        self.assertEqual(result.returncode, code, message)
        self.assertEqual(result.stdout, "")
        lines = message.splitlines()
        self.assertIn(len(lines), (1, 2), message)
        self.assertTrue(lines[0].startswith("error: "), message)
        self.assertLess(len(lines[0]), 1200)
        for line in lines[1:]:
            self.assertTrue(line.startswith("hint: "), message)
        for word in says:
            self.assertIn(word, lines[0])
        for word in hint:
            self.assertIn(word, lines[-1])
        self.assertEqual(self.files(), before)
        return message
