"""The way of a kernel through compiler, cache, driver and launch, on a GPU that is the emulator's."""

import json
import os
import pathlib
import shutil
import tempfile

from harness import EXECUTION, FILE, NOT_FOUND, ROOT, CliTest

PRODUCT = "gemm m=70 n=72 k=64 a=bf16 b=bf16:n out=bf16"
SM90 = "class=sm90_gemm"
COPY = "elementwise op=identity shape=100 a=f32"


class VirtualGpu(CliTest):
    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory(prefix="estoc_virtual_gpu_")
        cls.addClassCleanup(cls.cache.cleanup)

    def environment(self, devices):
        folder = pathlib.Path(os.environ["ESTOC_TEST_VIRTUAL_GPU"])
        return {
            **os.environ,
            "ESTOC_CACHE_DIR": self.cache.name,
            "LD_LIBRARY_PATH": str(folder),
            "ESTOC_NVRTC": str(folder / "libnvrtc.so"),
            "ESTOC_CUBLASLT": "off",
            "ESTOC_VIRTUAL_GPU": devices,
        }

    def estoc(self, *arguments, devices="sm_90a", **options):
        options.setdefault("env", self.environment(devices))
        return super().estoc(*arguments, **options)

    def test_devices_are_listed(self):
        printed = self.ok("devices", devices="sm_90a,sm_80,sm_89")
        for target in ("sm_90a", "sm_80", "sm_89"):
            self.assertIn(f"Virtual GPU {target}", printed)

    def test_a_driver_without_devices_says_so(self):
        self.assertIn("CUDA_ERROR_NO_DEVICE", self.ok("devices", devices="none"))

    def test_kernels_run_and_are_right(self):
        unaligned = PRODUCT.replace("k=64", "k=63")
        for kernel_class, problem in (("sm90_gemm", PRODUCT), ("sm80_gemm", PRODUCT),
                                      ("simt_gemm", PRODUCT), ("sm90_prepared_gemm", unaligned)):
            answer = self.json("run", problem, "--filter", "class=" + kernel_class, "--check")
            self.assertTrue(answer["kernel"].startswith(kernel_class), answer)
            self.assertTrue(answer["check"]["passed"], answer)

    def test_a_device_that_is_newer_gets_ptx(self):
        self.assertIn("ok: ", self.ok("run", PRODUCT, "--check", devices="sm_130"))
        printed = " ".join(self.ok("explain", PRODUCT, devices="sm_130").split())
        # The newest that this NVRTC knows.
        self.assertIn("compute_121, PTX", printed)
        self.assertIn("cuda:0 is of compute capability 13.0", printed)
        self.assertIn("expected one of sm_90a, got compute_121", printed)
        file = self.path("kernel.estoc")
        self.ok("compile", PRODUCT, "-o", file, devices="sm_130")
        printed = self.ok("run", PRODUCT, "--artifact", file, "--check", devices="sm_130")
        self.assertIn("ok: ", printed)

    def test_a_fused_epilogue_runs(self):
        epilogue = "D = relu(accum + bias); top = absmax(D)"
        answer = self.json(
            "run", PRODUCT + " bias=f32:row top=f32:column", "--epilogue", epilogue,
            "--filter", SM90, "--check",
        )  # fmt: skip
        self.assertTrue(answer["check"]["passed"], answer)

    def test_an_artifact_runs_where_it_was_compiled_for(self):
        file = self.path("kernel.estoc")
        self.ok("compile", PRODUCT, "--filter", SM90, "-o", file)
        answer = self.json("run", PRODUCT, "--artifact", file, "--check")
        self.assertTrue(answer["check"]["passed"], answer)
        elsewhere = self.estoc("run", PRODUCT, "--artifact", file, devices="sm_80")
        self.assertEqual(elsewhere.returncode, NOT_FOUND, elsewhere.stderr)
        self.assertIn("sm_80", elsewhere.stderr)

    def test_a_changed_header_makes_files_of_its_class_alone_invalid(self):
        device = self.folder / "device"
        shutil.copytree(ROOT / "device", device)
        changed = {**self.environment("sm_90a"), "ESTOC_DEVICE_DIR": str(device)}
        for name in ("simt_gemm", "sm80_gemm"):
            self.ok("compile", PRODUCT, "--filter", "class=" + name, "-o", name)
        for header, part in (("abi/sm80_gemm.cuh", "ABI"), ("kernels/sm80_gemm.cuh", "code")):
            original = (device / "estoc" / header).read_text()
            (device / "estoc" / header).write_text(original + "// Changed.\n")
            self.ok("run", PRODUCT, "--artifact", "simt_gemm", env=changed)
            refused = self.estoc("run", PRODUCT, "--artifact", "sm80_gemm", env=changed)
            self.assertEqual(refused.returncode, FILE, refused.stderr)
            self.assertRegex(refused.stderr, f"expected {part} '.*compile it again")
            (device / "estoc" / header).write_text(original)

    def with_pack(self, pack, **variables):
        """An environment without a compiler and with an empty cache, but with a pack."""
        return {
            **self.environment("sm_90a"),
            "ESTOC_CACHE_DIR": self.path("cache"),
            "ESTOC_NVRTC": self.path("none.so"),
            "ESTOC_KERNEL_PACK": str(pack),
            **variables,
        }

    def test_a_kernel_of_a_pack_runs_without_a_compiler(self):
        folder = self.folder / "packs"
        folder.mkdir()
        problems = self.folder / "problems.txt"
        problems.write_text(f"{PRODUCT}\n{PRODUCT.replace('m=70', 'm={40,300}')}  # more rows\n")
        self.ok("compile", f"@{problems}", "-o", str(folder / "sm_90a.estoc"))
        self.assertIn("ok: ", self.ok("run", PRODUCT, "--check", env=self.with_pack(folder)))
        self.assertRegex(self.ok("devices", env=self.with_pack(folder)),
                         r"pack .*sm_90a\.estoc  \d+ kernels for sm_90a\n")
        self.assertFalse(list((self.folder / "cache").glob("*.cubin")))
        for other in ("off", self.path("none"), str(problems)):
            refused = self.estoc("run", PRODUCT, env=self.with_pack(other))
            self.assertEqual(refused.returncode, NOT_FOUND, refused.stderr)
            self.assertIn("ESTOC_NVRTC", refused.stderr)

    def test_an_outdated_pack_is_named(self):
        device = self.folder / "device"
        shutil.copytree(ROOT / "device", device)
        header = device / "estoc" / "kernels" / "sm80_gemm.cuh"
        header.write_text(header.read_text() + "// Changed.\n")
        file = self.path("pack.estoc")
        self.ok("compile", PRODUCT, "--filter", "class=sm80_gemm", "-o", file)
        env = self.with_pack(file, ESTOC_DEVICE_DIR=str(device))
        self.assertIn("1 of its 1 kernels", self.ok("devices", env=env))
        (pack,) = json.loads(self.ok("devices", "--json", env=env))["packs"]
        self.assertEqual((pack["kernels"], pack["outdated"]), (1, 1))
        refused = self.estoc("run", PRODUCT, "--filter", "class=sm80_gemm", "--log", "warning", env=env)
        self.assertEqual(refused.returncode, NOT_FOUND, refused.stderr)
        self.assertIn("another version of Estoc", refused.stderr)

    def test_kernels_are_timed(self):
        (record,) = self.json("bench", PRODUCT, "--top", "2", "--rounds", "2")
        self.assertEqual(record["device"], "Virtual GPU sm_90a")
        for kernel in record["kernels"]:
            self.assertGreater(kernel["seconds"]["median"], 0)
            self.assertTrue(kernel["check"]["passed"])

    def test_a_search_finds_and_keeps_a_kernel(self):
        env = {**self.environment("sm_90a"), "ESTOC_TUNED": self.path("tuned.db")}
        few = ["--top", "2", "--rounds", "2", "--budget", "100ms"]
        (result,) = json.loads(self.ok("tune", PRODUCT, *few, "--json", env=env))
        record = result["record"]
        self.assertEqual((record["device"], record["cc"]), ("Virtual GPU sm_90a", 90))
        self.assertGreaterEqual(record["candidates"], 2)
        first, *rest = json.loads(self.ok("find", PRODUCT, "--json", env=env))
        self.assertEqual(first["name"], record["kernel"])
        self.assertEqual(first["knobs"], record["knobs"])
        self.assertEqual(first["tuned_seconds"], record["seconds"])
        self.assertEqual({each["tuned_seconds"] for each in rest}, {None})
        self.assertIn("sm90", self.ok("run", PRODUCT, "--check", env=env))

    def test_check_runs_problems(self):
        name = self.json("find", PRODUCT, "--filter", "class=sm80_gemm")[0]["name"]
        self.assertIn("20, 0 wrong", self.ok("check", name))

    def broken(self, fault):
        result = self.estoc("run", COPY, "--kernel", "own_copy-identity-f32-fault." + fault)
        self.assertEqual((result.returncode, result.stdout), (EXECUTION, ""), result.stderr)
        return result.stderr

    def test_check_permits_what_a_kernel_asks_for(self):
        name = (
            "sm90_swapped_fast_gemm-e4m3-e4m3-f32-bf16-tnt-alignA16-alignB16-alignOut16-single-"
            "tile80x64x128-cluster1x1-stages12-sums.fast-orientation.swapped"
        )
        report = self.json("check", name, "--problems", "2", "--largest", "130")
        self.assertEqual((len(report["problems"]), report["wrong"]), (2, 0))
        self.assertTrue(all("fast_accumulation=1" in each["problem"] for each in report["problems"]))

    def test_a_kernel_that_fails_leaves_its_report_with_the_driver(self):
        self.assertRegex(
            self.broken("race"),
            r"CUDA_ERROR_LAUNCH_FAILED \(uninitialised memory: own_copy.*\.cu:23,.*ran earlier",
        )
        self.assertRegex(self.broken("bounds"), r"CUDA_ERROR_ILLEGAL_ADDRESS \(out of bounds: ")

    def test_code_of_others_is_refused(self):
        self.assertIn("CUDA_ERROR_INVALID_IMAGE", self.broken("ready"))
        self.assertIn("CUDA_ERROR_INVALID_SOURCE", self.broken("syntax"))
