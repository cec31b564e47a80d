"""A linear layer in one kernel: gelu(x weights^T + bias), and the largest |out| of each row."""

import numpy as np

import estoc

x, weights = np.empty((64, 32), np.float32), np.empty((48, 32), np.float32)
bias, largest = np.empty(48, np.float32), np.empty((64, 1), np.float32)
for seed, tensor in enumerate((x, weights, bias)):
    estoc.fill_random(tensor, seed)

epilogue = estoc.EpilogueArguments(
    "D = gelu(accum + bias); largest = absmax(D)", bias=bias, largest=largest
)
layer = estoc.GemmArguments(x, weights.T, np.empty((64, 48), np.float32), epilogue=epilogue)
kernels = estoc.get_kernels(layer)  # the one to use comes first
kernels[0].run(layer)

result = estoc.check_output(layer)
print(f"{kernels[0].name}\nerror {result.error:.1e}, bound {result.bound:.1e}")
assert result.passed
