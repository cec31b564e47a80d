"""A CUDA kernel class written in Python that takes epilogues: bias, activations, residuals.

python -m estoc --plugin examples/python/fused_kernel.py run 'gemm m=64 n=64 k=64 a=f32 bias=f32:row
    epi="D = relu(accum + bias)"' --device emulator --check
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

import estoc

KERNEL = """
extern "C" __global__ void row_gemm(const float* a, const float* b, float* out, int m, int n, int k
                                    PARAMETER) {
  const int j = blockIdx.x * 32 + threadIdx.x;
  const int i = blockIdx.y;
  if (j >= n) return;
  float sum = 0;
  for (int l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
  STORE;
}
"""
PLAIN = {"PARAMETER": "", "STORE": "out[i * n + j] = sum"}
FUSED = {
    "PARAMETER": ", const __grid_constant__ Epilogue::Parameters parameters",
    "STORE": "estoc::epilogue::Elements<Epilogue>(parameters, m, n)(sum, {0, i, j})",
}


def source(parts: Mapping[str, str]) -> str:
    text = KERNEL
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


@estoc.register
class RowGemm(estoc.CudaKernelClass):
    """out = epilogue(A @ B) for f32 in rows; a thread computes one element."""

    def configurations(self) -> list[dict[str, Any]]:
        return [{"a": "f32", "layouts": "ttt"}]

    def code(self, config: Mapping[str, Any], target: str) -> estoc.CudaCode:
        return estoc.CudaCode(source(PLAIN), entries="row_gemm")

    def supports_epilogue(
        self, config: Mapping[str, Any], epilogue: estoc.EpilogueGraph, target: str
    ) -> estoc.Status:
        return estoc.Status.success()

    def fused_code(
        self, config: Mapping[str, Any], target: str, epilogue: estoc.EpilogueGraph
    ) -> estoc.CudaCode:
        return estoc.CudaCode(epilogue.source + source(FUSED), entries="row_gemm")

    def supports(
        self, config: Mapping[str, Any], args: estoc.RuntimeArguments, target: str
    ) -> estoc.Status:
        fits = isinstance(args, estoc.GemmArguments) and args.extents[3] == 1
        return estoc.Status.success() if fits else estoc.Status.fail("out: expected one batch")

    def plan(
        self,
        config: Mapping[str, Any],
        args: estoc.RuntimeArguments,
        workspace: estoc.Tensor | None,
        launch: estoc.CudaLaunch,
    ) -> None:
        assert isinstance(args, estoc.GemmArguments)
        m, n, k = (np.int32(extent) for extent in args.extents[:3])
        parameters: list[Any] = [args.A, args.B, args.out, m, n, k]
        if args.epilogue is not None:
            parameters.append(launch.epilogue)
        launch.kernel((-(-int(n) // 32), int(m)), 32, *parameters)
