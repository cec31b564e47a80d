"""The command among others: signals, pipes, terminals, several processes on one output."""

import os
import pathlib
import pty
import re
import signal
import subprocess
import time

import harness
from harness import OK, CliTest
from tensor_files import read_npy

LARGE = "gemm m=8192 n=8192 k=2048 a=f32"
SAVING = "gemm m=8192 n=8192 k=1 a=f32"  # most of the time goes into the file


def read_terminal(master):
    """All that is written to the other end, until it closes."""
    data = b""
    while True:
        try:
            block = os.read(master, 4096)
        except OSError:
            return data
        if not block:
            return data
        data += block


def catches(pid, number):
    """Whether a process has a handler for the signal."""
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    caught = re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE)
    return caught is not None and bool(int(caught[1], 16) >> (number - 1) & 1)


def runs_command(shell):
    """Whether the command is a child of the process, and ready for Ctrl-C."""
    for child in pathlib.Path(f"/proc/{shell}/task/{shell}/children").read_text().split():
        name = pathlib.Path(f"/proc/{child}/comm").read_text().strip()
        if name == pathlib.Path(harness.EXECUTABLE).name and catches(child, signal.SIGINT):
            return True
    return False


class Interrupts(CliTest):
    def interrupt(self, number):
        process = self.start("run", LARGE, "--target", "cpu", "--out", "out.npy", "--threads", "1")
        while process.poll() is None and not catches(process.pid, number):
            time.sleep(0.01)
        process.send_signal(number)
        output, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, output), (-number, b""), error)
        self.assertEqual(error, b"error: cancelled\n")
        self.assertEqual(self.files(), [])

    def test_while_it_works(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            self.interrupt(number)

    def test_while_it_saves(self):
        """Catches the process with its temporary on the disk; nothing of it may stay."""
        caught = 0
        for _ in range(100):
            if caught == 3:
                break
            process = self.start("run", SAVING, "--target", "cpu", "--out", "out.npy")
            while process.poll() is None and not self.files():
                time.sleep(0.0005)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            if process.returncode == -signal.SIGINT:
                caught += 1
                self.assertEqual(self.files(), [])
            for name in self.files():
                self.assertEqual(name, "out.npy")
                os.remove(self.path(name))
        self.assertGreater(caught, 0, "no process was caught while it saved")


    def test_a_loop_of_the_shell_ends_too(self):
        """Bash goes on with the next turn where a program has dealt with Ctrl-C itself."""
        script = (
            f"for i in 1 2 3; do echo turn $i; {harness.EXECUTABLE} run '{LARGE}' --target cpu"
            " --threads 1; echo \"status $?\"; done"
        )
        shell = subprocess.Popen(
            ["bash", "-c", script],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        while not runs_command(shell.pid):
            time.sleep(0.01)
        os.killpg(shell.pid, signal.SIGINT)
        output, error = shell.communicate(timeout=60)
        self.assertEqual(shell.returncode, -signal.SIGINT, error)
        self.assertEqual((output, error), (b"turn 1\n", b"error: cancelled\n"))

    def test_a_shell_sees_the_signal(self):
        command = f"{harness.EXECUTABLE} run '{LARGE}' --target cpu --threads 1 & sleep 0.5;"
        command += " kill -TERM $!; wait $!; echo $?"
        shell = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60)
        self.assertIn(b"143\n", shell.stdout)

    def test_ignored_signals_stay_ignored(self):
        """As under nohup: the command goes on when the terminal hangs up."""
        process = self.start(
            "run", SAVING, "--target", "cpu",
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN),
        )
        time.sleep(0.1)
        process.send_signal(signal.SIGHUP)
        output, error = process.communicate(timeout=60)
        self.assertEqual((process.returncode, error), (OK, b""))
        self.assertIn(b"kernel", output)


class Pipes(CliTest):
    def test_reader_that_leaves(self):
        for arguments in (["list", "--limit", "0"], ["list", "--json"]):
            process = self.start(*arguments)
            process.stdout.read(10)
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(timeout=60), OK)
            process.stderr.close()

    def test_nothing_but_results(self):
        self.ok("run", "gemm m=512 n=512 k=512 a=f32", "--check", "--out", "x.npy")
        self.ok("bench", "gemm m=64 n=64 k=64 a=f32", "--rounds", "2")


class Terminals(CliTest):
    def on_terminal(self, *arguments, **environment):
        """(stdout and stderr on a terminal, exit status)"""
        variables = {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | environment
        master, slave = pty.openpty()
        process = self.start(*arguments, stdout=slave, stderr=slave, env=variables)
        os.close(slave)
        text = read_terminal(master).decode()
        os.close(master)
        return text, process.wait(timeout=60)

    def test_colour(self):
        text, status = self.on_terminal("devices")
        self.assertEqual(status, OK)
        self.assertIn("\x1b[1m", text)

    def test_no_color(self):
        for arguments, environment in [
            (["devices"], {"NO_COLOR": "1"}),
            (["devices"], {"NO_COLOR": "anything at all"}),
            (["devices", "--no-color"], {}),
            (["--no-color", "devices"], {}),
        ]:
            text, status = self.on_terminal(*arguments, **environment)
            self.assertEqual(status, OK)
            self.assertNotIn("\x1b", text)
        self.assertIn("\x1b", self.on_terminal("devices", NO_COLOR="")[0])

    def test_progress(self):
        text, status = self.on_terminal("run", "gemm m=64 n=64 k=64 a=f32", "--check")
        self.assertEqual(status, OK)
        self.assertIn("checking", text)
        visible = re.sub(r"[^\n]*\r\x1b\[K", "", text)  # what is overwritten is gone
        self.assertNotIn("checking", visible)

    def test_progress_counts_problems(self):
        text, status = self.on_terminal("bench", "gemm m={1,2,3} n=4 k=4 a=f32", "--rounds", "1")
        self.assertEqual(status, OK)
        self.assertIn("2 of 3: checking", text)
        self.assertNotIn("2 of 3", re.sub(r"[^\n]*\r\x1b\[K", "", text))


class SeveralProcesses(CliTest):
    def test_one_output(self):
        """Whoever is last wins; at no moment is the file a mixture or incomplete."""
        outputs = {}
        for seed in (1, 2):
            self.ok("run", "gemm m=300 n=300 k=8 a=f32", "--seed", seed, "--out", f"{seed}.npy")
            outputs[seed] = (self.folder / f"{seed}.npy").read_bytes()
            os.remove(self.path(f"{seed}.npy"))
        self.assertNotEqual(outputs[1], outputs[2])
        for _ in range(10):
            processes = [
                self.start("run", "gemm m=300 n=300 k=8 a=f32", "--seed", seed, "--out", "x.npy")
                for seed in (1, 2)
            ]
            while any(process.poll() is None for process in processes):
                if self.files().count("x.npy"):
                    self.assertIn((self.folder / "x.npy").read_bytes(), outputs.values())
            for process in processes:
                process.communicate()
                self.assertEqual(process.returncode, OK)
            self.assertEqual(self.files(), ["x.npy"])
            self.assertIn((self.folder / "x.npy").read_bytes(), outputs.values())
