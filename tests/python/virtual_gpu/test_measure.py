"""Times on a virtual GPU, which say nothing of a real one: their form, and what is refused."""

import numpy as np
import pytest

import estoc

PROBLEM = "gemm m=64 n=64 k=32 a=bf16:t b=bf16:n out=f32"


def test_the_first_kernels(driver):
    parts = []
    found = estoc.measure(PROBLEM, rounds=2, progress=parts.append)
    args = estoc.parse_problem(PROBLEM, "cuda")
    assert [one.kernel for one in found.timings] == [k.name for k in estoc.get_kernels(args)[:3]]
    for one in found.timings:
        assert (len(one.slices), one.problem, one.provider) == (2, "", "cuda")
        assert 0 < one.low <= one.seconds <= one.high
    assert found.fastest.seconds == min(one.seconds for one in found.timings)
    assert found.noise is not None and parts[-1] == 1


def test_kernels_that_are_given(driver):
    args = estoc.parse_problem(PROBLEM, "cuda")
    kernel = estoc.get_kernels(args, "class=simt_gemm")[0]
    found = estoc.measure(args, [kernel], rounds=1, noise=False)
    assert [one.kernel for one in found.timings] == [kernel.name]
    assert found.noise is None


def test_refusals(driver):
    with pytest.raises(ValueError, match="rounds: expected 1 or more, got 0"):
        estoc.measure(PROBLEM, rounds=0)
    with pytest.raises(estoc.CancelledError):
        estoc.measure(PROBLEM, rounds=3, progress=lambda part: False)
    with pytest.raises(estoc.NoKernelError):
        estoc.measure("gemm m=4 n=4 k=4 a=f16 b=f32 acc=i32")
    a = np.ones((4, 4), "f4")
    with pytest.raises(estoc.UnsupportedError, match="expected operands on a GPU, got them on cpu"):
        estoc.measure(estoc.GemmArguments(a, a, a.copy()))
