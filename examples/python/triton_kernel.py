"""A kernel class written in Python whose kernels Triton compiles, and Estoc launches."""

import ctypes
import functools
from typing import Any, Iterator, Mapping

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

import estoc


@triton.jit  # type: ignore[untyped-decorator]
def matmul(a, b, out, m, n, k, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):  # type: ignore
    """One tile of out = a @ b, all in compact rows."""
    rows = tl.program_id(0) * M + tl.arange(0, M)
    columns = tl.program_id(1) * N + tl.arange(0, N)
    sum = tl.zeros((M, N), dtype=tl.float32)
    for start in range(0, k, K):
        inner = start + tl.arange(0, K)
        in_a = (rows[:, None] < m) & (inner[None, :] < k)
        in_b = (inner[:, None] < k) & (columns[None, :] < n)
        x = tl.load(a + rows[:, None] * k + inner[None, :], mask=in_a, other=0)
        y = tl.load(b + inner[:, None] * n + columns[None, :], mask=in_b, other=0)
        sum = tl.dot(x, y, sum)
    inside = (rows[:, None] < m) & (columns[None, :] < n)
    tl.store(out + rows[:, None] * n + columns[None, :], sum, mask=inside)


@estoc.register
class TritonGemm(estoc.CudaKernelClass):
    """out = A @ B of f16 in compact rows, out in f32."""

    targets = ("sm_80", "sm_90a")

    def configurations(self) -> Iterator[dict[str, Any]]:
        for tile in ((64, 64, 32), (128, 128, 32)):
            yield {"a": "f16", "acc": "f32", "out": "f32", "layouts": "ttt", "tile": tile}

    @functools.cache
    def compiled(self, tile: tuple[int, int, int], target: str) -> Any:
        kinds = dict.fromkeys("ab", "*fp16") | {"out": "*fp32"} | dict.fromkeys("mnk", "i32")
        kinds |= dict.fromkeys("MNK", "constexpr")
        source = ASTSource(matmul, kinds, dict(zip("MNK", tile)))
        arch = int(target.removeprefix("sm_").rstrip("a"))
        return triton.compile(source, target=GPUTarget("cuda", arch, 32))

    def code(self, config: Mapping[str, Any], target: str) -> estoc.CudaCode:
        kernel = self.compiled(config["tile"], target)
        return estoc.CudaCode(image=kernel.asm["cubin"], entries=kernel.metadata.name)

    def supports(
        self, config: Mapping[str, Any], args: estoc.RuntimeArguments, target: str
    ) -> estoc.Status:
        assert isinstance(args, estoc.GemmArguments)
        for one in (args.A, args.B, args.out):
            compact = isinstance(one, estoc.Tensor) and one.strides[0] == one.shape[1]
            if not compact or len(one.shape) != 2 or not 0 < min(one.shape) <= max(one.shape) < 2**15:
                return estoc.Status.fail("expected matrices in compact rows, of 1 to 2**15 - 1")
        return estoc.Status.success()

    def plan(
        self,
        config: Mapping[str, Any],
        args: estoc.RuntimeArguments,
        workspace: estoc.Tensor | None,
        launch: estoc.CudaLaunch,
    ) -> None:
        assert isinstance(args, estoc.GemmArguments)
        (m, n, k, _), (tile_m, tile_n, _) = args.extents, config["tile"]
        made = self.compiled(config["tile"], launch.target).metadata
        grid = (-(-m // tile_m), -(-n // tile_n))
        sizes = (ctypes.c_int(size) for size in (m, n, k))
        operands = (args.A, args.B, args.out, *sizes, None, None)  # the last two are Triton's own
        launch.kernel(grid, 32 * made.num_warps, *operands, shared_bytes=made.shared)
