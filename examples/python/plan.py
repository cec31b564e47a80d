"""One product again and again: a plan finds and compiles its kernel once, and takes new operands."""

import numpy as np

import estoc

weights, bias = 2 * np.eye(32, dtype=np.float32), np.ones(32, np.float32)
state, following = np.ones((4, 32), np.float32), np.empty((4, 32), np.float32)

epilogue = estoc.EpilogueArguments("D = accum + bias", bias=bias)
layer = estoc.plan(state, weights, following, epilogue=epilogue)
for _ in range(3):
    layer(state, weights, following)  # following = 2 * state + 1
    state, following = following, state
print(f"{state[0, 0]:g} after 3 steps")
assert state[0, 0] == 15
