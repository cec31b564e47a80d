"""Kernels by rank, which Inductor's NVGEMM is given: those of get_kernels in their order."""

import pickle

import numpy as np
import pytest

import estoc
from estoc.compat._ranked import RankedKernel, ranked_kernels, refusable


def product(m=8, n=6, k=4, transposed=False):
    random = np.random.default_rng(3)
    a = random.standard_normal((m, k)).astype("f4")
    b = random.standard_normal((n, k)).astype("f4").T if transposed else np.ones((k, n), "f4")
    return estoc.GemmArguments(a, b, np.full((m, n), np.nan, "f4")), a @ b


def test_the_first_is_the_first():
    args, wanted = product()
    kernel, *others = ranked_kernels(3)
    assert kernel.supports(args).error is None
    artifact = kernel.compile(args)
    assert artifact.kernel == estoc.get_kernels(args)[0]
    assert kernel.get_workspace_size(args) == estoc.get_kernels(args)[0].get_workspace_size(args)
    kernel.run(args, artifact, stream=0, workspace=None, assume_supported_args=True)
    np.testing.assert_allclose(args.out.tensor, wanted, rtol=1e-5)
    count = len(estoc.get_kernels(args))
    assert [other.supports(args).error is None for other in others] == [count > 1, count > 2]


def test_ranks_on_a_gpu_are_told_apart():
    """The order is that of get_kernels, without the vendor's; nothing is compiled."""
    operands = [estoc.Tensor.describe("bf16", s, device="cuda") for s in ((512, 256), (256, 384), (512, 384))]
    args = estoc.GemmArguments(*operands)
    if not estoc.cuda_devices():
        assert "no CUDA device" in RankedKernel(0).supports(args).error
        return
    listed = [one for one in estoc.get_kernels(args) if one.metadata.provider != "cublaslt"]
    for rank, kernel in enumerate(ranked_kernels(5)):
        assert kernel._find(args) == listed[rank]


def test_operands_that_the_artifact_does_not_take():
    """Of equal shapes with other strides, as Inductor's key of artifacts lets pass."""
    args, _ = product()
    kernel = RankedKernel(0)
    artifact = kernel.compile(args)
    other, wanted = product(transposed=True)
    kernel.run(other, artifact, stream=None, workspace=None, assume_supported_args=True)
    np.testing.assert_allclose(other.out.tensor, wanted, rtol=1e-4, atol=1e-5)


def test_refusals_are_values():
    build = refusable()
    a = np.ones((4, 3), "f4")
    refused = build["GemmArguments"](a, a, a)
    assert "B.shape: expected K = 3, got 4" in RankedKernel(0).supports(refused).error
    scaled = build["ScaledTensor"](a, a, "no such mode")
    nested = build["GemmArguments"](scaled, a, a)
    assert "no such mode" in RankedKernel(0).supports(nested).error
    assert RankedKernel(9999).supports(product()[0]).error == "rank: there are at most 9999 kernels"
    assert "expected arguments, got int" in RankedKernel(0).supports(3).error
    whole = build["GemmArguments"](np.ones((3, 4), "f4"), a, np.ones((3, 3), "f4"))
    assert isinstance(whole, estoc.GemmArguments)


def test_identity():
    kernels = ranked_kernels(3)
    names = [kernel.metadata.kernel_name for kernel in kernels]
    assert len(set(names)) == 3
    assert all(estoc.__version__.replace(".", "_") in name for name in names)
    assert pickle.loads(pickle.dumps(kernels[2])).metadata.kernel_name == names[2]
    assert "EFC" not in kernels[0].metadata.kernel_class.__name__


@pytest.mark.parametrize("bytes", [0, 16])
def test_workspace_that_is_too_small_is_not_used(bytes):
    class Small:
        def numel(self):
            return bytes

    args, wanted = product()
    kernel = RankedKernel(0)
    artifact = kernel.compile(args)
    artifact.workspace = 32
    kernel.run(args, artifact, None, Small())
    np.testing.assert_allclose(args.out.tensor, wanted, rtol=1e-5)
