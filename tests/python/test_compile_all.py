"""Compiling many kernels at once: results in order, progress, errors, Ctrl-C, threads."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import estoc


class Slow(estoc.CudaKernelClass):
    """Kernels whose code takes a while to make; what they fail with is asked for."""

    count = 6
    seconds = 0.0
    wrong = ()

    def configurations(self):
        for number in range(self.count):
            yield {"a": "f32", "number": number}

    def code(self, config, target):
        time.sleep(self.seconds)
        if config["number"] in self.wrong:
            raise ZeroDivisionError(config["number"])
        return estoc.CudaCode(image=b"\x7fELF" + bytes([config["number"]]) * 100)

    def plan(self, config, args, workspace, launch):
        launch.kernel(1, 1)


@pytest.fixture
def slow():
    made = []

    def register(**changes):
        made.append(estoc.register(type("Slow", (Slow,), changes)))
        return list(estoc.get_kernels(providers="python"))

    yield register
    for kernel_class in made:
        estoc.unregister(kernel_class)


def test_results_are_in_order(slow):
    kernels = slow()
    told = []
    done = estoc.compile_all(
        kernels, target="sm_90a", progress=lambda *numbers: told.append(numbers)
    )
    assert [one.kernel for one in done] == kernels
    assert [one.compiled_obj[4] for one in done] == list(range(6))
    assert {one.target for one in done} == {"sm_90a"}
    assert told[-1] == (6, 6)
    assert told == sorted(told)
    assert estoc.compile_all([]) == []


def test_kernels_of_the_host_and_of_python(gemm):
    a, b, out, wanted = gemm()
    args = estoc.GemmArguments(a, b, out)

    class Own(estoc.Kernel):
        def compile(self, args, cc=None):
            return estoc.CompiledArtifact(np.matmul, self)

    any_f32 = estoc.TensorAttributes("f32", None)
    operands = estoc.GemmOperandsMetadata(any_f32, any_f32, any_f32, "f32")
    own = Own(estoc.KernelMetadata("own", Own, 0, operands))
    kernels = [own, *estoc.get_kernels(args), estoc.kernel_by_name("cpu_gemm-f64-f64-f64-f64")]
    done = estoc.compile_all(kernels, args)
    assert done[0].compiled_obj is np.matmul
    assert [one.kernel for one in done] == kernels
    kernels[1].run(args, done[1])
    np.testing.assert_array_equal(out, wanted)
    with pytest.raises(ValueError, match="args: expected arguments to compile own for, got none"):
        estoc.compile_all(kernels)


def test_errors(slow):
    kernels = slow(wrong=(2, 4))
    with pytest.raises(estoc.CompileError, match=r"ZeroDivisionError: 2 \(2 of 6 kernels failed\)"):
        estoc.compile_all(kernels, target="sm_90a")
    kept = estoc.compile_all(kernels, target="sm_90a", errors="keep")
    assert [isinstance(one, estoc.CompileError) for one in kept] == [
        False,
        False,
        True,
        False,
        True,
        False,
    ]
    for wrong, message in (
        ({"target": None}, "target: expected one of sm_80"),
        ({"target": "sm_91"}, "target: expected"),
        ({"errors": "ignore"}, "errors: expected 'raise' or 'keep', got 'ignore'"),
    ):
        if wrong.get("target", "") is None and estoc.cuda_devices():
            continue
        with pytest.raises(ValueError, match=message):
            estoc.compile_all(kernels, **wrong)
    for error in estoc.compile_all(kernels, target="cpu", errors="keep"):
        assert isinstance(error, estoc.UnsupportedError)
    with pytest.raises(TypeError):
        estoc.compile_all([3], target="cpu")


def test_cancelling(slow):
    kernels = slow(count=40, seconds=0.01)
    told = []

    def stop(done, total):
        told.append(done)
        return False

    with pytest.raises(estoc.CancelledError):
        estoc.compile_all(kernels, target="sm_90a", progress=stop, threads=2)
    assert 1 <= len(told) <= 3
    with pytest.raises(ZeroDivisionError):
        estoc.compile_all(kernels, target="sm_90a", progress=lambda *_: 1 // 0)
    assert len(estoc.compile_all(kernels, target="sm_90a")) == 40


def test_bar(slow, capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    kernels = slow()
    estoc.compile_all(kernels, target="sm_90a")
    assert capsys.readouterr().err == ""
    estoc.compile_all(kernels, target="sm_90a", progress=True)
    shown = capsys.readouterr().err
    assert "compiling" in shown
    assert "6/6" in shown


def test_python_runs_meanwhile(slow):
    kernels = slow(count=16, seconds=0.02)
    steps = 0
    done = threading.Event()

    def work():
        estoc.compile_all(kernels, target="sm_90a", threads=16)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        steps += 1
    thread.join()
    assert steps > 1000


def test_sixteen_threads(slow):
    kernels = slow(count=16)
    results, failed = {}, []

    def work(number):
        try:
            results[number] = [
                one.compiled_obj for one in estoc.compile_all(kernels, target="sm_90a", threads=2)
            ]
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(results) == 16
    assert all(result == results[0] for result in results.values())


# A shell has what it runs in the background ignore Ctrl-C, and so would these programs.
HEARS_CTRL_C = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
"""

INTERRUPTED = HEARS_CTRL_C + """
import itertools, sys, time
import estoc

class Slow(estoc.CudaKernelClass):
    calls = itertools.count()
    def configurations(self):
        for number in range(1000):
            yield {"a": "f32", "number": number % 200, "other": number // 200}
    def code(self, config, target):
        time.sleep(0.02)
        if next(Slow.calls) == 10:
            print("ready", flush=True)
        return estoc.CudaCode(image=b"code")
    def plan(self, config, args, workspace, launch):
        launch.kernel(1, 1)

estoc.register(Slow)
kernels = list(estoc.get_kernels(providers="python"))
try:
    estoc.compile_all(kernels, target="sm_90a", threads=2)
except KeyboardInterrupt:
    print("interrupted", "early" if next(Slow.calls) < 900 else "late")
artifacts = estoc.compile_all(kernels[:20], target="sm_90a")
print(len(artifacts), {one.compiled_obj for one in artifacts})
"""


def ended(program, seconds):
    try:
        return program.communicate(timeout=seconds)
    finally:
        program.kill()


def test_ctrl_c():
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert program.stdout.readline() == "ready\n"
    program.send_signal(signal.SIGINT)
    out, err = ended(program, 60)
    assert (out, err, program.returncode) == ("interrupted early\n20 {b'code'}\n", "", 0)


REAL = HEARS_CTRL_C + """
import os, sys
import estoc

shapes = [(256, 256)] * 3
args = estoc.GemmArguments(*(estoc.Tensor.describe("f32", s, device="cuda") for s in shapes))
kernels = [k for target in ("sm_80", "sm_90a")
           for k in estoc.get_kernels(args, "class=simt_gemm", target=target)]
done = 0
try:
    print("ready", flush=True)
    for round in range(1000):
        estoc.compile_all(kernels, target="sm_80", use_caches=False)
        kernels[0].compile(args, target="sm_80", use_caches=False)
        done += 1
except KeyboardInterrupt:
    print("interrupted")
artifact = kernels[0].compile(args, target="sm_80")
print(artifact.compiled_obj[:4])
"""


def test_ctrl_c_needs_nvrtc(nvrtc, tmp_path):
    program = subprocess.Popen(
        [sys.executable, "-c", REAL],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"ESTOC_CACHE_DIR": str(tmp_path)},
    )
    assert program.stdout.readline() == "ready\n"
    time.sleep(1.0)
    program.send_signal(signal.SIGINT)
    out, err = ended(program, 120)
    assert (out, program.returncode) == ("interrupted\nb'\\x7fELF'\n", 0), err
    assert not list(tmp_path.rglob("*.tmp*"))


NO_THREADS = """
import resource
import estoc

kernels = estoc.get_kernels(target="cpu", metadata_filter="operation=gemm")[:3]
with open("/proc/self/statm", encoding="ascii") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (4 << 20), resource.RLIM_INFINITY))  # half a stack
print(len(estoc.compile_all(kernels, threads=1)))
"""


def test_without_another_thread():
    done = subprocess.run(
        [sys.executable, "-c", NO_THREADS], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")
