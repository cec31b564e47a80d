"""A function of Triton in two configurations, which Estoc finds, compiles and launches as its own."""

import triton
import triton.language as tl

import estoc
from estoc.triton import TritonKernelClass


@triton.jit  # type: ignore[untyped-decorator]
def matmul(a, b, out, m, n, k, am, bk, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):  # type: ignore
    """One tile of out = a @ b, in rows; out without gaps between its rows."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        in_a = (rows[:, None] < m) & (inner[None, :] < k)
        in_b = (inner[:, None] < k) & (columns[None, :] < n)
        x = tl.load(a + rows[:, None] * am + inner[None, :], mask=in_a, other=0)
        y = tl.load(b + inner[:, None] * bk + columns[None, :], mask=in_b, other=0)
        sum = tl.dot(x, y, sum)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], sum, mask=inside)


@estoc.register
class TritonGemm(TritonKernelClass):
    """out = A @ B of f16 or bf16 in rows, out in f32."""

    kernel = matmul
    parameters = dict(a="A", b="B", out="out", m="m", n="n", k="k", am="A.m", bk="B.k")
    configs = (dict(M=64, N=64, K=32), dict(M=128, N=128, K=64, num_warps=8, num_stages=4))
    divisible = dict(n=8, k=8)  # so that Triton loads 16 bytes at once
    dtypes = (("f16", "f16", "f32", "f32"), ("bf16", "bf16", "f32", "f32"))
    tile = ("M", "N", "K")
    targets = ("sm_80", "sm_90a")
