"""Tensors of torch on a GPU: results, streams, graphs, allocator and switches."""

import gc
import pickle
import threading

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc  # noqa: E402

DTYPES = [
    (torch.float64, torch.float64),
    (torch.float32, torch.float32),
    (torch.float16, torch.float16),
    (torch.float16, torch.float32),
    (torch.bfloat16, torch.bfloat16),
    (torch.bfloat16, torch.float32),
    (torch.float8_e4m3fn, torch.bfloat16),
    (torch.int8, torch.int32),
]


def integers(*shape, dtype=torch.float32):
    return torch.randint(-3, 4, shape, device="cuda").to(dtype)


def exact(a, b):
    return a.cpu().double() @ b.cpu().double()


def problem(m=96, n=64, k=128, dtype=torch.bfloat16, out=torch.float32):
    a, b = integers(m, k, dtype=dtype), integers(k, n, dtype=dtype)
    return a, b, torch.full((m, n), 77, dtype=out, device="cuda")


def check(out, a, b):
    torch.cuda.synchronize()
    torch.testing.assert_close(out.cpu().double(), exact(a, b), rtol=0, atol=0)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(2026)


@pytest.mark.parametrize(("dtype", "out_dtype"), DTYPES)
@pytest.mark.parametrize("layout", ["tt", "tn", "nn"])
def test_run(dtype, out_dtype, layout):
    a, b, out = problem(dtype=dtype, out=out_dtype)
    if layout[0] == "n":
        a = a.t().contiguous().t()
    if layout[1] == "n":
        b = b.t().contiguous().t()
    args = estoc.GemmArguments(a, b, out)
    assert args.device == "cuda:0"
    kernels = estoc.get_kernels(args)
    assert kernels, estoc.explain(args)
    for kernel in (kernels[0], kernels[-1]):
        out.fill_(77)
        kernel.run(args)
        check(out, a, b)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_batches_and_gradients(dtype):
    a, b = integers(3, 40, 24, dtype=dtype), integers(3, 24, 56, dtype=dtype)
    out = torch.empty(3, 40, 56, device="cuda", dtype=dtype)
    args = estoc.GemmArguments(a.requires_grad_(), b, out)
    estoc.get_kernels(args)[0].run(args)
    check(out, a.detach(), b)


def test_epilogue():
    a, b, out = problem()
    bias = integers(64)

    def bias_relu(accum, bias, alpha=2.0):
        D = relu(alpha * accum + bias)  # noqa: F821
        return D

    epilogue = estoc.EpilogueArguments(bias_relu, bias=bias)
    args = estoc.GemmArguments(a, b, out, epilogue=epilogue)
    estoc.get_kernels(args)[0].run(args)
    torch.cuda.synchronize()
    wanted = torch.relu(2 * exact(a, b) + bias.cpu())
    torch.testing.assert_close(out.cpu().double(), wanted, rtol=0, atol=0)


def streams():
    """A torch stream, and every way to name it."""
    stream = torch.cuda.Stream()
    yield stream, stream
    yield stream, stream.cuda_stream
    try:
        import cupy

        yield stream, cupy.cuda.ExternalStream(stream.cuda_stream)
    except ImportError:
        pass
    try:
        from cuda.core import Device

        Device(0).set_current()

        class Named:
            def __cuda_stream__(self):
                return (0, stream.cuda_stream)

        yield stream, Device(0).create_stream(Named())
    except (ImportError, AttributeError):
        pass


def late(a, value):
    """Fills a tensor on the current stream, but not soon."""
    torch.cuda._sleep(50_000_000)
    a.fill_(value)


def test_named_streams():
    a, b, out = problem()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    artifact = kernel.compile(args)
    plan = estoc.plan(a, b, out)
    torch.cuda.synchronize()
    value = 1
    for stream, named in streams():
        bound = kernel.bind(args, artifact, stream=named)
        for call in (
            lambda: kernel.run(args, artifact, stream=named),
            lambda: plan(a, b, out, stream=named),
            lambda: plan(stream=named),
            lambda: bound(stream=named),
            lambda: estoc.matmul(a, b, out, stream=named),
        ):
            value = value % 7 + 1
            with torch.cuda.stream(stream):
                late(a, value)
            call()
            check(out, a, b)
            assert a[0, 0] == value
        value = value % 7 + 1
        with torch.cuda.stream(stream):
            late(a, value)
        made = estoc.matmul(a, b, stream=named)
        stream.synchronize()
        torch.testing.assert_close(made.cpu().double(), exact(a, b), rtol=2**-8, atol=0)


def test_current_stream():
    a, b, out = problem()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args)[0]
    artifact = kernel.compile(args)
    plan = estoc.plan(a, b, out)
    torch.cuda.synchronize()
    value = 1
    for call in (
        lambda: kernel.run(args, artifact),
        lambda: plan(),
        lambda: plan(a, b, out),
        lambda: estoc.matmul(a, b, out),
    ):
        value += 1
        with torch.cuda.stream(torch.cuda.Stream()):
            late(a, value)
            call()
        check(out, a, b)


def test_graph():
    a, b, out = problem()
    plan = estoc.plan(a, b, out)
    plan()
    estoc.matmul(a, b)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        plan(a, b, out)
        product = estoc.matmul(a, b)
    for value in (1, 3):
        a.fill_(value)
        graph.replay()
        check(out, a, b)
        torch.cuda.synchronize()
        torch.testing.assert_close(product.double().cpu(), exact(a, b), rtol=1e-2, atol=0)


def needs_workspace():
    """Arguments, and a kernel for them that needs workspace: sums are taken in two steps."""
    a, b, out = problem(m=64, n=64, k=64)
    total = torch.empty(1, device="cuda")
    epilogue = estoc.EpilogueArguments("D = accum; total = sum(D)", total=total)
    args = estoc.GemmArguments(a, b, out, epilogue=epilogue)
    for kernel in estoc.get_kernels(args):
        size = kernel.get_workspace_size(args)
        if size and kernel.metadata.provider == "cuda":
            return kernel, args, size
    raise AssertionError("expected a kernel of the library that needs workspace, got none")


def test_workspace_is_torchs():
    kernel, args, size = needs_workspace()
    artifact = kernel.compile(args)
    kernel.run(args, artifact)
    torch.cuda.synchronize()
    gc.collect()  # what tests before this one left behind
    for call in (
        lambda: kernel.run(args, artifact),
        lambda: kernel.run(args, artifact, stream=torch.cuda.Stream()),
        lambda: kernel.bind(args, artifact).launch(),
    ):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        args.out.tensor.fill_(77)
        torch.cuda.synchronize()
        call()
        assert torch.cuda.max_memory_allocated() - before >= size
        check(args.out.tensor, args.A.tensor, args.B.tensor)
        gc.collect()
        torch.empty(1, device="cuda")  # by now torch takes back what another stream has used
        assert torch.cuda.memory_allocated() == before
    room = torch.empty(size, dtype=torch.int8, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    kernel.run(args, artifact, workspace=room)
    assert torch.cuda.max_memory_allocated() == before
    with pytest.raises(ValueError, match="workspace: expected at least"):
        kernel.run(args, artifact, workspace=room[:128])
    with pytest.raises(ValueError, match=r"workspace\.device: expected cuda:0"):
        kernel.run(args, artifact, workspace=room.cpu())


def test_a_kernel_bound_with_workspace_stays_on_its_stream():
    kernel, args, _ = needs_workspace()
    bound = kernel.bind(args)
    bound()
    check(args.out.tensor, args.A.tensor, args.B.tensor)
    with torch.cuda.stream(torch.cuda.Stream()):
        with pytest.raises(ValueError, match="stream: expected .*: bind once for each stream"):
            bound()
        bound(stream=torch.cuda.default_stream())
    torch.cuda.synchronize()


def test_workspace_in_a_graph():
    kernel, args, _ = needs_workspace()
    artifact = kernel.compile(args)
    kernel.run(args, artifact)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        kernel.run(args, artifact)
    args.A.tensor.fill_(1)
    args.out.tensor.fill_(77)
    graph.replay()
    check(args.out.tensor, args.A.tensor, args.B.tensor)


def test_switches_of_torch():
    a, b, out = problem(m=512, n=512, k=512, dtype=torch.float32)

    def first(**options):
        args = estoc.GemmArguments(a, b, out, **options)
        return estoc.get_kernels(args, providers="cuda")[0].metadata.operands.A.dtype

    try:
        torch.backends.cuda.matmul.allow_tf32 = False
        assert first() == "f32"
        a.normal_()
        b.normal_()
        exactly = estoc.matmul(a, b).cpu().double()
        torch.backends.cuda.matmul.allow_tf32 = True
        assert first() == "tf32"
        rounded = estoc.matmul(a, b).cpu().double()
        wanted = exact(a, b)
        assert (rounded - wanted).abs().max() > 10 * (exactly - wanted).abs().max()
        assert first(performance=estoc.PerformanceControls()) == "f32"
        torch.use_deterministic_algorithms(True)
        assert estoc.GemmArguments(a, b, out).performance.deterministic
        results = [estoc.matmul(a, b) for _ in range(5)]
        assert all(torch.equal(results[0], one) for one in results)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize(("dtype", "out_dtype"), DTYPES)
def test_matmul(dtype, out_dtype):
    a, b, _ = problem(dtype=dtype)
    found = estoc.matmul(a, b)
    assert isinstance(found, torch.Tensor)
    assert (found.device, found.shape) == (a.device, (96, 64))
    if dtype in (torch.float8_e4m3fn, torch.int8):
        assert found.dtype == out_dtype
    else:
        assert found.dtype == dtype
    torch.cuda.synchronize()
    torch.testing.assert_close(found.cpu().double(), exact(a, b), rtol=4e-3, atol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_lists_of_matrices(dtype):
    sizes = [(96, 64, 128), (0, 8, 16), (33, 40, 8), (1, 72, 0)]
    a = [integers(m, k, dtype=dtype) for m, _, k in sizes]
    b = [integers(k, n, dtype=dtype) for _, n, k in sizes]
    other = torch.cuda.Stream()
    other.wait_stream(torch.cuda.current_stream())
    for stream in (None, other):
        results = estoc.grouped_mm(a, b, out_dtype="f32", stream=stream)
        torch.cuda.synchronize()
        for out, left, right in zip(results, a, b):
            check(out, left, right)


def test_refusals():
    a, b, out = problem()
    with pytest.raises(ValueError, match="device"):
        estoc.GemmArguments(a, b.cpu(), out)
    with pytest.raises((ValueError, estoc.UnsupportedError), match="device|can reach"):
        estoc.plan(a, b, out)(a.cpu(), b.cpu(), out.cpu())
    with pytest.raises(TypeError, match="strided"):
        estoc.GemmArguments(a.to_sparse(), b, out)
    meta = estoc.GemmArguments(*(one.to("meta") for one in (a, b, out)))
    kernel = estoc.get_kernels(meta)[0]
    kernel.compile(meta)
    with pytest.raises(ValueError, match="a tensor with data, got a description"):
        kernel.run(meta)


def test_what_is_compiled_can_be_pickled(target):
    a, b, out = problem()
    args = estoc.GemmArguments(a, b, out)
    kernel = estoc.get_kernels(args, providers="cuda")[0]
    artifact = pickle.loads(pickle.dumps(kernel.compile(args)))
    assert artifact.target == target
    kernel.run(args, artifact)
    check(out, a, b)
    again = pickle.loads(pickle.dumps(args))
    assert again.A.device == "cuda:0"


def test_tensors_by_dlpack():
    a, b, out = problem()
    args = estoc.GemmArguments(torch.utils.dlpack.to_dlpack(a), b, torch.utils.dlpack.to_dlpack(out))
    estoc.get_kernels(args)[0].run(args)
    check(out, a, b)


def test_dropped_tensors():
    wanted, outs = [], []
    for _ in range(20):
        a, b, out = problem(m=512, n=512, k=512)
        wanted.append(exact(a, b))
        args = estoc.GemmArguments(a, b, out)
        kernel = estoc.get_kernels(args)[0]
        kernel.run(args)
        outs.append(out)
        del a, b, out, args
    torch.cuda.synchronize()
    for out, right in zip(outs, wanted):
        torch.testing.assert_close(out.cpu().double(), right, rtol=0, atol=0)


@pytest.mark.parametrize("offset", [0, 8])
def test_new_tensors_of_one_signature(offset):
    """`offset`: every other A is aligned less well, by elements."""

    def moved(a, number):
        memory = torch.empty(a.numel() + 64, dtype=a.dtype, device="cuda")
        start = offset * (number % 2)
        view = memory[start : start + a.numel()].view(a.shape)
        return view.copy_(a)

    sets = [problem() for _ in range(5)]
    sets = [(moved(a, number), b, out) for number, (a, b, out) in enumerate(sets)]
    plan = estoc.plan(*sets[0])
    for call in (plan, estoc.matmul):
        for _ in range(3):
            for a, b, out in (*sets, sets[-1], sets[0]):
                out.fill_(77)
                call(a, b, out)
                check(out, a, b)


def test_many_threads_with_streams_of_their_own():
    problems = [problem(m=64 + 8 * i) for i in range(16)]
    plan = estoc.plan(*problems[0])
    torch.cuda.synchronize()
    failed = []

    def work(a, b, out):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for value in range(1, 30):
                    a.fill_(value % 5)
                    plan(a, b, out)
                    torch.cuda.current_stream().synchronize()
                    torch.testing.assert_close(
                        out.cpu().double(), exact(a, b), rtol=0, atol=0
                    )
                    estoc.matmul(a, b)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=one) for one in problems]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


def test_basic_gemm_of_the_api_document():
    if not (status := estoc.utils.is_device_cc_supported({80, 90, 100, 103})):
        pytest.skip(status.error)
    M, N, K, L = 128, 256, 64, 2
    A = torch.randint(-1, 2, (L, M, K), device="cuda", dtype=torch.float16)
    B = torch.randint(-1, 2, (L, K, N), device="cuda", dtype=torch.float16)
    out = torch.empty((L, M, N), device="cuda", dtype=torch.float32)
    reference = (A @ B).to(out.dtype)
    args = estoc.arguments.GemmArguments(A=A, B=B, out=out, accumulator_type=torch.float32)
    kernels = estoc.get_kernels(args)
    assert kernels, "No kernels found for the given arguments!"
    kernel = kernels[0]
    kernel.run(args)
    torch.testing.assert_close(out, reference)
    unsupported = estoc.arguments.GemmArguments(
        A=A.to(torch.bfloat16), B=B, out=out, accumulator_type=torch.float32
    )
    status = kernel.supports(unsupported)
    assert not status
    assert "expected f16, got bf16" in status.error
    compiled_artifact = kernel.compile(args)
    out.zero_()
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    kernel.run(args, compiled_artifact, stream=stream, assume_supported_args=True)
    stream.synchronize()
    torch.testing.assert_close(out, reference)
    workspace_size = kernel.get_workspace_size(args)
    workspace = torch.empty(workspace_size, device="cuda", dtype=torch.int8)
    out.zero_()
    torch.cuda.synchronize()
    kernel.run(args, compiled_artifact, stream=stream, workspace=workspace)
    stream.synchronize()
    torch.testing.assert_close(out, reference)
