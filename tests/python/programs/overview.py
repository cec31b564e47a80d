"""The program of the CUTLASS API's overview: overview.py [CC], on a GPU of that compute capability."""

import sys

import arrays
import cutlass_api

CC = int(sys.argv[1]) if len(sys.argv) > 1 else 100

A, B, out = (arrays.integers(-3, 4, (128, 128), arrays.FLOAT16) for _ in range(3))
args = cutlass_api.arguments.GemmArguments(A, B, out, accumulator_type=arrays.FLOAT32)
kernels = cutlass_api.get_kernels(args, cc=CC)
kernels[0].run(args)
arrays.assert_is_product(out, A, B)
print("overview: ran to the end")
