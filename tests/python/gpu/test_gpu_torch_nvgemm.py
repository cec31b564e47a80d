"""Inductor's backend NVGEMM with Estoc's kernels on a GPU: what it times, takes, and runs."""

import importlib.util

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc.torch  # noqa: E402

CODEGEN = "torch._inductor.codegen.nv_universal_gemm"
if importlib.util.find_spec(CODEGEN) is None:
    pytest.skip("this torch has no NVGEMM", allow_module_level=True)

from torch._inductor import select_algorithm  # noqa: E402
from torch._inductor.utils import fresh_inductor_cache, run_and_get_code  # noqa: E402


@pytest.fixture(autouse=True)
def enabled():
    torch.manual_seed(2026)
    try:
        estoc.torch.enable_nvgemm(candidates=3)
    except ImportError as missing:
        pytest.skip(str(missing))
    with torch._inductor.config.patch(max_autotune_gemm_backends="ATEN,NVGEMM"), fresh_inductor_cache():
        yield
    estoc.torch.disable_nvgemm()
    torch.compiler.reset()


@pytest.fixture
def timed():
    """Names and milliseconds of the kernels that were timed, by product."""
    found = {}

    def keep(timings, name, *_):
        found[name] = {choice.name: taken for choice, taken in timings.items()}

    select_algorithm.add_feedback_saver(keep)
    yield found
    select_algorithm.clear_feedback_savers()


def integers(*shape):
    return torch.randint(-3, 4, shape, device="cuda").to(torch.bfloat16)


def ours_of(timings):
    return {name: taken for name, taken in timings.items() if "nv_universal_gemm" in name}


def compiled(function, *given):
    mode = "max-autotune-no-cudagraphs"
    return run_and_get_code(torch.compile(function, mode=mode, fullgraph=True), *given)


@pytest.mark.parametrize("transposed", [False, True])
def test_products_are_timed(timed, transposed):
    a, b = integers(256, 512), integers(512, 128)
    if transposed:
        b = b.t().contiguous().t()
    result, _ = compiled(torch.mm, a, b)
    torch.testing.assert_close(result, a @ b)
    found = ours_of(timed["mm"])
    assert len(found) == 3
    assert all(0 < taken < 1 for taken in found.values()), found


@pytest.mark.parametrize(
    ("function", "shapes"),
    [(torch.mm, ((200, 512), (512, 136))), (torch.bmm, ((4, 64, 128), (4, 128, 96)))],
)
def test_kernels_run(timed, function, shapes):
    """Without ATen's products, all are Estoc's."""
    given = [integers(*shape) for shape in shapes]
    with torch._inductor.config.patch(max_autotune_gemm_backends="NVGEMM"):
        result, code = compiled(function, *given)
    torch.testing.assert_close(result, function(*given))
    assert "nv_universal_gemm" in "\n".join(code)


def test_graphs_of_cuda():
    a, b = integers(128, 256), integers(256, 64)
    with torch._inductor.config.patch(max_autotune_gemm_backends="NVGEMM"):
        product = torch.compile(torch.mm, mode="max-autotune", fullgraph=True)
        for _ in range(4):
            a = integers(128, 256)
            torch.compiler.cudagraph_mark_step_begin()
            torch.testing.assert_close(product(a, b), a @ b)
