"""An expert layer from a router's scores on: the two best of eight experts compute each token."""

import numpy as np

import estoc

TOKENS, HIDDEN, INNER, EXPERTS, TOP_K = 24, 64, 32, 8, 2
draw = np.random.default_rng(1)


def random(*shape: int, scale: float) -> np.ndarray:
    return (scale * draw.standard_normal(shape)).astype(np.float32)


x = random(TOKENS, HIDDEN, scale=1)
w_gate_up = random(EXPERTS, HIDDEN, 2 * INNER, scale=0.2)
w_down = random(EXPERTS, INNER, HIDDEN, scale=0.2)

scores = random(TOKENS, EXPERTS, scale=1)
expert_ids = np.argsort(-scores, axis=1)[:, :TOP_K].astype(np.int32)
weights = np.exp(np.take_along_axis(scores, expert_ids, axis=1))
weights /= weights.sum(axis=1, keepdims=True)

out = estoc.moe(x, expert_ids, weights, w_gate_up, w_down)
assert isinstance(out, np.ndarray)

expected = np.zeros((TOKENS, HIDDEN))
for token, slot in np.ndindex(TOKENS, TOP_K):
    expert = expert_ids[token, slot]
    gate, up = np.split(x[token].astype(float) @ w_gate_up[expert], 2)
    expected[token] += weights[token, slot] * (gate / (1 + np.exp(-gate)) * up @ w_down[expert])
error = np.linalg.norm(out - expected) / np.linalg.norm(expected)
print(f"{TOKENS} tokens, {EXPERTS} experts: error {error:.1e}")
assert error < 1e-5
