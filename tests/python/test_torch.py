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


def test_fake_tensors_of_a_gpu_compile_for_it(nvrtc):
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        a, b = (torch.empty(256, 256, dtype=torch.bfloat16, device="cuda") for _ in range(2))
        out = torch.empty(256, 256, dtype=torch.float32, device="cuda")
    args = estoc.GemmArguments(a, b, out)
    assert args.device == "cuda:0"
    kernels = estoc.get_kernels(args, "class=sm90_gemm", target="sm_90a")
    artifact = kernels[0].compile(args, target="sm_90a")
    assert artifact.target == "sm_90a"
    assert artifact.compiled_obj[:4] == b"\x7fELF"
    for call in (kernels[0].run, kernels[0].bind):
        with pytest.raises(ValueError, match="a tensor with data, got a description"):
            call(args, artifact, assume_supported_args=True)


def test_meta_tensors_are_on_the_gpu():
    a, b, out = (torch.empty(256, 256, dtype=torch.float16, device="meta") for _ in range(3))
    args = estoc.GemmArguments(a, b, out, torch.float32)
    assert args.device == "cuda:0"
    assert "sm90" in estoc.get_kernels(args, cc=90, providers="cuda")[0].name
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


def released():
    tensor = torch.zeros(4, 4)
    tensor.untyped_storage().resize_(0)
    return tensor


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: torch.tensor(1.0), "A"),
        (lambda: torch.zeros(2, 2, 2, 2), "A"),
        (released, "data|null|pointer"),
        (lambda: torch.zeros(4, 4, dtype=torch.float32).expand(4, 4)[:, :0], "K = 0"),
        (lambda: torch.zeros(4, 4, device="meta", dtype=torch.float16).to(torch.float32), None),
    ],
)
def test_values_that_do_not_fit(make, message):
    b, out = torch.zeros(4, 4), torch.zeros(4, 4)
    if message is None:  # described: fits, but cannot be run
        args = estoc.GemmArguments(make(), b, out)
        with pytest.raises(ValueError, match="a tensor with data, got a description"):
            estoc.get_kernels(args)[0].run(args)
        with pytest.raises(ValueError, match="a tensor with data, got a description"):
            estoc.plan(make(), b, out)()
        return
    with pytest.raises(ValueError, match=message):
        estoc.GemmArguments(make(), b, out)


def test_negated_and_conjugated_views_are_refused():
    view = torch.complex(torch.zeros(4, 4), torch.ones(4, 4)).conj().imag
    assert view.is_neg()
    with pytest.raises(TypeError, match="resolve_neg"):
        estoc.GemmArguments(view, torch.zeros(4, 4), torch.zeros(4, 4))


def test_a_capsule_is_used_once():
    a, b, out = product()
    capsule = torch.utils.dlpack.to_dlpack(a)
    estoc.GemmArguments(capsule, b, out)
    with pytest.raises(ValueError, match="expected an unused DLPack capsule"):
        estoc.GemmArguments(capsule, b, out)


def test_plans_see_that_a_tensor_has_changed():
    a, b, out = product(m=8, n=8, k=8)
    plan = estoc.plan(a, b, out)
    for _ in range(3):
        plan(a, b, out)
        torch.testing.assert_close(out, a @ b)
    a.resize_(4, 8)
    with pytest.raises(ValueError, match=r"out\.shape: expected M = 4"):
        plan(a, b, out)
    a.resize_(8, 8).fill_(2)
    b.t_()
    plan(a, b, out)
    torch.testing.assert_close(out, a @ b)
    a.data = torch.ones(8, 8, dtype=torch.float64)
    with pytest.raises(estoc.UnsupportedError, match=r"A\.dtype: expected f32, got f64"):
        plan(a, b, out)


def test_tiny_products_start_no_threads():
    import os

    a, b, _ = product()
    estoc.matmul(a, b)
    before = len(os.listdir("/proc/self/task"))
    for _ in range(50):
        estoc.matmul(a, b)
    assert len(os.listdir("/proc/self/task")) == before


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


def test_matmul_makes_a_new_result_each_time():
    problems = [product(m=m, n=n) for m, n in [(8, 6), (3, 5)] * 30]
    found = [estoc.matmul(a, b) for a, b, _ in problems]
    for result, (a, b, _) in zip(found, problems, strict=True):
        assert type(result) is torch.Tensor and result.is_contiguous()
        assert not result.requires_grad
        torch.testing.assert_close(result, a @ b)
    found[0].resize_(20, 20)  # torch's own memory, not a view of somebody else's


@pytest.mark.parametrize("batched", [False, True])
def test_matmul_of_all_kinds(batched):
    for dtype, made in [
        (torch.float64, torch.float64),
        (torch.bfloat16, torch.bfloat16),
        (torch.float8_e4m3fn, torch.bfloat16),
        (torch.int8, torch.int32),
    ]:
        a, b, _ = product(dtype)
        if batched:
            a, b = a[None].expand(3, 8, 4), b[None].expand(3, 4, 6)
        for _ in range(3):
            for left, right in [(a, b), (a.mT.contiguous().mT, b.mT.contiguous().mT)]:
                found = estoc.matmul(left, right)
                assert found.dtype == made
                wanted = a.double() @ b.double()
                torch.testing.assert_close(found.double(), wanted)
                out = torch.full_like(found, 7)
                assert estoc.matmul(left, right, out) is out
                torch.testing.assert_close(out.double(), wanted)


def test_matmul_of_parameters_and_subclasses():
    class Named(torch.Tensor):
        pass

    a, b, _ = product()
    for _ in range(3):
        assert type(estoc.matmul(torch.nn.Parameter(a), b)) is torch.Tensor
        assert type(estoc.matmul(a.as_subclass(Named), b)) is Named
        with torch.inference_mode():
            found = estoc.matmul(a, b)
        assert found.is_inference()
        torch.testing.assert_close(found, a @ b)


def freed(shape=(4, 6)):
    """A tensor whose memory torch has taken back."""
    tensor = torch.ones(shape)
    tensor.untyped_storage().resize_(0)
    return tensor


def test_calls_refuse_what_lies_otherwise():
    a, b, out = product()
    plan = estoc.plan(a, b, out)
    for _ in range(3):
        plan(a, b, out)
        estoc.matmul(a, b, out)
        for call, error, message in [
            (lambda: plan(a.double(), b, out), estoc.UnsupportedError, r"A\.dtype: expected f32"),
            (lambda: plan(a, b, out[:4]), ValueError, r"out\.shape: expected M = 8, got 4"),
            (lambda: plan(a, b, a.new_empty(1).expand(8, 6)), ValueError, "coincide"),
            (lambda: estoc.matmul(a, b, out[:4]), ValueError, r"out\.shape: expected M = 8"),
            (lambda: estoc.matmul(a, a), ValueError, r"B\.shape: expected K = 4, got 8"),
            (lambda: estoc.matmul(a, b.cfloat()), TypeError, r"b\.dtype: .* got complex64"),
            (lambda: estoc.matmul(a, b.long()), TypeError, r"b\.dtype: .* got int64"),
            (lambda: estoc.matmul(a, b.bool()), estoc.UnsupportedError, "kernel supports.*got bool"),
            (lambda: estoc.matmul(a.bool(), b), TypeError, "out: expected a dtype for a product"),
            (lambda: estoc.matmul(a, torch.nested.nested_tensor([b])), TypeError, "a nested one"),
            (lambda: estoc.matmul(a, torch.tensor(1.0)), ValueError, "modes, got 2 and 0"),
            (lambda: estoc.matmul(a, freed()), ValueError, "for 24 elements, got a null pointer"),
            (lambda: plan(a, b, freed((8, 6))), ValueError, "got a null pointer"),
            (lambda: estoc.matmul(a, b.to("meta")), ValueError, "device|data"),
            (lambda: estoc.matmul(a, b, out.to("meta")), ValueError, "device|data"),
            (lambda: estoc.matmul(a, b.to_sparse()), TypeError, "strided"),
        ]:
            with pytest.raises(error, match=message):
                call()
        square = torch.ones(4, 4)
        with pytest.raises(ValueError, match="out: expected memory apart from A's"):
            estoc.matmul(square, square, square)


def test_calls_on_the_same_memory_see_what_has_changed():
    a, b, out = product()
    plan = estoc.plan(a, b, out)
    others = product()
    for _ in range(5):
        a += 1
        plan(a, b, out)
        torch.testing.assert_close(out, a @ b)
        plan(*others)
        torch.testing.assert_close(others[2], others[0] @ others[1])
        torch.testing.assert_close(estoc.matmul(a, b), a @ b)


@pytest.mark.parametrize("moved", [0, 1, 2])
def test_calls_on_one_tensor_that_is_elsewhere(moved):
    a, b, out = product()
    plan = estoc.plan(a, b, out)
    others = [2 * a + 1, 3 * b + 1, out.clone()]
    for call in (plan, estoc.matmul):
        for _ in range(4):
            operands = [a, b, out]
            call(*operands)
            operands[moved] = others[moved]
            operands[2].fill_(77)
            call(*operands)
            torch.testing.assert_close(operands[2], operands[0] @ operands[1])


def test_matmul_in_many_threads():
    import threading

    failed = []

    def work(seed):
        try:
            a, b, _ = product(m=seed % 3 + 2)
            for _ in range(200):
                torch.testing.assert_close(estoc.matmul(a, b), a @ b)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed[0]
