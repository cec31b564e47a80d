"""The tables of bench --table, on a GPU that is the emulator's: lines, going on, refusals."""

import json
import os
import pathlib
import signal
import tempfile
import time

from harness import EXECUTION, FILE, NOT_FOUND, USAGE, CliTest

TWO = "gemm m={8,16} n=16 k=16 a=f32"
NARROW = ["--filter", "class=simt_gemm tile=32x32x16"]
COPY = "elementwise op=identity shape=100 a=f32"


class BenchTable(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory(prefix="estoc_table_")
        cls.addClassCleanup(cls.cache.cleanup)

    def environment(self, devices="sm_90a"):
        folder = pathlib.Path(os.environ["ESTOC_TEST_VIRTUAL_GPU"])
        return {
            **os.environ,
            "ESTOC_CACHE_DIR": self.cache.name,
            "LD_LIBRARY_PATH": str(folder),
            "ESTOC_NVRTC": str(folder / "libnvrtc.so"),
            "ESTOC_CUBLASLT": "off",
            "ESTOC_VIRTUAL_GPU": devices,
        }

    def estoc(self, *arguments, **options):
        options.setdefault("env", self.environment())
        return super().estoc(*arguments, **options)

    def table(self, *arguments):
        """Makes or goes on with the table and returns what was printed."""
        return self.ok("bench", *arguments, "--table", "t.jsonl")

    @property
    def text(self):
        return (self.folder / "t.jsonl").read_text()

    def lines(self):
        self.assertTrue(self.text.endswith("\n"))
        return [json.loads(line) for line in self.text.splitlines()]

    def test_lines(self):
        self.assertRegex(self.table(TWO, *NARROW), r"^t\.jsonl: 2 problems, 4 kernels in \d+\.\d s\n$")
        header, *rows = self.lines()
        self.assertEqual(header["estoc_table"], 1)
        self.assertEqual((header["device"], header["target"]), ("Virtual GPU sm_90a", "sm_90a"))
        for name in ("driver", "nvrtc", "cublaslt", "commit", "date"):
            self.assertIn(name, header)
        self.assertEqual(len(rows), 2)
        for m, row in zip((8, 16), rows):
            self.assertIn(f"m={m} n=16 k=16", row["problem"])
            self.assertEqual(list(row), ["problem", "clock", "watts", "kernels"])
            self.assertEqual(len(row["kernels"]), 2)
            for name, microseconds, knobs in row["kernels"]:
                self.assertTrue(name.startswith("simt_gemm-f32"), name)
                self.assertGreater(microseconds, 0)
                self.assertRegex(knobs, r"^[mn]\d+(/\d+)?$")

    def test_problems_are_timed_together(self):
        problems = "gemm m={8,40,16} n=16 k=16 a=f32"
        self.assertIn("3 problems, 6 kernels", self.table(problems, *NARROW, "--together", "2"))
        _, *rows = self.lines()
        self.assertEqual([row["problem"].split()[1] for row in rows], ["m=8", "m=40", "m=16"])
        for row in rows:
            self.assertEqual(len(row["kernels"]), 2)
            self.assertTrue(all(entry[1] > 0 for entry in row["kernels"]))
        self.fails(USAGE, "bench", TWO, "--together", "2", says=["--together", "--table"])

    def test_of_kernels_that_differ_in_alignments_only_the_first_is_timed(self):
        problem = "gemm m=8 n=16 k=16 a=bf16 out=bf16"
        filters = ["--filter", "class=sm80_gemm tile=64x64x32 stages=3,4"]
        ranked = [kernel["name"] for kernel in self.json("find", problem, *filters)]
        self.table(problem, *filters)
        (row,) = self.lines()[1:]
        timed = [entry[0] for entry in row["kernels"]]
        self.assertEqual(len(timed), 2)
        for stages, name in zip(("stages3", "stages4"), sorted(timed, key=lambda name: name[-1])):
            alike = [other for other in ranked if other.endswith(stages)]
            self.assertGreater(len(alike), 1)
            self.assertEqual(name, alike[0])

    def test_what_is_there_is_passed_over(self):
        self.table(TWO, *NARROW)
        before = self.text
        self.assertIn("0 problems, 0 kernels", self.table(TWO, *NARROW))
        self.assertEqual(self.text, before)
        self.assertIn("1 problems", self.table("gemm m={16,24} n=16 k=16 a=f32", *NARROW))
        self.assertTrue(self.text.startswith(before))
        self.assertEqual(len(self.lines()), 1 + 3)

    def test_part_of_a_line_is_measured_again(self):
        self.table(TWO, *NARROW)
        whole = self.text
        first_row_end = whole.index("\n", whole.index("\n") + 1) + 1
        for cut in (len(whole) - 1, len(whole) - 20, first_row_end + 1):
            (self.folder / "t.jsonl").write_text(whole[:cut])
            self.assertIn("1 problems", self.table(TWO, *NARROW))
            self.assertTrue(self.text.startswith(whole[:first_row_end]))
            self.assertEqual(len(self.lines()), 3)

    def test_a_header_alone_is_gone_on_with(self):
        self.table(TWO, *NARROW)
        (self.folder / "t.jsonl").write_text(self.text.splitlines()[0] + "\n")
        self.table(TWO, *NARROW)
        self.assertEqual(["problem" in line for line in self.lines()], [False, True, True])

    def test_files_of_something_else_are_kept(self):
        for text in ("hello", "hello\n", "[]", "{}\n", '{"problem":"gemm"}\n', '{"estoc_table":1}\n',
                     '{"estoc_table":1,"device":7}\n', "\n"):  # fmt: skip
            (self.folder / "t.jsonl").write_text(text)
            self.fails(FILE, "bench", TWO, *NARROW, "--table", "t.jsonl",
                       says=["t.jsonl: expected a table"], hint=["--table"])  # fmt: skip
            self.assertEqual(self.text, text)

    def test_lines_of_something_else_are_kept(self):
        self.table(TWO, *NARROW)
        for line in ("hello", "{}", '{"problem":3}'):
            text = self.text.splitlines()[0] + "\n" + line + "\n"
            (self.folder / "t.jsonl").write_text(text)
            self.fails(FILE, "bench", TWO, *NARROW, "--table", "t.jsonl", says=["t.jsonl"])
            self.assertEqual(self.text, text)

    def test_another_device_is_refused(self):
        self.table(TWO, *NARROW)
        before = self.text
        result = self.estoc("bench", TWO, *NARROW, "--table", "t.jsonl", env=self.environment("sm_80"))
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("holds figures of Virtual GPU sm_90a, got Virtual GPU sm_80", result.stderr)
        self.assertEqual(self.text, before)

    def test_where_it_cannot_be_written(self):
        self.fails(FILE, "bench", TWO, *NARROW, "--table", "nowhere/t.jsonl", says=["nowhere"])
        os.mkdir(self.folder / "folder")
        self.fails(FILE, "bench", TWO, *NARROW, "--table", "folder", says=["folder"])
        if os.geteuid() != 0:
            self.table(TWO, *NARROW)
            before = self.text
            os.chmod(self.folder / "t.jsonl", 0o200)
            self.fails(FILE, "bench", TWO, *NARROW, "--table", "t.jsonl", says=["be read"])
            os.chmod(self.folder / "t.jsonl", 0o600)
            self.assertEqual(self.text, before)

    def test_tuned_kernels_are_none_of_the_rankings(self):
        env = {**self.environment(), "ESTOC_TUNED": self.path("tuned.db")}
        few = ["--top", "1", "--rounds", "1", "--budget", "10ms"]
        self.ok("tune", COPY, *few, env=env)
        result = self.estoc("bench", COPY, "--table", "t.jsonl", env=env)
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("one that was tuned", result.stderr)
        self.assertIn("ESTOC_TUNED=off", result.stderr)

    def test_tables_are_of_gpus(self):
        self.fails(USAGE, "bench", TWO, "--target", "cpu", "--table", "t.jsonl",
                   says=["--table", "got cpu"], hint=["--target"])  # fmt: skip

    def test_options_that_say_nothing_to_it(self):
        for other in (["--json"], ["--out", "o.json"], ["--csv", "o.csv"], ["--plot", "o.svg"],
                      ["--roofline", "o.svg"], ["--html", "o"], ["--resume", "o"], ["--sustained"],
                      ["--top", "2"], ["--threads", "2"]):  # fmt: skip
            self.fails(USAGE, "bench", TWO, "--table", "t.jsonl", *other, says=["--table", other[0]])
        self.fails(USAGE, "bench", "--report", ".", "--table", "t.jsonl", says=["--table", "--report"])

    def test_epilogues_and_their_workspace(self):
        """A kernel that reduces needs memory of its own; the other one does not."""
        problem = 'gemm m={8,70} n=40 k=16 a=f32 top=f32:column epi="D = relu(accum); top = absmax(D)"'
        self.table(problem, *NARROW)
        rows = self.lines()[1:]
        self.assertEqual(len(rows), 2)
        for row in rows:
            self.assertIn("epi=", row["problem"])
            self.assertGreater(len(row["kernels"]), 0)

    def test_elementwise(self):
        self.table(COPY, "--kernel", "own_copy-identity-f32-fault.none")
        (row,) = self.lines()[1:]
        self.assertEqual([entry[0] for entry in row["kernels"]], ["own_copy-identity-f32-fault.none"])

    def test_a_kernel_that_cannot_be_timed(self):
        """It is warned of, and the others are timed."""
        names = ["own_copy-identity-f32-fault." + fault for fault in ("syntax", "none")]
        kernels = [word for name in names for word in ("--kernel", name)]
        result = self.estoc("bench", COPY, *kernels, "--table", "t.jsonl")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"^warning: elementwise .*: 1 of 2 kernels could not be timed; "
                         r"the first: own_copy-identity-f32-fault\.syntax: ")  # fmt: skip
        (row,) = self.lines()[1:]
        self.assertEqual([entry[0] for entry in row["kernels"]], names[1:])

    def test_a_problem_of_which_no_kernel_can_be_timed_is_tried_again(self):
        for fault in ("syntax", "race"):
            name = "own_copy-identity-f32-fault." + fault
            result = self.estoc("bench", COPY, "--kernel", name, "--table", "t.jsonl")
            self.assertEqual(result.returncode, EXECUTION, result.stderr)
            self.assertIn("no kernel could be timed", result.stderr)
            self.assertIn(name, result.stderr)
            self.assertEqual(len(self.lines()), 1)
        self.table(COPY, "--kernel", "own_copy-identity-f32-fault.none")
        self.assertEqual(len(self.lines()), 2)

    def test_a_problem_without_kernels(self):
        """It is named; the others are timed all the same."""
        (self.folder / "p.txt").write_text(
            "gemm m=8 n=16 k=16 a=f64\ngemm m=8 n=16 k=16 a=f32\ngemm m=0 n=8 k=8 a=bf16 b=f32\n"
        )
        result = self.estoc("bench", "@p.txt", "--filter", "class=simt_gemm tile=32x32x16 a=f32",
                            "--table", "t.jsonl")  # fmt: skip
        self.assertEqual(result.returncode, NOT_FOUND, result.stderr)
        self.assertIn("2 of 3 problems are not in the table", result.stderr)
        self.assertEqual(result.stderr.count("warning: "), 2)
        (row,) = self.lines()[1:]
        self.assertIn("a=f32", row["problem"])

    def test_an_interruption_leaves_whole_lines(self):
        problems = "".join(f"gemm m={m} n=16 k=16 a=f32\n" for m in range(1, 2000))
        (self.folder / "p.txt").write_text(problems)
        process = self.start("bench", "@p.txt", *NARROW, "--table", "t.jsonl", env=self.environment())
        file = self.folder / "t.jsonl"
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and process.poll() is None:
            if file.exists() and self.text.count("\n") > 3:
                break
            time.sleep(0.002)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        done = self.lines()[1:]
        self.assertGreaterEqual(len(done), 3)
        self.assertLess(len(done), 1999)
        self.assertEqual(self.files(), ["p.txt", "t.jsonl"])
