"""Bad input: a clear message with the right status, nothing on stdout, nothing written."""

import os
import struct
import subprocess
import unittest

import harness
from harness import FILE, MEMORY, NOT_FOUND, USAGE, CliTest
from tensor_files import NPY, npy_header, small_integers, write_npy, write_safetensors

GEMM = "gemm m=4 n=4 k=4 a=f32"


class Names(CliTest):
    def test_kernel_that_does_not_exist(self):
        name = self.json("find", GEMM)[0]["name"]
        wrong = name[:-1] + "?"
        for command in ["run", "explain", "bench"]:
            self.fails(NOT_FOUND, command, GEMM, "--kernel", wrong, says=[wrong, name])

    def test_kernel_that_does_not_apply(self):
        name = self.json("find", "gemm m=4 n=4 k=4 a=f64")[0]["name"]
        self.fails(NOT_FOUND, "run", GEMM, "--kernel", name, says=[name, "f64", "f32"])

    def test_target(self):
        self.fails(USAGE, "find", GEMM, "--target", "sm_90b", says=["sm_90b"], hint=["sm_90a"])
        self.fails(USAGE, "list", "--target", "gpu", says=["gpu"], hint=["cpu"])

    def test_target_that_cannot_run_here(self):
        here = {device["target"] for device in self.json("devices")["devices"]}
        absent = next(t for t in ("sm_80", "sm_90a") if t not in here)
        self.fails(NOT_FOUND, "run", GEMM, "--target", absent, says=[absent])

    def test_provider(self):
        self.fails(NOT_FOUND, "list", "--provider", "cpuu", says=["cpuu"], hint=["cpu"])

    def test_plugins_need_python(self):
        for words in [("--plugin", "mine", "list"), ("list", "--plugin=mine")]:
            self.fails(USAGE, *words, says=["no Python in it"], hint=["python3 -m estoc --plugin"])

    def test_filter(self):
        for text in ["nonsense", "color=red", "a=", "=f32", "a"]:
            self.fails(USAGE, "list", "--filter", text, says=["filter"])


class ProblemText(CliTest):
    def test_malformed(self):
        for text, word in [
            ("", ""),
            ("gem m=4", "gem"),
            ("gemm m=4 n=4 k=4 a=f33", "f33"),
            ("gemm m=4 n=4 k=4 a=f32:q", "q"),
            ("gemm m=-4 n=4 k=4 a=f32", "m"),
            ("gemm m=99999999999999999999 n=4 k=4 a=f32", "m"),
            ("gemm m=4 m=4 n=4 k=4 a=f32", "m"),
            ("gemm m=4 n=4 k=4 a=f32 colour=red", "colour"),
            ("elementwise op=twist shape=4 a=f32", "twist"),
        ]:
            self.fails(USAGE, "find", text, says=[word])

    def test_products_past_63_bits(self):
        self.fails(USAGE, "find", "gemm m=4000000000 n=4000000000 k=4 a=f32")

    def test_incomplete(self):
        self.fails(USAGE, "run", "gemm m=4 n=4 a=f32", says=["k"])
        self.fails(USAGE, "run", "gemm m=4 n=4 k=4", says=["dtype"])
        self.fails(USAGE, "run", "elementwise shape=4 a=f32", says=["op"])

    def test_very_long(self):
        # The system limits one argument to 128 KiB; a file of problems has no such limit.
        self.fails(USAGE, "find", "gemm " + "m=1 " * 25000)
        (self.folder / "long.txt").write_text("gemm " + "x" * 2**20 + "\n")
        self.fails(USAGE, "bench", "@long.txt", says=["long.txt:1"])

    def test_control_characters_are_not_printed(self):
        message = self.fails(USAGE, "find", "gemm \x1b[31mred=1")
        self.assertNotIn("\x1b", message)

    def test_too_large_for_memory(self):
        problem = "gemm m=8000000 n=8000000 k=1 a=f64"
        self.fails(MEMORY, "run", problem, "--target", "cpu", says=["out"])


class Contradictions(CliTest):
    def setUp(self):
        super().setUp()
        write_npy(self.path("a.npy"), "f32", (4, 6), small_integers(24, 1))
        write_npy(self.path("b.npy"), "f32", (5, 3), small_integers(15, 2))
        write_npy(self.path("w.npy"), "f32", (7, 6), small_integers(42, 2))
        write_npy(self.path("vector.npy"), "f32", (6,), small_integers(6, 3))
        write_npy(self.path("fortran.npy"), "f32", (6, 3), small_integers(18, 3), fortran=True)

    def contradicts(self, problem, *operands, says, hint=()):
        options = []
        for name, file in zip(["--a", "--b"], operands):
            if file:
                options += [name, file]
        self.fails(USAGE, "run", problem, *options, "--out", "out.npy", says=says, hint=hint)

    def test_extents(self):
        self.contradicts(
            "gemm n=2 k=96", "a.npy", says=["A: the problem text says k = 96, a.npy has 6 columns"]
        )
        self.contradicts("gemm m=3 n=2", "a.npy", says=["m = 3", "a.npy has 4 rows"])
        self.contradicts("gemm", "a.npy", "b.npy", says=["B: a.npy says k = 6", "b.npy has 5 rows"])

    def test_weights_without_the_letter(self):
        self.contradicts(
            "gemm", "a.npy", "w.npy", says=["k = 6", "w.npy has 7 rows"], hint=["(n, k)", "b=...:n"]
        )

    def test_letter_with_a_file_that_is_not_transposed(self):
        self.contradicts(
            "gemm m=4 k=5 b=f32:n", None, "b.npy", says=["k = 5", "b.npy has 3 columns"]
        )

    def test_dtype(self):
        self.contradicts("gemm n=2 a=f16", "a.npy", says=["A", "f16", "a.npy holds f32"])
        self.contradicts("gemm n=2 a=i32", "a.npy", says=["i32", "f32"])

    def test_layout(self):
        self.contradicts("gemm b=f32:t", "a.npy", "fortran.npy", says=["layout t", "fortran.npy"])
        self.contradicts("gemm n=2 a=f32:[1,4]", "a.npy", says=["[1,4]", "[6,1]", "a.npy"])

    def test_rank(self):
        self.contradicts("gemm n=2", "vector.npy", says=["A", "vector.npy", "(6,)"])

    def test_batches(self):
        write_npy(self.path("a3.npy"), "f32", (3, 2, 2), small_integers(12, 1))
        write_npy(self.path("b2.npy"), "f32", (2, 2, 2), small_integers(8, 1))
        self.contradicts("gemm", "a3.npy", "b2.npy", says=["l = 3", "b2.npy has 2"])
        self.contradicts("gemm l=4 n=2", "a3.npy", says=["l = 4", "a3.npy has 3"])

    def test_elementwise_shapes(self):
        self.contradicts("elementwise op=add", "a.npy", "b.npy", says=["(4, 6)", "(5, 3)"])
        self.contradicts("elementwise op=relu shape=3x3", "a.npy", says=["(3, 3)", "(4, 6)"])
        self.contradicts("elementwise op=relu", "a.npy", "b.npy", says=["relu", "one operand"])


class OperandFiles(CliTest):
    def unreadable(self, operand, *says):
        self.fails(FILE, "run", "gemm n=4", "--a", operand, "--out", "out.npy", says=says)

    def write(self, name, data):
        (self.folder / name).write_bytes(data)
        return name

    def test_missing_or_no_file(self):
        self.unreadable("nothing.npy", "nothing.npy")
        (self.folder / "folder.npy").mkdir()
        self.unreadable("folder.npy", "folder.npy")
        self.unreadable("/dev/null", "/dev/null")
        os.symlink("/dev/zero", self.folder / "zero.npy")
        self.unreadable("zero.npy", "zero.npy")
        os.mkfifo(self.folder / "pipe.npy")
        self.unreadable("pipe.npy", "pipe.npy")
        self.unreadable(self.write("text.txt", b"1 2 3"), "text.txt")

    def test_npy_that_lies(self):
        whole = npy_header("<f4", (4, 4)) + b"\0" * 64
        self.unreadable(self.write("empty.npy", b""), "empty.npy")
        self.unreadable(self.write("short.npy", whole[:-1]), "short.npy")
        self.unreadable(self.write("header.npy", whole[:40]), "header.npy")
        self.unreadable(self.write("magic.npy", b"X" + whole[1:]), "magic.npy")
        for name, descr, shape in [
            ("huge.npy", "<f4", (2**40, 2**40)),
            ("big_endian.npy", ">f4", (4, 4)),
            ("complex.npy", "<c8", (4, 2)),
            ("negative.npy", "<f4", (-4, -4)),
        ]:
            self.unreadable(self.write(name, npy_header(descr, shape) + b"\0" * 64), name)

    def test_safetensors_that_lie(self):
        def file(name, header, data=b"\0" * 64, length=None):
            text = header.encode()
            return self.write(
                name, struct.pack("<Q", len(text) if length is None else length) + text + data
            )

        tensor = '{"dtype":"F32","shape":[4,4],"data_offsets":[0,64]}'
        self.unreadable(file("length.safetensors", "{}", length=2**63), "length.safetensors")
        self.unreadable(file("json.safetensors", "{"), "json.safetensors")
        self.unreadable(
            file("past.safetensors", f'{{"x":{tensor}}}', b"\0" * 60), "past.safetensors"
        )
        self.unreadable(
            file("twice.safetensors", f'{{"x":{tensor},"x":{tensor}}}'), "twice.safetensors"
        )
        self.unreadable(
            file("dtype.safetensors", '{"x":' + tensor.replace("F32", "C64") + "}"), "C64"
        )

    def test_hints_fit_the_file(self):
        data = npy_header(">f4", (4, 4)) + b"\0" * 64
        big = self.write("big.npy", data)
        run = ["run", "gemm n=4", "--a"]
        self.fails(FILE, *run, big, hint=["newbyteorder"])
        message = self.fails(FILE, *run, self.write("short.npy", data[:-1].replace(b">", b"<")))
        self.assertNotIn("hint", message)
        self.fails(FILE, *run, "none.npy", hint=["FILE.npy or FILE.safetensors:TENSOR"])

    def test_missing_tensor(self):
        write_safetensors(
            self.path("m.safetensors"),
            {"fc1.weight": ("f32", (2, 2), [1.0] * 4), "fc2.weight": ("f32", (2, 2), [1.0] * 4)},
        )
        self.unreadable("m.safetensors:fc3.weight", "fc3.weight", "m.safetensors")
        self.unreadable("m.safetensors", "m.safetensors")

    def test_problem_file(self):
        self.fails(FILE, "bench", "@nothing.txt",
                   says=["cannot read 'nothing.txt': No such file"])
        self.fails(FILE, "bench", f"@{self.folder}")
        (self.folder / "blank.txt").write_text("# nothing\n")
        self.fails(USAGE, "bench", "@blank.txt", says=["blank.txt"])


class OutputFiles(CliTest):
    def test_suffix_and_dtype(self):
        self.fails(USAGE, "run", GEMM, "--out", "out.txt", says=["out.txt"])
        self.fails(
            USAGE, "run", GEMM + " out=bf16", "--out", "o.npy", says=["bf16", ".safetensors"]
        )

    def test_destination(self):
        self.fails(FILE, "run", GEMM, "--out", "nowhere/out.npy", says=["nowhere"])
        (self.folder / "out.npy").mkdir()
        self.fails(FILE, "run", GEMM, "--out", "out.npy", says=["out.npy"])
        self.fails(FILE, "run", GEMM, "--out", "/proc/out.npy", says=["/proc"])
        self.fails(FILE, "bench", GEMM, "--rounds", "1", "--csv", "nowhere/t.csv")

    def test_standard_output_is_full(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [harness.EXECUTABLE, "list"], stdout=full, stderr=subprocess.PIPE, text=True
            )
        self.assertEqual(result.returncode, FILE)
        self.assertIn("standard output", result.stderr)

    def test_disk_full(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], capture_output=True
        )
        if mounted.returncode != 0:
            self.skipTest("cannot mount a small file system")
        self.addCleanup(subprocess.run, ["umount", str(disk)], check=True)
        problem = "gemm m=1024 n=1024 k=1 a=f32"
        result = self.estoc("run", problem, "--check", "--out", "disk/out.npy")
        self.assertEqual(result.returncode, FILE)
        self.assertIn("check    ok", result.stdout)
        self.assertNotIn("output", result.stdout)
        self.assertIn("disk/out.npy", result.stderr)
        self.assertEqual(os.listdir(disk), [])
