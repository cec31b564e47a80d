"""Tests of what counts as changed, and of scripts/changed.sh."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "compile"))

import changed  # noqa: E402
import run_part  # noqa: E402


class Headers(unittest.TestCase):
    def test_a_header_reaches_all_that_include_it(self):
        texts = {
            "estoc/a.cuh": "",
            "estoc/b.cuh": "#include <estoc/a.cuh>\n",
            "estoc/c.cuh": "#include <estoc/b.cuh>\n",
            "estoc/d.cuh": '#include "estoc/e.cuh"\n',
        }
        self.assertEqual(
            changed.grown({"estoc/a.cuh"}, texts), {"estoc/a.cuh", "estoc/b.cuh", "estoc/c.cuh"}
        )
        self.assertEqual(changed.grown({"estoc/e.cuh"}, texts), {"estoc/d.cuh", "estoc/e.cuh"})
        self.assertEqual(changed.grown(set(), texts), set())

    def test_the_headers_of_the_device_code(self):
        self.assertEqual(changed.headers_of(["docs/ci.md", "src/io/npy.cpp"]), set())
        everywhere = changed.headers_of(["device/estoc/ptx/types.cuh"])
        self.assertIn("estoc/kernels/simt_gemm.cuh", everywhere)
        self.assertIn("estoc/kernels/sm90_gemm.cuh", everywhere)
        alone = changed.headers_of(["device/estoc/kernels/simt_gemm.cuh"])
        self.assertIn("estoc/kernels/simt_gemm.cuh", alone)
        self.assertNotIn("estoc/kernels/sm90_gemm.cuh", alone)

    def test_what_may_reach_every_kernel(self):
        for name in ("emulator/src/machine.cpp", "src/providers/cuda/sm90_gemm.cpp"):
            self.assertIsNone(changed.headers_of(["README.md", name]))


class CompiledKernels(unittest.TestCase):
    def test_all_where_a_change_reaches_them(self):
        for name in ("device/estoc/numeric.cuh", "src/jit/nvrtc.cpp", "tests/compile/judge.cpp"):
            self.assertTrue(run_part.reaches_kernels(["README.md", name]))
        self.assertFalse(run_part.reaches_kernels(["README.md", "src/io/npy.cpp"]))

    def test_a_third_otherwise(self):
        self.assertEqual(
            run_part.part_of(["test", "--count", "50", "--epilogues"]),
            ["test", "--count", "17", "--epilogues"],
        )
        self.assertEqual(run_part.part_of(["test", "--bad"]), ["test", "--bad"])


class ChangedFiles(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "scripts").mkdir()
        shutil.copy(changed.ROOT / "scripts/changed.sh", self.folder / "scripts")
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments):
        author = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *author, *arguments], cwd=self.folder, check=True)

    def commit(self, name):
        (self.folder / name).write_text(name)
        self.git("add", ".")
        self.git("commit", "-q", "-m", name)

    def changed(self, *arguments):
        command = [self.folder / "scripts/changed.sh", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.stdout.split() if done.returncode == 0 else None

    def test_it_is_not_known_without_history(self):
        self.assertIsNone(self.changed())
        self.commit("a")
        self.assertIsNone(self.changed())
        self.assertIsNone(self.changed("no-such-commit"))

    def test_since_the_branch_left_upstream(self):
        self.commit("a")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.commit("b")
        self.git("rm", "-q", "a")
        (self.folder / "c").write_text("new")
        self.assertEqual(self.changed(), ["a", "b", "c"])

    def test_the_last_commits_where_it_has_not(self):
        for i in range(22):
            self.commit(f"f{i:02}")
        self.git("update-ref", "refs/remotes/origin/main", "HEAD")
        self.assertEqual(self.changed(), [f"f{i:02}" for i in range(2, 22)])
        self.assertEqual(self.changed("HEAD~1"), ["f21"])


if __name__ == "__main__":
    unittest.main()
