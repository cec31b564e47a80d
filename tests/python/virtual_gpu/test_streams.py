"""On which stream a launch goes, what it awaits there, and whose workspace it uses."""

import pathlib
import subprocess
import sys

import numpy as np
import pytest
from device_arrays import DeviceArray

import estoc

SOURCE = """
extern "C" __global__ void product(const float* a, const float* b, float* out, float* room, int m,
                                   int n, int k) {
  for (int i = threadIdx.x; i < m * n; i += blockDim.x) {
    room[i] = 0;
    for (int l = 0; l < k; ++l) room[i] += a[i / n * k + l] * b[l * n + i % n];
    out[i] = room[i];
  }
}
"""


class WithWorkspace(estoc.CudaKernelClass):
    """Predicts that it is the fastest of all."""

    launched = 0

    def configurations(self):
        yield {"a": "f32", "layouts": "ttt"}

    def code(self, config, target):
        return estoc.CudaCode(SOURCE, entries="product")

    def predict(self, config, args, target):
        return 1e-9

    def workspace_size(self, config, args):
        return 4 * args.out.shape[0] * args.out.shape[1]

    def plan(self, config, args, workspace, launch):
        type(self).launched += 1
        m, n, k, _ = (np.int32(one) for one in args.extents)
        launch.kernel(1, 32, args.A, args.B, args.out, workspace, m, n, k)


@pytest.fixture
def own_class():
    estoc.register(WithWorkspace)
    yield WithWorkspace
    estoc.unregister(WithWorkspace)


def empty(out):
    out.put(np.full(out.shape, 77, "f4"))


def test_a_kernel_bound_with_workspace_stays_on_its_stream(product, driver, own_class):
    a, b, out, wanted = product(dtype="f4")
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.kernel_by_name("with_workspace-f32-ttt")
    first, second = driver.stream(), driver.stream()
    for workspace in (None, DeviceArray(driver, np.zeros(1 << 16, "u1"))):
        bound = kernel.bind(args, stream=first, workspace=workspace)
        empty(out)
        bound(stream=first)
        np.testing.assert_array_equal(out.get(), wanted)
        for other in (second, None):
            with pytest.raises(ValueError, match=f"stream: expected {first}, .*: bind once for each"):
                bound(stream=other)
        kernel.bind(args, stream=second, workspace=workspace).launch(second)
    plain = estoc.get_kernels(args, "class=simt_gemm")[0]
    assert plain.get_workspace_size(args) == 0
    bound = plain.bind(args, stream=first)
    for stream in (first, second, None):
        empty(out)
        bound(stream=stream)
        np.testing.assert_array_equal(out.get(), wanted)


def test_plans_use_classes_of_ones_own_while_they_are_registered(product):
    a, b, out, wanted = product(dtype="f4")

    def used(call):
        before = WithWorkspace.launched
        empty(out)
        call()
        np.testing.assert_array_equal(out.get(), wanted)
        return WithWorkspace.launched - before

    calls = [lambda: estoc.matmul(a, b, out), lambda: estoc.plan(a, b, out)()]
    assert [used(call) for call in calls + calls] == [0, 0, 0, 0]
    for _ in range(2):
        estoc.register(WithWorkspace)
        try:
            assert [used(call) for call in calls + calls] == [1, 1, 1, 1]
        finally:
            estoc.unregister(WithWorkspace)
        assert [used(call) for call in calls + calls] == [0, 0, 0, 0]


def test_classes_of_ones_own_are_asked_each_time(product, monkeypatch, own_class):
    args = estoc.GemmArguments(*product(dtype="f4")[:3])
    answer = estoc.Status.success()
    monkeypatch.setattr(
        WithWorkspace, "supports", lambda self, *_: answer, raising=True
    )
    estoc.unregister(WithWorkspace)
    estoc.register(WithWorkspace)
    assert estoc.get_kernels(args)[0].name == "with_workspace-f32-ttt"
    answer = estoc.Status.fail("not now")
    assert estoc.get_kernels(args)[0].name != "with_workspace-f32-ttt"


@pytest.mark.parametrize("waits", [0, 1])
@pytest.mark.parametrize("option", ["default", "True", "False"])
def test_launches_begin_early_where_the_class_waits(waits, option):
    # A process of its own: the context of a launch that fails stays broken.
    program = pathlib.Path(__file__).with_name("early_program.py")
    run = subprocess.run(
        [sys.executable, program, str(waits), option], capture_output=True, text=True, check=True
    )
    expected = "griddepcontrol.wait" if waits and option != "False" else "right"
    assert expected in run.stdout


def test_early_launches(product, driver):
    a, b, out, wanted = product()
    args = estoc.GemmArguments(a, b, out)
    stream = driver.stream()
    for kernel in estoc.get_kernels(args, providers="cuda")[:3]:
        for options in ({}, {"programmatic": False}):
            plan = estoc.plan(a, b, out, **options)
            bound = kernel.bind(args, stream=stream, **options)
            calls = [lambda: bound(stream=stream), lambda: plan(stream=stream), lambda: plan(a, b, out)]
            for call in calls * 2:
                empty(out)
                call()
                np.testing.assert_array_equal(out.get(), wanted)


def on_stream(array, stream):
    """The same array, which says that the work on it is on that stream."""
    array.__cuda_array_interface__ = array.__cuda_array_interface__ | {"stream": stream}
    return array


class StreamOf(estoc.Kernel):
    """Keeps the stream that it was told to run on."""

    def compile(self, args, cc=None):
        return estoc.CompiledArtifact(None, self)

    def _run(self, args, artifact, stream, workspace=None):
        self.stream = stream


def test_the_stream_that_out_names_is_the_one_to_launch_on(product, driver):
    kernel = StreamOf(estoc.KernelMetadata(kernel_name="stream_of", kernel_class=StreamOf))
    stream, other = driver.stream(), driver.stream()
    a, b, out, _ = product()
    for named, given, used in [
        (None, None, 0),
        (1, None, 0),
        (stream, None, stream),
        (stream, other, other),
    ]:
        args = estoc.GemmArguments(on_stream(a, other), b, on_stream(out, named))
        kernel.run(args, stream=given, assume_supported_args=True)
        assert kernel.stream == used


@pytest.mark.parametrize("operand", ["A", "B", "out", "bias"])
def test_streams_that_arrays_name_are_awaited(product, driver, operand):
    """A launch that awaits a stream under capture is captured, too: it happens with the graph."""
    a, b, out, wanted = product()
    bias = DeviceArray(driver, np.zeros(out.shape[1], "f4"))
    stream, launched_on = driver.stream(), driver.stream()
    on_stream({"A": a, "B": b, "out": out, "bias": bias}[operand], stream)
    epilogue = estoc.EpilogueArguments("D = accum + bias", bias=bias)
    args = estoc.GemmArguments(a, b, out, epilogue=epilogue)
    kernel = estoc.get_kernels(args, providers="cuda")[0]
    artifact = kernel.compile(args)
    plan = estoc.plan(a, b, out, epilogue=epilogue)
    bound = kernel.bind(args, artifact, stream=launched_on)
    calls = [
        lambda: kernel.run(args, artifact, stream=launched_on),
        lambda: bound.launch(launched_on),
        lambda: plan(a, b, out, stream=launched_on),
        lambda: plan(stream=launched_on),
        lambda: estoc.matmul(a, b, out, epilogue=epilogue, stream=launched_on),
    ]
    for call in calls * 2:
        call()  # what is loaded once is loaded before the capture
        empty(out)
        driver.begin_capture(stream)
        call()
        launch = driver.end_capture(stream)
        assert (out.get() == 77).all(), "the launch was not ordered after the stream"
        launch()
        np.testing.assert_array_equal(out.get(), wanted)


def test_a_captured_launch_awaits_nothing_outside_the_graph(product, driver):
    a, b, out, wanted = product()
    stream, captured = driver.stream(), driver.stream()
    args = estoc.GemmArguments(on_stream(a, stream), b, out)
    kernel = estoc.get_kernels(args, providers="cuda")[0]
    kernel.run(args)
    empty(out)
    driver.begin_capture(captured)
    kernel.run(args, stream=captured)
    launch = driver.end_capture(captured)
    assert (out.get() == 77).all()
    launch()
    np.testing.assert_array_equal(out.get(), wanted)
