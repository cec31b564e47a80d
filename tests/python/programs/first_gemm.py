"""The program of the CUTLASS API's first tutorial: first_gemm.py [CC], on a GPU of that compute capability."""

import sys

import arrays
import cutlass
import cutlass_api

CC = int(sys.argv[1]) if len(sys.argv) > 1 else 100

# The gate: a GPU of another kind ends the program.
if not (status := cutlass_api.utils.is_device_cc_supported({CC})):
    sys.exit(f"expected a GPU of compute capability {CC}: {status.error}")

# A product, by whatever kernel comes first.
M, N, K, L = 128, 256, 64, 2
A = arrays.integers(-1, 2, (L, M, K), arrays.FLOAT16)
B = arrays.integers(-1, 2, (L, K, N), arrays.FLOAT16)
out = arrays.filled((L, M, N), arrays.FLOAT32)
args = cutlass_api.arguments.GemmArguments(
    A=A, B=B, out=out, accumulator_type=arrays.FLOAT32
)
kernels = cutlass_api.get_kernels(args)
assert kernels, "no kernel supports the arguments"
kernel = kernels[0]
kernel.run(args)
arrays.assert_is_product(out, A, B)

# Compiled once, then run.
artifact = kernel.compile(args)
arrays.refill(out)
kernel.run(args, compiled_artifact=artifact)
arrays.assert_is_product(out, A, B)

# What there is at all.
all_kernels = cutlass_api.get_kernels()
kernels = cutlass_api.get_kernels(args)
assert len(all_kernels) > len(kernels) > 1
print(f"{len(kernels)} of {len(all_kernels)} kernels, first {kernels[0].metadata.kernel_name}")

# What a kernel supports, and what not.
assert kernel.supports(args)
unsupported_args = cutlass_api.arguments.GemmArguments(
    A=arrays.as_bf16(A), B=arrays.as_bf16(B), out=out, accumulator_type=arrays.FLOAT32
)
status = kernel.supports(unsupported_args)
assert not status
assert "A.dtype" in status.error, status.error

# On a stream, without the check, with workspace.
arrays.refill(out)
kernel.run(args, artifact, stream=arrays.stream(), assume_supported_args=True)
arrays.assert_is_product(out, A, B)
workspace = arrays.bytes_on_gpu(kernel.get_workspace_size(args))
arrays.refill(out)
kernel.run(args, artifact, stream=arrays.stream(), workspace=workspace)
arrays.assert_is_product(out, A, B)

# Filters: by the class of the design, and by what kernels have in common.
designed = cutlass_api.get_kernels(
    args,
    metadata_filter=lambda metadata: isinstance(
        metadata.design, cutlass_api.metadata.Sm100DesignMetadata
    ),
)
assert (len(designed) > 0) == (CC in (100, 103))
print(f"{len(designed)} kernels with Sm100DesignMetadata")


def half_precision_in_tiles_of_128(metadata: cutlass_api.metadata.KernelMetadata) -> bool:
    if not isinstance(metadata.operands, cutlass_api.metadata.GemmOperandsMetadata):
        return False
    if metadata.operands.A.dtype != cutlass.Float16:
        return False
    return getattr(metadata.design, "tile_shape", [None])[0] == 128


matching = cutlass_api.get_kernels(args=None, metadata_filter=half_precision_in_tiles_of_128)
assert len(matching) > 1000
for metadata in (matching[0].metadata, matching[len(matching) - 1].metadata):
    assert metadata.operands.A.dtype == cutlass.Float16
    assert metadata.design.tile_shape[0] == 128
print("first_gemm: ran to the end")
