"""The command bench: tables, result files, lists of problems, going on after an interruption."""

import csv
import json
import os
import re
import signal
import time
import xml.etree.ElementTree

import harness
from harness import FILE, NOT_FOUND, OK, USAGE, WRONG, CliTest, Page

GEMM = "gemm m=33 n=17 k=64 a=f32"
CPU = ["--target", "cpu"]


class Bench(CliTest):
    def test_table(self):
        text = self.ok("bench", "gemm m=65 n=33 k=17 a=f32", "--rounds", "3")
        self.assertRegex(text, r"problem +gemm m=65 n=33 k=17")
        self.assertIn("GFLOP/s", text)
        self.assertRegex(text, r"(?m)ok$")

    def test_json(self):
        (answer,) = self.json("bench", "elementwise op=add shape=31x7 a=f32", "--rounds", "5")
        self.assertEqual(answer["rounds"], 5)
        self.assertGreater(answer["check_seconds"], 0)
        self.assertGreaterEqual(len(answer["kernels"]), 1)
        for kernel in answer["kernels"]:
            self.assertTrue(kernel["check"]["passed"])
            seconds = kernel["seconds"]
            self.assertLessEqual(0, seconds["min"])
            self.assertLessEqual(seconds["min"], seconds["median"])
            self.assertLessEqual(seconds["median"], seconds["max"])
            self.assertGreater(kernel["gbytes_per_second"], 0)

    def test_named_kernel(self):
        name = self.json("find", GEMM)[0]["name"]
        (answer,) = self.json("bench", GEMM, "--kernel", name, "--rounds", "2", "--threads", "1")
        self.assertEqual([kernel["kernel"] for kernel in answer["kernels"]], [name])

    def test_problem_file_and_csv(self):
        (self.folder / "problems.txt").write_text(
            "# two problems\n\n"
            "gemm m=16 n=16 k=16 a=f32   # small\n"
            "  gemm m=5 n=6 k=7 a=i8\r\n"
        )
        answers = self.json("bench", "@problems.txt", "--rounds", "2", "--csv", "times.csv")
        self.assertEqual(len(answers), 2)
        with open(self.folder / "times.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["problem"] for row in rows}, {a["problem"] for a in answers})
        for row in rows:
            self.assertEqual(row["passed"], "true")
            self.assertGreater(float(row["median_seconds"]), 0)
        first, *_, last = rows
        self.assertEqual([first[name] for name in ("m", "k", "a", "out")], ["16", "16", "f32:t", "f32:t"])
        self.assertEqual([last[name] for name in ("m", "n", "k", "acc")], ["5", "6", "7", "i32"])
        for name in ("target", "device", "mode", "commit"):
            self.assertEqual(first[name], answers[0][name] or "")
        self.assertEqual(self.files(), ["problems.txt", "times.csv"])

    def test_problem_file_names_the_line(self):
        (self.folder / "problems.txt").write_text("gemm m=1 n=1 k=1 a=f32\ngemm m=x\n")
        self.fails(USAGE, "bench", "@problems.txt", says=["problems.txt:2:"])

    def test_noise(self):
        text = self.ok("bench", GEMM, "--rounds", "3", *CPU)
        self.assertRegex(text, r"(?m)^noise +\d+\.\d% between two timings of one kernel$")
        (answer,) = self.json("bench", GEMM, "--rounds", "3", *CPU)
        self.assertGreaterEqual(answer["noise"], 0)
        self.assertEqual(len(answer["kernels"]), len({k["kernel"] for k in answer["kernels"]}))

    def test_results_stand_alone(self):
        printed = self.ok("bench", GEMM, "--rounds", "2", *CPU, "--json", "--out", "figures.json")
        self.assertEqual((self.folder / "figures.json").read_text(), printed)
        (answer,) = json.loads(printed)
        self.assertRegex(answer["date"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(f"estoc {answer['version']}\n", self.ok("--version"))
        self.assertEqual((answer["mode"], answer["target"]), ("burst", "cpu"))
        self.assertTrue(answer["device"])
        for name in ("commit", "driver", "nvrtc", "cublaslt", "clock_hz"):
            self.assertIn(name, answer)
        for name in ("sm_clock_mhz", "watts", "celsius"):
            self.assertIsNone(answer[name], "a host's is not known")
        self.assertRegex(answer["commit"] or "0000000", r"^[0-9a-f]{7,}(-dirty)?$")

    def test_against_a_provider_without_kernels(self):
        result = self.estoc("bench", GEMM, *CPU, "--rounds", "1", "--against", "cublaslt")
        self.assertEqual(result.returncode, OK)
        self.assertIn("warning: --against cublaslt: no kernel", result.stderr)

    def test_against(self):
        """The provider's kernels take part, each once, also beside kernels that are named."""
        name = self.json("find", GEMM, *CPU)[0]["name"]
        (answer,) = self.json(
            "bench", GEMM, *CPU, "--rounds", "1", "--kernel", name, "--against", "cpu"
        )
        names = [kernel["kernel"] for kernel in answer["kernels"]]
        self.assertEqual(names[0], name)
        self.assertEqual(sorted(names), sorted(set(names)))
        self.fails(NOT_FOUND, "bench", GEMM, *CPU, "--against", "nobody", says=["nobody"])

    def test_needs_a_problem(self):
        self.fails(USAGE, "bench", says=["problem"], hint=["estoc bench --help"])
        self.fails(USAGE, "bench", GEMM, "--report", ".", says=["--report"])

    def test_destinations_are_checked_first(self):
        for option in ("--out", "--csv", "--plot", "--roofline", "--html", "--resume"):
            self.fails(FILE, "bench", GEMM, option, "nowhere/x", says=["nowhere/x"], hint=[option])


class Limits(CliTest):
    def rounds(self, *arguments):
        (answer,) = self.json("bench", GEMM, "--rounds", "2", *CPU, *arguments)
        return answer["rounds"]

    def test_rounds_are_doubled_while_there_is_time(self):
        self.assertEqual(self.rounds(), 2)
        self.assertEqual(self.rounds("--seconds", "1e-9"), 2)
        rounds = self.rounds("--seconds", "1")
        self.assertGreater(rounds, 2)
        self.assertEqual(rounds & (rounds - 1), 0)

    def test_any_noise_is_little_enough(self):
        self.assertEqual(self.rounds("--max-noise", "1000000"), 2)
        self.assertGreater(self.rounds("--max-noise", "1e-9", "--seconds", "1"), 2)
        self.fails(USAGE, "bench", GEMM, "--max-noise", "-1", says=["--max-noise"])


class Lists(CliTest):
    def problems(self, *arguments):
        answers = self.json("bench", *arguments, "--rounds", "1", *CPU)
        return [answer["problem"] for answer in answers]

    def extents(self, text):
        return [re.findall(r"[mk]=(\d+)", problem) for problem in self.problems(text)]

    def test_every_combination(self):
        self.assertEqual(
            self.extents("gemm m={1,2} n=3 k={4,5} a=f32"),
            [["1", "4"], ["1", "5"], ["2", "4"], ["2", "5"]],
        )

    def test_any_part_of_a_value(self):
        problems = self.problems("gemm m=4 n=4 k=4 a=f{32:[8,1],64:n}")
        self.assertEqual(len(problems), 2)
        self.assertIn("a=f32:[8,1]", problems[0])
        self.assertIn("a=f64:n", problems[1])

    def test_each_problem_once(self):
        self.assertEqual(len(self.problems("gemm m={7,7} n=3 k=4 a=f32")), 1)
        (self.folder / "p.txt").write_text(
            "gemm m={1,2} n=1 k=1 a=f32  # {not a list\ngemm k=1 n=1 m=2 a=f32 b=f32:t\n"
        )
        self.assertEqual(len(self.problems("@p.txt")), 2)

    def test_braces_in_quotes_are_text(self):
        text = GEMM + ' epi="{1,2} \\" {3,"'
        self.fails(USAGE, "bench", text, *CPU, says=["epilogue, column 1", "got '{'"])

    def test_ranges(self):
        self.assertEqual(
            [m for m, _ in self.extents("gemm m=3:20:*2 n=3 k=4 a=f32")], ["3", "6", "12"]
        )
        self.assertEqual(
            self.extents("gemm m=2:3 n=3 k=8:24:8 a={f32,f64}:t")[::2],
            [["2", "8"], ["2", "16"], ["2", "24"], ["3", "8"], ["3", "16"], ["3", "24"]],
        )
        for text in ("m=4:2", "m=1:4:", "m=1:4:*1", "m=1:4:0", "m=:4", "m=1:4:2x", "m=1:{2,4}"):
            self.fails(USAGE, "bench", f"gemm {text}", says=["LOW:HIGH"], hint=["a range reads"])
        self.fails(USAGE, "bench", "gemm m=1:100000000000 n=1 k=1 a=f32", says=["10000"])

    def test_mistakes(self):
        for text, column in [("m={1,2", 8), ("m=1}", 9), ("m={1,{2}}", 8)]:
            self.fails(USAGE, "bench", "gemm " + text, says=[f"column {column}: expected"])
        many = "{" + ",".join(str(i + 1) for i in range(101)) + "}"
        self.fails(USAGE, "bench", f"gemm m={many} n={many} k=1 a=f32", says=["10000"])
        (self.folder / "p.txt").write_text("gemm m=1 n=1 k=1 a=f32\n\ngemm m={1\n")
        self.fails(USAGE, "bench", "@p.txt", says=["p.txt:3: problem, column 8"])


class SeveralProblems(CliTest):
    def test_one_that_no_kernel_carries_out(self):
        """It is named; the others are timed all the same."""
        (self.folder / "p.txt").write_text(
            f"{GEMM}\ngemm m=6 n=6 k=6 a=bf16 b=f32\ngemm m=5 n=5 k=5 a=f32\n"
        )
        result = self.estoc("bench", "@p.txt", "--rounds", "1", *CPU, "--json")
        self.assertEqual(result.returncode, NOT_FOUND)
        self.assertEqual(len(json.loads(result.stdout)), 2)
        warning, error, *_ = result.stderr.splitlines()
        self.assertRegex(warning, "^warning: gemm m=6 .*: no kernel")
        self.assertRegex(error, "^error: 1 of 3 problems .*no kernel .*m=6")


class Resume(CliTest):
    def setUp(self):
        super().setUp()
        self.command = ["bench", "@p.txt", *CPU, "--rounds", "2", "--resume", "state"]
        self.write_problems(1, 2, 3)

    def write_problems(self, *rows):
        lines = [f"gemm m={m} n=16 k=16 a=f32\n" for m in rows]
        (self.folder / "p.txt").write_text("".join(lines))

    def run_json(self, *extra):
        result = self.estoc(*self.command, "--json", *extra)
        self.assertEqual(result.returncode, OK, result.stderr)
        return json.loads(result.stdout), result.stderr

    def test_what_is_done_is_not_timed_again(self):
        first, said = self.run_json()
        self.assertEqual(said, "")
        again, said = self.run_json()
        self.assertEqual(again, first)
        self.assertEqual(said, "note: 3 of 3 problems are in state already\n")
        self.write_problems(4, 2, 1)
        more, said = self.run_json()
        self.assertEqual(said, "note: 2 of 3 problems are in state already\n")
        self.assertEqual(more[1:], [first[1], first[0]])
        self.assertRegex(more[0]["problem"], "m=4 ")
        self.assertEqual(len((self.folder / "state").read_text().splitlines()), 5)

    def test_the_table_and_the_files_are_complete(self):
        self.run_json()
        result = self.estoc(*self.command, "--csv", "t.csv", "--out", "o.json")
        self.assertEqual(result.stdout.count("problem  gemm"), 3)
        self.assertEqual(len(json.loads((self.folder / "o.json").read_text())), 3)
        self.assertEqual(len((self.folder / "t.csv").read_text().splitlines()), 1 + 3)

    def test_other_options_are_refused(self):
        self.run_json()
        before = (self.folder / "state").read_bytes()
        self.command[self.command.index("2")] = "3"
        self.fails(USAGE, *self.command, says=["state", "rounds = 2, got 3"], hint=["another file"])
        self.assertEqual((self.folder / "state").read_bytes(), before)

    def test_a_file_of_something_else_is_kept(self):
        for text in ["hello\n", "{}\n", '{"estoc_bench": 1}\n', "[]\n"]:
            (self.folder / "state").write_text(text)
            result = self.estoc(*self.command)
            self.assertIn(result.returncode, (FILE, USAGE), text)
            self.assertRegex(result.stderr, "^error: state")
            self.assertEqual((self.folder / "state").read_text(), text)
        os.remove(self.path("state"))
        self.run_json()
        lines = (self.folder / "state").read_text()
        (self.folder / "state").write_text(lines + '{"problem": "gemm"}\n')
        self.fails(FILE, *self.command, says=["state:5:"], hint=["--resume"])

    def test_an_interruption_leaves_what_was_timed(self):
        self.write_problems(*range(1, 200))
        files = ["--out", "o.json", "--csv", "t.csv"]
        process = self.start("bench", "@p.txt", *CPU, "--rounds", "2", *files)
        deadline = time.monotonic() + 60
        table = self.folder / "t.csv"
        while time.monotonic() < deadline and process.poll() is None:
            if table.exists() and table.read_text().count("\n") > 3:
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(self.files(), ["o.json", "p.txt", "t.csv"])
        done = json.loads((self.folder / "o.json").read_text())
        self.assertGreaterEqual(len(done), 3)
        self.assertLess(len(done), 199)

    def test_goes_on_after_an_interruption(self):
        self.write_problems(*range(1, 200))
        process = self.start(*self.command)
        deadline = time.monotonic() + 60
        state = self.folder / "state"
        while time.monotonic() < deadline and process.poll() is None:
            if state.exists() and state.read_text().count("\n") > 3:
                break
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, -signal.SIGINT)
        self.assertEqual(self.files(), ["p.txt", "state"])
        lines = state.read_text().splitlines()
        done = [json.loads(line) for line in lines][1:]
        self.assertGreaterEqual(len(done), 3)
        self.assertLess(len(done), 199)
        answers, said = self.run_json()
        self.assertEqual(said, f"note: {len(done)} of 199 problems are in state already\n")
        self.assertEqual(answers[: len(done)], done)
        self.assertEqual(len(answers), 199)


def kernel(name, seconds, passed=True):
    """A kernel of a result; its provider is what its name begins with."""
    check = {"passed": passed, "error": 0, "bound": 1, "rows_checked": 1, "rows_total": 1}
    times = {"min": seconds, "median": seconds, "max": seconds, "spread": 0.01}
    return {
        "kernel": name + "_gemm-f32",
        "provider": name,
        "seconds": times if passed else None,
        "gflops": 1.0,
        "check": check | {"worst": ""},
    }


def result(m, *kernels, **members):
    problem = f"gemm m={m} n=1000 k=1000 l=1 a=bf16:t b=bf16:n out=f32:t acc=f32"
    return {"problem": problem, "target": "sm_90a", "rounds": 10, "kernels": list(kernels)} | members


CARD = {
    "device": "Card <1>",
    "multiprocessors": 100,
    "clock_hz": 1e9,
    "memory_bytes_per_second": 2e12,
}


class Compare(CliTest):
    def write(self, name, *results):
        (self.folder / name).write_text(json.dumps(results))

    def compare(self, *arguments):
        return self.estoc("bench", "--compare", "old.json", "new.json", *arguments)

    def test_verdicts(self):
        self.write("old.json", *(result(m, kernel("cuda", 1e-3)) for m in (1, 2, 3, 4)))
        self.write(
            "new.json",
            result(1, kernel("cuda", 1.01e-3)),
            result(2, kernel("cuda", 0.9e-3), kernel("other", 2e-3)),
            result(3, kernel("cuda", 1.1e-3), noise=0.2),
            result(9, kernel("cuda", 1)),
        )
        answer = self.compare("--json")
        self.assertEqual((answer.returncode, answer.stderr), (OK, ""))
        changes = json.loads(answer.stdout)
        self.assertEqual([c["verdict"] for c in changes], ["same", "faster", "same"])
        self.assertAlmostEqual(changes[1]["change"], -0.1)
        self.assertRegex(self.compare().stdout, r"(?m)^gemm m=2 .* 1.00 ms +900 us +-10.0% +2.0% +faster")

    def test_a_regression(self):
        self.write("old.json", result(1, kernel("cuda", 1e-3)), result(2, kernel("cuda", 1e-3)))
        self.write("new.json", result(1, kernel("cuda", 1e-3)), result(2, kernel("cuda", 1.05e-3)))
        answer = self.compare()
        self.assertEqual(answer.returncode, WRONG)
        self.assertIn("+5.0%", answer.stdout)
        self.assertRegex(answer.stderr, r"^error: 1 of 2 problems are slower; .* 5.0%: gemm m=2 ")
        self.assertEqual(self.compare("--tolerance", "6").returncode, OK)

    def test_what_cannot_be_compared(self):
        self.write("old.json", result(1, kernel("cuda", 1e-3)))
        self.write("new.json", result(1, kernel("cuda", 1e-3), mode="sustained"))
        self.fails(NOT_FOUND, "bench", "--compare", "old.json", "new.json", says=["in common"])
        self.fails(FILE, "bench", "--compare", "old.json", "none.json", says=["none.json"])
        self.fails(USAGE, "bench", "--compare", "old.json", says=["--compare"])
        self.fails(USAGE, "bench", GEMM, "--compare", "old.json", "new.json", says=["--compare"])
        self.write("new.json", result(1, kernel("cuda", 1e-3), **CARD))
        self.assertRegex(self.compare().stderr, r"\Awarning: .* the devices are .* and Card <1>\n\Z")


class Report(CliTest):
    def write(self, name, *results):
        (self.folder / name).write_text(json.dumps(results))

    def rows(self, *arguments):
        lines = self.ok("bench", "--report", ".", *arguments).splitlines()
        return [line.strip("| ").split(" | ") for line in lines]

    def test_the_fastest_of_each_side(self):
        self.write(
            "a.json",
            result(
                1000,
                kernel("slow", 5e-6),
                kernel("cuda", 4e-6),
                kernel("wrong", 1e-6, passed=False),
                kernel("cublaslt", 3e-6),
                kernel("cublaslt", 2e-6),
            ),
        )
        titles, _, row = self.rows()
        self.assertEqual(titles[2:], ["burst", "over cuBLASLt"])
        self.assertEqual(row[0], "`gemm m=1000 n=1000 k=1000 a=bf16:t b=bf16:n out=f32`")
        self.assertEqual(row[1:], ["cuda_gemm", "500.0 TFLOP/s", "0.50"])
        self.assertEqual(self.rows("--against", "slow")[2][1:], ["cublaslt_gemm", "1000.0 TFLOP/s", "2.50"])

    def test_without_a_baseline(self):
        self.write("a.json", result(1, kernel("cuda", 1e-3)))
        self.assertTrue(
            self.ok("bench", "--report", ".").endswith("` | cuda_gemm | 2.0 GFLOP/s |  |\n")
        )

    def test_the_newest_figure_counts(self):
        self.write("2026-01-02.json", result(1000, kernel("cuda", 1e-6)), result(8, kernel("cuda", 1)))
        self.write("2026-01-03.json", result(1000, kernel("cuda", 4e-6)))
        rows = self.rows()
        self.assertEqual([row[2] for row in rows[2:]], ["500.0 TFLOP/s", "0.0 GFLOP/s"])

    def test_a_table_for_each_card(self):
        self.write("a.json", result(1, kernel("cuda", 1), **CARD))
        self.write("b.json", result(1, kernel("cuda", 1), **CARD | {"device": "Another"}))
        text = self.ok("bench", "--report", ".")
        self.assertIn("**Card <1>**\n", text)
        self.assertIn("**Another**\n", text)

    def test_both_modes_in_one_row(self):
        both = [kernel("cuda", 4e-6), kernel("cublaslt", 2e-6)]
        self.write("a.json", result(1000, *both), result(8, kernel("cuda", 1)))
        self.write("b.json", result(1000, kernel("cuda", 8e-6), mode="sustained"))
        titles, _, first, second = self.rows()
        self.assertEqual(titles[2:], ["burst", "over cuBLASLt", "sustained", "over cuBLASLt"])
        self.assertEqual(first[1:], ["cuda_gemm", "500.0 TFLOP/s", "0.50", "250.0 TFLOP/s"])
        self.assertEqual(second[1:3], ["cuda_gemm", "0.0 GFLOP/s"])

    def test_lines_are_read_and_written(self):
        self.write("a.json", result(1000, kernel("cuda", 4e-6)), result(8, kernel("cuda", 1)))
        table = self.ok("bench", "--report", ".", "--out", "a.jsonl")
        os.remove(self.folder / "a.json")
        lines = (self.folder / "a.jsonl").read_text().splitlines()
        self.assertEqual([json.loads(line)["kernels"][0]["seconds"]["median"] for line in lines], [4e-6, 1])
        self.assertEqual(self.ok("bench", "--report", "."), table)

    def test_other_files(self):
        self.write("a.json", result(1, kernel("cuda", 1)))
        (self.folder / "bandwidth.jsonl").write_text('{"kernel": "copy", "seconds": 1}\n' * 2)
        (self.folder / "host.json").write_text('{"context": {}, "benchmarks": []}')
        (self.folder / "notes.txt").write_text("none of ours")
        self.assertEqual(len(self.rows()), 3)
        bad = ["{", "[1]", '[{"problem": "gemm"}]', '[{"problem": "x", "target": "cpu", "kernels": []}]']
        for name, texts in (("bad.json", [*bad, '{"a": 1}']), ("bad.jsonl", [*bad, '{"kernels": 1}'])):
            for text in texts:
                (self.folder / name).write_text(text)
                self.fails(FILE, "bench", "--report", ".", says=[name], hint=["--report"])
            os.remove(self.folder / name)
        self.fails(FILE, "bench", "--report", "nowhere", says=["nowhere"])
        os.mkdir(self.folder / "empty")
        self.fails(FILE, "bench", "--report", "empty", says=["empty"])

    def texts(self, name):
        """The words in a picture, which must be XML."""
        root = xml.etree.ElementTree.parse(self.folder / name).getroot()
        return [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]

    def circles(self, name):
        root = xml.etree.ElementTree.parse(self.folder / name).getroot()
        names = "{http://www.w3.org/2000/svg}"
        return [
            (float(c.get("cx")), float(c.get("cy")))
            for c in root.iter(names + "circle")
            if c.find(names + "title").text
        ]

    def test_ratio_chart(self):
        self.write(
            "a.json",
            result(1000, kernel("cuda", 4e-6), kernel("cublaslt", 2e-6)),
            result(8, kernel("cuda", 1e-6), kernel("cublaslt", 2e-6)),
        )
        self.rows("--plot", "r.svg")
        texts = self.texts("r.svg")
        self.assertIn("0.50", texts)
        self.assertIn("2.00", texts)
        self.assertIn(result(8)["problem"], texts)
        # Half and double the speed: as far from the baseline's place as the scale says.
        (x_half, _), (x_one, _), (x_two, _), _ = self.circles("r.svg")
        self.assertAlmostEqual(x_two - x_one, 2 * (x_one - x_half), delta=0.5)

    def test_roofline(self):
        self.write(
            "a.json",
            result(1000, kernel("cuda", 2e-5), **CARD),
            {"problem": "elementwise op=relu shape=8 a=f32", "target": "cpu", "kernels": []},
        )
        self.rows("--roofline", "r.svg")
        texts = self.texts("r.svg")
        # 4096 operations a clock and multiprocessor.
        self.assertIn("f16, bf16 410 TFLOP/s", texts)
        self.assertIn("Card <1> 2.00 TB/s", texts)
        self.assertEqual(len(self.circles("r.svg")), 1)

    def test_charts_of_a_run(self):
        self.ok("bench", GEMM, *CPU, "--rounds", "1", "--plot", "p.svg", "--roofline", "r.svg")
        self.assertIn("speed as a multiple of the kernel ranked first", self.texts("p.svg"))
        self.assertIn("TFLOP/s", self.texts("r.svg"))

    def test_page(self):
        self.write(
            "a.json",
            result(1000, kernel("cuda", 4e-6), kernel("cublaslt", 2e-6), **CARD),
            result(8, kernel("cuda", 1e-6), kernel("cublaslt", 2e-6)),
        )
        self.rows("--html", "p.html")
        page = Page(self.folder / "p.html")
        self.assertEqual(len(page.root.findall(".//{http://www.w3.org/2000/svg}svg")), 2)
        header, *rows = page.tables[0]
        self.assertEqual(header[:3], ["problem", "kernel", "provider"])
        self.assertEqual([row[7] for row in rows], ["0.50", "1.00", "2.00", "1.00"])
        self.assertEqual(rows[0][3], "4.00 us")
        self.assertIn("Card <1>", page.text)
        self.assertNotIn("src=", page.source)
        self.assertNotIn("href=", page.source)

    def test_page_of_a_run(self):
        self.ok("bench", GEMM, *CPU, "--rounds", "1", "--html", "p.html")
        _, row = Page(self.folder / "p.html").tables[0]
        self.assertEqual(row[6:], ["-", "1.00", "right"])
