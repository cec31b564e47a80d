"""Tests of what counts as changed, and of scripts/changed.sh."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import changed
import run_due

sys.path.append(str(changed.ROOT / "bench"))
import ranking_report  # noqa: E402


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

    def test_a_family_is_what_a_generation_or_kernel_has_for_itself(self):
        for name in (
            "device/estoc/sm90/load.cuh",
            "estoc/kernels/sm90_gemm.cuh",
            "device/estoc/abi/sm90_gemm.cuh",
            "src/providers/cuda/sm90_space.cpp",
        ):
            self.assertEqual(changed.family(name), "sm90")
        self.assertEqual(changed.family("estoc/kernels/prepare.cuh"), "prepare")


class Days(unittest.TestCase):
    SM80, SM90, SIMT = (f"estoc/kernels/{name}_gemm.cuh" for name in ("sm80", "sm90", "simt"))

    def days(self, *names):
        days = changed.changed_days(["", "README.md", *names])
        return [days.get(header) for header in (self.SM80, self.SM90, self.SIMT)]

    def test_what_is_no_device_code_reaches_none(self):
        self.assertEqual(changed.changed_days(["", "docs/ci.md", "src/io/npy.cpp", "LICENSE"]), {})

    def test_a_kernel_that_changed_is_due_every_day(self):
        self.assertEqual(self.days("device/estoc/kernels/sm90_gemm.cuh"), [None, 1, None])

    def test_a_familys_own_kernels_are_due_every_third_day(self):
        for name in ("device/estoc/sm90/load.cuh", "device/estoc/ptx/wgmma.cuh"):
            self.assertEqual(self.days(name), [None, 3, None])
        self.assertEqual(self.days("src/providers/cuda/sm80_space.cpp"), [3, None, None])

    def test_a_file_of_classes_reaches_the_kernels_of_those(self):
        grouped = "estoc/kernels/sm90_grouped_gemm.cuh"
        gathered = "estoc/kernels/sm90_gathered_gemm.cuh"
        for name in ("src/providers/cuda/sm90_grouped_gemm.cpp", "src/providers/cuda/sm90_grouped_gemm.h"):
            self.assertEqual(changed.changed_days([name]), {grouped: 3, gathered: 3})
        days = changed.changed_days(["src/providers/cuda/sm90_epilogue.cpp"])
        self.assertEqual([days[name] for name in (self.SM90, grouped)], [3, 3])
        self.assertEqual(days["estoc/kernels/sm100_gemm.cuh"], 6)
        self.assertEqual(self.days("src/providers/cuda/simt_gemm.h"), [None, None, 3])

    def test_files_of_classes_are_known_by_what_they_include(self):
        hosts = {
            "sm80_gemm.cpp": '#include "estoc/abi/sm80_grouped_gemm.cuh"\n',
            "sm80_gemm.h": '#include "providers/cuda/space.h"\n',
            "space.h": '#include "providers/cuda/text.h"\n',
            "text.cpp": "",
            "provider.cpp": '#include "providers/cuda/sm80_gemm.h"\n',
        }
        kernels = {"estoc/kernels/sm80_gemm.cuh", "estoc/kernels/sm80_grouped_gemm.cuh"}
        found = changed.kernels_by_host(hosts, kernels)
        self.assertEqual([found[name] for name in ("sm80_gemm", "space", "text")], [kernels] * 3)
        self.assertEqual(found["provider"], set())

    def test_costs_change_knobs_alone(self):
        self.assertEqual(self.days("src/providers/cuda/sm90_cost.cpp"), [None, 6, None])

    def test_where_many_families_changed_each_takes_turns(self):
        own = ["src/providers/cuda/sm80_space.cpp", "device/estoc/sm90/load.cuh"]
        self.assertEqual(self.days(*own), [3, 3, None])
        more = ["src/providers/cuda/simt_gemm.cpp", "src/providers/cuda/sm100_space.cpp"]
        self.assertEqual(self.days(*own, *more), [4, 4, 4])
        kernel = "device/estoc/kernels/sm90_gemm.cuh"
        self.assertEqual(self.days(*own, kernel), [3, 1, None])

    def test_kernels_that_a_shared_header_reaches_take_turns(self):
        self.assertEqual(self.days("device/estoc/ptx/types.cuh"), [6, 6, 6])
        self.assertEqual(self.days("device/estoc/epilogue/tile.cuh"), [None, 6, None])
        self.assertEqual(self.days("src/providers/cuda/tensor_map.cpp"), [6, 6, None])
        for name in ("emulator/src/machine.cpp", "src/providers/cuda/cuda_provider.cpp", "emulator/CMakeLists.txt"):
            self.assertEqual(self.days(name), [6, 6, 6])

    def test_files_of_tests_reach_no_kernel(self):
        for name in ("host/f64_test.cpp", "mutations/f64_faults.py", "mutations/planted.py", "test_changed.py"):
            self.assertEqual(changed.changed_days([f"tests/emulator/{name}"]), {})
        self.assertEqual(self.days("tests/emulator/host/emulated.h"), [6, 6, 6])

    def test_the_nearest_change_counts(self):
        own, shared = "device/estoc/sm90/load.cuh", "device/estoc/ptx/types.cuh"
        self.assertEqual(self.days(own, shared), [6, 3, 6])
        self.assertEqual(self.days(shared, own), [6, 3, 6])

    def test_each_has_its_turn(self):
        for days in (1, 3, 6, 12):
            for number in range(30):
                turns = [changed.is_due(number, days, day) for day in range(738000, 738000 + days)]
                self.assertEqual(sum(turns), 1)


class RunDue(unittest.TestCase):
    def turns(self, names):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(f"{folder}/turns.txt")
            run_due.write_turns(names, "tests/compile/", path)
            first, *others = path.read_text().splitlines()
            return first, others

    def test_all_where_it_is_not_known(self):
        self.assertEqual(self.turns(None), ("1 0", []))

    def test_a_change_of_the_program_is_as_one_of_shared_code(self):
        self.assertEqual(self.turns(["README.md", "tests/compile/judge.cpp"]), (f"6 {changed.today()}", []))

    def test_a_file_of_tests_that_changed_is_named(self):
        name = "tests/compile/some_test.cpp"
        self.assertEqual(self.turns([name]), (f"12 {changed.today()}", [f"{name} 1"]))
        both = [name, "tests/compile/judge.cpp"]
        self.assertEqual(self.turns(both), (f"6 {changed.today()}", [f"{name} 1"]))

    def test_turns_by_header(self):
        first, others = self.turns(["device/estoc/sm90/load.cuh"])
        self.assertEqual(first, f"12 {changed.today()}")
        self.assertIn(f"{Days.SM90} 3", others)
        self.assertEqual(self.turns(["README.md"]), (first, []))


class Fits(unittest.TestCase):
    def due(self, names):
        days = range(738000, 738000 + changed.REST * changed.SHARED)
        return sum(ranking_report.fits_are_due(names, day) for day in days) / len(days)

    def test_every_day_where_they_or_what_they_are_made_of_changed(self):
        self.assertEqual(self.due(None), 1)
        self.assertEqual(self.due(["src/cost/residual.cpp", "README.md"]), 1)
        self.assertEqual(self.due(["bench/results/ranking/new.jsonl.gz"]), 1)

    def test_in_turn_where_not(self):
        self.assertEqual(self.due(["src/model/overlap.cpp"]), 1 / changed.SHARED)
        self.assertEqual(self.due(["docs/ci.md"]), 1 / changed.REST)


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
