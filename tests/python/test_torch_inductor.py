"""Estoc in the max-autotune of Inductor, on the CPU: offered, called, cached, taken back."""

import subprocess
import sys
import types

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc.torch  # noqa: E402
import estoc.torch._fusion as fusion  # noqa: E402
import estoc.torch._inductor as inductor  # noqa: E402
from torch._inductor import config, select_algorithm  # noqa: E402
from torch._inductor.utils import fresh_inductor_cache, run_and_get_code  # noqa: E402


ALL = "c0 e0 c1 c2 c3 e1 e2"


def keep_those_of_estoc(choices):
    return [one for one in choices if one.name.startswith("estoc")] or choices


@pytest.fixture(autouse=True)
def enabled():
    torch.manual_seed(2026)
    estoc.torch.enable_inductor(devices=("cpu", "cuda"))
    with fresh_inductor_cache(), config.patch(max_autotune_gemm_backends="ATEN"):
        yield
    estoc.torch.disable_inductor()
    select_algorithm.clear_preprocessing_fns()
    torch.compiler.reset()


@pytest.fixture
def always():
    """Has Estoc win every comparison."""
    select_algorithm.add_preprocessing_fn(keep_those_of_estoc)


def compiled(function, **how):
    return torch.compile(function, fullgraph=True, mode="max-autotune-no-cudagraphs", **how)


def products(x, weight, bias, batch, other, added):
    hidden = torch.nn.functional.linear(x, weight, bias)
    return (
        torch.mm(hidden, weight),
        torch.bmm(batch, other),
        torch.baddbmm(added, batch, other, beta=0.5, alpha=2),
        torch.addmm(bias.view(1, -1), x, weight.t(), beta=3),
    )


def operands(rows=40):
    shapes = (rows, 48), (32, 48), (32,), (3, 16, 24), (3, 24, 8), (3, 16, 8)
    return [torch.randn(shape) for shape in shapes]


def check(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_products_are_those_of_torch(always):
    given = operands()
    found, (code, *_) = run_and_get_code(compiled(products), *given)
    check(found, products(*given))
    assert code.count("extern_kernels.estoc_mm_") == 2
    assert code.count("extern_kernels.estoc_addmm_") == 3
    assert "extern_kernels.mm(" not in code and "extern_kernels.addmm(" not in code


def test_dynamic_shapes(always):
    function = compiled(products, dynamic=True)
    for rows in (40, 17, 64):
        given = operands(rows)
        check(function(*given), products(*given))


def test_gradients(always):
    given = [one.requires_grad_() for one in operands()[:3]]

    def function(x, weight, bias):
        return torch.nn.functional.linear(x, weight, bias).square().sum()

    function(*given).backward()
    wanted = [one.grad for one in given]
    for one in given:
        one.grad = None
    loss = compiled(function)(*given)
    _, codes = run_and_get_code(loss.backward)
    check([one.grad for one in given], wanted)
    assert sum(code.count("extern_kernels.estoc_mm_") for code in codes) == 2


def test_sums_of_two_products(always):
    a, b, c, d = (torch.randn(40, 40) for _ in range(4))

    def function(a, b, c, d):
        return a @ b + c @ d

    found, (code, *_) = run_and_get_code(compiled(function), a, b, c, d)
    torch.testing.assert_close(found, function(a, b, c, d), rtol=1e-4, atol=1e-4)
    assert "extern_kernels.estoc_mm_plus_mm_" in code


@pytest.mark.parametrize("scales", [((), ()), ((48, 1), (1, 32))])
@pytest.mark.parametrize("biased", [False, True])
def test_scaled_products(always, scales, biased):
    a, b = (torch.randn(rows, 64).to(torch.float8_e4m3fn) for rows in (48, 32))
    scale_a, scale_b = (torch.rand(shape) + 0.5 for shape in scales)
    bias = torch.randn(32).bfloat16() if biased else None

    def function(a, b, scale_a, scale_b, bias):
        return torch._scaled_mm(a, b.t(), scale_a, scale_b, bias, out_dtype=torch.bfloat16)

    found, (code, *_) = run_and_get_code(compiled(function), a, b, scale_a, scale_b, bias)
    wanted = (a.float() * scale_a) @ (b.float().t() * scale_b) + (bias if biased else 0)
    torch.testing.assert_close(found.float(), wanted.float(), rtol=2e-2, atol=1e-1)
    assert "extern_kernels.estoc_scaled_mm_" in code


def test_scaled_products_by_name():
    """Candidates behind the first one are called by name; a name that is none is left out."""
    a, b = (torch.randn(rows, 64).to(torch.float8_e4m3fn) for rows in (48, 32))
    scale_a, scale_b = torch.tensor(0.5), torch.tensor(4.0)
    wanted = 2 * a.float() @ b.float().t()
    args = estoc.GemmArguments(
        estoc.ScaledTensor(a, scale_a, estoc.ScaleMode.tensorwise),
        estoc.ScaledTensor(b.t(), scale_b, estoc.ScaleMode.tensorwise),
        torch.empty(48, 32, dtype=torch.bfloat16),
    )
    for name in [*(one.name for one in estoc.get_kernels(args)), "no_such_kernel"]:
        out = torch.full((48, 32), torch.nan, dtype=torch.bfloat16)
        inductor._scaled_mm(a, b.t(), scale_a, scale_b, out=out, kernel=name)
        torch.testing.assert_close(out.float(), wanted, rtol=1e-2, atol=1e-2)
        # Scales that lie elsewhere.
        inductor._scaled_mm(a, b.t(), 2 * scale_a, scale_b.clone(), out=out, kernel=name)
        torch.testing.assert_close(out.float(), 2 * wanted, rtol=1e-2, atol=1e-2)
        planned = [plan for key, plan in inductor._chosen.items() if key[0] == name]
        assert planned and all((plan is None) == (name == "no_such_kernel") for plan in planned)


@pytest.mark.parametrize("shapes", [((48, 32), (3, 32, 64)), ((16, 48), (48, 64))])
def test_grouped_products(always, shapes):
    a, b = (torch.randn(shape).bfloat16() for shape in shapes)
    offs = torch.tensor([16, 16, 48], dtype=torch.int32)

    def function(a, b, offs):
        return torch._grouped_mm(a, b, offs=offs)

    found, (code, *_) = run_and_get_code(compiled(function), a, b, offs)
    torch.testing.assert_close(found, function(a, b, offs), rtol=2e-2, atol=2e-2)
    assert "extern_kernels.estoc_grouped_mm_" in code


def test_named_kernels(always, monkeypatch):
    name = "cpu_gemm-bf16-bf16-f32-bf16"
    monkeypatch.setattr(inductor, "_kernel_names", lambda *_: [name, name])
    monkeypatch.setattr(
        select_algorithm.get_algorithm_selector_cache(),
        "preprocessing_fns",
        [
            *select_algorithm.get_algorithm_selector_cache().preprocessing_fns,
            lambda choices: [one for one in choices if one.kwargs.get("kernel")],
        ],
    )
    a, b = torch.randn(40, 48).bfloat16(), torch.randn(48, 32).bfloat16()
    found, (code, *_) = run_and_get_code(compiled(torch.mm), a, b)
    torch.testing.assert_close(found, a @ b)
    assert f"kernel='{name}'" in code


@pytest.mark.parametrize(
    ("count", "kept"),
    [(1, "c0"), (2, "c0 e0"), (3, "c0 e0 c1"), (4, "c0 e0 c1 e1"), (6, "c0 e0 c1 c2 e1 e2"), (9, ALL)],
)
def test_candidates_are_not_cublaslt_alone(count, kept):
    names = {"c": "cublaslt_gemm-", "e": "sm90_gemm-"}
    kernels = [types.SimpleNamespace(name=names[one[0]] + one[1]) for one in ALL.split()]
    found = inductor._candidates(kernels, count)
    assert found == [names[one[0]] + one[1] for one in kept.split()]


@pytest.mark.parametrize("name", ["cpu_gemm-f32-f32-f32-f32", "of_another_version", None])
def test_a_kernel_that_is_gone_is_replaced(name):
    a, b, out = torch.randn(5, 8), torch.randn(8, 6), torch.empty(5, 6)
    inductor._mm(a, b, out=out, kernel=name)
    torch.testing.assert_close(out, a @ b)
    inductor._addmm(torch.ones(6), a, b, out=out, alpha=0.5, beta=2, kernel=name)
    torch.testing.assert_close(out, 2 + 0.5 * (a @ b))
    inductor._addmm(torch.full((6,), torch.nan), a, b, out=out, beta=0, kernel=name)
    torch.testing.assert_close(out, a @ b)


def test_a_launch_that_fails_is_not_hidden(monkeypatch):
    a, out = torch.eye(16), torch.empty(16, 16)

    def raise_(error):
        def launch(*_, **__):
            raise error("says why")

        return launch

    name = "of_a_plan"
    for error in (estoc.DriverError, estoc.OutOfMemoryError):
        monkeypatch.setattr(inductor, "_planned", lambda *_, kind=error: raise_(kind))
        monkeypatch.setattr(inductor, "_chosen", {})
        with pytest.raises(error, match="says why"):
            inductor._mm(a, a, out=out, kernel=name)
    monkeypatch.setattr(inductor, "_planned", lambda *_: raise_(estoc.UnsupportedError))
    monkeypatch.setattr(inductor, "_chosen", {})
    assert torch.equal(inductor._mm(a, a, out=out, kernel=name), a)


functional = torch.nn.functional
X, W, U = (torch.randn(*shape).bfloat16() for shape in ((24, 48), (32, 48), (32, 48)))
BIAS, RESIDUAL = torch.randn(32).bfloat16(), torch.randn(24, 32).bfloat16()
BATCH, OTHERS = torch.randn(2, 12, 48).bfloat16(), torch.randn(2, 12, 32).bfloat16()


@pytest.fixture
def epilogues():
    estoc.torch.enable_inductor(devices=("cpu",))


@pytest.mark.parametrize(
    ("function", "program"),
    [
        (lambda: (X @ W.t()).relu(), "t0 = relu(accum); D = t0"),
        (
            lambda: functional.silu(X @ W.t()) * (X @ U.t()),
            "t3 = silu(accum); t4 = t3 * x0; D = t4",
        ),
        (
            lambda: functional.gelu(functional.linear(X, W, BIAS)),
            "t0 = accum + x0; t5 = gelu(t0); D = t5",
        ),
        (
            lambda: functional.gelu(functional.linear(X, W, BIAS), approximate="tanh"),
            "t0 = accum + x0; t9 = gelu_tanh(t0); D = t9",
        ),
        (
            lambda: torch.addmm(BIAS, X, W.t(), alpha=0.5, beta=3) - RESIDUAL,
            "t0 = accum * (0.5); t1 = x0 * (3.0); t2 = t0 + t1; t3 = t2 - x1; D = t3",
        ),
        (
            lambda: torch.add(functional.linear(BATCH, W), OTHERS, alpha=1).abs(),
            "t0 = accum + x0; t1 = abs(t0); D = t1",
        ),
        (lambda: (X @ W.t()) * RESIDUAL[:, :1] + BIAS, "t0 = accum * x0; t1 = t0 + x1; D = t1"),
        (lambda: (X @ W.t()).float().clamp(min=-0.5), "t0 = maximum(accum, (-0.5)); D = t0"),
    ],
)
def test_pointwise_operations_become_an_epilogue(epilogues, monkeypatch, function, program):
    monkeypatch.setattr(fusion.Lowered, "at_least", lambda *_: float("inf"))
    wanted = function()
    found, (code, *_) = run_and_get_code(compiled(function))
    assert f"program='{program}'" in code
    assert "cpp_fused" not in code
    # Inductor's way rounds the product to bf16 as well.
    scale = wanted.float().abs().max().item()
    torch.testing.assert_close(found.float(), wanted.float(), rtol=2**-6, atol=scale * 2**-6)
    assert found.dtype == wanted.dtype


def test_products_of_epilogues(epilogues, monkeypatch):
    monkeypatch.setattr(fusion.Lowered, "at_least", lambda *_: float("inf"))
    down = torch.randn(48, 32).bfloat16()

    def block():
        hidden = functional.silu(X @ W.t()) * (X @ U.t())
        return (hidden @ down.t() + X).relu().sum(1)  # what is no epilogue follows

    found, (code, *_) = run_and_get_code(compiled(block))
    assert code.count("extern_kernels.estoc_fused") == 2
    torch.testing.assert_close(found, block(), rtol=2**-5, atol=block().max().item() * 2**-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda: (lambda h: (h, h.relu()))(X @ W.t()),  # the product is used elsewhere
        lambda: (X @ W.t()).sum(1) + 1,
        lambda: (X @ W.t()) * torch.arange(32),  # integers
        lambda: (X.float() @ W.t().float()).relu(),  # torch's switches decide about f32
        lambda: (X @ W.t()).t().relu(),
        lambda: torch.erf(X @ W.t()),
    ],
)
def test_what_is_no_epilogue_is_left_to_inductor(epilogues, monkeypatch, function):
    monkeypatch.setattr(fusion.Lowered, "at_least", lambda *_: float("inf"))
    found, (code, *_) = run_and_get_code(compiled(function))
    assert "estoc_fused" not in code
    torch.testing.assert_close(found, function(), rtol=2**-6, atol=0.5)


def test_an_epilogue_that_is_slower_is_left_to_inductor(epilogues, monkeypatch):
    monkeypatch.setattr(fusion.Lowered, "at_least", lambda *_: 0)
    found, (code, *_) = run_and_get_code(compiled(lambda: (X @ W.t()).relu()))
    assert "estoc_fused" not in code
    torch.testing.assert_close(found, (X @ W.t()).relu(), rtol=2**-6, atol=0.5)


def test_what_was_compared_is_logged(epilogues, monkeypatch, caplog):
    monkeypatch.setattr(fusion.Lowered, "at_least", lambda *_: float("inf"))
    caplog.set_level("DEBUG", logger="estoc.torch")
    compiled(lambda: (X @ W.t()).relu())()
    (line,) = (one for one in caplog.records if one.name == "estoc.torch")
    assert "'t0 = relu(accum); D = t0' behind 24 x 32" in line.getMessage()
    assert line.args["chosen"] is True


def test_epilogues_may_be_left_out(monkeypatch):
    monkeypatch.setattr(fusion.Lowered, "at_least", lambda *_: float("inf"))
    estoc.torch.enable_inductor(devices=("cpu",), epilogues=False)
    _, (code, *_) = run_and_get_code(compiled(lambda: (X @ W.t()).relu()))
    assert "estoc_fused" not in code


def test_an_epilogue_that_is_no_faster_but_for_noise_is_left_to_inductor(epilogues, monkeypatch):
    monkeypatch.setattr(fusion.Lowered, "at_least", lambda *_: 1.005)
    monkeypatch.setattr(inductor, "_fastest_fused", lambda *_: ("unused", 1.0))
    found = compiled(lambda: (X @ W.t()).relu())()
    torch.testing.assert_close(found, (X @ W.t()).relu(), rtol=2**-6, atol=0.5)


@pytest.mark.parametrize(("megabytes", "microseconds"), [(4, 1 + 12 / 2), (40, 1 + 120)])
def test_what_a_kernel_behind_the_product_takes(monkeypatch, megabytes, microseconds):
    # 1e12 bytes a second, and a cache of 50 MB.
    card = types.SimpleNamespace(memory_clock_rate=1e6, memory_bus_width=4000, L2_cache_size=50e6)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: card)
    value = types.SimpleNamespace(
        device=types.SimpleNamespace(type="cuda"), numel=lambda: megabytes * 500_000, element_size=lambda: 2
    )
    node = types.SimpleNamespace(meta={"val": value})
    region = types.SimpleNamespace(nodes=[node], result=node, operands=[node])
    assert inductor._seconds_of_rest(region) == pytest.approx(1e-6 * microseconds)


def test_templates_fuse_operations_at_no_cost():
    class Caller(select_algorithm.ExternKernelCaller):
        def __init__(self):
            pass

    lowered = fusion.Lowered.__new__(fusion.Lowered)
    lowered.timings = {}
    assert lowered.at_least(1) == 0
    lowered.timings = {Caller(): 2.0}
    assert lowered.at_least(0.001) == 3
    lowered.timings = {Caller(): 2.0, "template": 2.5}
    assert lowered.at_least(0.001) == 2.5


def test_the_pass_that_was_there_stays(monkeypatch):
    from torch._inductor.custom_graph_pass import CustomGraphPass

    class Seen(CustomGraphPass):
        graphs = 0

        def __call__(self, graph):
            Seen.graphs += 1

        def uuid(self):
            return "seen"

    estoc.torch.disable_inductor()
    mine = Seen()
    with config.patch(post_grad_custom_post_pass=mine):
        estoc.torch.enable_inductor(devices=("cpu",), epilogues=True)
        both = config.post_grad_custom_post_pass
        compiled(lambda: (X @ W.t()).relu())()
        estoc.torch.disable_inductor()
        assert config.post_grad_custom_post_pass is mine
    assert Seen.graphs == 1
    assert "seen" in both.uuid()


def test_dtypes_that_no_kernel_takes_are_left_to_torch(always):
    a = torch.randint(-3, 4, (40, 48), dtype=torch.int64)
    found, (code, *_) = run_and_get_code(compiled(torch.mm), a, a.t())
    assert torch.equal(found, a @ a.t())
    assert "estoc" not in code


def test_without_max_autotune_nothing_is_offered(always):
    a = torch.randn(40, 48)
    _, (code, *_) = run_and_get_code(torch.compile(torch.mm, fullgraph=True), a, a.t())
    assert "estoc" not in code


def test_disabling_restores_everything():
    cache = select_algorithm.get_algorithm_selector_cache()
    assert estoc.torch.inductor_enabled()
    assert "estoc" in torch.compiler.config.cache_key_tag
    estoc.torch.enable_inductor(candidates=1, devices=("cpu",))  # replaces what was
    assert torch.compiler.config.cache_key_tag.count("estoc") == 1
    estoc.torch.disable_inductor()
    estoc.torch.disable_inductor()
    assert not estoc.torch.inductor_enabled()
    assert torch.compiler.config.cache_key_tag == ""
    assert not any(type(one).__module__.startswith("estoc") for one in cache.preprocessing_fns)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"candidates": 0}, "candidates: expected at least 1, got 0"),
        ({"devices": ("tpu",)}, "devices: expected 'cuda' or 'cpu', got 'tpu'"),
    ],
)
def test_refusals(how, message):
    with pytest.raises(ValueError, match=message):
        estoc.torch.enable_inductor(**how)
    assert estoc.torch.inductor_enabled()


PROGRAM = """
import sys
import torch
import estoc.torch
from torch._dynamo.utils import counters
from torch._inductor import config, select_algorithm
config.max_autotune_gemm_backends = "ATEN"
if "enabled" in sys.argv:
    estoc.torch.enable_inductor(devices=("cpu",))
    select_algorithm.add_preprocessing_fn(
        lambda choices: [one for one in choices if one.name.startswith("estoc")])
a, b = torch.ones(40, 48), torch.ones(48, 32)
found = torch.compile(torch.mm, mode="max-autotune-no-cudagraphs")(a, b)
assert torch.equal(found, a @ b)
print(counters["inductor"]["fxgraph_cache_hit"] + counters["aot_autograd"]["autograd_cache_hit"])
"""


def test_cached_graphs_run_in_another_process(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))

    def hits(*arguments):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert hits("enabled") == 0
    assert any("estoc_mm_" in file.read_text() for file in tmp_path.rglob("*.py"))
    assert hits("enabled") > 0
    assert hits() == 0  # graphs that call Estoc are not those of a program without it
