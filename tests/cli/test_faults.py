"""What the command says and leaves behind when kernels misbehave (see faulty_kernels.cpp)."""

import json
import math

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
