"""Operators of estoc.torch on a GPU: gradients, graphs of CUDA, streams, and Inductor's max-autotune."""

import re

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc.torch  # noqa: E402

BF16 = torch.bfloat16


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(2026)
    yield
    torch.compiler.reset()


def integers(*shape, dtype=BF16, grad=False):
    return torch.randint(-3, 4, shape, device="cuda").to(dtype).requires_grad_(grad)


def block(x, weight, bias, down):
    hidden = estoc.torch.linear(x, weight, bias, "D = relu(accum + bias)")
    return estoc.torch.matmul(hidden, down)


def of_torch(x, weight, bias, down):
    return torch.nn.functional.linear(x, weight, bias).relu() @ down


def operands(rows=96):
    return [
        integers(rows, 64, grad=True),
        integers(128, 64, grad=True),
        integers(128, grad=True),
        integers(128, 32, grad=True),
    ]


def outcome(function, given):
    """The result, and the gradients of all operands."""
    result = function(*given)
    gradients = torch.autograd.grad(result.float().sum(), given)
    return [result, *gradients]


def check(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one.float(), other.float(), rtol=2e-2, atol=1e-2)


@pytest.mark.parametrize("backend", [None, "aot_eager", "inductor"])
def test_gradients(backend):
    given = operands()
    function = block
    if backend is not None:
        function = torch.compile(block, fullgraph=True, backend=backend)
    check(outcome(function, given), outcome(of_torch, given))


def test_autocast():
    x, weight = (torch.randn(rows, 64, device="cuda", requires_grad=True) for rows in (32, 48))
    with torch.autocast("cuda", dtype=torch.float16):
        result = estoc.torch.linear(x, weight)
        wanted = torch.nn.functional.linear(x, weight)
    assert result.dtype == torch.float16
    torch.testing.assert_close(result, wanted, rtol=1e-2, atol=1e-2)
    result.float().sum().backward()
    assert x.grad.dtype == torch.float32


def test_no_call_waits_for_the_device():
    given = operands()
    experts = integers(3, 64, 32)
    offs = torch.tensor([10, 50, 96], dtype=torch.int32, device="cuda")

    def everything():
        outcome(block, given)
        with torch.no_grad():
            block(*given)
            estoc.torch.grouped_mm(given[0], experts, offs=offs)

    everything()
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        everything()
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("recorded", [False, True])
def test_graphs_of_cuda(recorded):
    given = operands()
    run = outcome if recorded else (lambda function, given: [function(*given)])
    with torch.set_grad_enabled(recorded):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            run(block, given)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            found = run(block, given)
        with torch.no_grad():
            given[0].copy_(integers(96, 64))
        graph.replay()
        check(found, run(of_torch, given))


def test_the_current_stream():
    a, b = integers(96, 64), integers(64, 32)
    estoc.torch.matmul(a, b)
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    for function in (estoc.torch.matmul, torch.ops.estoc.matmul):
        with torch.cuda.stream(stream):
            torch.cuda._sleep(50_000_000)
            a.fill_(2)
            found = function(a, b)
        stream.synchronize()
        torch.testing.assert_close(found, a @ b)
        a.fill_(1)
        torch.cuda.synchronize()


@pytest.mark.parametrize("sizes", [(10, 40, 46), (0, 96, 0), (1, 2, 3)])
def test_grouped_gradients(sizes):
    a, b = integers(96, 64, grad=True), integers(3, 64, 32, grad=True)
    offs = torch.tensor(sizes, device="cuda").cumsum(0).to(torch.int32)
    result = estoc.torch.grouped_mm(a, b, offs=offs, zero_rest=True)
    found = [result, *torch.autograd.grad(result.float().sum(), (a, b))]
    parts = torch.split(a, [*sizes, 96 - sum(sizes)])
    wanted = torch.cat(
        [one @ weight for one, weight in zip(parts, [*b, torch.zeros_like(b[0])], strict=True)]
    )
    check(found, [wanted, *torch.autograd.grad(wanted.float().sum(), (a, b))])


def test_scaled_mm_compiles():
    a, b = integers(32, 64).to(torch.float8_e4m3fn), integers(48, 64).to(torch.float8_e4m3fn)
    scales = torch.tensor(0.5, device="cuda"), torch.tensor(0.25, device="cuda")
    wanted = (a.float() @ b.float().t()) * 0.125
    function = torch.compile(estoc.torch.scaled_mm, fullgraph=True)
    torch.testing.assert_close(function(a, b.t(), *scales).float(), wanted, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("mode", ["max-autotune", "max-autotune-no-cudagraphs"])
def test_inductor(mode):
    pytest.importorskip("triton", reason="Triton is not installed")
    from torch._inductor import select_algorithm
    from torch._inductor.utils import fresh_inductor_cache, run_and_get_code

    def function(x, weight, bias, down):
        hidden = torch.nn.functional.linear(x, weight, bias).relu()
        return (
            torch.mm(hidden, down) + 1,
            torch.bmm(x[None], weight.t()[None]),
            x @ weight.t() + x @ weight.t().flip(1),
            torch._scaled_mm(fp8, fp8.t(), scale, scale, out_dtype=BF16),
            torch._grouped_mm(x, experts, offs=offs),
        )

    fp8 = integers(96, 64).to(torch.float8_e4m3fn)
    scale = torch.tensor(0.5, device="cuda")
    experts = integers(3, 64, 32)
    offs = torch.tensor([10, 50, 96], dtype=torch.int32, device="cuda")
    given = [one.detach() for one in operands()]
    estoc.torch.enable_inductor(epilogues=False)  # which relu behind addmm would be
    select_algorithm.add_preprocessing_fn(
        lambda choices: [one for one in choices if one.name.startswith("estoc")] or choices
    )
    try:
        with fresh_inductor_cache():
            compiled = torch.compile(function, fullgraph=True, mode=mode)
            found, (code, *_) = run_and_get_code(compiled, *given)
            for kind in ("mm", "addmm", "mm_plus_mm", "scaled_mm", "grouped_mm"):
                assert f"extern_kernels.estoc_{kind}_" in code, kind
            for _ in range(4):  # the later ones replay a graph
                torch.compiler.cudagraph_mark_step_begin()
                given[0].copy_(integers(96, 64))
                found = compiled(*given)
                check(found, function(*given))
    finally:
        estoc.torch.disable_inductor()
        select_algorithm.clear_preprocessing_fns()


@pytest.mark.parametrize("mode", ["max-autotune", "max-autotune-no-cudagraphs"])
@pytest.mark.parametrize("rows", [7, 96, 600])
def test_inductor_epilogues(monkeypatch, mode, rows):
    """Pointwise operations of a gated block, in kernels of Estoc alone and as Inductor decides."""
    pytest.importorskip("triton", reason="Triton is not installed")
    from torch._inductor import config
    from torch._inductor.utils import fresh_inductor_cache, run_and_get_code

    from estoc.torch import _fusion

    functional = torch.nn.functional
    x = torch.randn(rows, 256, device="cuda", dtype=BF16)
    gate, up = (torch.randn(512, 256, device="cuda", dtype=BF16) / 16 for _ in range(2))
    down, bias = torch.randn(256, 512, device="cuda", dtype=BF16) / 16, torch.randn_like(x[0])

    def block(x):
        hidden = functional.silu(x @ gate.t()) * (x @ up.t())
        return functional.gelu(functional.linear(hidden, down, bias)) + x

    def exact(x):
        gated, upped, downed, added = (one.double() for one in (gate, up, down, bias))
        x = x.double()
        hidden = functional.silu(x @ gated.t()) * (x @ upped.t())
        return functional.gelu(functional.linear(hidden, downed, added)) + x

    for always in (True, False):
        torch.compiler.reset()
        estoc.torch.enable_inductor(epilogues=True)
        try:
            few = config.patch({"test_configs.max_mm_configs": 3})
            with monkeypatch.context() as patch, fresh_inductor_cache(), few, torch.no_grad():
                if always:
                    patch.setattr(_fusion.Lowered, "at_least", lambda *_: float("inf"))
                compiled = torch.compile(block, fullgraph=True, mode=mode)
                found, (code, *_) = run_and_get_code(compiled, x)
                if always:
                    assert code.count("extern_kernels.estoc_fused") == 2
                    # The third product is plain.
                    assert len(re.findall(r"extern_kernels\.\w+\(|\.run\(", code)) == 3
                for _ in range(4):  # the later ones replay a graph
                    torch.compiler.cudagraph_mark_step_begin()
                    x.normal_()
                    found = compiled(x)
                    wanted = exact(x)
                    error = (found.double() - wanted).abs().max() / wanted.abs().max()
                    assert error < 2**-7
        finally:
            estoc.torch.disable_inductor()
