"""The cache of compiled kernels and the files of `estoc compile` under faults: processes that race
or are killed, disks that are full or read-only, folders of others, libraries that are not there."""

import json
import os
import random
import shutil
import signal
import subprocess
import time
import unittest

import harness
from harness import EXECUTION, FILE, NOT_FOUND, OK, CliTest

PROBLEM = "gemm m=5 n=7 k=6 a=f32"
# Different kernels, so that processes meet on some and not on others.
TEXTS = [f"gemm m=64 n=64 k=64 a={a}:t b={b}:{layout}"
         for a, b in (("f32", "f32"), ("bf16", "bf16"), ("f16", "f16")) for layout in "tn"]


def can_mount():
    """Whether this user may mount a file system of its own."""
    command = ["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /mnt"]
    try:
        return subprocess.run(command, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


CAN_MOUNT = can_mount()


class Faults(CliTest):
    def setUp(self):
        super().setUp()
        self.cache = self.folder / "cache"
        self.environment = {**os.environ, "ESTOC_CACHE_DIR": str(self.cache)}

    def needs_nvrtc(self):
        libraries = {each["name"]: each for each in self.json("devices")["libraries"]}
        if libraries["NVRTC"]["problem"]:
            self.skipTest("this machine has no NVRTC")

    def run_with(self, *arguments, **environment):
        return self.estoc(*arguments, env={**self.environment, **environment})

    def compile(self, text, name, target="sm_80", **environment):
        return self.run_with("compile", text, "--target", target, "-o", name, **environment)

    def start_compile(self, text, name):
        return self.start("compile", text, "--target", "sm_80", "-o", name, env=self.environment)

    def bytes_of(self, name):
        return (self.folder / name).read_bytes()

    def references(self):
        """What each text compiles to in a cache of its own."""
        found = {}
        for number, text in enumerate(TEXTS):
            name = f"reference{number}"
            result = self.compile(text, name, ESTOC_CACHE_DIR=self.path("other"))
            self.assertEqual(result.returncode, OK, result.stderr)
            found[text] = self.bytes_of(name)
        return found

    def expect_clean_cache(self):
        """Pairs of files that belong together, the record of the compiler, and nothing else."""
        names = {path.name for path in self.cache.iterdir()} - {"compiler.record"}
        entries = json.loads(self.run_with("cache", "list", "--json").stdout)
        wanted = {entry["key"] + suffix for entry in entries for suffix in (".json", ".cubin")}
        self.assertEqual(names, wanted)
        self.assertTrue(all(entry["intact"] for entry in entries))

    def within(self, folder, options, script):
        """Runs a shell script where a tmpfs is mounted on the folder; $ESTOC is the command."""
        if not CAN_MOUNT:
            self.skipTest("this user cannot mount a tmpfs")
        folder.mkdir(exist_ok=True)
        mount = f"mount -t tmpfs -o {options} none '{folder}'"
        return subprocess.run(
            ["unshare", "--mount", "sh", "-c", f"{mount}\n{script}"], cwd=self.folder,
            env={**self.environment, "ESTOC": harness.EXECUTABLE}, capture_output=True, text=True,
            timeout=240, check=False)


class Processes(Faults):
    def race(self, count):
        self.needs_nvrtc()
        references = self.references()
        texts = [TEXTS[i % len(TEXTS)] for i in range(count)]
        started = [self.start_compile(text, f"out{i}") for i, text in enumerate(texts)]
        for i, (text, process) in enumerate(zip(texts, started)):
            _, stderr = process.communicate(timeout=240)
            self.assertEqual((process.returncode, stderr), (OK, b""))
            self.assertEqual(self.bytes_of(f"out{i}"), references[text])
        self.expect_clean_cache()

    def test_two_processes_that_race__needs_nvrtc(self):
        for _ in range(3):
            shutil.rmtree(self.cache, ignore_errors=True)
            self.race(2)

    def test_thirty_two_processes_that_race__needs_nvrtc(self):
        self.race(32)

    def test_killed_processes_leave_nothing_wrong__needs_nvrtc(self):
        self.needs_nvrtc()
        references = self.references()
        chance = random.Random(3)
        self.cache.mkdir(mode=0o700)
        for round_number in range(8):
            started = [self.start_compile(text, f"killed{i}") for i, text in enumerate(TEXTS)]
            time.sleep(chance.uniform(0.02, 0.9))
            for process in started:
                process.send_signal(signal.SIGKILL)
                process.communicate()
            for i, text in enumerate(TEXTS):
                if f"killed{i}" in self.files():
                    self.assertEqual(self.bytes_of(f"killed{i}"), references[text])
            if round_number % 3 == 0:
                # What a process leaves that dies between its two renames, which is seldom hit.
                (self.cache / ("0" * 32 + "-nvrtc-13.0.cubin")).write_bytes(b"half an entry")
                (self.cache / ".estoc-1-2-3.tmp").write_bytes(b"less")
                self.assertEqual(self.run_with("cache", "verify").returncode, OK)
                self.expect_clean_cache()
        for i, text in enumerate(TEXTS):
            self.assertEqual(self.compile(text, f"after{i}").returncode, OK)
            self.assertEqual(self.bytes_of(f"after{i}"), references[text])
        self.run_with("cache", "verify")
        self.expect_clean_cache()
        self.assertEqual(len(list(self.cache.glob("*.cubin"))), len(set(references.values())))


class Disks(Faults):
    def test_a_full_disk_for_the_cache_is_no_error__needs_nvrtc(self):
        self.needs_nvrtc()
        result = self.within(self.cache, "size=12k,mode=0700", f"""
            "$ESTOC" compile '{TEXTS[0]}' --target sm_80 -o first || exit 1
            "$ESTOC" compile '{TEXTS[0]}' --target sm_80 -o second || exit 1
            ls -A '{self.cache}' | grep -v compiler.record; exit 0""")
        self.assertEqual(result.returncode, OK)
        self.assertRegex(result.stderr, r"\A(warning: kernel cache: cannot write .*\n)+\Z")
        self.assertEqual(self.bytes_of("first"), self.bytes_of("second"))
        self.assertNotIn(".cubin", result.stdout, "half an entry")
        self.assertNotIn(".tmp", result.stdout)

    def test_a_full_disk_for_the_file_is_an_error_and_leaves_nothing__needs_nvrtc(self):
        self.needs_nvrtc()
        full = self.folder / "full"
        result = self.within(full, "size=4k", f"""
            "$ESTOC" compile '{TEXTS[0]}' --target sm_80 -o full/k.estoc
            echo "status $?"
            ls -A full""")
        self.assertEqual(result.stdout, f"status {FILE}\n")
        self.assertRegex(result.stderr, r"^error: cannot write '.*full/k\.estoc': No space left")

    def test_a_full_disk_keeps_the_old_file(self):
        full = self.folder / "full"
        result = self.within(full, "size=4k", f"""
            printf old > full/k.estoc
            "$ESTOC" compile '{PROBLEM}' --target cpu -o full/k.estoc
            echo "status $?"
            ls -A full; cat full/k.estoc""")
        self.assertEqual(result.stdout, f"status {FILE}\nk.estoc\nold")

    def test_a_read_only_cache_is_no_error__needs_nvrtc(self):
        self.needs_nvrtc()
        self.assertEqual(self.compile(TEXTS[0], "filled").returncode, OK)
        result = self.within(self.folder / "unused", "size=4k", f"""
            mount --bind '{self.cache}' '{self.cache}' && mount -o remount,bind,ro '{self.cache}'
            touch '{self.cache}/x' 2>/dev/null && exit 9
            "$ESTOC" compile '{TEXTS[0]}' --target sm_80 -o cached || exit 1
            "$ESTOC" compile '{TEXTS[1]}' --target sm_80 -o compiled || exit 1
            "$ESTOC" cache list && "$ESTOC" cache verify && "$ESTOC" cache clear""")
        self.assertEqual(result.returncode, OK)
        self.assertRegex(result.stderr, r"\A(warning: kernel cache: cannot write .*\n)+\Z")
        self.assertEqual(self.bytes_of("filled"), self.bytes_of("cached"))
        self.assertIn("0 kernels removed", result.stdout)
        self.assertEqual(len(list(self.cache.glob("*.cubin"))), 1)

    def test_a_cache_that_others_can_write_to_is_not_used__needs_nvrtc(self):
        self.needs_nvrtc()
        self.assertEqual(self.compile(TEXTS[0], "first").returncode, OK)
        entry = next(self.cache.glob("*.cubin"))
        self.cache.chmod(0o777)
        before = entry.stat().st_mtime_ns
        self.assertEqual(self.compile(TEXTS[0], "second").returncode, OK)
        self.assertEqual(self.compile(TEXTS[1], "third").returncode, OK)
        self.assertEqual(len(list(self.cache.glob("*.cubin"))), 1)
        self.assertEqual(entry.stat().st_mtime_ns, before)
        self.assertEqual(json.loads(self.run_with("cache", "list", "--json").stdout), [])
        self.assertEqual(self.bytes_of("first"), self.bytes_of("second"))


class Libraries(Faults):
    def test_a_setting_that_names_no_library_is_a_sentence(self):
        for path in (self.path("none.so"), __file__):
            result = self.compile(TEXTS[0], "k", ESTOC_NVRTC=path)
            self.assertEqual((result.returncode, result.stdout), (NOT_FOUND, ""), result.stderr)
            self.assertIn("ESTOC_NVRTC", result.stderr.splitlines()[0])
            self.assertIn(path, result.stderr.splitlines()[0])
            self.assertNotIn("k", self.files())
            listed = self.run_with("devices", "--json", ESTOC_NVRTC=path, ESTOC_CUBLASLT=path)
            libraries = {each["name"]: each for each in json.loads(listed.stdout)["libraries"]}
            self.assertIn("ESTOC_NVRTC", libraries["NVRTC"]["problem"])
            self.assertIn("ESTOC_CUBLASLT", libraries["cuBLASLt"]["problem"])

    def test_without_nvrtc_a_cached_or_saved_kernel_still_loads__needs_nvrtc(self):
        self.needs_nvrtc()
        name = json.loads(self.run_with("find", TEXTS[0], "--target", "sm_80", "--top", "1",
                                        "--json").stdout)[0]["name"]
        self.assertEqual(self.compile(name, "first").returncode, OK)
        absent = {"ESTOC_NVRTC": self.path("none.so")}
        self.assertEqual(self.compile(name, "second", **absent).returncode, OK)
        self.assertEqual(self.bytes_of("first"), self.bytes_of("second"))
        other = self.compile(TEXTS[1], "third", **absent)
        self.assertEqual(other.returncode, NOT_FOUND)
        # It gets as far as the machine allows: without a GPU to the driver, not to NVRTC.
        run = self.run_with("run", TEXTS[0], "--artifact", "first", "--target", "sm_80", **absent)
        self.assertIn(run.returncode, (OK, NOT_FOUND, EXECUTION))
        self.assertNotIn("NVRTC", run.stderr)

    def test_the_vendors_kernels_can_be_left_out(self):
        on = self.run_with("explain", TEXTS[0], "--target", "sm_90a").stdout
        self.assertIn("cublaslt", on)
        off = self.run_with("explain", TEXTS[0], "--target", "sm_90a", ESTOC_CUBLASLT="off").stdout
        self.assertNotIn("cublaslt", off)
        self.assertIn("simt_gemm", off)
        devices = self.run_with("devices", ESTOC_CUBLASLT="off").stdout
        self.assertIn("switched off", devices)


class OtherMachines(Faults):
    def test_a_file_for_another_architecture__needs_nvrtc(self):
        self.needs_nvrtc()
        result = self.compile(TEXTS[0], "k.estoc", target="sm_80")
        self.assertEqual(result.returncode, OK, result.stderr)
        run = self.run_with("run", PROBLEM, "--artifact", "k.estoc", "--target", "cpu")
        self.assertEqual((run.returncode, run.stdout), (NOT_FOUND, ""))
        self.assertIn("none of the 1 artifacts is for cpu", run.stderr)

    def test_a_file_of_another_schema(self):
        self.assertEqual(self.compile(PROBLEM, "k.estoc", target="cpu").returncode, OK)
        whole = self.bytes_of("k.estoc")
        (self.folder / "k.estoc").write_bytes(whole[:8] + b"\x7f" + whole[9:])
        run = self.run_with("run", PROBLEM, "--artifact", "k.estoc", "--target", "cpu")
        self.assertEqual((run.returncode, run.stdout), (FILE, ""))
        self.assertIn("expected schema 2, got 127", run.stderr)


if __name__ == "__main__":
    unittest.main()
