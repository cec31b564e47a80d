"""A kernel class written in Python: CUDA C++ text, in as many configurations as a generator lists.

python -m estoc --plugin examples/python/cuda_source_kernel.py find 'gemm m=64 n=64 k=64 a=f32'
"""

import ctypes
from collections.abc import Iterator, Mapping
from typing import Any

import estoc

SOURCE = """
struct Matrix { float* data; long long rows, columns, row_stride, column_stride, batch_stride; };

extern "C" __global__ void tiled_gemm(Matrix a, Matrix b, Matrix out) {
  const long long i = blockIdx.x * (long long)TILE_M + threadIdx.y;
  const long long j = blockIdx.y * (long long)TILE_N + threadIdx.x;
  if (i >= out.rows || j >= out.columns) return;
  const float* x = a.data + blockIdx.z * a.batch_stride + i * a.row_stride;
  const float* y = b.data + blockIdx.z * b.batch_stride + j * b.column_stride;
  float sum = 0;
  for (long long k = 0; k < a.columns; ++k) sum += x[k * a.column_stride] * y[k * b.row_stride];
  out.data[blockIdx.z * out.batch_stride + i * out.row_stride + j * out.column_stride] = sum;
}
"""


class Matrix(ctypes.Structure):
    """As the CUDA code declares it."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        *((name, ctypes.c_longlong) for name in "rows columns row column batch".split()),
    ]

    @classmethod
    def of(cls, tensor: estoc.Tensor) -> "Matrix":
        batch = tensor.strides[0] if tensor.ndim == 3 else 0
        return cls(tensor.data_ptr, *tensor.shape[-2:], *tensor.strides[-2:], batch)


@estoc.register
class TiledGemm(estoc.CudaKernelClass):
    """out = A @ B for f32, any strides; each thread computes one element of out."""

    def configurations(self) -> Iterator[dict[str, Any]]:
        for m in (4, 8, 16):
            for n in (16, 32):
                yield {"a": "f32", "tile": (m, n, 1)}

    def code(self, config: Mapping[str, Any], target: str) -> estoc.CudaCode:
        m, n, _ = config["tile"]
        return estoc.CudaCode(
            f"#define TILE_M {m}\n#define TILE_N {n}\n{SOURCE}", entries="tiled_gemm"
        )

    def supports(
        self, config: Mapping[str, Any], args: estoc.RuntimeArguments, target: str
    ) -> estoc.Status:
        assert isinstance(args, estoc.GemmArguments)
        if args.extents[1] // config["tile"][1] < 65535 and args.extents[3] <= 65535:
            return estoc.Status.success()
        return estoc.Status.fail("out.shape: expected a grid of at most 65535 tiles a side")

    def plan(
        self,
        config: Mapping[str, Any],
        args: estoc.RuntimeArguments,
        workspace: estoc.Tensor | None,
        launch: estoc.CudaLaunch,
    ) -> None:
        assert isinstance(args, estoc.GemmArguments)
        (m, n, _, batches), (tile_m, tile_n, _) = args.extents, config["tile"]
        operands = (Matrix.of(one) for one in (args.A, args.B, args.out))  # type: ignore[arg-type]
        grid = (-(-m // tile_m), -(-n // tile_n), batches)
        if min(grid) > 0:
            launch.kernel(grid, (tile_n, tile_m), *operands)
