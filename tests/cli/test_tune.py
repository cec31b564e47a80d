"""The command tune: records, searches that go on, files of records, several processes."""

import json
import os

from harness import FILE, NOT_FOUND, OK, USAGE, CliTest, Page

GEMM = "gemm m=33 n=17 k=64 a=f32"
CPU = ["--target", "cpu"]
QUICK = [*CPU, "--budget", "200ms", "--rounds", "3"]


class Tune(CliTest):
    def setUp(self):
        super().setUp()
        before = os.environ.get("ESTOC_TUNED")
        os.environ["ESTOC_TUNED"] = self.path("tuned.db")
        self.addCleanup(self.restore, before)

    @staticmethod
    def restore(before):
        os.environ.pop("ESTOC_TUNED", None)
        if before is not None:
            os.environ["ESTOC_TUNED"] = before

    def test_a_record_is_kept_and_shown(self):
        text = self.ok("tune", GEMM, *QUICK)
        self.assertRegex(text, r"problem +gemm m=33 n=17 k=64")
        self.assertRegex(text, r"kernel +cpu_gemm-f32")
        self.assertRegex(text, r"tuned +[0-9.]+ [mnu]s")
        self.assertRegex(self.ok("find", GEMM, *CPU), r"tuned, [0-9.]+ [mnu]s")
        self.assertRegex(self.ok("explain", GEMM, *CPU), r"tuned, [0-9.]+ [mnu]s")
        (found,) = self.json("find", GEMM, *CPU)
        self.assertGreater(found["tuned_seconds"], 0)
        self.assertGreater(found["predicted_seconds"], 0)
        listed = self.ok("tune", "--list")
        self.assertRegex(listed, r"cpu_gemm-f32.* gemm m=33")
        self.assertIn("1 record in " + self.path("tuned.db"), listed)
        self.assertIn("recorded before", self.ok("tune", GEMM, *QUICK))
        self.assertEqual(self.ok("tune", GEMM, *CPU, "--forget"), "1 record removed\n")
        self.assertNotIn("tuned,", self.ok("find", GEMM, *CPU))

    def test_json(self):
        (result,) = self.json("tune", GEMM, *QUICK)
        record = result["record"]
        self.assertEqual(record["kernel"], "cpu_gemm-f32-f32-f32-f32")
        self.assertGreater(record["seconds"], 0)
        self.assertGreaterEqual(record["rounds"], 1)
        self.assertFalse(result["was_known"])
        self.assertEqual(result["candidates"][0]["kernel"], record["kernel"])
        (listed,) = self.json("tune", "--list")
        self.assertEqual(listed, record)

    def test_page(self):
        (result,) = self.json("tune", GEMM, *QUICK, "--html", "p.html")
        page = Page(self.folder / "p.html")
        record = result["record"]
        summary, candidates = page.tables
        self.assertEqual(summary[1][:2], [record["problem"], record["kernel"]])
        self.assertEqual(len(candidates) - 1, len(result["candidates"]))
        self.assertEqual(candidates[1][3], record["kernel"])
        self.assertEqual([row[1] for row in candidates[1:2]], ["1.00"])
        self.assertEqual(len(page.root.findall(".//{http://www.w3.org/2000/svg}svg")), 1)
        self.assertIn("noise", page.text)
        self.assertNotIn("src=", page.source)
        self.assertNotIn("href=", page.source)

    def test_page_of_several_problems(self):
        """One was known, one cannot be tuned, one is new; the page has the two that have a record."""
        self.ok("tune", GEMM, *QUICK)
        (self.folder / "problems.txt").write_text(
            f"{GEMM}\ngemm m=4 n=4 k=4 a=f16 b=f32 acc=i32\ngemm m=8 n=8 k=8 a=f32\n"
        )
        result = self.estoc("tune", "@problems.txt", *QUICK, "--html", "p.html")
        self.assertEqual(result.returncode, NOT_FOUND, result.stderr)
        page = Page(self.folder / "p.html")
        self.assertEqual(len(page.tables), 2)
        self.assertEqual(len(page.tables[0]) - 1, 2)
        self.assertIn("recorded before", page.text)

    def test_page_nowhere(self):
        self.fails(FILE, "tune", GEMM, *QUICK, "--html", "nowhere/p.html", says=["nowhere/p.html"],
                   hint=["--html"])  # fmt: skip
        self.fails(USAGE, "tune", GEMM, "--forget", "--html", "p.html", says=["--html"])

    def test_operations_of_all_kinds(self):
        for problem in [
            'gemm m=9 n=8 k=7 a=bf16 bias=f32:row amax=f32:scalar '
            'epi="D = relu(accum + bias); amax = max(abs(D))"',
            "gemm l=3 m=9 n=8 k=7 a=i8",
            "elementwise op=add shape=31x7 a=f32",
            "gemm m=0 n=4 k=4 a=f32",
            "gemm m=4 n=4 k=4 a=f16:t@2 deterministic=1",
        ]:
            (result,) = self.json("tune", problem, *QUICK)
            self.assertGreater(result["record"]["seconds"], 0, problem)

    def test_a_file_of_problems_goes_on_where_it_was(self):
        (self.folder / "problems.txt").write_text(
            "gemm m={4,8} n=8 k=8 a=f32  # two\n"
            "gemm m=4 n=4 k=4 a=f16 b=f32 acc=i32\n"
        )
        result = self.estoc("tune", "@problems.txt", *QUICK, "--json")
        self.assertEqual(result.returncode, NOT_FOUND, result.stderr)
        self.assertIn("1 of 3 problems could not be tuned", result.stderr)
        self.assertEqual([each["was_known"] for each in json.loads(result.stdout)], [False, False])
        result = self.estoc("tune", "@problems.txt", *QUICK, "--json")
        self.assertEqual([each["was_known"] for each in json.loads(result.stdout)], [True, True])
        self.assertEqual(self.ok("tune", "--forget-all"), "2 records removed\n")

    def test_records_go_from_machine_to_machine(self):
        self.ok("tune", GEMM, *QUICK)
        self.assertEqual(self.ok("tune", "--export", "out.json"), "")
        self.assertEqual(
            self.ok("tune", "--import", "out.json"), "0 records added, 0 replaced, 1 kept\n"
        )
        os.environ["ESTOC_TUNED"] = self.path("other.db")
        self.assertEqual(
            self.ok("tune", "--import", "out.json"), "1 record added, 0 replaced, 0 kept\n"
        )
        self.assertIn("tuned,", self.ok("find", GEMM, *CPU))

    def test_processes_at_once(self):
        runs = [
            self.start("tune", f"gemm m={m} n=8 k=8 a=f32", *QUICK) for m in (8, 8, 9, 10)
        ]
        for run in runs:
            _, message = run.communicate(timeout=60)
            self.assertEqual(run.returncode, OK, message)
        self.assertEqual(len(self.json("tune", "--list")), 3)

    def test_files_that_do_not_serve(self):
        (self.folder / "tuned.db").write_text("no database, whatever its name says" * 10)
        self.fails(FILE, "tune", GEMM, *QUICK, says=["it is damaged or no database"])
        self.fails(FILE, "tune", "--list", says=["it is damaged or no database"])
        found = self.estoc("find", GEMM, *CPU)
        self.assertEqual(found.returncode, OK)
        self.assertIn("kernels are chosen without them", found.stderr)
        os.environ["ESTOC_TUNED"] = "/proc/none/tuned.db"
        self.fails(FILE, "tune", GEMM, *QUICK, says=["/proc/none/tuned.db"])
        os.environ["ESTOC_TUNED"] = "off"
        self.fails(FILE, "tune", GEMM, *QUICK, says=["ESTOC_TUNED is off"])

    def test_bad_input(self):
        self.fails(USAGE, "tune", says=["a problem is missing"])
        self.fails(USAGE, "tune", GEMM, "--budget", "soon", says=["60s, 500ms or 2min"])
        self.fails(USAGE, "tune", GEMM, "--budget", "-1s", says=["60s, 500ms or 2min"])
        self.fails(USAGE, "tune", GEMM, "--list", says=["--list"])
        self.fails(USAGE, "tune", "--list", "--forget-all", says=["--forget-all"])
        self.fails(FILE, "tune", "--import", "none.json", says=["none.json"])
        (self.folder / "bad.json").write_text('{"schema": 1, "tuned": [{"device": "x"}]}')
        self.fails(FILE, "tune", "--import", "bad.json", says=["record 1"])
        self.fails(NOT_FOUND, "tune", GEMM, "--target", "sm_90a", says=["cannot run kernels"])
