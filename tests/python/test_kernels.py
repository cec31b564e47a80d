"""Discovery, compilation and launch of the library's kernels."""

import copy
import pickle
import threading

import ml_dtypes
import numpy as np
import pytest

import estoc

SM90_GEMM = "a=f16 acc=f32 out=f32 class=sm90_gemm layouts=ttt tile=128x128x64"


@pytest.fixture
def described():
    """Arguments without data on a CUDA device."""

    def make(dtype="f16", m=256, n=256, k=256, out="f32"):
        return estoc.GemmArguments(
            estoc.Tensor.describe(dtype, (m, k), device="cuda"),
            estoc.Tensor.describe(dtype, (k, n), device="cuda"),
            estoc.Tensor.describe(out, (m, n), device="cuda"),
        )

    return make


@pytest.mark.parametrize("batches", [None, 3])
@pytest.mark.parametrize(
    ("dtype", "out"),
    [("f4", "f4"), ("f8", "f8"), ("i1", "i4"), ("f2", "f2"), (ml_dtypes.bfloat16, "f4")],
)
def test_run(gemm, dtype, out, batches):
    a, b, result, wanted = gemm(batches=batches, dtype=dtype, out=out)
    args = estoc.GemmArguments(a, b, result)
    kernels = estoc.get_kernels(args)
    assert kernels
    for kernel in kernels:
        result[...] = 77
        assert kernel.supports(args)
        kernel.run(args)
        np.testing.assert_array_equal(result, wanted)


def test_any_strides(gemm):
    a, b, out, wanted = gemm(batches=2)
    spread = np.zeros((2, 24, 32), "f4")
    spread[:, ::2, ::2] = a
    args = estoc.GemmArguments(spread[:, ::2, ::2], np.asfortranarray(b), out.transpose(0, 2, 1).copy().transpose(0, 2, 1))
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(args.out.tensor, wanted)


def test_artifact_workspace_bind(gemm):
    a, b, out, wanted = gemm()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    artifact = kernel.compile(args)
    assert isinstance(artifact, estoc.artifact.CompiledArtifact)
    assert (artifact.kernel, artifact.target, artifact.compiled_obj) == (kernel, "cpu", None)
    size = kernel.get_workspace_size(args)
    room = np.empty(size + 256, np.int8)
    workspace = room[-room.ctypes.data % 256 :][:size]
    for call in (
        lambda: kernel.run(args, artifact),
        lambda: kernel.run(args, compiled_artifact=artifact, assume_supported_args=True),
        lambda: kernel.run(args, artifact, stream=0, workspace=workspace, threads=1),
        kernel.bind(args),
        kernel.bind(args, artifact, workspace=workspace).launch,
    ):
        out[...] = 77
        call()
        np.testing.assert_array_equal(out, wanted)


def test_wrong_ways_to_run(gemm, described):
    a, b, out, _ = gemm()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    double = estoc.kernel_by_name("cpu_gemm-f64-f64-f64-f64")
    with pytest.raises(estoc.UnsupportedError, match=r"A\.dtype: expected f64, got f32"):
        double.run(args)
    with pytest.raises(estoc.UnsupportedError, match=r"A\.dtype: expected f64, got f32"):
        double.compile(args)
    with pytest.raises(estoc.UnsupportedError, match=r"A\.dtype: expected f64, got f32"):
        double.bind(args)
    with pytest.raises(ValueError, match="artifact: expected one of kernel"):
        kernel.run(args, double.compile(estoc.GemmArguments(*(x.astype("f8") for x in (a, b, out)))))
    with pytest.raises(TypeError, match="compiled_artifact: expected an estoc.CompiledArtifact"):
        kernel.run(args, "artifact")
    with pytest.raises(ValueError, match="compiled_artifact: expected one of a kernel of the library"):
        kernel.run(args, estoc.CompiledArtifact(None, kernel))
    with pytest.raises(TypeError, match="stream: expected a stream of torch"):
        kernel.run(args, stream="stream")
    with pytest.raises(TypeError, match="workspace: expected a tensor"):
        kernel.run(args, workspace=3)
    with pytest.raises(TypeError):
        kernel.run(None)
    nothing = estoc.GemmArguments(
        estoc.Tensor.describe("f32", (4, 4)), estoc.Tensor.describe("f32", (4, 4)),
        estoc.Tensor.describe("f32", (4, 4)))
    with pytest.raises(ValueError, match="A: expected a tensor with data, got a description"):
        kernel.run(nothing)
    assert kernel.supports(nothing)


def test_unsupported_says_why(gemm):
    a, b, out, _ = gemm()
    kernel = estoc.get_kernels(estoc.GemmArguments(a, b, out))[0]
    status = kernel.supports(estoc.GemmArguments(a.astype("f8"), b, out, "f32"))
    assert not status
    assert status.error == "A.dtype: expected f32, got f64"


def test_everything_without_arguments():
    kernels = estoc.get_kernels()
    assert len(kernels) > 100_000
    assert kernels[0].metadata.kernel_name != kernels[-1].metadata.kernel_name
    with pytest.raises(IndexError):
        kernels[len(kernels)]
    assert [one.name for one in kernels[2:5]] == [kernels[i].name for i in (2, 3, 4)]
    host = estoc.get_kernels(target="cpu")
    assert 0 < len(host) < len(kernels)
    assert {one.metadata.targets for one in host} == {("cpu",)}


def test_filters():
    asked = []

    def accept(metadata):
        asked.append(metadata)
        return metadata.kernel_name.endswith("add-f32-f32-f32")

    found = estoc.get_kernels(None, accept, providers=["cpu"])
    assert [one.name for one in found] == ["cpu_elementwise-add-f32-f32-f32"]
    assert len(asked) == len(estoc.get_kernels(providers=["cpu"]))
    assert {type(one) for one in asked} == {estoc.KernelMetadata}
    by_text = estoc.get_kernels(metadata_filter=SM90_GEMM)
    assert len(by_text)
    for kernel in by_text:
        metadata = kernel.metadata
        assert (metadata.operands.A.dtype, metadata.operands.out.layout) == ("f16", "t")
        assert metadata.design.tile_shape == (128, 128, 64)
        assert isinstance(metadata.design, estoc.BLASDesignMetadata)
        assert metadata.min_cc == 90
        assert metadata.targets == ("sm_90a",)
    with pytest.raises(ValueError, match="column"):
        estoc.get_kernels(metadata_filter="a=bf17")
    with pytest.raises(TypeError, match="metadata_filter: expected a function, text or None"):
        estoc.get_kernels(metadata_filter=3)


def test_what_a_filter_raises_reaches_the_caller(gemm):
    a, b, out, _ = gemm()
    args = estoc.GemmArguments(a, b, out)
    for given in (args, None):
        with pytest.raises(ZeroDivisionError):
            estoc.get_kernels(given, metadata_filter=lambda _: 1 // 0)


def test_targets(gemm, described):
    args = described()
    by_cc = estoc.get_kernels(args, cc=90)
    by_name = estoc.get_kernels(args, target="sm_90a")
    assert [one.name for one in by_cc] == [one.name for one in by_name]
    assert len(by_cc) > 10
    assert by_cc[0].predicted_seconds <= by_cc[1].predicted_seconds
    older = estoc.get_kernels(args, cc=80)
    assert older
    assert all("sm_80" in one.metadata.targets for one in older)
    for wrong in ({"cc": 91}, {"target": "sm_91"}, {"cc": 90, "target": "cpu"}, {"cc": 0}):
        with pytest.raises(ValueError, match="cc|target"):
            estoc.get_kernels(args, **wrong)
    with pytest.raises(estoc.NotFoundError, match="nobody"):
        estoc.get_kernels(args, cc=90, providers=["nobody"])


def test_kernel_type_and_metadata(described):
    kernel = estoc.get_kernels(described(), cc=90, providers="cuda")[0]
    metadata = kernel.metadata
    assert metadata is kernel.metadata
    assert issubclass(metadata.kernel_class, estoc.Kernel)
    assert type(kernel) is metadata.kernel_class
    again = metadata.kernel_class(metadata)
    assert again.metadata.kernel_name == metadata.kernel_name
    assert again.metadata == metadata
    assert again.supports(described(), cc=90)
    assert metadata.kernel_class.__name__.startswith("Sm")
    assert metadata.class_name == metadata.kernel_name.split("-")[0]
    assert metadata.provider == "cuda"
    assert metadata.epilogue is None
    assert {metadata: 1}[again.metadata] == 1


def test_names():
    name = "cpu_gemm-f32-f32-f32-f32"
    kernel = estoc.kernel_by_name(name)
    assert (kernel.name, repr(kernel)) == (name, f"<Kernel {name}>")
    assert kernel == estoc.kernel_by_name(name)
    assert hash(kernel) == hash(estoc.kernel_by_name(name))
    assert kernel != estoc.kernel_by_name("cpu_gemm-f64-f64-f64-f64")
    assert kernel != name
    with pytest.raises(estoc.NotFoundError, match=name):
        estoc.kernel_by_name("cpu_gemm-f32-f32-f32-f33")


def test_pickling():
    kernel = estoc.kernel_by_name("cpu_gemm-f32-f32-f32-f32")
    for make in (lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy):
        assert make(kernel) == kernel
        assert make(kernel.metadata) == kernel.metadata


def test_explain(gemm):
    a, b, out, _ = gemm()
    lines = {line["kernel_class"]: line for line in estoc.explain(estoc.GemmArguments(a, b, out))}
    assert lines["cpu_gemm"]["status"]
    assert lines["cpu_gemm"]["supported"] == 1
    assert "target: expected" in lines["sm90_gemm"]["status"].error


def test_lists(gemm):
    a, b, out, _ = gemm()
    kernels = estoc.get_kernels(estoc.GemmArguments(a, b, out))
    assert kernels[0] is kernels[0]
    assert kernels[-1] == list(kernels)[-1]
    assert kernels[0] in kernels
    assert kernels.failures == []
    assert "cpu_gemm" in repr(kernels)
    assert "cpu_gemm" in kernels._repr_html_()
    nothing = estoc.get_kernels(estoc.GemmArguments(a, b, out), metadata_filter="name=none*")
    assert not nothing
    assert repr(nothing) == "<KernelList: no kernels>"
    with pytest.raises(IndexError):
        nothing[0]


def test_manifest(gemm):
    a, b, out, _ = gemm()
    args = estoc.GemmArguments(a, b, out)
    manifest = estoc.Manifest(providers=["cpu"], metadata_filter="operation=gemm")
    assert len(manifest.get_kernels(args)) == 1
    assert manifest.get_kernels(args, lambda metadata: False) == []
    assert len(manifest) == len(list(manifest)) == len(manifest.get_kernels())
    before = len(manifest)
    manifest.add(manifest[0])
    assert len(manifest) == before
    assert manifest[-1].name in repr(list(manifest))
    assert repr(manifest) == f"<Manifest of {before} kernels>"


def test_many_threads(gemm):
    problems = [gemm(m=m, n=24, k=32) for m in range(8, 24)]
    failed = []

    def work(a, b, out, wanted):
        try:
            for _ in range(50):
                out[...] = 77
                args = estoc.GemmArguments(a, b, out)
                estoc.get_kernels(args)[0].run(args, threads=1)
                np.testing.assert_array_equal(out, wanted)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=problem) for problem in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_the_lock_is_released_while_a_kernel_runs(gemm):
    a, b, out, _ = gemm(m=600, n=600, k=600, dtype="f8", out="f8")
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    steps = 0
    done = threading.Event()

    def work():
        for _ in range(5):
            kernel.run(args, threads=1)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    while not done.is_set():
        steps += 1
    thread.join()
    assert steps > 1000


def test_arguments_and_artifacts_can_be_pickled(gemm):
    a, b, out, wanted = gemm(batches=2)
    args = pickle.loads(pickle.dumps(estoc.GemmArguments(a, b, out, "f32")))
    assert args.A.tensor is not a
    kernel = estoc.get_kernels(args)[0]
    artifact = pickle.loads(pickle.dumps(kernel.compile(args)))
    kernel.run(args, artifact)
    np.testing.assert_array_equal(args.out.tensor, wanted)
    relu = estoc.ElementwiseArguments("relu", a, None, np.zeros_like(a))
    assert pickle.loads(pickle.dumps(relu)).problem == relu.problem
    view = estoc.Tensor(np.zeros((4, 8), "u1"), dtype="i4", shape=(4, 16))
    assert repr(pickle.loads(pickle.dumps(view))) == repr(view)


def test_described_arguments_can_be_pickled(described):
    args = described()
    assert repr(pickle.loads(pickle.dumps(args))) == repr(args)


def test_compiling_for_a_target_alone():
    kernel = estoc.kernel_by_name("cpu_gemm-f32-f32-f32-f32")
    assert kernel.compile(target="cpu").target == "cpu"
    with pytest.raises(estoc.UnsupportedError, match="target"):
        kernel.compile(target="sm_90a")


def test_early_launches_mean_nothing_on_the_cpu(gemm):
    a, b, out, wanted = gemm()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    for call in (kernel.bind(args, programmatic=True), estoc.plan(a, b, out, programmatic=True)):
        out[...] = 77
        call()
        np.testing.assert_array_equal(out, wanted)
