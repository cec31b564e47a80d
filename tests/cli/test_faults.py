"""What the command says and leaves behind when kernels misbehave (see faulty_kernels.cpp)."""

import json
import math
import re

from harness import EXECUTION, MEMORY, OK, WRONG, CliTest
from tensor_files import read_npy

GEMM = "gemm m=20 n=10 k=30 a=f32"


class Faults(CliTest):
    def kernel(self, fault):
        answer = self.estoc("list", "--filter", "class=faulty_gemm", "--json").stdout
        return next(k["name"] for k in json.loads(answer) if fault in k["name"])

    def run_faulty(self, fault, *arguments):
        kernel = ["--target", "cpu", "--kernel", self.kernel(fault)]
        return self.estoc("run", GEMM, *kernel, "--out", "o.npy", *arguments)

    def test_wrong_output(self):
        for fault in ("zeros", "nothing"):
            result = self.run_faulty(fault, "--check")
            self.assertEqual(result.returncode, WRONG)
            self.assertRegex(result.stdout, r"check +WRONG: error .*, 20 of 20 rows")
            self.assertRegex(result.stderr, r"^error: the output is wrong.*out\[.*expected .*got")
            self.assertEqual(self.files(), [], "a wrong output is not saved")

    def test_wrong_output_in_json(self):
        result = self.run_faulty("zeros", "--check", "--json")
        self.assertEqual(result.returncode, WRONG)
        answer = json.loads(result.stdout)
        self.assertFalse(answer["check"]["passed"])
        self.assertGreater(answer["check"]["error"], answer["check"]["bound"])
        self.assertIsNone(answer["output"])

    def test_without_check_it_is_saved(self):
        self.assertEqual(self.run_faulty("zeros").returncode, OK)
        self.assertEqual(self.files(), ["o.npy"])

    def test_the_output_is_poisoned(self):
        self.assertEqual(self.run_faulty("nothing").returncode, OK)
        _, shape, values = read_npy(self.path("o.npy"))
        self.assertEqual(shape, (20, 10))
        self.assertTrue(all(math.isnan(value) for value in values))

    def test_failures(self):
        for fault, status, words in [
            ("compile", EXECUTION, "it does not compile"),
            ("driver", EXECUTION, "the driver says no"),
            ("memory", MEMORY, "memory"),
            ("defect", EXECUTION, "a defect"),
        ]:
            result = self.run_faulty(fault)
            self.assertEqual((result.returncode, result.stdout), (status, ""))
            self.assertIn(words, result.stderr.splitlines()[0])
            self.assertEqual(self.files(), [])

    def test_bench_does_not_time_what_is_wrong(self):
        found = json.loads(self.estoc("find", GEMM, "--target", "cpu", "--json").stdout)
        names = [self.kernel("zeros"), found[0]["name"]]
        options = [word for name in names for word in ("--kernel", name)]
        bench = ["bench", GEMM, "--target", "cpu", *options, "--rounds", "2"]
        result = self.estoc(*bench, "--json")
        self.assertEqual(result.returncode, WRONG)
        (answer,) = json.loads(result.stdout)
        self.assertEqual([kernel["check"]["passed"] for kernel in answer["kernels"]], [False, True])
        self.assertIsNone(answer["kernels"][0]["seconds"])
        self.assertIn(names[0], result.stderr)
        text = self.estoc(*bench).stdout
        self.assertIn("WRONG: out[", text)

    def test_a_class_that_throws_is_a_warning(self):
        for arguments in (["list", "--count"], ["find", GEMM], ["run", GEMM]):
            result = self.estoc(*arguments, "--target", "cpu")
            self.assertEqual(result.returncode, OK)
            self.assertIn("warning: faulty.broken: ", result.stderr)
            self.assertIn("the space is missing", result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1)
        answers = json.loads(self.estoc("explain", GEMM, "--target", "cpu", "--json").stdout)
        reasons = {answer["class"]: answer["reason"] for answer in answers}
        self.assertIn("the space is missing", reasons["broken"])


class Parts(CliTest):
    NONE = ("--filter", "name=predicted-identity-f32-parts.none")
    COPY = ("elementwise op=identity shape=100 a=f32", "--target", "cpu", "--provider", "parted")

    def find(self, *options):
        result = self.estoc("find", *self.COPY, *options)
        self.assertEqual(result.returncode, OK, result.stderr)
        self.assertEqual(result.stderr, "warning: kernel class predicted: the parts are missing\n")
        return result.stdout

    def test_find_prints_them_under_the_kernels(self):
        lines = [re.split("  +", line.strip()) for line in self.find("--parts").splitlines()]
        self.assertEqual(lines[-6], ["class", "predicted"])
        parts = ["cores", "memory", "live CTAs", "residual"]
        self.assertEqual(lines[-5], ["rank", "predicted", "limited by", *parts])
        self.assertEqual(lines[-4], ["1", "1.00 us", "memory", "250 ns", "750 ns", "66", "1.25"])
        self.assertEqual(lines[-3], ["2", "2.00 us", "cores", "250 ns", "100 ns", "66", "1.25"])
        self.assertEqual(lines[-2], ["3", "3.00 us", "-", "-", "-", "-", "-"])
        self.assertEqual(lines[-1], ["4", "4.00 us", "-", "-", "-", "-", "-"])

    def test_find_says_where_there_are_none(self):
        text = self.ok("find", *self.COPY, "--parts", *self.NONE)
        self.assertIn("does not say", text)

    def test_find_in_json(self):
        kernels = json.loads(self.find("--parts", "--json"))
        self.assertEqual(
            kernels[0]["parts"],
            [
                {"name": "cores", "value": 2.5e-7, "unit": "seconds"},
                {"name": "memory", "value": 7.5e-7, "unit": "seconds"},
                {"name": "live CTAs", "value": 66, "unit": "count"},
                {"name": "residual", "value": 1.25, "unit": "factor"},
            ],
        )
        self.assertEqual([len(kernel["parts"]) for kernel in kernels], [4, 4, 0, 0])
        self.assertNotIn("parts", self.json("find", *self.COPY)[0])

    def test_explain_names_what_limits_the_first_kernel(self):
        text = self.ok("explain", *self.COPY)
        self.assertRegex(text, r"predicted +parted +yes +1.00 us +memory +4 of 4\n")
        (answer,) = self.json("explain", *self.COPY)
        self.assertEqual(answer["first"]["predicted_seconds"], 1e-6)
        self.assertIn("all", answer["first"]["name"])
        limit = {"name": "memory", "value": 7.5e-7, "unit": "seconds"}
        self.assertEqual(answer["first"]["limited_by"], limit)
        text = self.ok("explain", *self.COPY, *self.NONE)
        self.assertRegex(text, r"predicted +parted +yes +3.00 us +- +1 of 4\n")
