"""The commands compile, cache and check, and run --artifact."""

import os
import shutil
import unittest

from harness import FILE, NOT_FOUND, ROOT, USAGE, CliTest
from tensor_files import matmul, read_npy, small_integers, write_npy

CPU = "cpu_gemm-f32-f32-f32-f32"
PROBLEM = "gemm m=5 n=7 k=6 a=f32"
CUDA = "gemm m=512 n=512 k=512 a=bf16:t b=bf16:n"


class Compile(CliTest):
    def setUp(self):
        super().setUp()
        os.environ["ESTOC_CACHE_DIR"] = self.path("cache")
        self.addCleanup(os.environ.pop, "ESTOC_CACHE_DIR")

    def needs_nvrtc(self):
        libraries = {each["name"]: each for each in self.json("devices")["libraries"]}
        if libraries["NVRTC"]["problem"]:
            self.skipTest("this machine has no NVRTC")

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()


class ProblemFiles(Compile):
    def setUp(self):
        super().setUp()
        lines = ["# Two that fit, one that does not.", "gemm m={5,9} n=7 k=6 a=f32", "gemm m=5 n=7 k=6 a=f64"]
        (self.folder / "problems.txt").write_text("\n".join(lines) + "\n")
        self.only = ("compile", "@problems.txt", "--target", "cpu", "--filter", "a=f32")

    def test_every_problem_has_a_rule(self):
        report = self.json("compile", "@problems.txt", "--target", "cpu", "-o", "k.estoc")
        self.assertEqual([rule["m"] for rule in report["rules"]], [[5, 5], [9, 9], [5, 5]])
        self.assertEqual(report["skipped"], [])

    def test_a_problem_without_a_kernel_is_an_error_or_passed_over(self):
        refused = self.estoc(*self.only)
        self.assertEqual((refused.returncode, refused.stdout), (NOT_FOUND, ""))
        self.assertIn("a=f64", refused.stderr)
        report = self.json(*self.only, "--skip", "-o", "k.estoc")
        self.assertEqual(len(report["rules"]), 2)
        (skipped,) = report["skipped"]
        self.assertIn("a=f64", skipped)
        self.assertRegex(self.ok(*self.only, "--skip", "-o", "k.estoc"), r"skipped +gemm .*a=f64")

    def test_a_file_without_one_that_fits_or_with_m_is_an_error(self):
        none = self.estoc("compile", "@problems.txt", "--target", "cpu", "--filter", "a=f16", "--skip")
        self.assertEqual(none.returncode, NOT_FOUND, none.stderr)
        self.assertIn("no kernel carries out any problem of problems.txt", none.stderr)
        both = self.estoc("compile", "@problems.txt", "--target", "cpu", "--m", "1:8")
        self.assertEqual(both.returncode, USAGE, both.stderr)


class Packs(Compile):
    def test_a_pack_spares_the_compiler__needs_nvrtc(self):
        self.needs_nvrtc()
        words = ("compile", CUDA, "--target", "sm_80", "--filter", "class=sm80_gemm")
        self.ok(*words, "-o", "sm_80.estoc")
        without = {**os.environ, "ESTOC_CACHE_DIR": self.path("empty"), "ESTOC_NVRTC": self.path("none.so")}
        refused = self.estoc(*words, "-o", "none.estoc", env=without)
        self.assertEqual(refused.returncode, NOT_FOUND, refused.stderr)
        for place in (self.path("sm_80.estoc"), str(self.folder)):
            self.ok(*words, "-o", "again.estoc", env={**without, "ESTOC_KERNEL_PACK": place})
            self.assertEqual(self.bytes_of("again.estoc"), self.bytes_of("sm_80.estoc"))
        self.assertEqual(list((self.folder / "empty").glob("*.cubin")), [])


class Artifacts(Compile):
    def test_a_cpu_kernel_runs_from_its_file(self):
        a, b = small_integers(30, 1), small_integers(42, 2)
        write_npy(self.path("a.npy"), "f32", (5, 6), a)
        write_npy(self.path("b.npy"), "f32", (6, 7), b)
        report = self.json("compile", PROBLEM, "--target", "cpu", "-o", "k.estoc")
        self.assertEqual([each["kernel"] for each in report["kernels"]], [CPU])
        self.assertEqual(report["files"], ["k.estoc"])
        answer = self.json("run", "gemm", "--a", "a.npy", "--b", "b.npy", "--out", "out.npy",
                           "--artifact", "k.estoc", "--target", "cpu", "--check")
        self.assertEqual(answer["kernel"], CPU)
        self.assertEqual(read_npy(self.path("out.npy"))[2],
                         [float(x) for x in matmul(a, b, 5, 7, 6)])

    def test_the_default_file_is_named_after_kernel_and_target(self):
        self.ok("compile", CPU, "--target", "cpu")
        self.assertIn(f"{CPU}.cpu.estoc", self.files())

    def test_a_range_of_m_becomes_rules(self):
        report = self.json("compile", "gemm n=7 k=6 a=f32", "--m", "1:100", "--target", "cpu",
                           "-o", "k.estoc")
        self.assertEqual([rule["m"] for rule in report["rules"]], [[1, 100]])
        for m in (1, 50, 100):
            self.ok("run", f"gemm m={m} n=7 k=6 a=f32", "--artifact", "k.estoc", "--target", "cpu")

    def test_what_the_file_does_not_hold_is_refused(self):
        self.ok("compile", PROBLEM, "--target", "cpu", "-o", "k.estoc")
        self.fails(NOT_FOUND, "run", "gemm m=5 n=7 k=6 a=f64", "--artifact", "k.estoc",
                   "--target", "cpu", says=["a=f64"])
        self.fails(NOT_FOUND, "run", PROBLEM, "--kernel", "nope", "--artifact", "k.estoc",
                   "--target", "cpu", says=["nope"])

    def test_files_that_are_no_artifacts_are_refused(self):
        self.ok("compile", PROBLEM, "--target", "cpu", "-o", "k.estoc")
        whole = self.bytes_of("k.estoc")
        (self.folder / "short.estoc").write_bytes(whole[:-9])
        (self.folder / "text.estoc").write_text("hello")
        (self.folder / "newer.estoc").write_bytes(whole[:8] + b"\x09" + whole[9:])
        run = ["run", PROBLEM, "--target", "cpu", "--artifact"]
        self.fails(FILE, *run, "none.estoc", says=["none.estoc"])
        self.fails(FILE, *run, "short.estoc", says=["damaged"])
        self.fails(FILE, *run, "text.estoc", says=["expected a file that 'estoc compile' wrote"])
        self.fails(FILE, *run, "newer.estoc", says=["schema"])

    def test_bad_input(self):
        self.fails(NOT_FOUND, "compile", "cpu_gemm-f33", "--target", "cpu", says=["cpu_gemm-f33"])
        self.fails(NOT_FOUND, "compile", CPU, "--target", "sm_90a", says=["target"])
        self.fails(USAGE, "compile", PROBLEM, "--m", "1:9", "--target", "cpu", says=["--m"])
        self.fails(USAGE, "compile", "gemm n=7 k=6 a=f32", "--m", "9:1", "--target", "cpu",
                   says=["LOW:HIGH"])
        self.fails(USAGE, "compile", PROBLEM, "--target", "sm_1", says=["sm_1"])
        self.fails(FILE, "compile", PROBLEM, "--target", "cpu", "-o", "none/k.estoc",
                   says=["none/k.estoc"])
        self.fails(NOT_FOUND, "compile", PROBLEM, "--target", "cpu", "--no-file", "--emit", "cu",
                   says=["not compiled from text"])


    def test_the_disassembler_is_looked_for_first(self):
        """Without it nothing is compiled and nothing written, whatever else was asked for."""
        if os.path.exists("/usr/local/cuda/bin/nvdisasm"):
            self.skipTest("the CUDA toolkit is in its usual place")
        result = self.estoc("compile", CUDA, "--target", "sm_90a", "--emit", "ptx,sass", "-o",
                            "k.estoc", env={**os.environ, "PATH": str(self.folder)})
        self.assertEqual((result.returncode, result.stdout), (NOT_FOUND, ""))
        self.assertIn("nvdisasm was not found", result.stderr)
        self.assertEqual([name for name in self.files() if name.endswith((".estoc", ".ptx"))], [])
        self.assertEqual(self.json("cache", "list"), [])


class Cuda(Compile):
    def test_bytes_do_not_depend_on_the_cache__needs_nvrtc(self):
        self.needs_nvrtc()
        for name in ("cold.estoc", "cached.estoc"):
            self.ok("compile", CUDA, "--target", "sm_90a", "-o", name)
        self.ok("cache", "clear")
        self.ok("compile", CUDA, "--target", "sm_90a", "-o", "again.estoc")
        self.assertEqual(self.bytes_of("cold.estoc"), self.bytes_of("cached.estoc"))
        self.assertEqual(self.bytes_of("cold.estoc"), self.bytes_of("again.estoc"))
        self.assertLess(len(self.bytes_of("cold.estoc")), 120 * 1024)

    def test_headers_that_a_kernel_includes_are_in_the_key__needs_nvrtc(self):
        self.needs_nvrtc()
        device = self.folder / "device"
        shutil.copytree(ROOT / "device", device)
        name = self.json("find", CUDA, "--target", "sm_80", "--filter", "class=simt_gemm")[0]["name"]
        entries = []
        for header in (None, "kernels/sm80_gemm.cuh", "ptx/mma.cuh", "numeric.cuh"):
            if header:
                with open(device / "estoc" / header, "a", encoding="utf-8") as text:
                    text.write("// Changed.\n")
            self.ok("compile", name, "--target", "sm_80", "--no-file",
                    env={**os.environ, "ESTOC_DEVICE_DIR": str(device)})
            entries.append(len(self.json("cache", "list")))
        self.assertEqual(entries, [1, 1, 1, 2])

    def test_texts_lie_beside_the_file__needs_nvrtc(self):
        self.needs_nvrtc()
        report = self.json("compile", CUDA, "--target", "sm_80", "-o", "k.estoc", "--emit",
                           "cu,ptx", "--lineinfo")
        self.assertEqual(len(report["files"]), 3)
        self.assertIn("estoc_kernel", (self.folder / report["files"][1]).read_text())
        ptx = (self.folder / report["files"][2]).read_text()
        self.assertIn(".target sm_80", ptx)
        self.assertIn(".loc", ptx)

    def test_check_compiles_where_the_target_is_not_here__needs_nvrtc(self):
        self.needs_nvrtc()
        name = self.json("find", CUDA, "--target", "sm_80", "--top", "1")[0]["name"]
        report = self.json("check", name, "--target", "sm_80")
        self.assertGreater(report["registers"], 0)
        self.assertEqual(report["spill_bytes"], 0)

    def test_the_cache_is_listed_and_pruned__needs_nvrtc(self):
        self.needs_nvrtc()
        self.ok("compile", CUDA, "--target", "sm_90a", "--top", "2", "--no-file")
        entries = self.json("cache", "list")
        self.assertEqual(len(entries), 2)
        self.assertEqual(self.json("cache", "list", "--limit", "1"), entries[:1])
        first = self.ok("cache", "list", "--limit", "1")
        self.assertIn("\n... and 1 more (--limit 0 prints all)\n2 kernels, ", first)
        self.assertTrue(all(each["intact"] and each["target"] == "sm_90a" for each in entries))
        (self.folder / "cache" / (entries[0]["key"] + ".cubin")).write_bytes(b"junk")
        self.assertIn("damaged", self.ok("cache", "list"))
        self.ok("cache", "verify")
        self.assertEqual(len(self.json("cache", "list")), 1)
        self.assertEqual(self.ok("cache", "prune", "--to", "1K"), "1 kernel removed\n")


class Cache(Compile):
    def test_path(self):
        self.assertEqual(self.ok("cache", "path").strip(), self.path("cache"))

    def test_an_empty_cache(self):
        self.assertEqual(self.json("cache", "list"), [])
        for command in ("verify", "clear", "prune"):
            self.assertIn("0 ", self.ok("cache", command))

    def test_bad_input(self):
        self.ok("cache", "list")
        self.fails(USAGE, "cache", says=["a command is required"])
        self.fails(USAGE, "cache", "prune", "--to", "lots", says=["lots"])


class Check(Compile):
    def test_a_kernel_of_the_host(self):
        report = self.json("check", CPU, "--problems", "8", "--largest", "80")
        self.assertEqual((len(report["problems"]), report["wrong"]), (8, 0))
        self.assertEqual(len({each["problem"] for each in report["problems"]}), 8)

    def test_an_elementwise_kernel(self):
        name = self.json("find", "elementwise op=add shape=5x6 a=f16", "--target", "cpu",
                         "--top", "1")[0]["name"]
        self.assertEqual(self.json("check", name, "--problems", "5", "--largest", "90")["wrong"], 0)

    def test_an_elementwise_kernel_with_an_epilogue(self):
        name = self.json("find", "elementwise op=identity shape=5x6 a=f16", "--target", "cpu",
                         "--top", "1")[0]["name"]
        fused = 'bias=f32:row s=0.5 epi="D = gelu(accum * s + bias)"'
        report = self.json("check", name, "--problems", "5", "--largest", "90", "--epilogue", fused)
        self.assertEqual((len(report["problems"]), report["wrong"]), (5, 0))
        self.assertIn("gelu", report["epilogue"])
        self.assertTrue(all(fused in each["problem"] for each in report["problems"]), report)
        other = name.replace("identity", "relu")
        self.fails(USAGE, "check", other, "--epilogue", fused, says=["identity", "got one of relu"])
        self.fails(USAGE, "check", name, "--epilogue", 'epi="D = sum(accum)"', says=["got a reduction"])
        for kernel, key in ((name, "shape=4"), (CPU, "m=4")):
            self.fails(USAGE, "check", kernel, "--epilogue", f'{key} epi="D = relu(accum)"',
                       says=["expected epi and its operands alone", key])  # fmt: skip

    def test_names_that_do_not_exist(self):
        self.fails(NOT_FOUND, "check", "nope", says=["nope"])


if __name__ == "__main__":
    unittest.main()
