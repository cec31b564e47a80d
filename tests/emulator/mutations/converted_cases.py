"""Cases of faults in kernels that convert quantised operands, or multiply copies of them."""

from planted import library

CONVERTED = "class=sm90_swapped_dequantised_gemm"

CASES = {
    "converted_fours": library(
        (
            "gemm m=13 n=136 k=736 l=2 a=e4m3*1x32 b=e2m1:n*1x16:swizzled",
            "gemm m=13 n=200 k=704 l=2 a=e4m3*1x32 b=e2m1:n*1x16:n",
            "gemm m=13 n=200 k=704 l=2 a=e4m3*1x32 b=e2m1:n*1x16",
        ), f"{CONVERTED} tile=16x64x256", multiprocessors=1,
    ),
    "converted_bytes": library(
        (
            "gemm m=13 n=200 k=912 l=2 a=e5m2*1x32 b=e4m3:n*1x32:swizzled",
            "gemm m=13 n=200 k=912 l=2 a=bf16 b=e5m2:n*1x32",
        ), f"{CONVERTED} schedule=cooperative tile=32x128x128", multiprocessors=1,
    ),
    "dequantised": library(
        (
            "gemm m=36 n=136 k=202 l=2 a=e4m3*1x32 b=e2m1:n*1x16:swizzled",
            "gemm m=36 n=38 k=101 l=2 a=e5m2:n*1x32:n b=e4m3*1x32",
        ), "class=sm80_dequantised_gemm tile=64x64x32", multiprocessors=1,
    ),
    "dequantised_units": library(
        (
            "gemm m=260 n=40 k=136 l=2 a=e4m3*1x32 b=e2m1:n*1x16",
            "gemm m=36 n=40 k=136 a=e4m3:[138,1]*1x32 b=e2m1:n*1x16",
        ), "class=sm90_dequantised_gemm schedule=single tile=64x64x64 stages=8", multiprocessors=1,
    ),
    "converted_quarters": library(
        (
            "gemm m=13 n=300 k=240 l=2 a=e4m3*1x32 b=e4m3:n*1x32:n",
            "gemm m=13 n=300 k=240 a=e4m3*1x32 b=e4m3:n*1x32:swizzled",
            "gemm m=13 n=304 k=240 a=e4m3*1x32 b=e4m3:n*1x32",
        ), f"{CONVERTED} tile=16x256x128", multiprocessors=1,
    ),
}
