"""The package used with wrong things: Python's own kind of error each time, with a sentence that names it."""

import array
import importlib.util
import threading

import numpy as np
import pytest

import estoc

A, B, OUT = np.ones((4, 8), "f4"), np.ones((8, 6), "f4"), np.zeros((4, 6), "f4")


def interface(**changes):
    """Something with __cuda_array_interface__ that is not as the protocol says."""
    said = {"typestr": "<f4", "shape": (4, 6), "data": (256, False), "version": 3} | changes
    said = {key: value for key, value in said.items() if value is not None}
    return type("Odd", (), {"__cuda_array_interface__": said})()


def exporter(capsule, device=(1, 0)):
    """Something with __dlpack__ that is not as the protocol says."""
    return type(
        "Odd",
        (),
        {"__dlpack__": lambda self, **wishes: capsule(), "__dlpack_device__": lambda self: device},
    )()


def frozen(array_):
    array_.flags.writeable = False
    return array_


def released():
    view = memoryview(bytearray(96)).cast("f", (4, 6))
    view.release()
    return view


NO_TENSORS = [
    (lambda: (OUT,), "got tuple"),
    (lambda: [[1.0, 2.0]], "got list"),
    (lambda: "abc", "got str"),
    (lambda: 3, "got int"),
    (lambda: {}, "got dict"),
    (lambda: iter(()), "got tuple_iterator"),
    (lambda: np, "got module"),
    (lambda: np.ndarray, "got type"),
    (lambda: estoc.f32, "got dtype"),
    (lambda: np.zeros((4, 6), object), "dtype: expected one that Estoc has, got object"),
    (lambda: np.zeros((4, 6), ">f4"), "dtype: .* got big-endian float32"),
    (lambda: np.zeros((4, 6), [("x", "f4")]), "dtype: .* got void32"),
    (lambda: np.zeros((4, 6), "V4"), "dtype: .* got void32"),
    (lambda: np.zeros((4, 6), "M8[s]"), r"dtype: .* got datetime64\[s\]"),
    (lambda: np.zeros((4, 6), "U4"), "dtype: .* got str128"),
    (lambda: np.zeros((4, 6), "c8"), "dtype: .* got complex64"),
    (lambda: np.zeros((4, 6), "i8"), "dtype: .* got int64"),
    (lambda: np.zeros((4, 6), np.longdouble), "dtype: .* got "),
    (lambda: np.ma.zeros((4, 6), "f4"), "expected a tensor without a mask, got MaskedArray"),
    (lambda: memoryview(np.zeros((4, 6), ">f4")), 'dtype: .* got format ">f"'),
    (released, "got memoryview, whose memory cannot be seen"),
    (lambda: exporter(lambda: 3), "expected __dlpack__ to give a capsule, got int"),
    (lambda: exporter(lambda: 3, None), "got Odd, which cannot be read: TypeError"),
    (lambda: interface(typestr=None), "got Odd, which cannot be read: KeyError: 'typestr'"),
    (lambda: interface(data=("x", False)), "got Odd, which cannot be read"),
    (lambda: interface(data=(-5, False)), "got Odd, which cannot be read"),
    (lambda: interface(typestr="<c8"), 'dtype: expected one that Estoc has, got "<c8"'),
]
WRONG_TENSORS = [
    (lambda: np.zeros((), "f4"), "expected .* modes, got (2 and )?0"),
    (lambda: array.array("f", [0] * 24), "expected .* modes, got (2 and )?1"),
    (lambda: np.zeros((1,) * 7, "f4"), "expected at most 6 modes, got 7"),
    (lambda: np.zeros((4, 6), "f4")[::-1], r"strides: expected strides of 0 or more, got \(-6, 1\)"),
    (lambda: np.zeros((4, 6), "f4")[:, ::-1], r"strides: .* got \(6, -1\)"),
    (lambda: np.zeros((4, 6), "f4,u1")["f0"], "strides: expected multiples of .* 4 bytes, got 5"),
    (
        lambda: np.zeros(97, "u1")[1:].view("f4").reshape(4, 6),
        "data: expected an address that is a multiple of 4 bytes",
    ),
]


@pytest.mark.parametrize(
    ("make", "message", "error"),
    [(*case, TypeError) for case in NO_TENSORS] + [(*case, ValueError) for case in WRONG_TENSORS],
)
def test_operands(make, message, error):
    plan = estoc.plan(A, B, OUT)
    for name, call in [
        ("A", lambda: estoc.GemmArguments(make(), B, OUT)),
        ("B", lambda: estoc.GemmArguments(A, make(), OUT)),
        ("out", lambda: estoc.GemmArguments(A, B, make())),
        ("a", lambda: estoc.matmul(make(), B)),
        ("b", lambda: estoc.matmul(A, make())),
        ("out", lambda: estoc.matmul(A, B, make())),
        ("A", lambda: estoc.plan(make(), B, OUT)),
        ("A", lambda: plan(make(), B, OUT)),
        ("out", lambda: plan(A, B, make())),
    ]:
        with pytest.raises(error, match=message) as refused:
            call()
        assert isinstance(refused.value, estoc.Error)
        assert str(refused.value).startswith((name, "a, b:")), refused.value


def test_vectors():
    """Which matmul takes, as one of its operands."""
    for call in [
        lambda: estoc.GemmArguments(np.zeros(6, "f4"), B, OUT),
        lambda: estoc.plan(A, np.zeros(6, "f4"), OUT),
        lambda: estoc.matmul(A, B, np.zeros(6, "f4")),
    ]:
        with pytest.raises(ValueError, match="expected .* modes, got 1"):
            call()


def test_what_an_object_raises_itself_stays_as_it_is():
    with pytest.raises(ZeroDivisionError):
        estoc.Tensor(exporter(lambda: 1 // 0))
    with pytest.raises(BufferError, match="lent"):

        def lent():
            raise BufferError("lent to somebody else")

        estoc.Tensor(exporter(lent))


@pytest.mark.parametrize(
    "make",
    [
        lambda: frozen(OUT.copy()),
        lambda: np.broadcast_to(np.float32(0), (4, 6)),
        lambda: memoryview(bytes(96)).cast("f", (4, 6)),
        lambda: np.float32(1),
        lambda: b"abcd",
    ],
)
def test_outputs_that_cannot_be_written(make):
    plan = estoc.plan(A, B, OUT)
    for call in (estoc.GemmArguments, estoc.matmul, estoc.plan, plan):
        with pytest.raises(ValueError, match="out: expected a tensor that can be written"):
            call(A, B, make())


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 4, 8), (3, 8, 6), (2, 4, 6)),
        ((2, 4, 8), (2, 8, 6), (3, 4, 6)),
        ((2, 4, 8), (2, 8, 6), (4, 6)),
        ((4, 8), (7, 6), (4, 6)),
        ((4, 8), (8, 6), (6, 4)),
    ],
)
def test_shapes_that_do_not_fit(shapes):
    a, b, out = (np.ones(shape, "f4") for shape in shapes)
    for call in (estoc.GemmArguments, estoc.matmul, estoc.plan, estoc.plan(A, B, OUT)):
        with pytest.raises(ValueError, match=r"^(A|B|out)\.shape: expected "):
            call(a, b, out)


@pytest.mark.parametrize(
    "dtype",
    ["float33", "", " f32", "i64", "complex64", "float32\0", b"f32", ["f32"], 3, float, object]
    + [np.dtype("c8"), np.dtype(">f4"), np.dtype(object)],
)
def test_dtypes(dtype):
    for call in (
        lambda: estoc.dtype(dtype),
        lambda: estoc.GemmArguments(A, B, OUT, dtype),
        lambda: estoc.matmul(A, B, accumulator_type=dtype),
        lambda: estoc.Tensor(A, dtype=dtype),
        lambda: estoc.Tensor.describe(dtype, (4, 4)),
        lambda: estoc.TensorAttributes(dtype, None),
    ):
        with pytest.raises(TypeError, match="expected a dtype such as"):
            call()
    assert estoc.f32 != dtype


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        (4, TypeError, "shape: expected a sequence of whole numbers, got 4"),
        ("44", TypeError, "shape: expected a whole number, got '4'"),
        ((4.5, 2), TypeError, "shape: expected a whole number, got 4.5"),
        (((1, 2), 3), TypeError, r"shape: expected a whole number, got \(1, 2\)"),
        ((2**63, 1), ValueError, "shape: expected a number of 64 bits, got 9223372036854775808"),
        ((2**62, 2**62), ValueError, "expected at most 2"),
        ((-1, 4), ValueError, "expected extents of 0 or more"),
        ((1,) * 7, ValueError, "expected at most 6 modes, got 7"),
        ((4, 9), ValueError, "expected at most 128 bytes, as many as the tensor has, got 144"),
    ],
)
def test_shapes(shape, error, message):
    with pytest.raises(error, match=message):
        estoc.Tensor(A, shape=shape)
    if shape != (4, 9):
        with pytest.raises(error, match=message):
            estoc.Tensor.describe("f32", shape)
    assert estoc.Tensor(A, shape=np.array([8, 4])).shape == (8, 4)


def test_a_list_without_kernels_says_why():
    args = estoc.GemmArguments(A, B, np.zeros((4, 6), "u1"))
    kernels = estoc.get_kernels(args)
    assert not kernels and len(kernels) == 0 and list(kernels) == [] and kernels[:1] == []
    assert None not in kernels and [*reversed(kernels)] == []
    for index in (0, -1, 7):
        with pytest.raises(IndexError, match=r"kernel supports .*cpu_gemm: .*expected") as refused:
            kernels[index]
        assert isinstance(refused.value, estoc.NoKernelError)
        assert isinstance(refused.value, estoc.UnsupportedError)
    args = estoc.GemmArguments(A, B, OUT)
    for found, why in (
        (estoc.get_kernels(args, providers="cuda"), "no class .* has kernels for gemm on cpu"),
        (estoc.get_kernels(args, providers=[]), "providers: expected at least one, got none"),
        (
            estoc.get_kernels(args, lambda metadata: False),
            "cpu_gemm: filter: expected a kernel that passes",
        ),
    ):
        with pytest.raises(estoc.NoKernelError, match=why):
            found[0]
    with pytest.raises(estoc.NoKernelError, match="of that target, or passes the filter"):
        estoc.get_kernels(metadata_filter=lambda metadata: False)[0]
    some = estoc.get_kernels(args)
    assert [*some] == [some[place] for place in range(len(some))] and some[-1] in some


def test_methods_that_are_missing():
    class Nothing(estoc.CudaKernelClass):
        pass

    class Empty(estoc.Kernel):
        pass

    for call in (lambda: estoc.register(Nothing), lambda: Empty.generate_kernels(None)):
        with pytest.raises(NotImplementedError) as refused:
            call()
        assert isinstance(refused.value, estoc.MissingMethodError)


def test_attributes_that_cannot_be_read():
    class Traced:
        @property
        def __dlpack_device__(self):
            raise AttributeError("a tracer has no device")

        __dlpack__ = __dlpack_device__

    with pytest.raises(TypeError, match="a: expected a tensor.*AttributeError: a tracer") as refused:
        estoc.matmul(Traced(), B)
    assert isinstance(refused.value, estoc.Error)


def test_other_arguments():
    args = estoc.GemmArguments(A, B, OUT)
    kernel = estoc.get_kernels(args)[0]
    for call, error, message in [
        (lambda: estoc.get_kernels(3), TypeError, "args: expected arguments such as .* got int"),
        (lambda: estoc.get_kernels("gemm m=3"), TypeError, "args: .* got str"),
        (lambda: estoc.get_kernels(args, 3), TypeError, "metadata_filter: expected a function"),
        (lambda: estoc.get_kernels(args, "tile=x"), ValueError, "expected a shape such as"),
        (lambda: estoc.get_kernels(args, target="gpu"), ValueError, "target: expected"),
        (lambda: estoc.get_kernels(args, cc=5), ValueError, "cc: expected a compute capability"),
        (lambda: estoc.get_kernels(args, cc="90"), TypeError, "cc: expected a whole number"),
        (lambda: estoc.get_kernels(args, cc=-(10**30)), ValueError, "cc: expected a number of 64"),
        (lambda: estoc.get_kernels(args, providers="x"), LookupError, "provider: expected one of"),
        (lambda: estoc.kernel_by_name("cpu_gem"), LookupError, "nearest is"),
        (lambda: estoc.compile_all([3]), TypeError, "kernels: expected estoc.Kernel, got int"),
        (lambda: kernel.run(None), TypeError, "args: expected arguments such as .* got NoneType"),
        (lambda: kernel.run((A, B, OUT)), TypeError, "args: .* got tuple"),
        (lambda: kernel.bind("gemm"), TypeError, "args: .* got str"),
        (lambda: kernel.supports(A), TypeError, "args: .* got ndarray"),
        (lambda: kernel.get_workspace_size(3), TypeError, "args: .* got int"),
        (lambda: kernel.compile(), TypeError, "args: expected arguments, or a target, got neither"),
        (lambda: kernel.compile(3), TypeError, "args: .* got int"),
        (lambda: kernel.compile(args, lineinfo=1), TypeError, "lineinfo: expected True or False"),
        (lambda: kernel.run(args, threads="2"), TypeError, "threads: expected a whole number"),
        (lambda: kernel.run(args, threads=2**40), ValueError, "threads: expected .* 32 bits"),
        (lambda: kernel.run(args, programmatic=None), TypeError, "programmatic: expected True or"),
        (lambda: kernel.run(args, assume_supported_args="x"), TypeError, "assume_supported_args:"),
        (lambda: estoc.explain(3), TypeError, "args: .* got int"),
        (lambda: estoc.kernel_by_name(3), TypeError, "name: expected text, got int"),
        (lambda: estoc.get_kernels(args)["x"], TypeError, "index: expected a whole number, got 'x'"),
        (lambda: estoc.get_kernels(args)[1.5], TypeError, "index: expected a whole number, got 1.5"),
        (lambda: estoc.get_kernels(args)[99], IndexError, "index: expected one of . kernels?, got 99"),
        (lambda: estoc.plan(A, B, OUT, threads="x"), TypeError, "threads: expected a whole number"),
        (lambda: estoc.plan(A, B, OUT, keep=3), TypeError, "keep: expected True or False, got int"),
        (lambda: estoc.compile_all([kernel], threads="x"), TypeError, "threads: expected a whole"),
        (lambda: estoc.GemmArguments(A, B, OUT, performance=3), TypeError, "performance: expected"),
        (lambda: estoc.PerformanceControls(allow_tf32=1), TypeError, "allow_tf32: expected True or"),
        (
            lambda: estoc.PerformanceControls(workspace_limit="1 MB"),
            TypeError,
            "workspace_limit: expected a whole number, got '1 MB'",
        ),
        (lambda: estoc.ElementwiseArguments(3, A, None, A), TypeError, "op: expected text, got int"),
        (lambda: estoc.Tensor.describe("f32", 4), TypeError, "shape: expected a sequence"),
        (lambda: estoc.Tensor.describe("f32", (4,), device=0), TypeError, "device: expected text"),
        (lambda: estoc.Tensor.describe("f32", (4,), alignment="x"), TypeError, "alignment: expected"),
        (lambda: estoc.Status.fail(3), TypeError, "error: expected text, got int"),
        (lambda: estoc.CudaCode(3), TypeError, "source: expected text, got int"),
        (lambda: estoc.CudaCode("x", entries=(1,)), TypeError, "entries: expected text, got int"),
        (lambda: estoc.is_device_cc_supported(90), TypeError, "ccs: expected a sequence, got 90"),
        (lambda: kernel.run(args, 3), TypeError, "compiled_artifact: expected"),
        (lambda: kernel.run(args, stream="12"), TypeError, "stream: expected a stream"),
        (lambda: kernel.run(args, stream=1.5), TypeError, "stream: expected a stream"),
        (lambda: kernel.run(args, stream=-1), ValueError, "stream: expected an address, got -1"),
        (lambda: kernel.run(args, stream=2**70), ValueError, "stream: expected a number of 64"),
        (lambda: kernel.run(args, workspace=3), TypeError, "workspace: expected a tensor"),
        (lambda: estoc.is_device_cc_supported(["x"]), TypeError, "ccs: expected a whole number"),
        (lambda: estoc.strides_to_layout_string("ab"), TypeError, "strides: expected a whole"),
        (lambda: estoc.register(3), TypeError, "kernel_class: expected a subclass"),
        (lambda: estoc.matmul(A, B, epilogue=3), TypeError, "epilogue: expected"),
        (lambda: estoc.matmul(A, B, epilogue="D ="), ValueError, "expected a value, got the end"),
        (lambda: estoc.matmul(A, B, epilogue="D = x + accum"), ValueError, "x: expected a tensor"),
        (
            lambda: estoc.GemmArguments(
                A, B, OUT, epilogue=estoc.EpilogueArguments("D = accum + x", x=10**400)
            ),
            ValueError,
            "x: expected a number of 64 bits",
        ),
    ]:
        with pytest.raises(error, match=message) as refused:
            call()
        assert isinstance(refused.value, estoc.Error), refused.value

    class Stream:
        def __cuda_stream__(self):
            return None

    with pytest.raises(TypeError, match="__cuda_stream__ to give a version and an address"):
        estoc.to_cuda_stream(Stream())


def test_refusals_in_another_thread():
    plan = estoc.plan(A, B, OUT)
    raised = []

    def work():
        for call in (
            lambda: plan(A.astype("f8"), B, OUT),
            lambda: estoc.matmul(A, B[:3]),
            lambda: estoc.matmul(A, "b"),
        ):
            try:
                call()
            except Exception as error:
                raised.append(type(error))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert raised == [estoc.UnsupportedError, estoc.InvalidValueError, estoc.InvalidTypeError]
    np.testing.assert_array_equal(estoc.matmul(A, B), A @ B)


LONE = "\ud800"  # half of a pair, which UTF-8 cannot hold


class Unreadable:
    """Raises text that cannot be encoded."""

    @property
    def __dlpack__(self):
        raise TypeError(LONE)

    __dlpack_device__ = __dlpack__


@pytest.mark.parametrize(
    "call",
    [
        lambda: estoc.matmul(A, B, **{LONE: 1}),
        lambda: estoc.plan(A, B, OUT)(A, B, OUT, **{LONE: 1}),
        lambda: estoc.GemmArguments(Unreadable(), B, OUT),
        lambda: estoc.GemmArguments(type(LONE.replace(LONE, "Odd"), (), {"__repr__": 1})(), B, OUT),
        lambda: estoc.Tensor(A, shape=LONE),
    ],
)
def test_text_that_cannot_be_encoded(call):
    with pytest.raises(TypeError):
        call()


@pytest.mark.parametrize("shape", [(1, 2**40, 2**40), (2**62, 2**62, 2**62)])
def test_strides_past_63_bits(shape):
    with pytest.raises(ValueError, match="shape: expected at most 2.63 - 1"):
        estoc.Tensor.describe("f32", shape)


def test_operators_need_their_package():
    if importlib.util.find_spec("cutlass") is not None:
        pytest.skip("CuTe DSL is installed, of which cutlass.operators may be a part")
    with pytest.raises(ImportError, match="pip install nvidia-cutlass-operators"):
        importlib.import_module("estoc.providers.operators")
