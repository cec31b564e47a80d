"""A kernel class written in Python whose code is compiled already: a cubin, fatbin or PTX file.

ESTOC_EXAMPLE_IMAGE=gemm.cubin python -m estoc --plugin examples/python/cuda_image_kernel.py list

The file has `extern "C" __global__ void dot_gemm(const float* a, const float* b, float* out,
int m, int n, int k)`, for operands in rows; CUDA_SOURCE is one that a compiler can make it of.
"""

import ctypes
import os
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

import estoc

CUDA_SOURCE = """
extern "C" __global__ void dot_gemm(const float* a, const float* b, float* out, int m, int n,
                                    int k) {
  const int i = blockIdx.y * blockDim.y + threadIdx.y;
  const int j = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= m || j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum += a[(long long)i * k + l] * b[(long long)l * n + j];
  out[(long long)i * n + j] = sum;
}
"""


class ReadyGemm(estoc.CudaKernelClass):
    """out = A @ B for f32 in compact rows, by the code of a file."""

    abi = "dot_gemm(a, b, out, m, n, k)"

    def __init__(self) -> None:
        self.image = pathlib.Path(os.environ["ESTOC_EXAMPLE_IMAGE"]).read_bytes()

    def configurations(self) -> Iterator[dict[str, Any]]:
        yield {"a": "f32", "layouts": "ttt"}

    def code(self, config: Mapping[str, Any], target: str) -> estoc.CudaCode:
        return estoc.CudaCode(image=self.image, entries="dot_gemm")

    def supports(
        self, config: Mapping[str, Any], args: estoc.RuntimeArguments, target: str
    ) -> estoc.Status:
        assert isinstance(args, estoc.GemmArguments)
        for name, one in (("A", args.A), ("B", args.B), ("out", args.out)):
            if len(one.shape) != 2 or max(one.shape) > 2**20:
                return estoc.Status.fail(f"{name}.shape: expected two modes of at most 2**20")
            if isinstance(one, estoc.Tensor) and one.strides[0] != one.shape[1]:
                return estoc.Status.fail(f"{name}.strides: expected compact rows")
        return estoc.Status.success()

    def plan(
        self,
        config: Mapping[str, Any],
        args: estoc.RuntimeArguments,
        workspace: estoc.Tensor | None,
        launch: estoc.CudaLaunch,
    ) -> None:
        assert isinstance(args, estoc.GemmArguments)
        m, n, k, _ = args.extents
        sizes = (ctypes.c_int(size) for size in (m, n, k))
        if m and n:
            launch.kernel((-(-n // 32), -(-m // 8)), (32, 8), args.A, args.B, args.out, *sizes)


if "ESTOC_EXAMPLE_IMAGE" in os.environ:
    estoc.register(ReadyGemm)
