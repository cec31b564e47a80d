"""A product by the library's best kernel, checked against float64.

Tensors of torch, CuPy or JAX, on a GPU too, serve as well as NumPy's.
"""

import numpy as np

import estoc

a, b = np.empty((64, 32), np.float32), np.empty((32, 16), np.float32)
estoc.fill_random(a, seed=1)
estoc.fill_random(b, seed=2)

out = estoc.matmul(a, b)

result = estoc.check_output(estoc.GemmArguments(a, b, out))
print(f"error {result.error:.1e}, bound {result.bound:.1e}")
assert result.passed
