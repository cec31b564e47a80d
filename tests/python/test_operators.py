"""The provider of cutlass.operators: its own queries, on operands of the CPU and without data."""

import pickle

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")
ops = pytest.importorskip("cutlass.operators", reason="nvidia-cutlass-operators is not installed")

from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

import estoc  # noqa: E402
from estoc.compat._ranked import VERSION  # noqa: E402
from estoc.providers import operators  # noqa: E402

NONE, BLOCKED = ops.ScaleSwizzleMode.SwizzleNone, ops.ScaleSwizzleMode.Swizzle32x4x4


@pytest.fixture(autouse=True)
def registered():
    operators.register(4)
    yield
    operators.unregister()


def ours(args=None, target="90a"):
    return ops.get_operators(args, target_sm=target, providers=[operators.EstocProvider])


def described(m=512, n=256, k=1024, dtype=torch.bfloat16):
    with FakeTensorMode():
        a, b, out = (torch.empty(shape, dtype=dtype, device="cuda") for shape in ((m, k), (k, n), (m, n)))
    return ops.GemmArguments(a, b, out, accumulator_type=torch.float32)


def test_a_product():
    a, b, out = torch.randn(64, 96), torch.randn(32, 96).t(), torch.full((64, 32), torch.nan)
    args = ops.GemmArguments(a, b, out, accumulator_type=torch.float32)
    found = ours(args)
    assert len(found) == len(estoc.get_kernels(estoc.GemmArguments(a, b, out, accumulator_type="f32")))
    assert found[0].supports(args)
    artifact = found[0].compile(args)
    found[0].run(args, artifact)
    torch.testing.assert_close(out, a @ b)
    again = ops.GemmArguments(a, b.contiguous(), out.fill_(torch.nan), accumulator_type=torch.float32)
    memory = torch.empty(512, dtype=torch.uint8)
    memory = memory[-memory.data_ptr() % 256 :]
    found[0].run(again, artifact, workspace=ops.workspace.Workspace(memory))
    torch.testing.assert_close(out, a @ b)


@pytest.mark.parametrize("target", ["80", "90a", "100a", "120a"])
def test_ranks(target):
    args = described()
    found = ours(args, target)
    assert [one.metadata.operator_name for one in found] == [
        f"estoc_{VERSION}_gemm_bf16_bf16_bf16_f32_rank{rank}" for rank in range(4)
    ]
    tensors = (estoc.Tensor.describe("bf16", s, device="cuda") for s in ((512, 1024), (1024, 256), (512, 256)))
    wanted = estoc.get_kernels(
        estoc.GemmArguments(*tensors, accumulator_type="f32"), target=f"sm_{target}"
    )
    tiles = [tuple(one.metadata.design.tile_shape) for one in wanted if one.metadata.provider != "cublaslt"]
    assert [one.metadata.design.tile_shape for one in found] == tiles[:4]
    assert found[0].get_workspace_size(args).size_bytes >= 0
    assert pickle.loads(pickle.dumps(found[1])).rank == 1
    assert pickle.loads(pickle.dumps(found[1].metadata)).operator_class is operators.EstocGemmOperator


def test_filters_hold():
    args = described()
    kept = ops.get_operators(
        args,
        metadata_filter=lambda one: one.operator_name.endswith("rank2"),
        target_sm="90a",
        providers=[operators.EstocProvider],
    )
    assert [one.rank for one in kept] == [2]


def test_all_operators():
    every = ours(target=None)
    names = [one.metadata.operator_name for one in every]
    assert len(set(names)) == len(names) > 100
    args = described()
    assert {one.metadata.operator_name for one in ours(args)} <= set(names)
    assert [one.rank for one in every if one.supports(args, "90a")] == [0, 1, 2, 3]


def test_they_come_first():
    assert next(iter(ops.available_providers)) == "estoc"
    assert isinstance(ops.get_operators(described(), target_sm="90a")[0], operators.EstocGemmOperator)
    assert operators.unregister()
    assert not operators.unregister()
    assert "estoc" not in ops.available_providers
    with pytest.raises(estoc.InvalidValueError, match="at least 1, got 0"):
        operators.register(0)


def test_what_no_kernel_takes():
    assert ours(described(dtype=torch.int16)) == []
    assert ours(described(), "75") == []
    wrong = ours(described())[0].supports(described(dtype=torch.float16))
    assert "expected BFloat16" in str(wrong.error)


def test_groups():
    a, b, out = torch.randn(10, 16), torch.randn(3, 16, 8), torch.full((10, 8), 7.0)
    ends = torch.tensor([3, 3, 9], dtype=torch.int32)
    args = ops.IndexPtrGroupedGemmArguments(
        a, b, out, accumulator_type=torch.float32, offsets=ends, offsets_along="m"
    )
    ours(args)[0].run(args)
    wanted = torch.cat([a[:3] @ b[0], a[3:9] @ b[2], torch.full((1, 8), 7.0)])
    torch.testing.assert_close(out, wanted)


def test_epilogues_of_groups_are_left_out():
    a, b, bias, out = torch.randn(6, 16), torch.randn(2, 16, 8), torch.randn(6, 8), torch.empty(6, 8)

    def biased(accum, C):
        D = accum + C
        return D

    args = ops.IndexPtrGroupedGemmArguments(
        a, b, out, accumulator_type=torch.float32, offsets=torch.tensor([2, 6], dtype=torch.int32),
        offsets_along="m", epilogue=ops.EpilogueArguments(biased, C=bias, D=out),
    )  # fmt: skip
    assert ours(args) == []
    args.epilogue, epilogue = None, args.epilogue
    found = ours(args)[0]
    args.epilogue = epilogue
    assert not found.supports(args)


def test_groups_along_other_modes_are_left_out():
    args = ops.IndexPtrGroupedGemmArguments(
        torch.randn(4, 10), torch.randn(10, 8), torch.empty(2, 4, 8), accumulator_type=torch.float32,
        offsets=torch.tensor([3, 10], dtype=torch.int32), offsets_along="k",
    )  # fmt: skip
    assert ours(args) == []


def blocked(scales):
    """Scales of rows and blocks of K in the order of 128x4 tiles."""
    rows, columns = (-(-one // to) * to for one, to in zip(scales.shape, (128, 4)))
    filled = torch.zeros(rows, columns)
    filled[: scales.shape[0], : scales.shape[1]] = scales
    return filled.view(rows // 128, 4, 32, columns // 4, 4).permute(0, 3, 2, 1, 4).reshape(-1)


@pytest.mark.parametrize("swizzle", [NONE, BLOCKED])
def test_scales(swizzle):
    m, n, k = 72, 40, 96
    a, b = torch.randn(m, k).to(torch.float8_e4m3fn), torch.randn(n, k).to(torch.float8_e5m2)
    scales = [2.0 ** torch.randint(-2, 3, (rows, k // 32)) for rows in (m, n)]
    given = [one if swizzle == NONE else blocked(one) for one in scales]
    out = torch.empty(m, n)
    operand_a, operand_b = (
        ops.ScaledOperand(data, scale.to(torch.float8_e8m0fnu), ops.ScaleMode.Blockwise1x32, swizzle)
        for data, scale in zip((a, b.t()), given)
    )
    args = ops.GemmArguments(operand_a, operand_b, out, accumulator_type=torch.float32)
    found = ours(args)
    suffix = "" if swizzle == NONE else "s"
    assert found[0].metadata.operator_name.startswith(f"estoc_{VERSION}_gemm_e4m3x32{suffix}_e5m2x32{suffix}_f32")
    found[0].run(args)
    wide = [data.double() * one.repeat_interleave(32, 1) for data, one in zip((a, b), scales)]
    torch.testing.assert_close(out.double(), wide[0] @ wide[1].t(), rtol=1e-5, atol=1e-4)


def test_an_epilogue():
    a, b, c = torch.randn(16, 8), torch.randn(8, 24), torch.randn(16, 24)
    out, f = torch.empty(16, 24), torch.empty(16, 24)

    def both(accum, alpha, C):
        F = accum * alpha + C
        D = relu(F)  # noqa: F821
        return D, F

    epilogue = ops.EpilogueArguments(both, alpha=2.0, C=c, D=out, F=f)
    args = ops.GemmArguments(a, b, out, accumulator_type=torch.float32, epilogue=epilogue)
    ours(args)[0].run(args)
    torch.testing.assert_close(f, 2 * (a @ b) + c)
    torch.testing.assert_close(out, f.relu())


def test_reductions_are_left_out():
    """Those of the package add to what is there."""
    out = torch.empty(16, 16)

    def both(accum):
        D = accum
        total = sum(accum)
        return D, total

    epilogue = ops.EpilogueArguments(both, D=out, total=torch.zeros(1))
    args = ops.GemmArguments(
        torch.ones(16, 16), torch.ones(16, 16), out, accumulator_type=torch.float32, epilogue=epilogue
    )
    assert ours(args) == []
