"""The expert layer: moe and Moe against NumPy, with every option, and what is refused."""

import math
import threading

import ml_dtypes
import numpy as np
import pytest

import estoc

T, H, INNER, E, K = 9, 24, 10, 5, 3


def activated(name, product, interleaved):
    """The activation of the first product, in float64."""

    def silu(x):
        return x / (1 + np.exp(-x))

    def gelu(x):
        return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))

    functions = {"swiglu": silu, "geglu": gelu, "silu": silu, "gelu": gelu}
    f = functions.get(name, lambda x: np.maximum(x, 0))
    if not name.endswith("glu"):
        return f(product)
    half = product.shape[-1] // 2
    pairs = (product[0::2], product[1::2]) if interleaved else (product[:half], product[half:])
    return f(pairs[0]) * pairs[1]


def expected(x, ids, weights, gate_up, down, activation="swiglu", interleaved=False):
    x, weights, gate_up, down = (each.astype("f8") for each in (x, weights, gate_up, down))
    out = np.zeros(x.shape)
    for token, slot in np.ndindex(ids.shape):
        expert = ids[token, slot]
        if 0 <= expert < len(down):
            inner = activated(activation, x[token] @ gate_up[expert], interleaved)
            out[token] += weights[token, slot] * (inner @ down[expert])
    return out


def operands(dtype="f4", seed=0, activation="swiglu"):
    draw = np.random.default_rng(seed)
    columns = 2 * INNER if activation.endswith("glu") else INNER
    ids = draw.integers(-1, E + 1, (T, K)).astype("i4")
    return (
        draw.standard_normal((T, H)).astype(dtype),
        ids,
        draw.random((T, K)).astype("f4"),
        (draw.standard_normal((E, H, columns)) / 4).astype(dtype),
        (draw.standard_normal((E, INNER, H)) / 3).astype(dtype),
    )


def check(out, wanted, dtype="f4"):
    bound = 1e-5 if dtype == "f4" else 0.02
    error = np.linalg.norm(out.astype("f8") - wanted)
    assert error <= bound * np.linalg.norm(wanted)


@pytest.mark.parametrize("dtype", ["f4", "f2", ml_dtypes.bfloat16])
@pytest.mark.parametrize("activation", ["swiglu", "geglu", "relu", "gelu", "silu"])
@pytest.mark.parametrize("interleaved", [False, True])
def test_every_activation(dtype, activation, interleaved):
    given = operands(dtype, activation=activation)
    out = estoc.moe(*given, activation=activation, interleaved=interleaved)
    assert out.dtype == dtype and out.shape == (T, H)
    check(out, expected(*given, activation, interleaved), dtype)


def test_out_workspace_and_strides():
    x, ids, weights, gate_up, down = operands(seed=1)
    gate_up, down = (each.transpose(0, 2, 1).copy().transpose(0, 2, 1) for each in (gate_up, down))
    ids, weights = np.asfortranarray(ids), np.asfortranarray(weights)
    rows = np.full((T, H + 5), 77, "f4")
    out = rows[:, :H]
    layer = estoc.Moe(x, ids, weights, gate_up, down, out=out)
    memory = np.empty(layer.workspace_size + 256, "u1")
    aligned = memory[-memory.ctypes.data % 256 :]
    given = (x, ids, weights, gate_up, down)
    assert estoc.moe(*given, out=out, workspace=aligned) is out
    check(out, expected(*given))
    assert (rows[:, H:] == 77).all()
    with pytest.raises(ValueError, match="workspace: expected at least .* bytes, got 16"):
        estoc.moe(*given, out=out, workspace=aligned[:16])
    wanted = expected(*given)
    assert estoc.moe(*given, out=x) is x
    check(x, wanted)


def test_plans_serve_other_tensors():
    layer = estoc.Moe(*operands(), interleaved=True)
    assert len(layer.kernels) == 2 and "grouped_gemm" in layer.kernels[0]
    assert repr(layer).startswith("<Moe of swiglu, interleaved: cpu_grouped_gemm")
    for seed in range(4):
        given = operands(seed=seed)
        check(layer(*given), expected(*given, interleaved=True))
    with pytest.raises(ValueError, match=r"x: expected f32 \(9, 24\).*, got f16"):
        layer(operands("f2")[0], *operands()[1:])


def test_plans_are_used_by_threads_at_once():
    layer = estoc.Moe(*operands())
    failures = []

    def work(seed):
        try:
            given = operands(seed=seed)
            wanted = expected(*given)
            for _ in range(20):
                check(layer(*given), wanted)
                check(estoc.moe(*given), wanted)
        except Exception as error:  # noqa: BLE001: the thread's failure is the test's
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_nobody_comes():
    x, ids, weights, gate_up, down = operands()
    assert (estoc.moe(x, np.full_like(ids, E), weights * np.nan, gate_up, down) == 0).all()
    assert estoc.moe(x[:0], ids[:0], weights[:0], gate_up, down).shape == (0, H)
    assert (estoc.moe(x, ids, weights, gate_up[:0], down[:0]) == 0).all()


def test_what_does_not_fit_is_named():
    x, ids, weights, gate_up, down = operands()
    with pytest.raises(TypeError, match="expert_ids"):
        estoc.moe(x, ids.astype("f4"), weights, gate_up, down)
    with pytest.raises(ValueError, match=r"w_gate_up.shape: expected \(5, 24, 10\), got"):
        estoc.moe(x, ids, weights, gate_up, down, activation="relu")
    with pytest.raises(ValueError, match='activation: expected swiglu, .* or silu, got "swish"'):
        estoc.moe(x, ids, weights, gate_up, down, activation="swish")
    with pytest.raises(TypeError, match="interleaved"):
        estoc.moe(x, ids, weights, gate_up, down, interleaved=1.5)
    with pytest.raises(ValueError, match="out: expected memory apart from w_down"):
        estoc.moe(x, ids, weights, gate_up, down, out=down.reshape(-1)[: T * H].reshape(T, H))
    frozen = np.zeros((T, H), "f4")
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="out: expected a tensor that can be written"):
        estoc.moe(x, ids, weights, gate_up, down, out=frozen)


def test_torch():
    torch = pytest.importorskip("torch")
    x, ids, weights, gate_up, down = operands()
    given = [torch.from_numpy(each) for each in (x, ids, weights, gate_up, down)]
    out = estoc.moe(*given)
    assert isinstance(out, torch.Tensor)
    check(out.numpy(), expected(x, ids, weights, gate_up, down))
    with pytest.raises(TypeError, match="expert_ids"):
        estoc.moe(given[0], given[1].long(), *given[2:])
    few = [each[:3] for each in given[:3]] + given[3:]  # of a shape that is not known yet
    few[3].requires_grad_()
    with pytest.warns(RuntimeWarning, match="estoc.moe records no gradient"):
        estoc.moe(*few)
