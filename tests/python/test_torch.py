"""Tensors of PyTorch: on the CPU, meta and fake; what is refused. Needs torch."""

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc  # noqa: E402


def product(dtype=torch.float32, out=None, m=8, n=6, k=4):
    a = torch.randint(-3, 4, (m, k)).to(dtype)
    b = torch.randint(-3, 4, (k, n)).to(dtype)
    return a, b, torch.full((m, n), 77, dtype=out or dtype)


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        (torch.float64, "f64"),
        (torch.float32, "f32"),
        (torch.float16, "f16"),
        (torch.bfloat16, "bf16"),
        (torch.float8_e4m3fn, "e4m3"),
        (torch.float8_e5m2, "e5m2"),
        (torch.int32, "i32"),
        (torch.int8, "i8"),
        (torch.uint8, "u8"),
        (torch.bool, "bool"),
    ],
)
def test_dtypes(dtype, name):
    tensor = torch.zeros(3, 4).to(dtype)
    assert estoc.Tensor(tensor).dtype == name
    assert estoc.dtype(dtype).name == name
    assert estoc.dtype(name) == dtype
    assert estoc.Tensor(tensor).data_ptr == tensor.data_ptr()
    meta = estoc.Tensor(tensor.to("meta"))
    assert (meta.dtype, meta.has_data, meta.shape) == (name, False, (3, 4))


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_run(dtype):
    a, b, out = product(dtype)
    estoc.get_kernels(estoc.GemmArguments(a, b.t().contiguous().t(), out))[0].run(
        args := estoc.GemmArguments(a, b, out, accumulator_type=None)
    )
    torch.testing.assert_close(out, a @ b)
    assert args.A.tensor is a
    found = estoc.matmul(a, b)
    assert isinstance(found, torch.Tensor)
    torch.testing.assert_close(found, a @ b)


def test_strides_and_gradients():
    a, b, out = product()
    a.requires_grad_()
    args = estoc.GemmArguments(a, b.t().contiguous().t(), out)
    assert args.B.strides == (1, 4)
    estoc.get_kernels(args)[0].run(args)
    torch.testing.assert_close(out, (a @ b).detach())


def test_fake_tensors_find_and_compile():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a, b, out = (torch.empty(256, 256, dtype=torch.float16) for _ in range(3))
    args = estoc.GemmArguments(a, b, out, torch.float32)
    assert args.device == "cpu"
    kernel = estoc.get_kernels(args)[0]
    kernel.compile(args)
    with pytest.raises(ValueError, match="a tensor with data, got a description"):
        kernel.run(args)


def test_meta_tensors_are_on_the_gpu():
    a, b, out = (torch.empty(256, 256, dtype=torch.float16, device="meta") for _ in range(3))
    args = estoc.GemmArguments(a, b, out, torch.float32)
    assert args.device == "cuda:0"
    assert "sm90" in estoc.get_kernels(args, cc=90)[0].name
    mixed = estoc.GemmArguments(a, b, torch.empty(256, 256, dtype=torch.float32))
    assert mixed.device == "cpu"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.eye(4).to_sparse(), "expected a strided tensor, got torch.sparse_coo"),
        (lambda: torch.zeros(4, 4, dtype=torch.complex64), "dtype: expected one that Estoc has"),
        (lambda: torch.zeros(4, 4, dtype=torch.int64), "dtype: expected one that Estoc has"),
        (lambda: torch.quantize_per_tensor(torch.eye(4), 0.1, 0, torch.qint8), "A"),
    ],
)
def test_refusals(make, message):
    with pytest.raises(TypeError, match=message):
        estoc.GemmArguments(make(), torch.zeros(4, 4), torch.zeros(4, 4))


def test_dropped_tensors_stay_alive():
    a, b, out = product()
    wanted = a @ b
    args = estoc.GemmArguments(a, b, out)
    del a, b
    estoc.get_kernels(args)[0].run(args)
    torch.testing.assert_close(out, wanted)


def on_gpu(dtype=torch.float32):
    """Arguments that say that they are torch's, on a GPU that need not be there."""
    return estoc.GemmArguments(*(torch.empty(64, 64, dtype=dtype, device="meta") for _ in range(3)))


def test_torchs_switches_hold_where_the_caller_says_nothing():
    assert on_gpu().performance == estoc.PerformanceControls()
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.use_deterministic_algorithms(True)
    try:
        wanted = estoc.PerformanceControls(allow_tf32=True, deterministic=True)
        assert on_gpu().performance == wanted
        tensors = [torch.empty(4, 4, device="meta") for _ in range(3)]
        plain = estoc.PerformanceControls()
        assert estoc.GemmArguments(*tensors, performance=plain).performance == plain
        a, b, out = product()
        assert estoc.GemmArguments(a, b, out).performance == plain
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.use_deterministic_algorithms(False)
