"""The program of the CUTLASS API's tutorial on own kernels: one of CuTe DSL, found, compiled, run, checked.

own_kernel.py gpu runs it on torch's GPU, own_kernel.py cpu with a stand-in for CuTe DSL on the host,
own_kernel.py compile only compiles it, for the architecture in CUTE_DSL_ARCH.
"""

import itertools
import sys

import cuda.bindings.driver as cuda
import cutlass
import cutlass.cute as cute
import cutlass_api
import numpy as np
from cutlass_api.arguments import GemmArguments
from cutlass_api.metadata import KernelMetadata
from cutlass_api.status import Status

WHERE = sys.argv[1]


class F64GemmKernelImplementation:
    """Each thread computes one element of out."""

    def __init__(self, cta_tile_shape_mn):
        self.cta_tile_shape_mn = cta_tile_shape_mn

    @cute.jit
    def __call__(self, a: cute.Tensor, b: cute.Tensor, out: cute.Tensor, stream: cuda.CUstream):
        l, m, n = out.shape
        grid = (
            (m + self.cta_tile_shape_mn[0] - 1) // self.cta_tile_shape_mn[0],
            (n + self.cta_tile_shape_mn[1] - 1) // self.cta_tile_shape_mn[1],
            l,
        )
        block = [self.cta_tile_shape_mn[0], self.cta_tile_shape_mn[1], 1]
        self.kernel(a, b, out).launch(grid=grid, block=block, stream=stream)

    @cute.kernel
    def kernel(self, a: cute.Tensor, b: cute.Tensor, out: cute.Tensor):
        l, m, n = out.shape
        k = a.shape[-1]
        block_m, block_n, batch = cute.arch.block_idx()
        thread_m, thread_n, _ = cute.arch.thread_idx()
        i = block_m * self.cta_tile_shape_mn[0] + thread_m
        j = block_n * self.cta_tile_shape_mn[1] + thread_n
        if i < m and j < n:
            out[batch, i, j] = cutlass.Float64(0)
            for step in range(k):
                out[batch, i, j] += a[batch, i, step] * b[batch, step, j]


@cutlass_api.providers.cutedsl.CuTeDSLProvider.register
class F64GemmKernel(cutlass_api.providers.cutedsl.kernel.CuteDslKernel):
    """How the implementation is found, compiled and run."""

    if WHERE == "cpu":
        targets = ("cpu",)

    def __init__(self, metadata: KernelMetadata):
        super().__init__(metadata)
        self.impl = F64GemmKernelImplementation(metadata.design.tile_shape[:2])

    def compile(self, args: GemmArguments, cc: int = None) -> cutlass_api.artifact.CompiledArtifact:
        stream = cutlass.cute.runtime.make_fake_stream()
        compiled = self.cute_compile(self.impl, args.A, args.B, args.out, stream)
        return cutlass_api.artifact.CompiledArtifact(compiled, self)

    def _run(self, args: GemmArguments, artifact, stream, workspace=None):
        stream = cutlass_api.utils.to_cuda_stream(stream)
        self.cute_run(artifact.compiled_obj, args.A, args.B, args.out, stream)

    def get_workspace_size(self, args: GemmArguments) -> int:
        return 0

    @staticmethod
    def generate_kernels(
        metadata_filter, epilogue_args: cutlass_api.arguments.EpilogueArguments = None, cc: int = None
    ) -> list["F64GemmKernel"]:
        if epilogue_args is not None:
            return []
        rows, columns = (0, 0, 1), (0, 1, 0)
        kernels = []
        for tile, strides in itertools.product(
            [(32, 32, 1), (16, 16, 1)], itertools.product([rows, columns], repeat=3)
        ):
            attributes = [
                cutlass_api.metadata.TensorAttributes(cutlass.Float64, stride, 1)
                for stride in strides
            ]
            layout = cutlass_api.utils.strides_to_layout_string(*strides)
            metadata = KernelMetadata(
                kernel_name=f"F64GemmKernel_tile{tile[0]}x{tile[1]}_{layout}",
                kernel_class=F64GemmKernel,
                operands=cutlass_api.metadata.GemmOperandsMetadata(
                    *attributes, accumulator_type=cutlass.Float64
                ),
                design=cutlass_api.metadata.BLASDesignMetadata(tile, (1, 1, 1)),
                min_cc=0,
            )
            if metadata_filter(metadata):
                kernels.append(F64GemmKernel(metadata))
        return kernels

    def _supports(self, args: GemmArguments) -> Status:
        if not len(args.A.shape) == len(args.B.shape) == len(args.out.shape) == 3:
            return Status.fail("All operands must be rank 3.")
        return Status.success()


def tensors(l, m, n, k):
    """A, B and an output, in torch's GPU memory, on the host, or described."""
    shapes = ((l, m, k), (l, k, n), (l, m, n))
    if WHERE == "compile":
        import estoc

        return [estoc.Tensor.describe("f64", shape, device="cuda") for shape in shapes]
    random = np.random.default_rng(2025)
    hosts = [random.standard_normal(shape) for shape in shapes[:2]] + [np.full(shapes[2], np.nan)]
    if WHERE == "cpu":
        return hosts
    import torch

    return [torch.as_tensor(host, device="cuda") for host in hosts]


def host(tensor):
    return tensor if isinstance(tensor, np.ndarray) else tensor.cpu().numpy()


def is_f64gemm_kernel(metadata):
    return metadata.kernel_class == F64GemmKernel


def of_another_tile(metadata):
    return (
        is_f64gemm_kernel(metadata)
        and isinstance(metadata.design, cutlass_api.metadata.BLASDesignMetadata)
        and metadata.design.tile_shape[0] == 256
    )


sizes = (1, 256, 1024, 128) if WHERE == "gpu" else (2, 21, 34, 5)
A, B, out = tensors(*sizes)
args = GemmArguments(A, B, out, accumulator_type=np.float64)
cc = 90 if WHERE == "compile" else None
kernels = cutlass_api.get_kernels(args, metadata_filter=is_f64gemm_kernel, cc=cc)
names = [kernel.metadata.kernel_name for kernel in kernels]
assert names == ["F64GemmKernel_tile32x32_ttt", "F64GemmKernel_tile16x16_ttt"], names
assert len(cutlass_api.get_kernels(args, metadata_filter=of_another_tile, cc=cc)) == 0
if WHERE == "compile":
    for kernel in kernels:
        assert callable(kernel.compile(args).compiled_obj)
else:
    kernels[0].run(args)
    np.testing.assert_allclose(host(out), host(A) @ host(B), atol=1e-10)
    # What is compiled for one problem runs on another, in other memory.
    artifact = kernels[1].compile(args)
    A, B, out = tensors(1, 40, 17, 3)
    again = GemmArguments(A, B, out, accumulator_type=np.float64)
    kernels[1].run(again, artifact)
    np.testing.assert_allclose(host(out), host(A) @ host(B), atol=1e-10)
print("own_kernel: ran to the end")
