"""GPU kernels on the CPU: what runs, what is found, what is kept, and what goes wrong."""

import collections
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import harness
from harness import EXECUTION, FILE, NOT_FOUND, OK, USAGE, WRONG, CliTest
from tensor_files import matmul, read_npy, small_integers, write_npy

BF16 = "gemm m=136 n=72 k=136 a=bf16 b=bf16 out=bf16"
COPY = "elementwise op=identity shape=100 a=f32"
ROOT = pathlib.Path(__file__).resolve().parents[2]
TRACE_SVG = ROOT / "scripts" / "trace_svg.py"
SM90_LOAD = ROOT / "device/estoc/sm90/load.cuh"


class Emulator(CliTest):
    """All tests of a class share a cache, so that a kernel is built once."""

    @classmethod
    def setUpClass(cls):
        cls.cache = tempfile.TemporaryDirectory(prefix="estoc_emulator_")
        cls.addClassCleanup(cls.cache.cleanup)

    def environment(self, **changes):
        return {**os.environ, "ESTOC_CACHE_DIR": self.cache.name, **changes}

    def estoc(self, *arguments, **options):
        options.setdefault("env", self.environment())
        return super().estoc(*arguments, **options)

    def emulate(self, problem, *arguments, target="sm_90a"):
        """Runs with --check, which must pass without a finding."""
        where = ["--device", "emulator", "--target", target]
        answer = self.json("run", problem, *where, "--check", *arguments)
        self.assertTrue(answer["check"]["passed"], answer)
        self.assertTrue(answer["emulator"]["clean"], answer)
        return answer

    def first_of(self, kernel_class, problem, target):
        found = self.json("find", problem, "--target", target, "--filter", "class=" + kernel_class)
        return found[0]["name"]


class Kernels(Emulator):
    def counted(self, kernel_class, problem, target, *arguments):
        kernel = self.first_of(kernel_class, problem, target)
        answer = self.emulate(problem, "--kernel", kernel, *arguments, target=target)
        self.assertEqual(answer["kernel"], kernel)
        return {name for name, count in answer["emulator"]["instructions"].items() if count}

    def test_one_of_each_class(self):
        tma = {"wgmma", "tma_loads", "tma_stores", "barriers"}
        self.assertEqual(self.counted("sm90_gemm", BF16, "sm_90a"), tma)
        tensor = {"tcgen05", "tma_loads", "tma_stores", "barriers"}
        self.assertEqual(self.counted("sm100_gemm", BF16, "sm_103a"), tensor)
        warps = {"mma", "cp_async", "barriers"}
        self.assertEqual(self.counted("sm80_gemm", BF16, "sm_80"), warps)
        self.assertEqual(self.counted("simt_gemm", "gemm m=9 n=8 k=7 a=f32", "sm_80"), {"barriers"})
        relu = "elementwise op=relu shape=33x7 a=f32"
        self.assertEqual(self.counted("simt_elementwise", relu, "sm_80"), set())

    def test_other_dtypes_layouts_and_batches(self):
        self.counted("sm90_gemm", "gemm m=72 n=48 k=80 l=2 a=e4m3 b=e5m2:n out=f16", "sm_90a")
        self.counted("sm80_gemm", "gemm m=72 n=40 k=48 a=f64:n b=f64 out=f64:n", "sm_80")
        self.counted("simt_gemm", "gemm m=19 n=17 k=33 l=3 a=f16:[2000,70,2] b=f16:n", "sm_120")
        self.counted("sm90_gemm", "gemm m=64 n=64 k=0 a=bf16 b=bf16 out=bf16", "sm_90a")

    def test_the_first_kernel_is_that_of_find(self):
        for target in ("sm_90a", "sm_80"):
            first = self.json("find", BF16, "--target", target)[0]["name"]
            self.assertEqual(self.emulate(BF16, target=target)["kernel"], first)

    def test_nothing_to_do(self):
        answer = self.emulate("gemm m=0 n=8 k=4 a=f32")
        self.assertEqual(set(answer["emulator"]["instructions"].values()), {0})

    def test_files(self):
        a, b = small_integers(40 * 24, 1), small_integers(24 * 16, 2)
        write_npy(self.path("a.npy"), "f16", (40, 24), a)
        write_npy(self.path("b.npy"), "f16", (24, 16), b)
        kernel = self.first_of("sm90_gemm", "gemm m=40 n=16 k=24 a=f16", "sm_90a")
        files = ["--a", "a.npy", "--b", "b.npy", "--out", "c.npy"]
        self.emulate("gemm", *files, "--kernel", kernel)
        expected = [float(value) for value in matmul(a, b, 40, 16, 24)]
        self.assertEqual(read_npy(self.path("c.npy"))[1:], ((40, 16), expected))

    def test_schedules(self):
        outputs = []
        for order in (["late"], ["eager"], ["random", "--seed", "0"], ["random", "--repeat", "3"]):
            answer = self.emulate(BF16, "--schedule", *order, "--out", "c.safetensors")
            self.assertEqual(answer["emulator"]["schedule"], order[0])
            outputs.append((self.folder / "c.safetensors").read_bytes())
        self.assertEqual(answer["emulator"]["seed"], 2, "each repetition has a seed of its own")
        self.assertEqual(len(set(outputs)), 1)

    def test_narrow_sums(self):
        # 448, then 2^-6: of their sum 14 bits hold little.
        header = b'{"x":{"dtype":"F8_E4M3","shape":[64,64],"data_offsets":[0,4096]}}'.ljust(120)
        rows = (b"\x7e" + b"\x08" * 63) * 64
        data = len(header).to_bytes(8, "little") + header + rows
        (self.folder / "a.safetensors").write_bytes(data)
        problem = "gemm n=64 b=e4m3:n out=f32 fast_accumulation=1"
        kernel = self.first_of("sm90_fast_gemm", f"{problem} m=64 k=64 a=e4m3", "sm_90a")
        run = [problem, "--kernel", kernel, "--a", "a.safetensors", "--random",
               "--out", "c.npy"]  # fmt: skip
        sums = []
        for option in ([], ["--narrow-fp8-sums"]):
            self.json("run", *run, "--device", "emulator", "--target", "sm_90a", *option)
            sums.append(read_npy(self.path("c.npy"))[2][:4])
        self.assertNotEqual(*sums)
        for exact, narrow in zip(*sums):
            self.assertLess(abs(exact - narrow), 1)

    def test_estimates_time(self):
        where = ["--device", "emulator", "--time", "--target"]
        for target, device in (("sm_90a", "H200"), ("sm_100a", "B200")):
            seconds = []
            for k in (512, 2048):
                problem = f"gemm m=256 n=256 k={k} a=bf16:t b=bf16:n out=bf16"
                kernel = self.first_of("sm90_gemm" if device == "H200" else "sm100_gemm",
                                       "gemm m=256 n=256 k=512 a=bf16:t b=bf16:n out=bf16", target)
                answer = self.json("run", problem, "--kernel", kernel, *where, target)
                self.assertEqual(answer["estimate"]["device"], device)
                self.assertEqual(answer["estimate"]["measured"], device == "H200")
                seconds.append(answer["estimate"]["seconds"])
            self.assertTrue(1e-6 < seconds[0] < seconds[1] < 1e-4, seconds)
        self.fails(USAGE, "run", BF16, *where, "sm_90a", "--check", says=["--time"])
        self.fails(NOT_FOUND, "run", BF16, *where, "sm_80", says=["sm_90a or sm_100a", "sm_80"])

    def test_traces_clocks(self):
        self.estoc("run", BF16, "--device", "emulator", "--target", "sm_90a", "--time", "--trace",
                   "clocks.json")
        trace = json.loads(pathlib.Path(self.path("clocks.json")).read_text())
        self.assertEqual(trace["otherData"]["time"], "clocks of the estimate")
        kinds = {event["cat"] for event in trace["traceEvents"] if event["ph"] == "X"}
        self.assertLessEqual({"tma_load", "wgmma", "wait"}, kinds)

    def test_multiprocessors_are_those_of_the_plan(self):
        kernel = self.first_of("sm90_gemm", BF16, "sm_90a")
        ctas = []
        for count in ("1", "3"):
            self.emulate(BF16, "--kernel", kernel, "--multiprocessors", count, "--trace", "t.json")
            trace = json.loads((self.folder / "t.json").read_text())["traceEvents"]
            ctas.append(len({event["pid"] for event in trace}))
        self.assertEqual(ctas, [1, 3])

    def test_a_program_s_own_kernel(self):
        for code in ("none", "plain"):
            answer = self.emulate(COPY, "--kernel", f"own_copy-identity-f32-fault.{code}")
            self.assertEqual(answer["emulator"]["instructions"]["barriers"], 2)

    def test_plain_cuda(self):
        program = os.environ.get("ESTOC_TEST_PLAIN_CUDA")
        if not program:
            self.skipTest("the examples are not built")
        problem = ["run", "gemm m=37 n=21 k=33 l=2 a=f32", "--kernel", "plain_gemm-f32-tile16x16x1"]
        result = subprocess.run(
            [program, *problem, "--device", "emulator", "--check"],
            capture_output=True, text=True, env=self.environment(), timeout=240,
        )  # fmt: skip
        self.assertEqual((result.returncode, result.stderr), (OK, ""))
        self.assertRegex(result.stdout, r"check +ok")

    def test_human_output(self):
        text = self.ok("run", BF16, "--device", "emulator", "--check")
        labels = [line.split()[0] for line in text.splitlines()]
        expected = ["problem", "kernel", "device", "ran", "found", "time", "rate", "check"]
        self.assertEqual(labels, expected)
        self.assertRegex(text, r"ran +\d+ wgmma, 0 mma, \d+ TMA loads")
        self.assertRegex(text, r"found +nothing\n")

    def test_accesses_that_are_not_watched(self):
        plain = ["--device", "emulator", "--kernel", "own_copy-identity-f32-fault.plain"]
        text = self.ok("run", COPY, *plain)
        self.assertRegex(text, r"found +nothing; 0 accesses watched: the kernel uses plain pointers")
        self.assertEqual(self.json("run", COPY, *plain)["emulator"]["watched"], 0)
        nothing = self.ok("run", "gemm m=0 n=8 k=8 a=f32", "--device", "emulator")
        self.assertRegex(nothing, r"found +nothing\n")


class Findings(Emulator):
    def fault(self, name, *arguments):
        kernel = ["--device", "emulator", "--kernel", f"own_copy-identity-f32-fault.{name}"]
        return self.estoc("run", COPY, *kernel, *arguments)

    def test_a_race(self):
        result = self.fault("race", "--out", "o.npy")
        self.assertEqual(result.returncode, WRONG)
        self.assertRegex(result.stdout, r"race: own_copy, CTA \(0, 0, 0\), thread 32, .*\.cu:21,")
        self.assertRegex(result.stdout, r"found +3 mistakes")
        self.assertRegex(result.stderr, r"^error: the emulator found 3 mistakes in own_copy.*\.cu:")
        self.assertEqual(self.files(), [], "what a faulty kernel writes is not saved")

    def test_in_json(self):
        result = self.fault("bounds", "--json", "--check")
        self.assertEqual(result.returncode, WRONG)
        answer = json.loads(result.stdout)
        self.assertFalse(answer["emulator"]["clean"])
        self.assertTrue(answer["check"]["passed"], "the output does not show it")
        self.assertGreater(answer["emulator"]["watched"], 400)
        (finding,) = answer["emulator"]["findings"]
        self.assertEqual((finding["fault"], finding["cta"], finding["count"]),
                         ("out of bounds", [1, 0, 0], 28))
        self.assertIn("400 bytes after the start of A", finding["message"])

    def test_programmatic_launches(self):
        result = self.fault("none", "--programmatic", "--json")
        self.assertEqual(result.returncode, WRONG)
        findings = json.loads(result.stdout)["emulator"]["findings"]
        self.assertEqual({f["fault"] for f in findings}, {"missing griddepcontrol.wait"})
        self.emulate(BF16, "--programmatic")

    def test_text_that_does_not_compile(self):
        for name, words in (("syntax", ".cu:3:15: error:"), ("missing", "nowhere")):
            result = self.fault(name)
            self.assertEqual((result.returncode, result.stdout), (EXECUTION, ""))
            self.assertIn(words, result.stderr.splitlines()[0])
        result = self.fault("syntax", "-g", "sources")
        self.assertEqual(result.returncode, EXECUTION)
        self.assertIn(".cu:3:15: error:", (self.folder / "sources/compiler.log").read_text())


class Refusals(Emulator):
    def refused(self, code, *arguments, **expected):
        self.fails(code, "run", BF16, *arguments, **expected)

    def test_options(self):
        device = ["--device", "emulator"]
        self.refused(USAGE, "--device", "gpu", says=["no device 'gpu'"], hint=["emulator"])
        self.refused(USAGE, *device, "--schedule", "early", says=["no schedule 'early'"],
                     hint=["late, eager, random"])
        self.refused(USAGE, *device, "--target", "cpu", says=["stands for a GPU"])
        self.refused(USAGE, *device, "--target", "sm_91", says=["no target 'sm_91'"])
        self.refused(USAGE, *device, "--multiprocessors", "0", says=["--multiprocessors"])
        self.refused(USAGE, *device, "--artifact", "x.estoc", says=["--artifact", "cannot run"],
                     hint=["--kernel"])
        for option in (["--schedule", "late"], ["--trace", "t"], ["-g", "x"],
                       ["--multiprocessors", "2"], ["--programmatic"], ["--narrow-fp8-sums"],
                       ["--time-limit", "5"], ["--time"]):
            self.refused(USAGE, "--target", "cpu", *option, says=["is for the emulator"],
                         hint=["--device emulator"])

    def test_kernels_that_are_no_cuda_text(self):
        cpu = self.json("find", "gemm m=8 n=8 k=8 a=f32", "--target", "cpu")[0]["name"]
        where = ["--device", "emulator", "--kernel"]
        self.fails(NOT_FOUND, "run", "gemm m=8 n=8 k=8 a=f32", *where, cpu, says=[cpu])
        ready = "own_copy-identity-f32-fault.ready"
        self.fails(NOT_FOUND, "run", COPY, *where, ready, says=[ready, "ready-made code"],
                   hint=["CUDA text"])
        self.refused(NOT_FOUND, "--device", "emulator", "--provider", "cublaslt",
                     says=["no kernel for sm_90a"])

    def test_a_kernel_of_another_target(self):
        kernel = self.first_of("sm90_gemm", BF16, "sm_90a")
        self.refused(NOT_FOUND, "--device", "emulator", "--target", "sm_80", "--kernel", kernel,
                     says=["sm_80"])

    def test_no_compiler(self):
        arguments = ["run", BF16, "--device", "emulator"]
        for changes, words in (
            ({"ESTOC_HOST_COMPILER": "/nonexistent/c++"}, "ESTOC_HOST_COMPILER: expected"),
            ({"ESTOC_HOST_COMPILER": "false"}, "'false --version' does not succeed"),
            ({"PATH": self.path("empty"), "ESTOC_HOST_COMPILER": ""}, "none of c++, g++"),
        ):
            result = self.estoc(*arguments, env=self.environment(**changes))
            self.assertEqual((result.returncode, result.stdout), (NOT_FOUND, ""))
            self.assertIn(words, result.stderr.splitlines()[0])
            self.assertIn("set ESTOC_HOST_COMPILER", result.stderr.splitlines()[1])

    def test_places_that_cannot_be_written(self):
        arguments = ["run", BF16, "--device", "emulator"]
        self.fails(FILE, *arguments, "--trace", "no/folder/t.json", says=["no/folder"])
        (self.folder / "file").write_text("")
        self.fails(FILE, *arguments, "-g", "file", says=["cannot write", "file"])
        result = self.estoc(*arguments, env=self.environment(
            TMPDIR=self.path("none"), ESTOC_CACHE_DIR=self.path("new")))
        self.assertEqual((result.returncode, result.stdout), (FILE, ""))
        self.assertIn("temporary folder", result.stderr)

    @unittest.skipUnless(shutil.which("clang++"), "there is no clang++")
    def test_another_compiler_builds_anew(self):
        arguments = ["run", BF16, "--device", "emulator", "--check", "--json"]
        self.ok(*arguments)
        changed = self.environment(ESTOC_HOST_COMPILER="clang++")
        answers = [json.loads(self.ok(*arguments, env=changed)) for _ in range(2)]
        self.assertEqual([a["emulator"]["from_cache"] for a in answers], [False, True])
        self.assertTrue(answers[0]["emulator"]["compiler"].startswith("clang++-"))
        self.assertTrue(answers[0]["emulator"]["clean"])


class Cache(Emulator):
    """Each test has a cache of its own."""

    def setUp(self):
        super().setUp()
        self.own = self.folder / "cache"
        self.problem = ["run", COPY, "--device", "emulator", "--json", "--check",
                        "--kernel", "own_copy-identity-f32-fault.none"]  # fmt: skip

    def environment(self, **changes):
        return super().environment(**{"ESTOC_CACHE_DIR": str(self.own), **changes})

    def from_cache(self, **changes):
        answer = json.loads(self.ok(*self.problem, env=self.environment(**changes)))
        self.assertTrue(answer["check"]["passed"])
        return answer["emulator"]["from_cache"]

    def entry(self):
        (library,) = self.own.glob("*.so")
        return library

    def test_built_once(self):
        self.assertEqual([self.from_cache(), self.from_cache()], [False, True])
        self.assertEqual({path.suffix for path in self.own.iterdir()}, {".so", ".json"})
        listed = json.loads(self.ok("cache", "list", "--json"))
        self.assertEqual(listed[0]["kernel"], "own_copy-identity-f32-fault.none")
        self.assertEqual(self.entry().stat().st_mode & 0o777, 0o600)

    def test_headers_that_the_kernel_includes_are_in_the_key(self):
        self.assertFalse(self.from_cache())
        device = self.folder / "device"
        shutil.copytree(ROOT / "device", device)
        others = ("numeric.cuh", "ptx/barrier.cuh", "abi/sm90_gemm.cuh")
        for header in (*others, "abi/types.cuh"):
            with open(device / "estoc" / header, "a", encoding="utf-8") as text:
                text.write("// Changed.\n")
            self.assertEqual(self.from_cache(ESTOC_DEVICE_DIR=str(device)), header in others, header)
        self.assertTrue(self.from_cache())

    def test_damage_heals(self):
        self.assertFalse(self.from_cache())
        good = self.entry().read_bytes()
        for damage in (b"", good[:-1], good[:100] + b"x" + good[101:], b"no library"):
            self.entry().write_bytes(damage)
            self.assertFalse(self.from_cache(), "what is damaged is built anew")
            self.assertEqual(self.entry().read_bytes(), good)
            self.assertTrue(self.from_cache())
        self.entry().unlink()
        self.assertFalse(self.from_cache())
        self.assertTrue(self.from_cache())

    def test_a_library_that_does_not_load_is_built_anew(self):
        # It needs another one, which goes away.
        other = self.path("other.so")
        subprocess.run(["c++", "-shared", "-o", other, "-x", "c++", "/dev/null"], check=True)
        compiler = self.folder / "compiler"
        compiler.write_text(f'#!/bin/sh\n[ -f {other} ] && set -- "$@" -Wl,--no-as-needed {other}\n'
                            'exec c++ "$@"\n')
        compiler.chmod(0o755)
        changed = {"ESTOC_HOST_COMPILER": str(compiler)}
        self.assertEqual([self.from_cache(**changed), self.from_cache(**changed)], [False, True])
        os.remove(other)
        self.assertEqual([self.from_cache(**changed), self.from_cache(**changed)], [False, True])

    def test_what_does_not_load_is_not_kept(self):
        compiler = self.folder / "compiler"
        compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && exec c++ "$@"\n'
                            'for out; do :; done; echo nothing > "$out"\n')
        compiler.chmod(0o755)
        changed = self.environment(ESTOC_HOST_COMPILER=str(compiler))
        result = self.estoc(*self.problem, env=changed)
        self.assertEqual((result.returncode, result.stdout), (FILE, ""))
        self.assertIn("cannot load", result.stderr)
        self.assertEqual(list(self.own.iterdir()), [])

    def test_without_a_cache(self):
        self.own.write_text("a file")
        for _ in range(2):
            self.assertFalse(self.from_cache(ESTOC_LOG="error"))
        self.own.unlink()
        self.own.mkdir(mode=0o777)
        self.own.chmod(0o777)
        for _ in range(2):
            self.assertFalse(self.from_cache(ESTOC_LOG="error"))
        self.assertEqual(list(self.own.iterdir()), [])

    def test_the_limit_holds(self):
        self.assertFalse(self.from_cache(ESTOC_CACHE_LIMIT="1K"))
        self.assertFalse(self.from_cache(ESTOC_CACHE_LIMIT="1K"))

    def test_clear_and_prune(self):
        self.assertFalse(self.from_cache())
        self.assertIn("1 kernel", self.ok("cache", "clear"))
        self.assertEqual(list(self.own.iterdir()), [])

    def test_nothing_is_left_in_the_temporary_folder(self):
        scratch = self.folder / "scratch"
        scratch.mkdir()
        self.assertFalse(self.from_cache(TMPDIR=str(scratch)))
        self.assertEqual(list(scratch.iterdir()), [])


class Trace(Emulator):
    def trace(self, kernel_class, problem, target, *arguments):
        kernel = ["--kernel", self.first_of(kernel_class, problem, target)]
        answer = self.emulate(problem, *kernel, "--trace", "t.json", *arguments, target=target)
        trace = json.loads((self.folder / "t.json").read_text())
        self.assertEqual(trace["otherData"]["kernel"], answer["kernel"])
        slices = collections.defaultdict(list)
        rows = {}
        for event in trace["traceEvents"]:
            if event["ph"] == "M" and event["name"] == "thread_name":
                rows[event["pid"], event["tid"]] = event["args"]["name"]
            elif event["ph"] == "X":
                self.assertGreater(event["dur"], 0)
                slices[rows[event["pid"], event["tid"]]].append(event)
            else:
                self.assertEqual(event["ph"], "M")
        return answer["emulator"]["instructions"], slices

    def test_of_sm90_gemm(self):
        counts, slices = self.trace("sm90_gemm", BF16, "sm_90a", "--multiprocessors", "1")
        self.assertEqual(len(slices["TMA loads"]), counts["tma_loads"])
        self.assertEqual(len(slices["TMA stores"]), counts["tma_stores"])
        products = [e for row in slices if row.startswith("wgmma of") for e in slices[row]]
        self.assertEqual(len(products), counts["wgmma"])
        for kind, file, events in (("tma_load", "sm90/load.cuh:", slices["TMA loads"]),
                                   ("wgmma", "sm90/math.cuh:", products)):
            self.assertEqual({event["cat"] for event in events}, {kind})
            self.assertTrue(all(file in e["args"]["source"] for e in events))
        def ends(events):
            return [event["ts"] + event["dur"] for event in events]

        self.assertLess(max(ends(slices["TMA loads"])), max(e["ts"] for e in products),
                        "what is multiplied has arrived")
        self.assertLess(max(ends(products)), max(e["ts"] for e in slices["TMA stores"]),
                        "what is stored has been waited for")
        waits = [e for row in slices for e in slices[row] if e["cat"] == "wait"]
        self.assertIn("mbarrier_wait", {event["name"] for event in waits})
        producer = [e for e in slices["warp 0"] if e["cat"] == "tma_load"]
        self.assertEqual(len(producer), counts["tma_loads"], "one warp issues all loads")

    def test_schedules_order_events(self):
        def loads(*order):
            _, slices = self.trace("sm90_gemm", BF16, "sm_90a", "--schedule", *order)
            return [(event["ts"], event["dur"]) for event in slices["TMA loads"]]

        self.assertEqual({duration for _, duration in loads("eager")}, {1}, "done when issued")
        self.assertGreater(min(duration for _, duration in loads("late")), 1)
        drawn = [loads("random", "--seed", seed) for seed in ("1", "2", "1")]
        self.assertNotEqual(drawn[0], drawn[1])
        self.assertEqual(drawn[0], drawn[2], "a seed repeats the order")

    def test_slices_of_a_row_do_not_overlap(self):
        _, slices = self.trace("sm90_gemm", BF16, "sm_90a")
        rows = collections.defaultdict(list)
        for events in slices.values():
            for event in events:
                rows[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
        for row in rows.values():
            row.sort()
            for before, after in zip(row, row[1:]):
                self.assertLessEqual(before[1], after[0])

    def test_of_sm80_gemm(self):
        _, slices = self.trace("sm80_gemm", BF16, "sm_80")
        self.assertTrue(slices["cp.async groups"])
        kinds = {event["cat"] for event in slices["warp 0"]}
        self.assertLessEqual({"cp_async", "mma", "stores"}, kinds)

    def test_of_simt(self):
        _, slices = self.trace("simt_gemm", "gemm m=40 n=40 k=40 a=f32", "sm_80")
        kinds = {event["cat"] for event in slices["warp 0"]}
        self.assertLessEqual({"loads", "stores"}, kinds)

    def test_the_picture_of_one(self):
        self.trace("sm90_gemm", BF16, "sm_90a")
        subprocess.run([sys.executable, TRACE_SVG, self.path("t.json"), self.path("t.svg")],
                       check=True)
        svg = xml.etree.ElementTree.parse(self.path("t.svg")).getroot()
        texts = {node.text for node in svg.iter("{http://www.w3.org/2000/svg}text")}
        self.assertLessEqual({"warp 0", "TMA loads", "TMA stores", "wgmma"}, texts)


def gdb_calls_functions():
    """Whether gdb can call a function of a process: old ones cannot where AMX has a state."""
    if shutil.which("gdb") is None:
        return False
    commands = ["set debuginfod enabled off", "break main", "run", "print (int) getpid()", "kill"]
    words = [word for command in commands for word in ("-ex", command)]
    answer = subprocess.run(["gdb", "-q", "-batch", *words, "--args", harness.EXECUTABLE, "--version"],
                            capture_output=True, text=True, timeout=60)  # fmt: skip
    return "$1 = " in answer.stdout


class Debugger(Emulator):
    def test_sources_are_where_a_debugger_looks(self):
        kernel = self.first_of("sm90_gemm", BF16, "sm_90a")
        answer = self.emulate(BF16, "--kernel", kernel, "-g", "sources")
        self.assertFalse(answer["emulator"]["from_cache"])
        sources = self.folder / "sources"
        text = self.estoc("compile", kernel, "--target", "sm_90a", "--emit", "cu", "--no-file")
        self.assertEqual(text.returncode, OK, text.stderr)
        emitted = next(self.folder.glob("*.cu")).read_text()
        self.assertEqual((sources / f"{kernel}.cu").read_text(), emitted)
        self.assertTrue((sources / "device/estoc/kernels/sm90_gemm.cuh").is_file())
        self.assertTrue((sources / "emulator/include/estoc/ptx/wgmma.cuh").is_file())

    @unittest.skipIf(harness.SANITIZED, "a leak check does not run under gdb")
    def test_gdb_steps_through_the_kernel_needs_gdb_that_calls_functions(self):
        if not gdb_calls_functions():
            self.skipTest("gdb is not installed, or too old for this processor: apt-get install gdb")
        kernel = self.first_of("sm90_gemm", BF16, "sm_90a")
        line = 1 + next(number for number, text in enumerate(SM90_LOAD.read_text().splitlines())
                        if "cp_async_bulk_tensor_load<3>" in text)
        commands = ["set breakpoint pending on", "set debuginfod enabled off",
                    "break estoc_kernel", "run", "condition 1 estoc::ptx::tid() == 128", "continue",
                    "print estoc::ptx::tid()", "delete", "tbreak estoc::sm90::produce",
                    "continue", f"tbreak sm90/load.cuh:{line}",
                    "continue", "info source", "print kBoxes", "next", "info line", "kill"]  # fmt: skip
        words = [word for command in commands for word in ("-ex", command)]
        result = subprocess.run(
            ["gdb", "-q", "-batch", *words, "--args", harness.EXECUTABLE, "run", BF16, "--device",
             "emulator", "--kernel", kernel, "-g", "sources"],
            cwd=self.folder, env=self.environment(), capture_output=True, text=True, timeout=240,
        )  # fmt: skip
        self.assertIn("$1 = 128", result.stdout, result.stderr)
        self.assertRegex(result.stdout, r"Located in .*/sources/device/estoc/sm90/load.cuh")
        self.assertIn("$2 = 1", result.stdout)
        self.assertRegex(result.stdout, r'Line \d+ of "device/estoc/sm90/load.cuh"')
