"""Commands devices, list, find, explain, completion, help: what they print, and where."""

import json
import os
import re
import shutil
import subprocess

import harness
from harness import NOT_FOUND, OK, USAGE, CliTest

GEMM = "gemm m=33 n=17 k=64 a=bf16:t b=bf16:n"


class Help(CliTest):
    def test_version(self):
        self.assertRegex(self.ok("--version"), r"^estoc \d+\.\d+\.\d+\n$")

    def test_help_names_every_command_and_exit_status(self):
        text = self.ok("--help")
        for word in ["devices", "list", "find", "explain", "run", "bench", "completion", "help"]:
            self.assertIn(word, text)
        for status in range(7):
            self.assertIn(f"{status} ", text[text.index("Exit status") :])

    def test_every_command_has_examples(self):
        for command in ["devices", "list", "find", "explain", "run", "bench", "completion", "help"]:
            text = self.ok(command, "--help")
            self.assertIn("Examples:", text)
            self.assertIn(f"estoc {command}", text[text.index("Examples:") :])

    def test_help_is_a_command(self):
        self.assertEqual(self.ok(), self.ok("--help"))
        self.assertEqual(self.ok("help"), self.ok("--help"))
        self.assertEqual(self.ok("help", "find"), self.ok("find", "--help"))
        self.fails(USAGE, "help", "fnid", says=["fnid"], hint=["find"])

    def test_usage_errors(self):
        self.fails(USAGE, "--no-color", says=["a command is required"], hint=["estoc --help"])
        self.fails(USAGE, "cache", says=["a command is required"])
        self.fails(USAGE, "fnid", says=["fnid"], hint=["find"])
        self.fails(USAGE, "list", "--nonsense", says=["--nonsense"], hint=["estoc list --help"])
        self.fails(USAGE, "list", "--targt", "cpu", says=["--targt"], hint=["--target"])
        self.fails(USAGE, "find", "gemm", "m=8", "n=8", says=["m=8 n=8"], hint=["in quotes"])
        self.fails(USAGE, "find", says=["problem"], hint=["estoc find --help"])
        self.fails(USAGE, "run", GEMM, "--repeat", "0", says=["--repeat"])
        self.fails(USAGE, "run", GEMM, "--seed", "x", says=["--seed"])
        self.fails(USAGE, "list", "--limit", "-1", says=["--limit"])


class Log(CliTest):
    def estoc_in(self, **environment):
        """Asks what the cache holds, with an environment that the log has to say something of."""
        return self.estoc("cache", "list", env={**os.environ, **environment})

    def test_warnings_are_shown(self):
        result = self.estoc_in(ESTOC_CACHE_DIR=self.path("c"), ESTOC_CACHE_LIMIT="abc")
        self.assertEqual(result.returncode, OK)
        self.assertRegex(result.stderr, "^warning: ESTOC_CACHE_LIMIT: expected a size .*'abc'")

    def test_level(self):
        quiet = {"ESTOC_CACHE_DIR": self.path("c"), "ESTOC_CACHE_LIMIT": "abc"}
        self.assertEqual(self.estoc_in(**quiet, ESTOC_LOG="error").stderr, "")
        result = self.estoc("--log", "error", "cache", "list", env={**os.environ, **quiet})
        self.assertEqual(result.stderr, "")
        self.fails(USAGE, "list", "--count", "--log", "loud", says=["--log", "loud"])
        result = self.estoc_in(ESTOC_LOG="loud")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("loud", result.stderr)


class Targets(CliTest):
    def test_default(self):
        def count(*arguments, target):
            environment = {**os.environ, "ESTOC_TARGET": target}
            return self.estoc("list", "--count", *arguments, env=environment)

        on_cpu = self.ok("list", "--count", "--target", "cpu")
        self.assertEqual(count(target="cpu").stdout, on_cpu)
        self.assertEqual(count("--target", "cpu", target="sm_90a").stdout, on_cpu)
        self.assertEqual(count(target="").stdout, self.ok("list", "--count"))
        result = count(target="sm90")
        self.assertEqual(result.returncode, USAGE)
        self.assertIn("'sm90'", result.stderr)

    def test_suggestions_are_what_gpus_are(self):
        for name in ("sm90", "SM_90A", "sm-90a"):
            self.fails(USAGE, "list", "--target", name, says=[name], hint=["did you mean sm_90a?"])

    def test_a_provider_of_gpus_without_a_gpu(self):
        if len(self.json("devices")["devices"]) > 1:
            self.skipTest("there is a GPU")
        self.fails(NOT_FOUND, "find", GEMM, "--provider", "cuda", hint=["--target sm_90a"])


class Documents(CliTest):
    """What docs/kernels_and_filters.md shows is there."""

    def blocks(self, kind):
        text = (harness.ROOT / "docs" / "kernels_and_filters.md").read_text()
        found = re.findall(rf"^```text {kind}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        return [line for block in found for line in block.splitlines()]

    def test_names(self):
        for name in self.blocks("name"):
            self.assertEqual(self.ok("list", "--count", "--filter", f"name={name}"), "1\n")

    def test_filters(self):
        for terms in self.blocks("filter"):
            self.assertGreater(int(self.ok("list", "--count", "--filter", terms)), 0, terms)


class Devices(CliTest):
    def test_text(self):
        text = self.ok("devices")
        self.assertIn("cpu", text)
        self.assertIn("sm_90a", text)

    def test_json(self):
        answer = self.json("devices")
        host = answer["devices"][0]
        self.assertEqual(host["target"], "cpu")
        self.assertGreaterEqual(host["cores"], 1)
        self.assertGreater(host["memory_bytes"], 2**28)
        self.assertEqual(answer["targets"][0], "cpu")
        self.assertIn("sm_80", answer["targets"])
        self.assertIn("cpu", answer["providers"])

    def test_environment(self):
        environment = {**os.environ, "ESTOC_CACHE_LIMIT": "7M"}
        result = self.estoc("devices", "--environment", env=environment)
        self.assertRegex(result.stdout, r"(?m)^ESTOC_CACHE_LIMIT +7M +size")
        result = self.estoc("devices", "--environment", "--json", env=environment)
        values = {each["name"]: each["value"] for each in json.loads(result.stdout)}
        self.assertEqual(values["ESTOC_CACHE_LIMIT"], "7M")
        self.assertIn("ESTOC_LOG", values)


class List(CliTest):
    FEW = ("--filter", "a=f64")  # all of them are 100 MB of JSON

    def count(self, *arguments):
        return int(self.ok("list", "--count", *arguments))

    def test_count_is_what_json_lists(self):
        kernels = self.json("list", *self.FEW)
        self.assertEqual(self.count(*self.FEW), len(kernels))
        self.assertEqual(self.json("list", "--count", *self.FEW), {"count": len(kernels)})
        lines = self.ok("list", *self.FEW, "--limit", "0").splitlines()[1:]
        self.assertEqual([kernel["name"] for kernel in kernels], [line.split()[0] for line in lines])

    def test_names_differ(self):
        names = [line.split()[0] for line in self.ok("list", "--limit", "0").splitlines()[1:]]
        self.assertEqual(len(set(names)), len(names))

    def test_json_describes_a_kernel(self):
        kernel = self.json("list", "--filter", "operation=gemm a=f32 b=f32", "--limit", "1")[0]
        self.assertEqual(kernel["operation"], "gemm")
        self.assertEqual(kernel["operands"]["a"]["dtype"], "f32")
        self.assertEqual(
            list(kernel),
            "name class provider operation min_cc targets operands design epilogue".split(),
        )

    def test_filters(self):
        operations = ("gemm", "elementwise", "grouped_gemm")
        counts = [self.count("--filter", f"operation={operation}") for operation in operations]
        self.assertGreater(min(counts), 0)
        self.assertEqual(sum(counts), self.count())
        on_cpu = self.count("--target", "cpu")
        self.assertEqual(self.count("--provider", "cpu", "--target", "cpu"), on_cpu)
        for kernel in self.json("list", "--filter", "a=i8 out=i32"):
            self.assertEqual(kernel["operands"]["a"]["dtype"], "i8")
            self.assertEqual(kernel["operands"]["out"]["dtype"], "i32")

    def test_target_keeps_hosts_and_devices_apart(self):
        for kernel in self.json("list", "--target", "cpu"):
            self.assertIn("cpu", kernel["targets"])
        for kernel in self.json("list", "--target", "sm_90a", *self.FEW):
            self.assertNotIn("cpu", kernel["targets"])

    def test_table_is_aligned_and_limited(self):
        total = self.count()
        lines = self.ok("list", "--limit", "3").splitlines()
        self.assertEqual(len(lines), 1 + 3 + (total > 3))
        column = lines[0].index("class")
        for line in lines[1:4]:
            self.assertEqual(line[column - 1], " ")
            self.assertNotEqual(line[column], " ")
        if total > 3:
            self.assertEqual(lines[-1], f"... and {total - 3} more (--limit 0 prints all)")
        self.assertEqual(len(self.ok("list", "--limit", "0").splitlines()), 1 + total)

    def test_nothing_passes(self):
        self.fails(NOT_FOUND, "list", "--filter", "name=nothing*", says=["no kernel"])
        result = self.estoc("list", "--filter", "name=nothing*", "--json")
        self.assertEqual((result.returncode, json.loads(result.stdout)), (NOT_FOUND, []))
        self.assertEqual(self.ok("list", "--filter", "name=nothing*", "--count"), "0\n")


class Find(CliTest):
    def test_json_is_ranked(self):
        kernels = self.json("find", GEMM)
        self.assertGreaterEqual(len(kernels), 1)
        self.assertEqual([kernel["rank"] for kernel in kernels], list(range(1, len(kernels) + 1)))
        for kernel in kernels:
            self.assertEqual(kernel["operands"]["a"]["dtype"], "bf16")
        known = [k["predicted_seconds"] for k in kernels if k["predicted_seconds"] is not None]
        self.assertEqual(known, sorted(known))

    def test_table_and_top(self):
        lines = self.ok("find", GEMM, "--top", "1").splitlines()
        self.assertEqual(lines[0].split(), ["rank", "name", "provider", "predicted"])
        self.assertIn(self.json("find", GEMM)[0]["name"], lines[1])
        self.assertEqual(len(self.json("find", GEMM, "--top", "1")), 1)

    def test_nothing_found(self):
        problem = "gemm m=8 n=8 k=8 a=e8m0 b=e8m0 acc=f32 out=f32"
        result = self.estoc("find", problem, "--target", "cpu", "--json")
        answer = (result.returncode, result.stdout, result.stderr)
        self.assertEqual(answer, (NOT_FOUND, "[]\n", ""))
        self.fails(
            NOT_FOUND,
            *["find", problem, "--target", "cpu"],
            says=["no kernel", "cpu"],
            hint=["estoc explain"],
        )

    def test_a_query_for_a_gpu_never_returns_a_host_kernel(self):
        result = self.estoc("find", GEMM, "--target", "sm_90a", "--json")
        for kernel in json.loads(result.stdout):
            self.assertNotIn("cpu", kernel["targets"])

    def test_a_target_whose_variant_is_faster(self):
        large = "gemm m=4096 n=4096 k=4096 a=bf16:t b=bf16:n"
        noted = [("sm_90", True), ("sm_90a", False), ("sm_100", True), ("sm_120", False)]
        for target, is_noted in noted:
            result = self.estoc("find", large, "--target", target, "--top", "1")
            self.assertEqual(result.returncode, OK, result.stderr)
            note = rf"\Anote: {target}a has faster kernels, .* \d+ us\n\Z"
            expected = note if is_noted else r"\A\Z"
            self.assertRegex(result.stderr, expected)

    def test_filter_and_provider(self):
        name = self.json("find", GEMM)[0]["name"]
        self.assertEqual(self.json("find", GEMM, "--filter", f"name={name}")[0]["name"], name)
        self.assertEqual(self.json("find", GEMM, "--target", "cpu")[0]["provider"], "cpu")

    def test_extents_from_files(self):
        kernels = self.json(
            "find",
            "gemm b=bf16:n",
            "--a",
            harness.DATA / "digits_images.npy",
            "--b",
            str(harness.DATA / "digits_classifier.safetensors") + ":fc1.weight",
        )
        self.assertEqual(kernels[0]["operands"]["a"]["dtype"], "f16")
        self.assertEqual(kernels[0]["operands"]["b"]["dtype"], "bf16")


class Explain(CliTest):
    def test_every_class_answers(self):
        answers = self.json("explain", GEMM)
        classes = {line.split()[1] for line in self.ok("list", "--limit", "0").splitlines()[1:]}
        # A class that depends on the machine's libraries is explained, but not listed.
        self.assertLessEqual(classes, {answer["class"] for answer in answers})
        for answer in answers:
            self.assertEqual(answer["applies"], answer["supported"] > 0)
            self.assertEqual(answer["applies"], answer["reason"] == "")
            self.assertEqual(answer["applies"], answer["first"] is not None)
            self.assertLessEqual(answer["supported"], answer["described"])
        self.assertTrue(any(answer["applies"] for answer in answers))
        self.assertFalse(all(answer["applies"] for answer in answers))

    def test_reason_names_operand_expected_and_got(self):
        answers = self.json("explain", "gemm m=8 n=8 k=8 a=e8m0 b=f32 acc=f32 out=f32")
        reasons = " ".join(answer["reason"] for answer in answers)
        self.assertRegex(reasons, r"A.*dtype.*expected .*got e8m0")

    def test_text(self):
        text = self.ok("explain", GEMM, "--target", "cpu")
        self.assertIn("gemm m=33 n=17 k=64", text)
        self.assertRegex(text, r"(?m)cpu_gemm +cpu +yes +[\d.]+ [mun]?s +- +\d+ of \d+$")

    def test_all_cuda_targets_are_one_reason(self):
        text = self.ok("explain", GEMM, "--target", "cpu", "--provider", "cuda")
        self.assertRegex(text, r"simt_gemm .* expected one of sm_80 and later .*, got cpu\n")
        self.assertRegex(text, r"sm90_gemm .* target: expected one of sm_90a, got cpu\n")

    def test_one_kernel(self):
        name = self.json("find", GEMM)[0]["name"]
        answer = self.json("explain", GEMM, "--kernel", name)
        self.assertTrue(answer["applies"])
        answer = self.json("explain", "gemm m=8 n=8 k=8 a=f64", "--kernel", name)
        self.assertFalse(answer["applies"])
        self.assertIn("f64", answer["reason"])
        self.assertIn("no: ", self.ok("explain", "gemm m=8 n=8 k=8 a=f64", "--kernel", name))

    def test_page(self):
        problem = "gemm m=512 n=512 k=512 a=bf16:t b=bf16:n"
        self.ok("explain", problem, "--target", "sm_90a", "--html", "p.html")
        page = harness.Page(self.folder / "p.html")
        self.assertIn("gemm m=512 n=512 k=512", page.text)
        self.assertIn("For sm_90a, ", page.text)
        parts, kernels, refused = page.tables
        answers = {one["class"]: one for one in self.json("explain", problem, "--target", "sm_90a")}
        applying = {name for name, one in answers.items() if one["applies"]}
        self.assertEqual({row[0] for row in refused[1:]}, answers.keys() - applying)
        for row in refused[1:]:
            self.assertEqual(row[3], answers[row[0]]["reason"])
        self.assertLessEqual({row[0] for row in parts[1:]}, applying)
        found = self.json("find", problem, "--target", "sm_90a")
        self.assertEqual([row[1] for row in kernels[1:]][:3], [one["name"] for one in found][:3])
        texts = [one.text for one in page.root.iter("{http://www.w3.org/2000/svg}text")]
        self.assertIn(found[0]["name"].split("-")[0], texts)

    def test_what_would_fit(self):
        problem = "gemm m=8 n=8 k=8 a=f16 b=f32 acc=i32 out=f32"
        text = self.ok("explain", problem, "--target", "cpu")
        changes = re.search(r"(?m)^fits +(.*)$", text).group(1).split(", or ")
        self.assertTrue(2 <= len(changes) <= 5, changes)
        for change in changes:
            words = dict(word.split("=") for word in problem.split()[1:])
            words |= dict(word.split("=") for word in change.split())
            changed = "gemm " + " ".join(f"{key}={value}" for key, value in words.items())
            self.assertTrue(self.json("find", changed, "--target", "cpu"), change)
            self.assertNotIn("\nfits ", self.ok("explain", changed, "--target", "cpu"))

    def test_page_of_nothing(self):
        self.ok("explain", GEMM, "--target", "cpu", "--provider", "cuda", "--html", "p.html")
        self.assertIn("0 kernels", harness.Page(self.folder / "p.html").text)
        self.fails(harness.FILE, "explain", GEMM, "--html", "nowhere/p.html", says=["nowhere/p.html"],
                   hint=["--html"])  # fmt: skip


class ManualPage(CliTest):
    def test_every_command_and_option(self):
        page = self.ok("help", "--man")
        plain = page.replace("\\-", "-")
        sections = re.findall(r"(?m)^\.SS estoc (\w+)$", plain)
        self.assertIn("tune", sections)
        for command in sections:
            for option in re.findall(r"(?m)^  (?:-\w,)?(--[a-z-]+)", self.ok("help", command)):
                if option != "--help":
                    section = plain.split(f"\n.SS estoc {command}\n")[1].split("\n.SS ")[0]
                    self.assertIn(option, section)
        if shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-Tascii"], input=page, capture_output=True,
                                  text=True, check=True)  # fmt: skip
            self.assertEqual(done.stderr, "")
            self.assertIn("estoc tune", done.stdout)
        self.fails(USAGE, "help", "tune", "--man", says=["--man"])


class Completion(CliTest):
    def complete(self, *words):
        """What bash offers for the last word."""
        script = (
            'source <("$0" completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _estoc; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        result = subprocess.run(
            ["bash", "-c", script, harness.EXECUTABLE, "estoc", *words],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_commands(self):
        self.assertEqual(self.complete("fi"), ["find"])
        self.assertIn("explain", self.complete(""))

    def test_options_of_a_command(self):
        self.assertEqual(self.complete("run", "gemm", "--ch"), ["--check"])
        self.assertEqual(self.complete("list", "--co"), ["--count"])
        self.assertEqual(self.complete("completion", "ba"), ["bash"])

    def test_values(self):
        self.assertIn("sm_90a", self.complete("find", "--target", "sm_9"))
        self.assertEqual(self.complete("list", "--filter", "lay"), ["layouts="])

        (self.folder / "table.csv").touch()
        for option in ("--out", "--csv", "--aux"):
            self.assertEqual(self.complete("bench", option, self.path("ta")), [self.path("table.csv")])

    def test_zsh(self):
        script = self.ok("completion", "zsh")
        self.assertIn("bashcompinit", script)
        self.assertIn("complete -F _estoc estoc", script)

    def test_fish(self):
        lines = self.ok("completion", "fish").splitlines()
        within = "complete -c estoc -n '__fish_seen_subcommand_from "
        self.assertIn("complete -c estoc -n __fish_use_subcommand -f -a find -d ", "\n".join(lines))
        self.assertIn(f"{within}completion' -f -a fish -d 'the script for fish'", lines)
        (target,) = [line for line in lines if line.startswith(f"{within}find' -l target ")]
        self.assertRegex(target, r" -x -a 'cpu .*\bsm_90a\b")
        (json_flag,) = [line for line in lines if line.startswith(f"{within}find' -l json ")]
        self.assertTrue(json_flag.endswith("'print JSON'"), json_flag)
        for line in lines:  # of fish's escapes in quotes there are two
            self.assertEqual(re.sub(r"\\['\\]", "", line).count("'") % 2, 0, line)

    def test_shell_is_required(self):
        self.fails(USAGE, "completion", hint=["estoc completion --help"])


class Colour(CliTest):
    def test_none_in_a_pipe(self):
        for arguments in (["list", "--limit", "2"], ["devices"], ["explain", GEMM]):
            self.assertNotIn("\x1b", self.ok(*arguments))
