"""What scripts/gpu_test.sh runs, and that nothing which goes wrong passes for a success; with
programs that only say that they were called, so that it needs no GPU."""

import json
import os
import pathlib
import subprocess
import tarfile
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts" / "gpu_test.sh"

ESTOC = """#!/bin/bash
case $1 in
  --version) echo "estoc 0.0.0" ;;
  devices) echo '{"devices": []}' ;;
  *) echo "estoc $*" ;;
esac
"""
GPU_TEST = """#!/bin/bash
echo "gpu_test $*"
exit "${STUB_STATUS:-0}"
"""
CONFORMANCE = """#!/bin/bash
echo "conformance $*"
"""
AGREEMENT = """#!/bin/bash
echo "agreement $*"
exit "${STUB_AGREEMENT:-0}"
"""
PYTHON = """#!/bin/bash
echo "python $*"
"""
SANITIZER = """#!/bin/bash
if [[ $2 == "${STUB_FINDS:-}" ]]; then echo "found something"; exit 99; fi
if [[ $2 == "${STUB_HANGS:-}" ]]; then sleep 60; fi
shift 6
exec "$@"
"""


class GpuScript(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="estoc_gpu_")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        pack = self.folder / "estoc_gpu_test"
        self.write(pack / "estoc", ESTOC)
        self.write(pack / "estoc_gpu_test", GPU_TEST)
        self.write(pack / "estoc_conformance_test", CONFORMANCE)
        self.write(pack / "estoc_agreement_test", AGREEMENT)
        self.write(pack / "agreement.json", "[]")
        self.write(pack / "gpu_test_python.sh", PYTHON)
        self.write(pack / "gpu_test.sh", SCRIPT.read_text())
        with tarfile.open(self.folder / "pack.tar.gz", "w:gz") as tar:
            tar.add(pack, "estoc_gpu_test")
        self.write(self.folder / "bin" / "compute-sanitizer", SANITIZER)
        self.out = self.folder / "out"

    def write(self, path, text):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)

    def run_pack(self, *options, sanitizer=True, **variables):
        path = os.environ["PATH"]
        if sanitizer:
            path = f"{self.folder / 'bin'}:{path}"
        return subprocess.run(
            [str(SCRIPT), "--run", "pack.tar.gz", "--out", "out", *options],
            cwd=self.folder,
            env=os.environ | {"PATH": path} | variables,
            capture_output=True,
            text=True,
            timeout=120,
        )

    def results(self):
        summary = json.loads((self.out / "summary.json").read_text())
        return summary["passed"], {step["name"]: step["result"] for step in summary["steps"]}

    def test_all_steps_of_a_pack(self):
        done = self.run_pack()
        self.assertEqual(done.returncode, 0, done.stderr)
        tools = ["memcheck", "racecheck", "initcheck", "synccheck"]
        passed, results = self.results()
        self.assertTrue(passed)
        self.assertEqual(list(results), ["gpu_test", "epilogues", "operations", "conformance", "agreement", "command", "python", *tools])
        self.assertEqual(set(results.values()), {"passed"})
        log = (self.out / "gpu_test.log").read_text()
        self.assertIn(f"conformance --report {self.out}/conformance.json", log)
        self.assertRegex(log, f"\nagreement --compare .*/agreement.json --report {self.out}/agreement.json")
        self.assertRegex(log, rf"\npython \S+/sources \S+/archives {self.out}\n")
        for tool in tools:
            self.assertIn(f"--tool {tool} --error-exitcode 99", log)
        self.assertEqual(log.count("\ngpu_test --no-features --provider cuda"), len(tools))

    def test_a_finding(self):
        done = self.run_pack("--only", "gpu_test,racecheck", STUB_FINDS="racecheck")
        self.assertEqual(done.returncode, 1)
        self.assertIn("found something", done.stdout)
        self.assertEqual(self.results(), (False, {"gpu_test": "passed", "racecheck": "failed"}))

    def test_a_failing_test(self):
        done = self.run_pack("--only", "gpu_test", STUB_STATUS="1")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.results(), (False, {"gpu_test": "failed"}))

    def test_a_card_that_disagrees(self):
        done = self.run_pack("--only", "agreement", STUB_AGREEMENT="1")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.results(), (False, {"agreement": "failed"}))

    def test_a_step_that_does_not_end(self):
        done = self.run_pack("--only", "synccheck", "--seconds", "1", STUB_HANGS="synccheck")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no end after ", done.stdout)

    def test_no_sanitizer(self):
        if any(pathlib.Path("/usr/local").glob("cuda*/**/compute-sanitizer")):
            self.skipTest("this machine has one")
        done = self.run_pack("--only", "memcheck", sanitizer=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(self.results(), (False, {"memcheck": "failed"}))

    def test_no_gpu(self):
        done = self.run_pack(STUB_STATUS="3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no GPU", done.stderr)

    def test_misuse(self):
        for options in (["--only", "nothing"], ["--seconds", "x"], ["--seed", "0"], ["--what"]):
            self.assertEqual(self.run_pack(*options).returncode, 2, options)
        (self.folder / "pack.tar.gz").unlink()
        self.assertEqual(self.run_pack().returncode, 1)


if __name__ == "__main__":
    unittest.main()
