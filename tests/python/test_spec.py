"""The programs of the documents that the API follows, run on the CPU.

The import name is estoc, tensors are NumPy's, and there is no CuTe DSL; tests/python/programs has the
programs with their own import names.
"""

import itertools

import numpy as np
import pytest

import estoc


@pytest.fixture
def operands(random):
    shape = {"A": (2, 128, 64), "B": (2, 64, 256)}
    A, B = (random.integers(-1, 2, shape[name]).astype(np.float16) for name in "AB")
    out = np.empty((2, 128, 256), np.float32)
    return A, B, out, (A.astype("f4") @ B.astype("f4")).astype(out.dtype)


def test_overview(random):
    A, B, out = (random.standard_normal((128, 128)).astype(np.float32) for _ in range(3))
    args = estoc.arguments.GemmArguments(A, B, out, accumulator_type=np.float32)
    kernels = estoc.get_kernels(args, target="cpu")
    kernels[0].run(args)
    np.testing.assert_allclose(out, A @ B, atol=1e-4)


def test_overview_for_a_gpu_that_is_not_there():
    A, B, out = (estoc.Tensor.describe("f16", (128, 128), device="cuda") for _ in range(3))
    args = estoc.arguments.GemmArguments(A, B, out, accumulator_type=estoc.f32)
    kernels = estoc.get_kernels(args, cc=100)
    assert kernels
    with pytest.raises(ValueError, match="a tensor with data, got a description|CUDA device"):
        kernels[0].run(args)


def test_device_check():
    if not (status := estoc.utils.is_device_cc_supported({100, 103})):
        assert "expected compute capability 100, 103" in status.error


def test_basic_gemm(operands):
    A, B, out, reference = operands
    acc_type = np.float32

    args = estoc.arguments.GemmArguments(A=A, B=B, out=out, accumulator_type=acc_type)

    kernels = estoc.get_kernels(args)
    assert kernels, "No kernels found for the given arguments!"
    kernel = kernels[0]

    kernel.run(args)
    np.testing.assert_array_equal(out, reference)

    artifact = kernel.compile(args)
    kernel.run(args, compiled_artifact=artifact)
    np.testing.assert_array_equal(out, reference)

    all_kernels = estoc.get_kernels()
    kernels = estoc.get_kernels(args)
    assert len(all_kernels) > len(kernels)
    assert "cpu_gemm-f16-f16-f32-f32" in f"Picked kernel with name: {kernel.metadata.kernel_name}"

    supported = kernel.supports(args)
    assert supported

    unsupported_args = estoc.arguments.GemmArguments(
        A=A.astype(np.float32), B=B, out=out, accumulator_type=acc_type
    )
    if not (status := kernel.supports(unsupported_args)):
        assert status.error == "A.dtype: expected f16, got f32"
    assert not status

    compiled_artifact = kernel.compile(args)
    out[...] = 0
    kernel.run(args, compiled_artifact, stream=None, assume_supported_args=True)
    np.testing.assert_array_equal(out, reference)

    workspace_size = kernel.get_workspace_size(args)
    workspace = np.empty(workspace_size, dtype=np.int8)
    out[...] = 0
    kernel.run(args, compiled_artifact, stream=None, workspace=workspace)
    np.testing.assert_array_equal(out, reference)


def test_metadata_filters(operands):
    A, B, out, _ = (estoc.Tensor.describe(x.dtype, x.shape, device="cuda") for x in operands)
    args = estoc.GemmArguments(A, B, out, accumulator_type=np.float32)
    kernels = estoc.get_kernels(
        args,
        metadata_filter=lambda metadata: isinstance(
            metadata.design, estoc.metadata.BLASDesignMetadata
        ),
        cc=90,
    )
    assert len(kernels)
    blackwell = estoc.get_kernels(
        args,
        metadata_filter=lambda metadata: isinstance(
            metadata.design, estoc.metadata.Sm100DesignMetadata
        ),
        cc=100,
    )
    assert len(blackwell) > 10
    design = blackwell[0].metadata.design
    ctas = design.cluster_shape[0] * design.cluster_shape[1]
    assert design.use_2cta_mma == (ctas > 1)

    def a_more_complex_filter(metadata: estoc.metadata.KernelMetadata) -> bool:
        if not isinstance(metadata.operands, estoc.metadata.GemmOperandsMetadata):
            return False
        if metadata.operands.A.dtype != estoc.f16:
            return False
        if getattr(metadata.design, "tile_shape", [None])[0] != 128:
            return False
        return True

    kernels = estoc.get_kernels(args=None, metadata_filter=a_more_complex_filter)
    assert len(kernels) > 1000
    chosen = kernels[len(kernels) // 2].metadata
    assert (chosen.operands.A.dtype, chosen.design.tile_shape[0]) == (estoc.f16, 128)
    for field in ("kernel_name", "kernel_class", "min_cc", "operands", "design", "epilogue"):
        assert hasattr(chosen, field)


class F64GemmKernelImplementation:
    """out = A @ B in tiles, each element of out by a dot product."""

    def __init__(self, cta_tile_shape_mn):
        self.cta_tile_shape_mn = cta_tile_shape_mn

    def __call__(self, a, b, out, stream):
        l, m, n = out.shape
        tile_m, tile_n = self.cta_tile_shape_mn
        for batch, i, j in itertools.product(range(l), range(0, m, tile_m), range(0, n, tile_n)):
            rows, columns = slice(i, i + tile_m), slice(j, j + tile_n)
            out[batch, rows, columns] = np.einsum(
                "ik,kj->ij", a[batch, rows], b[batch][:, columns]
            )


@pytest.fixture
def F64GemmKernel():
    @estoc.providers.PythonProvider.register
    class F64GemmKernel(estoc.Kernel):
        def __init__(self, metadata: estoc.KernelMetadata):
            pass

        def _run(self, args, artifact, stream, workspace=None):
            pass

        def compile(self, args, cc=None):
            pass

        @staticmethod
        def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
            pass

        def _supports(self, args):
            pass

        def get_workspace_size(self, args):
            pass

    def __init__(self, metadata):
        super(F64GemmKernel, self).__init__(metadata)
        cta_tile_shape_mn = metadata.design.tile_shape[:2]
        self.impl = F64GemmKernelImplementation(cta_tile_shape_mn)

    def compile(self, args, cc=None):
        return estoc.artifact.CompiledArtifact(self.impl, self)

    def _run(self, args, artifact, stream, workspace=None):
        stream = estoc.utils.to_cuda_stream(stream)
        compiled_gemm = artifact.compiled_obj
        compiled_gemm(*(np.asarray(one) for one in (args.A, args.B, args.out)), stream)

    def get_workspace_size(self, args):
        return 0

    def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
        supported_tile_shapes = [(32, 32, 1), (16, 16, 1)]
        if epilogue_args is not None:
            return []
        row_major_stride = (0, 0, 1)
        col_major_stride = (0, 1, 0)
        stride_combos = list(itertools.product([row_major_stride, col_major_stride], repeat=3))
        divisibility = 1
        kernels = []
        for tile_shape in supported_tile_shapes:
            design_metadata = estoc.metadata.BLASDesignMetadata(tile_shape, (1, 1, 1))
            for stride_A, stride_B, stride_out in stride_combos:
                a_attrs, b_attrs, out_attrs = (
                    estoc.metadata.TensorAttributes(estoc.f64, stride, divisibility)
                    for stride in (stride_A, stride_B, stride_out)
                )
                layout_str = estoc.utils.strides_to_layout_string(stride_A, stride_B, stride_out)
                name = f"F64GemmKernel_tile{tile_shape[0]}x{tile_shape[1]}_{layout_str}"
                metadata = estoc.KernelMetadata(
                    kernel_name=name,
                    kernel_class=F64GemmKernel,
                    operands=estoc.metadata.GemmOperandsMetadata(
                        a_attrs, b_attrs, out_attrs, accumulator_type=estoc.f64
                    ),
                    design=design_metadata,
                    min_cc=0,
                )
                if metadata_filter(metadata):
                    kernels.append(F64GemmKernel(metadata))
        return kernels

    def _supports(self, args):
        if not (len(args.A.shape) == 3 and len(args.B.shape) == 3 and len(args.out.shape) == 3):
            return estoc.Status.fail("All operands must be rank 3.")
        return estoc.Status.success()

    F64GemmKernel.__init__ = __init__
    F64GemmKernel.compile = compile
    F64GemmKernel._run = _run
    F64GemmKernel._supports = _supports
    F64GemmKernel.generate_kernels = generate_kernels
    F64GemmKernel.get_workspace_size = get_workspace_size
    yield F64GemmKernel
    estoc.unregister(F64GemmKernel)


def test_adding_a_kernel(F64GemmKernel, random):
    L, M, N, K = 1, 256, 1024, 128
    A = random.standard_normal((L, M, K))
    B = random.standard_normal((L, K, N))
    out = np.empty((L, M, N))

    args = estoc.GemmArguments(A, B, out, accumulator_type=np.float64)

    def is_f64gemm_kernel(metadata):
        return metadata.kernel_class == F64GemmKernel

    kernels = estoc.get_kernels(args, metadata_filter=is_f64gemm_kernel)
    assert [kernel.metadata.kernel_name for kernel in kernels] == [
        "F64GemmKernel_tile32x32_ttt",
        "F64GemmKernel_tile16x16_ttt",
    ]

    kernels[0].run(args)
    np.testing.assert_allclose(out, A @ B, atol=1e-10)

    def my_filter(metadata):
        return (
            is_f64gemm_kernel(metadata)
            and isinstance(metadata.design, estoc.metadata.BLASDesignMetadata)
            and metadata.design.tile_shape[0] == 256
        )

    kernels_ctam256 = estoc.get_kernels(args, metadata_filter=my_filter)
    assert len(kernels_ctam256) == 0

    flat = estoc.GemmArguments(A[0], B[0], out[0], accumulator_type=np.float64)
    assert kernels[0].supports(flat).error == "All operands must be rank 3."
    assert len(estoc.get_kernels(flat, metadata_filter=is_f64gemm_kernel)) == 0
    assert len(estoc.get_kernels(metadata_filter=is_f64gemm_kernel)) == 16
