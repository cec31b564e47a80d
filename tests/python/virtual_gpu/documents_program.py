"""The documents' first programs on a B200: overview, first GEMM, filters; ends with 0 when all is right.

Run by test_blackwell.py: documents_program.py CC, with a virtual GPU of sm_100a or sm_103a.
"""

import sys

import numpy as np
from device_arrays import DeviceArray, Driver

import estoc


def operands(driver, *hosts):
    return [DeviceArray(driver, host) for host in hosts]


def overview(driver, random, cc):
    hosts = [random.integers(-3, 4, (128, 128)).astype(np.float16) for _ in range(3)]
    A, B, out = operands(driver, *hosts)
    args = estoc.arguments.GemmArguments(A, B, out, accumulator_type=np.float32)
    kernels = estoc.get_kernels(args, cc=cc)
    kernels[0].run(args)
    wanted = hosts[0].astype("f4") @ hosts[1].astype("f4")
    np.testing.assert_array_equal(out.get(), wanted.astype("f2"))


def first_gemm(driver, random):
    M, N, K, L = 128, 256, 64, 2
    a = random.integers(-1, 2, (L, M, K)).astype(np.float16)
    b = random.integers(-1, 2, (L, K, N)).astype(np.float16)
    A, B, out = operands(driver, a, b, np.full((L, M, N), 77, np.float32))
    reference = a.astype("f4") @ b.astype("f4")
    args = estoc.arguments.GemmArguments(A=A, B=B, out=out, accumulator_type=np.float32)
    kernel = estoc.get_kernels(args)[0]
    kernel.run(args)
    np.testing.assert_array_equal(out.get(), reference)
    out.put(np.full((L, M, N), 77, np.float32))
    kernel.run(args, compiled_artifact=kernel.compile(args))
    np.testing.assert_array_equal(out.get(), reference)
    return args, out, reference


def filters(args, out, reference):
    kernels = estoc.get_kernels(
        args,
        metadata_filter=lambda metadata: isinstance(
            metadata.design, estoc.metadata.Sm100DesignMetadata
        ),
    )
    assert len(kernels) > 10
    for kernel in kernels[:2]:
        out.put(np.full(reference.shape, 77, np.float32))
        kernel.run(args)
        np.testing.assert_array_equal(out.get(), reference)
    pairs = [kernel for kernel in kernels if kernel.metadata.design.use_2cta_mma]
    assert 0 < len(pairs) < len(kernels)
    stores = [kernel for kernel in kernels if kernel.metadata.design.use_tma_store]
    assert all("alignOut16" in kernel.name for kernel in stores)
    assert stores

    def a_more_complex_filter(metadata: estoc.metadata.KernelMetadata) -> bool:
        if not isinstance(metadata.operands, estoc.metadata.GemmOperandsMetadata):
            return False
        if metadata.operands.A.dtype != estoc.f16:
            return False
        return getattr(metadata.design, "tile_shape", [None])[0] == 128

    assert len(estoc.get_kernels(args=None, metadata_filter=a_more_complex_filter)) > 1000


def main():
    status = estoc.utils.is_device_cc_supported({100, 103})
    assert status, status.error
    driver, random = Driver(), np.random.default_rng(7)
    overview(driver, random, int(sys.argv[1]))
    filters(*first_gemm(driver, random))


if __name__ == "__main__":
    main()
