"""Inductor's backend NVGEMM with Estoc's kernels: its own code, on operands of the CPU."""

import importlib.util
import types

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc.torch  # noqa: E402
from estoc import compat  # noqa: E402
from estoc.compat._ranked import VERSION  # noqa: E402

CODEGEN = "torch._inductor.codegen.nv_universal_gemm"
ASKS_THE_API = importlib.util.find_spec(f"{CODEGEN}.kernel_cache") is not None
if ASKS_THE_API:
    kernel_cache = importlib.import_module(f"{CODEGEN}.kernel_cache")
    ASKS_THE_API = hasattr(kernel_cache, "get_compatible_kernels")
needs_the_api = pytest.mark.skipif(not ASKS_THE_API, reason="this torch asks another package")
ASKS_OPERATORS = not ASKS_THE_API and importlib.util.find_spec(f"{CODEGEN}.kernel_cache") is not None
HAS_OPERATORS = importlib.util.find_spec("cutlass") is not None and (
    importlib.util.find_spec("cutlass.operators") is not None
)
needs_operators = pytest.mark.skipif(
    not ASKS_OPERATORS or not HAS_OPERATORS, reason="needs torch 2.15 and nvidia-cutlass-operators"
)


@pytest.fixture
def enabled():
    estoc.torch.enable_nvgemm(candidates=3)
    yield
    estoc.torch.disable_nvgemm()


@pytest.mark.skipif(not ASKS_OPERATORS or HAS_OPERATORS, reason="nothing is missing")
def test_what_it_asks_is_not_installed():
    with pytest.raises(ImportError, match="pip install nvidia-cutlass-operators"):
        estoc.torch.enable_nvgemm()
    assert not estoc.torch.nvgemm_enabled()


def test_a_torch_without_it_is_refused(monkeypatch):
    monkeypatch.setattr(estoc.torch._nvgemm, "_CACHE", "torch.no_such_module")
    with pytest.raises(estoc.UnsupportedError, match="such as 2.11 or 2.15, got"):
        estoc.torch.enable_nvgemm()
    assert not estoc.torch.nvgemm_enabled()


def test_no_candidates():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        estoc.torch.enable_nvgemm(candidates=0)


@needs_the_api
def test_inductor_finds_the_packages(enabled):
    from torch._inductor import utils

    assert utils.ensure_cute_available()
    assert utils.ensure_nv_universal_gemm_available()
    assert estoc.torch.nvgemm_enabled()
    assert "estoc nvgemm" in torch.compiler.config.cache_key_tag


@needs_the_api
@pytest.mark.parametrize("installed", [False, True])
def test_all_is_restored(installed):
    if installed:
        compat.install()
    estoc.torch.enable_nvgemm()
    estoc.torch.enable_nvgemm(candidates=2)
    import cutlass_api

    assert len(cutlass_api.get_kernels()) == 2
    estoc.torch.disable_nvgemm()
    estoc.torch.disable_nvgemm()
    assert "estoc nvgemm" not in torch.compiler.config.cache_key_tag
    assert compat.installed() == installed
    assert cutlass_api.get_kernels is estoc.get_kernels
    assert cutlass_api.arguments.GemmArguments is estoc.GemmArguments
    assert not estoc.torch.nvgemm_enabled()
    compat.uninstall()


@needs_the_api
def test_candidates(enabled):
    """The kernels that support a product, by Inductor's own choice among all."""
    import cutlass_api

    a, out = torch.ones(16, 16), torch.empty(16, 16)
    build = cutlass_api.arguments.GemmArguments
    args = build(a, a, out, accumulator_type=torch.float32)
    found = kernel_cache.get_compatible_kernels(args, 90, lambda one: "EFC" not in one.kernel_class.__name__)
    names = [one.metadata.kernel_name for one in found]
    assert names == [one.metadata.kernel_name for one in estoc.compat._ranked.ranked_kernels(len(names))]
    assert 1 <= len(names) <= min(3, len(estoc.get_kernels(args)))
    assert kernel_cache.get_kernel_by_name(names[0]) is found[0]
    assert kernel_cache.get_compatible_kernels(args, 70) == []
    refused = build(torch.ones(4, 4, dtype=torch.complex64), a, out, accumulator_type=torch.float32)
    assert kernel_cache.get_compatible_kernels(refused, 90) == []
    assert len(cutlass_api.get_kernels(args)) == len(estoc.get_kernels(args))


def generated(variant, nodes, **scales):
    """The module that Inductor writes for a product, with the first of Estoc's kernels."""
    kernel = importlib.import_module(f"{CODEGEN}.nv_universal_gemm_kernel")
    gemm = importlib.import_module(f"{CODEGEN}.nv_universal_gemm")
    name = estoc.compat._ranked.RankedKernel(0).metadata.kernel_name
    source = kernel.NVUniversalGemmKernel(
        "product", [None] * nodes, None, {"kernel_name": name}, torch.float32,
        gemm.GemmVariant[variant], **scales,
    ).render()  # fmt: skip
    module = types.ModuleType("generated")
    exec(source, vars(module))
    return module.product_main


@needs_the_api
def test_generated_code(enabled):
    main = generated("GEMM", 2)
    for transposed in (False, True):  # the second time by the artifact of the first
        a, b = torch.randn(24, 16), torch.randn(16, 40)
        b = b.t().contiguous().t() if transposed else b
        out = torch.full((24, 40), torch.nan)
        main(a, b, out, stream=0)
        torch.testing.assert_close(out, a @ b)


@needs_the_api
def test_generated_code_of_groups(enabled):
    a, b, out = torch.randn(10, 8), torch.randn(2, 8, 4), torch.zeros(10, 4)
    generated("GROUPED_GEMM", 3)(a, b, torch.tensor([3, 10], dtype=torch.int32), out, stream=0)
    torch.testing.assert_close(out, torch.cat([a[:3] @ b[0], a[3:] @ b[1]]))


@needs_the_api
def test_generated_code_of_scales(enabled):
    from torch.nn.functional import ScalingType, SwizzleType

    a = torch.randn(16, 64).to(torch.float8_e4m3fn)
    b = torch.randn(8, 64).to(torch.float8_e4m3fn)
    scale_a = torch.full((16, 2), 2.0).to(torch.float8_e8m0fnu)
    scale_b = torch.full((2, 8), 0.5).to(torch.float8_e8m0fnu)
    out = torch.empty(16, 8)
    main = generated(
        "SCALED_GEMM", 4, scale_type_a=ScalingType.BlockWise1x32, scale_type_b=ScalingType.BlockWise1x32,
        swizzle_type_a=SwizzleType.NO_SWIZZLE, swizzle_type_b=SwizzleType.NO_SWIZZLE,
    )  # fmt: skip
    main(a, b.t(), scale_a, scale_b, out, stream=0)
    torch.testing.assert_close(out, a.float() @ b.float().t())


@needs_operators
def test_operators_are_asked():
    """Inductor's own choice among all operators: Estoc's come first, as long as it is enabled."""
    import cutlass.operators as ops
    from torch._inductor.codegen.nv_universal_gemm import kernel_cache, nv_universal_gemm

    with torch._subclasses.fake_tensor.FakeTensorMode():
        a, b, out = (torch.empty(s, dtype=torch.bfloat16, device="cuda") for s in ((64, 128), (128, 256), (64, 256)))
    args = ops.GemmArguments(a, b, out, accumulator_type=torch.float32)

    def names():
        (found,) = kernel_cache.partition_compatible_kernels(
            args, 90, lambda one: 0 if nv_universal_gemm._exclude_efc_kernels(one) else -1, 1, candidate_source="args"
        )  # fmt: skip
        return [one.metadata.operator_name for one in found]

    before = names()
    estoc.torch.enable_nvgemm(candidates=3)
    found = names()
    assert found[:3] == [f"estoc_{VERSION}_gemm_bf16_bf16_bf16_f32_rank{rank}" for rank in range(3)]
    assert found[3:] == before
    assert kernel_cache.get_kernel_by_name(found[1]).rank == 1
    assert "estoc nvgemm" in torch.compiler.config.cache_key_tag
    estoc.torch.disable_nvgemm()
    assert names() == before
    assert "estoc nvgemm" not in torch.compiler.config.cache_key_tag


@needs_operators
@pytest.mark.parametrize("swap", [False, True])
def test_code_for_operators_runs(monkeypatch, swap):
    """What the code that Inductor generates calls, twice: the second time by what it remembers."""
    from cutlass.operators.arch import TargetSm
    from torch._inductor.codegen.nv_universal_gemm import nv_universal_gemm_kernel as kernel

    monkeypatch.setattr(kernel, "_current_target_sm", lambda device: TargetSm("90a"))
    monkeypatch.setattr("torch._inductor.runtime.cutedsl_cache.disk_cache_get", lambda *_: None)
    monkeypatch.setattr("torch._inductor.runtime.cutedsl_cache.disk_cache_set", lambda *_: None)
    estoc.torch.enable_nvgemm(candidates=2)
    name = f"estoc_{VERSION}_gemm_f32_f32_f32_f32_rank0"
    compiled = {}
    for _ in range(2):
        a, b, out = torch.randn(24, 16), torch.randn(16, 40), torch.full((24, 40), torch.nan)
        kernel._nvgemm_run("GEMM", name, (a, b), out, torch.float32, compiled, {}, name, (), swap_ab=swap)
        torch.testing.assert_close(out, a @ b)
    assert len(compiled) == 1
    estoc.torch.disable_nvgemm()


@needs_the_api
def test_benchmark_request(enabled):
    """What Inductor times: a function made of the kernel and of operands."""
    gemm = importlib.import_module(f"{CODEGEN}.nv_universal_gemm")
    request = gemm.NVUniversalGemmBenchmarkRequest(
        "product", [], [], estoc.compat._ranked.RankedKernel(0), torch.float32, gemm.GemmVariant.GEMM
    )
    a, out = torch.randn(8, 8), torch.empty(8, 8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.cuda, "current_stream", lambda: None)
        request.make_run_fn(a, a, out=out)()
    torch.testing.assert_close(out, a @ a)
