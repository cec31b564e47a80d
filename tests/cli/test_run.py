"""The command run: files of either format and order, what they fill in, checks, outputs."""

import os
import unittest

import harness
from harness import OK, USAGE, CliTest
from tensor_files import (
    matmul,
    read_npy,
    read_safetensors,
    small_integers,
    transpose,
    write_npy,
    write_safetensors,
)

M, N, K = 5, 7, 6


class Run(CliTest):
    def setUp(self):
        super().setUp()
        self.a = small_integers(M * K, 1)
        self.b = small_integers(K * N, 2)
        self.expected = [float(value) for value in matmul(self.a, self.b, M, N, K)]

    def write_operands(self, dtype="f32"):
        write_npy(self.path("a.npy"), dtype, (M, K), self.a)
        write_npy(self.path("b.npy"), dtype, (K, N), self.b)

    def run_gemm(self, problem, *arguments, a="a.npy", b="b.npy"):
        """Runs with --check and returns the problem as it was understood."""
        files = ["--a", a, "--b", b, "--out", "out.npy"]
        answer = self.json("run", problem, *files, "--check", *arguments)
        self.assertTrue(answer["check"]["passed"], answer)
        dtype, shape, values = read_npy(self.path("out.npy"))
        self.assertEqual((shape, values), ((M, N), self.expected), answer["problem"])
        return answer["problem"]


class Printed(Run):
    def shown(self, *arguments):
        """The shape that is printed, and the elements below it."""
        lines = self.ok("run", *arguments, "--print").splitlines()
        (start,) = [i for i, line in enumerate(lines) if line.startswith("first ")]
        rows = [[float(x) for x in line.removesuffix("...").split()] for line in lines[start + 1 :]]
        return lines[start].split(maxsplit=1)[1], rows

    def test_first_elements(self):
        self.write_operands()
        shape, rows = self.shown("gemm", "--a", "a.npy", "--b", "b.npy")
        self.assertEqual(shape, f"4 x 4 of f32 ({M}, {N})")
        self.assertEqual(rows, [self.expected[N * row : N * row + 4] for row in range(4)])
        column_major = self.shown("gemm out=f32:n", "--a", "a.npy", "--b", "b.npy")
        self.assertEqual(column_major, (shape, rows))

    def test_few_elements(self):
        write_npy(self.path("x.npy"), "f32", (3,), [1, -2, 3])
        shown = self.shown("elementwise op=relu", "--a", "x.npy")
        self.assertEqual(shown, ("1 x 3 of f32 (3,)", [[1, 0, 3]]))
        self.fails(USAGE, "run", "gemm m=1 n=1 k=1 a=f32", "--print", "--json", says=["--json"])

    def test_a_single_run_is_cold(self):
        problem = "gemm m=3 n=5 k=7 a=f32"
        self.assertIn("(one cold run; --repeat N for more)", self.ok("run", problem))
        self.assertNotIn("cold", self.ok("run", problem, "--repeat", "2"))


class RandomOperands(Run):
    def test_they_are_named(self):
        text = self.ok("run", "gemm m=3 n=5 k=7 a=f32", "--seed", "7", "--out", "c.npy")
        self.assertIn("random   A, B (seed 7)\n", text)
        self.assertIn("random   B (seed 0)\n", self.ok("run", "gemm n=3", "--a", "c.npy"))
        self.assertNotIn("random", self.ok("run", "gemm m=3 n=5 k=7 a=f32"))
        self.write_operands()
        self.assertEqual(self.json("run", "gemm", "--a", "a.npy", "--b", "b.npy")["random"], [])
        self.assertEqual(self.json("run", "gemm n=3", "--a", "a.npy")["random"], ["B"])
        answer = self.json("run", "elementwise op=relu", "--a", "a.npy")
        self.assertEqual(answer["random"], [])

    def test_a_forgotten_file_saves_nothing(self):
        self.write_operands()
        run = ["run", "gemm n=7", "--a", "a.npy", "--out", "y.npy"]
        self.fails(USAGE, *run, says=["B: expected a file"], hint=["--random"])
        self.ok(*run, "--random")
        self.assertIn("y.npy", self.files())

    def test_epilogues(self):
        self.write_operands()
        files = ["--a", "a.npy", "--b", "b.npy", "--epilogue", "D = accum + bias; amax = absmax(D)"]
        run = ["run", "gemm bias=f32:row amax=f32:scalar", *files]
        self.assertEqual(self.json(*run)["random"], ["bias"])
        self.fails(USAGE, *run, "--aux-out", "amax=amax.npy", says=["bias"])
        self.ok(*run, "--aux-out", "amax=amax.npy", "--random")

    def test_without_any_file_all_is_meant_to_be_random(self):
        self.ok("run", "gemm m=3 n=5 k=7 a=f32", "--out", "c.npy")


class Files(Run):
    def test_everything_from_files(self):
        self.write_operands()
        problem = self.run_gemm("gemm")
        self.assertEqual(problem, self.run_gemm(problem), "the printed problem runs again")
        for part in ["m=5", "n=7", "k=6", "a=f32:t", "b=f32:t", "out=f32:t", "acc=f32"]:
            self.assertIn(part, problem.split())

    def test_partial_text(self):
        self.write_operands()
        self.run_gemm("gemm m=5 b=f32")
        self.run_gemm("gemm n=7 k=6 a=f32:t out=f32:n")

    def test_fortran_order(self):
        write_npy(self.path("a.npy"), "f32", (M, K), self.a, fortran=True)
        write_npy(self.path("b.npy"), "f32", (K, N), self.b, fortran=True)
        problem = self.run_gemm("gemm")
        self.assertIn("a=f32:n", problem)
        self.assertIn("b=f32:n", problem)
        # A Fortran-order file has the operand's own shape; the letter n agrees with it.
        self.assertEqual(self.run_gemm("gemm a=f32:n b=f32:n"), problem)

    def test_letter_n_reads_a_c_order_file_transposed(self):
        write_npy(self.path("a.npy"), "f32", (K, M), transpose(self.a, M, K))
        write_npy(self.path("b.npy"), "f32", (N, K), transpose(self.b, K, N))
        problem = self.run_gemm("gemm a=f32:n b=f32:n")
        self.assertIn("a=f32:n", problem)
        self.assertIn("b=f32:n", problem)

    def test_letter_n_on_square_files(self):
        values = small_integers(K * K, 3)
        write_npy(self.path("b.npy"), "f32", (K, K), values)
        write_npy(self.path("a.npy"), "f32", (K, K), small_integers(K * K, 4))
        a = small_integers(K * K, 4)
        for problem, b in [("gemm", values), ("gemm b=f32:n", transpose(values, K, K))]:
            self.ok("run", problem, "--a", "a.npy", "--b", "b.npy", "--out", "out.npy")
            _, _, out = read_npy(self.path("out.npy"))
            self.assertEqual(out, [float(v) for v in matmul(a, b, K, K, K)])

    def test_letter_n_on_a_column(self):
        # (n, k) = (7, 1): C and Fortran order look alike but for the rule.
        write_npy(self.path("a.npy"), "f32", (M, 1), self.a[:M])
        write_npy(self.path("b.npy"), "f32", (N, 1), self.b[:N])
        self.ok("run", "gemm b=f32:n", "--a", "a.npy", "--b", "b.npy", "--out", "out.npy")
        _, shape, values = read_npy(self.path("out.npy"))
        self.assertEqual(shape, (M, N))
        self.assertEqual(values, [float(v) for v in matmul(self.a[:M], self.b[:N], M, N, 1)])

    def test_weights_of_a_safetensors_file(self):
        write_npy(self.path("x.npy"), "f16", (M, K), self.a)
        write_safetensors(
            self.path("model.safetensors"),
            {
                "bias": ("f32", (3,), [0.0] * 3),
                "w.weight": ("bf16", (N, K), transpose(self.b, K, N)),
            },
        )
        problem = self.run_gemm("gemm b=bf16:n", a="x.npy", b="model.safetensors:w.weight")
        self.assertIn("a=f16:t", problem)
        self.assertIn("acc=f32", problem)

    def scaled_weights(self, name, scale_name, shape, dtype="f32", options="b=:n", says=None):
        """Runs x @ W^T for 130 x 140 weights with scales 1, 2, ...; returns the problem and out."""
        rows, columns = 130, 140
        weights = small_integers(rows * columns, 5)
        x = small_integers(2 * columns, 6)
        count = 1
        for extent in shape:
            count *= extent
        tensors = {
            name: ("i8", (rows, columns), weights),
            scale_name: (dtype, shape, [float(i + 1) for i in range(count)]),
        }
        write_safetensors(self.path("model.safetensors"), tensors)
        write_npy(self.path("x.npy"), "i8", (2, columns), x)
        files = ["--a", "x.npy", "--b", f"model.safetensors:{name}"]
        if says is not None:
            return self.fails(USAGE, "run", f"gemm {options} out=f32", *files, says=says)
        printed = self.ok("run", f"gemm {options} out=f32", *files, "--out", "out.npy", "--check")
        return printed, weights, x, read_npy(self.path("out.npy"))[2]

    def expect_scaled(self, weights, x, out, scale_of):
        for i in range(2):
            for n in range(130):
                terms = (x[i * 140 + k] * weights[n * 140 + k] * scale_of(n, k) for k in range(140))
                self.assertEqual(out[i * 130 + n], sum(terms), (i, n))

    def test_scales_beside_weights(self):
        cases = [
            ("w.weight", "w.weight_scale_inv", (2, 2), "128x128", lambda n, k: n // 128 * 2 + k // 128 + 1),
            ("w.weight", "w.weight_scale", (130, 1), "row", lambda n, k: n + 1),
            ("w_qdata", "w_scale", (130,), "row", lambda n, k: n + 1),
            ("w.weight", "w.weight_scale", (130, 2), "1x128", lambda n, k: n * 2 + k // 128 + 1),
            ("w.weight", "w.weight_scale", (1,), "tensor", lambda n, k: 1),
        ]
        for name, scale, shape, mode, scale_of in cases:
            printed, weights, x, out = self.scaled_weights(name, scale, shape)
            self.assertIn(f"b=i8:n*{mode}", printed)
            self.expect_scaled(weights, x, out, scale_of)
        _, weights, x, out = self.scaled_weights("w", "w_scale", (2, 2), "bf16")
        self.expect_scaled(weights, x, out, lambda n, k: n // 128 * 2 + k // 128 + 1)

    def test_scales_that_do_not_fit(self):
        wrong = ["B: expected scales of shape (1), ", "(rowwise)", "model.safetensors:w_scale has"]
        self.scaled_weights("w", "w_scale", (130, 3), says=wrong)
        other = ["the problem text says row scales", "model.safetensors:w_scale has 128x128 ones"]
        self.scaled_weights("w", "w_scale", (2, 2), options="b=:n*row", says=other)

    def test_tensor_name_may_be_left_out(self):
        self.write_operands()
        write_safetensors(self.path("b.safetensors"), {"only": ("f32", (K, N), self.b)})
        self.run_gemm("gemm", b="b.safetensors")

    def test_tf32_accepts_f32_files(self):
        self.write_operands()
        problem = self.run_gemm("gemm a=tf32 b=tf32")
        self.assertIn("a=tf32:t", problem)
        self.assertIn("out=f32:t", problem)

    def test_defaults_of_accumulator_and_output(self):
        for dtype, accumulator in [("f64", "f64"), ("f16", "f32"), ("i8", "i32"), ("u8", "i32")]:
            if dtype == "u8":
                self.a, self.b = [abs(v) for v in self.a], [abs(v) for v in self.b]
                self.expected = matmul(self.a, self.b, M, N, K)
            self.write_operands(dtype)
            problem = self.run_gemm("gemm").split()
            self.assertIn(f"acc={accumulator}", problem)
            self.assertIn(f"out={accumulator}:t", problem)

    def test_batches(self):
        a, b = small_integers(3 * M * K, 5), small_integers(K * N, 6)
        write_npy(self.path("a.npy"), "f32", (3, M, K), a)
        write_npy(self.path("b.npy"), "f32", (K, N), b)
        files = ["--a", "a.npy", "--b", "b.npy", "--out", "o.npy"]
        answer = self.json("run", "gemm", *files, "--check")
        self.assertTrue(answer["check"]["passed"])
        _, shape, values = read_npy(self.path("o.npy"))
        self.assertEqual(shape, (3, M, N))
        expected = []
        for batch in range(3):
            expected += matmul(a[batch * M * K : (batch + 1) * M * K], b, M, N, K)
        self.assertEqual(values, [float(v) for v in expected])

    def test_nan_and_infinity_propagate(self):
        self.a[0], self.a[K] = float("nan"), float("inf")
        self.write_operands()
        answer = self.json("run", "gemm", "--a", "a.npy", "--b", "b.npy", "--check")
        self.assertTrue(answer["check"]["passed"], answer)

    def test_digits(self):
        weights = str(harness.DATA / "digits_classifier.safetensors")
        hidden = self.json(
            "run", "gemm b=bf16:n out=bf16", "--a", harness.DATA / "digits_images.npy",
            "--b", weights + ":fc1.weight", "--epilogue", "D = relu(accum)", "--check",
            "--out", "hidden.safetensors",
        )  # fmt: skip
        self.assertTrue(hidden["check"]["passed"])
        self.assertEqual(hidden["output"]["shape"], [360, 128])
        files = ["--a", "hidden.safetensors", "--b", weights + ":fc2.weight", "--out", "logits.npy"]
        fused = ["--epilogue", "D = scale * accum; best = max(D)", "--scalar", "scale=0.5"]
        self.ok("run", "gemm b=bf16:n best=f32:column", *files, *fused, "--aux-out", "best=best.npy")
        _, shape, logits = read_npy(self.path("logits.npy"))
        _, best_shape, best = read_npy(self.path("best.npy"))
        self.assertEqual(best_shape, (360, 1))
        self.assertEqual(list(best), [max(logits[i * 10 : i * 10 + 10]) for i in range(360)])
        _, _, labels = read_npy(harness.DATA / "digits_labels.npy")
        self.assertEqual(shape, (360, 10))
        rows = [logits[i * 10 : i * 10 + 10] for i in range(360)]
        right = sum(row.index(max(row)) == label for row, label in zip(rows, labels))
        self.assertGreaterEqual(right, 350)


class Epilogues(Run):
    PROBLEM = "gemm m=8 n=6 k=4 a=f32 bias=f32:row"

    def test_operands_may_come_from_files(self):
        self.write_operands()
        answer = self.json("run", "gemm m=6 n=5 k=7 a=f32", "--epilogue", "D = accum * x",
                           "--scalar", "x=2", "--check")  # fmt: skip
        self.assertTrue(answer["check"]["passed"], answer)
        self.assertIn("mul accum s0", answer["epilogue"])
        self.ok("run", "gemm m=3 n=5 k=7 a=f32", "--out", "c.npy")
        fused = self.json("run", "gemm m=3 n=5 k=7 a=f32", "--epilogue", "D = accum + C",
                          "--aux", "C=c.npy", "--check")  # fmt: skip
        self.assertTrue(fused["check"]["passed"], fused)

    def test_mistakes(self):
        cases = [
            (["--epilogue", "D = relu(accum"], "column 15"),
            (["--epilogue", "D = accum + bias * s"], "s: expected a tensor or a scalar"),
            (["--epilogue", "D = accum"], "bias: expected a name"),
            (["--epilogue", "D = accum + bias", "--scalar", "bias=1"], "given twice"),
            (["--epilogue", "D = accum + bias", "--scalar", "x"], "expected NAME=NUMBER"),
            (["--epilogue", "D = accum + bias", "--aux-out", "D=d.npy"], "no output 'D'"),
        ]
        self.fails(USAGE, "run", "gemm m=2 n=2 k=2 a=f32", "--scalar", "s=1",
                   says=["need an epilogue"])  # fmt: skip
        for options, says in cases:
            with self.subTest(options=options):
                self.fails(USAGE, "run", self.PROBLEM, *options, says=[says])


class Outputs(Run):
    def test_safetensors(self):
        self.write_operands()
        self.ok("run", "gemm out=bf16", "--a", "a.npy", "--b", "b.npy", "--out", "o.safetensors:y")
        dtype, shape, values = read_safetensors(self.path("o.safetensors"))["y"]
        self.assertEqual((dtype, shape, values), ("bf16", [M, N], self.expected))

    def test_output_layout_does_not_change_the_file(self):
        self.write_operands()
        self.run_gemm("gemm out=f32:n")

    def test_an_output_replaces_what_was_there(self):
        self.write_operands()
        (self.folder / "out.npy").write_text("something else")
        self.run_gemm("gemm")

    def test_output_may_be_an_input(self):
        square = small_integers(K * K, 7)
        write_npy(self.path("a.npy"), "f32", (K, K), square)
        self.ok("run", "gemm", "--a", "a.npy", "--b", "a.npy", "--out", "a.npy")
        _, _, values = read_npy(self.path("a.npy"))
        self.assertEqual(values, [float(v) for v in matmul(square, square, K, K, K)])

    def test_empty_and_zero_k(self):
        self.ok("run", "gemm m=3 n=2 k=0 a=f32", "--check", "--out", "zeros.npy")
        self.assertEqual(read_npy(self.path("zeros.npy"))[1:], ((3, 2), [0.0] * 6))
        self.ok("run", "gemm m=0 n=2 k=4 a=f32", "--check", "--out", "empty.npy")
        self.assertEqual(read_npy(self.path("empty.npy"))[1:], ((0, 2), []))

    def test_human_output(self):
        self.write_operands()
        files = ["--a", "a.npy", "--b", "b.npy", "--out", "o.npy"]
        text = self.ok("run", "gemm", *files, "--check", "--repeat", "3")
        labels = [line.split()[0] for line in text.splitlines()]
        self.assertEqual(labels, ["problem", "kernel", "time", "rate", "check", "output"])
        starts = {len(line) - len(line.split(maxsplit=1)[1]) for line in text.splitlines()}
        self.assertEqual(len(starts), 1, "values begin in one column")
        self.assertIn("best of 3", text)
        self.assertRegex(text, r"check +ok: error .*, bound .*, 5 of 5 rows")

    def test_json_without_check_and_output(self):
        answer = self.json("run", "gemm m=4 n=4 k=4 a=f32", "--repeat", "4")
        self.assertEqual((answer["check"], answer["output"], answer["runs"]), (None, None, 4))
        self.assertLessEqual(answer["seconds"]["min"], answer["seconds"]["median"])


class RandomData(Run):
    def values(self, name, *arguments):
        self.ok("run", "gemm m=9 n=8 k=7 a=f32", "--out", name, *arguments)
        return read_npy(self.path(name))[2]

    def test_seed(self):
        self.assertEqual(self.values("x.npy"), self.values("y.npy"))
        self.assertEqual(self.values("x.npy", "--seed", "5"), self.values("y.npy", "--seed", "5"))
        self.assertNotEqual(self.values("x.npy"), self.values("y.npy", "--seed", "5"))
        self.assertTrue(any(self.values("x.npy")))

    def test_one_operand_from_a_file(self):
        self.write_operands()
        answer = self.json("run", "gemm n=4", "--a", "a.npy", "--check")
        self.assertTrue(answer["check"]["passed"])
        self.assertIn("n=4", answer["problem"])

    def test_strides_and_alignment(self):
        for problem in [
            "gemm m=6 n=5 k=4 a=f32:[9,2] b=f32:[0,1] out=f32:[1,11]",
            "gemm m=6 n=5 k=8 a=bf16:t@2 b=bf16:n@4",
            "gemm m=6 n=5 k=4 l=3 a=f16:n b=f16:t",
        ]:
            self.assertTrue(self.json("run", problem, "--check")["check"]["passed"], problem)

    def test_threads_and_kernel(self):
        problem = "gemm m=64 n=64 k=64 a=bf16 b=bf16"
        name = self.json("find", problem)[-1]["name"]
        answer = self.json("run", problem, "--kernel", name, "--threads", "1", "--check")
        self.assertEqual(answer["kernel"], name)
        self.assertTrue(answer["check"]["passed"])

    def test_random_rows_of_a_large_problem(self):
        answer = self.json("run", "gemm m=1100 n=1024 k=1024 a=f32", "--check")
        check = answer["check"]
        self.assertTrue(check["passed"])
        self.assertEqual(check["rows_total"], 1100)
        self.assertLess(check["rows_checked"], 1100)


class Elementwise(Run):
    def test_relu(self):
        write_npy(self.path("x.npy"), "f32", (M, K), self.a)
        files = ["--a", "x.npy", "--out", "y.npy"]
        answer = self.json("run", "elementwise op=relu", *files, "--check")
        self.assertTrue(answer["check"]["passed"])
        self.assertIn("shape=5x6", answer["problem"])
        self.assertGreater(answer["gbytes_per_second"], 0)
        self.assertEqual(read_npy(self.path("y.npy"))[2], [float(max(v, 0)) for v in self.a])

    def test_broadcast(self):
        write_npy(self.path("x.npy"), "f32", (M, K), self.a)
        write_npy(self.path("row.npy"), "f32", (K,), self.b[:K])
        self.ok("run", "elementwise op=add", "--a", "x.npy", "--b", "row.npy", "--out", "y.npy")
        expected = [float(v + self.b[i % K]) for i, v in enumerate(self.a)]
        self.assertEqual(read_npy(self.path("y.npy"))[1:], ((M, K), expected))
        self.ok("run", "elementwise op=sub", "--a", "row.npy", "--b", "x.npy", "--out", "z.npy")
        self.assertEqual(read_npy(self.path("z.npy"))[1], (M, K))

    def test_conversion(self):
        write_npy(self.path("x.npy"), "f64", (4,), [1.5, -2.0, 70000.0, 0.0])
        self.ok("run", "elementwise op=identity out=f32", "--a", "x.npy", "--out", "y.npy")
        self.assertEqual(read_npy(self.path("y.npy"))[2], [1.5, -2.0, 70000.0, 0.0])


class Grouped(Run):
    """Rows of A in groups: file operands, sizes, the rest."""

    PROBLEM = f"grouped_gemm m={M} n={N} k={K}"

    def product(self, groups):
        """The rows of A times what belongs to each group; `groups` are numbers of rows."""
        rows, first = [], 0
        for group, size in enumerate(groups):
            a = self.a[first * K : (first + size) * K]
            b = self.b[group * K * N : (group + 1) * K * N]
            rows += [float(value) for value in matmul(a, b, size, N, K)]
            first += size
        return rows

    def setUp(self):
        super().setUp()
        self.b = small_integers(3 * K * N, 2)
        write_npy(self.path("a.npy"), "f32", (M, K), self.a)
        write_npy(self.path("b.npy"), "f32", (3, K, N), self.b)

    def run_grouped(self, more):
        files = ["--a", "a.npy", "--b", "b.npy", "--out", "out.npy"]
        answer = self.json("run", f"{self.PROBLEM} {more}", *files, "--check")
        self.assertTrue(answer["check"]["passed"], answer)
        return read_npy(self.path("out.npy"))[2]

    def test_groups_of_given_sizes(self):
        self.assertEqual(self.run_grouped("sizes=3,0,2"), self.product([3, 0, 2]))
        self.assertEqual(self.run_grouped("g=3"), self.product([2, 2, 1]))

    def test_a_rest_that_is_zeroed(self):
        out = self.run_grouped("sizes=1,0,2 zero_rest=1")
        self.assertEqual(out, self.product([1, 0, 2]) + [0.0] * (2 * N))

    def test_files_of_other_shapes(self):
        files = ["--a", "a.npy", "--b", "b.npy"]
        self.fails(USAGE, "run", f"{self.PROBLEM} g=2", *files, says=["B: the problem text says"])

    def test_checks_and_timings(self):
        self.ok("check", "cpu_grouped_gemm-f32-f32-f32-f32", "--problems", "5")
        problem = "grouped_gemm m=40 n=8 k=8 sizes=10,0,20 a=f32"
        answer = self.json("bench", problem, "--seconds", "0.01")
        self.assertIn("grouped_gemm", str(answer))


class Memory(CliTest):
    @unittest.skipIf(harness.SANITIZED, "a sanitizer needs memory of its own")
    def test_peak_of_a_large_run(self):
        problem = "gemm m=4096 n=4096 k=4096 a=bf16 out=bf16"
        process = self.start("run", problem, "--target", "cpu")
        _, error = process.stdout.read(), process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        self.assertEqual((status, error), (OK, b""))
        operands_and_output = 3 * 4096 * 4096 * 2
        self.assertLess(usage.ru_maxrss * 1024, operands_and_output + 64 * 2**20)
