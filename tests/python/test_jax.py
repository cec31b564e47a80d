"""Arrays of JAX: inputs by DLPack, refused as outputs. Needs jax."""

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp  # noqa: E402

import estoc  # noqa: E402


@pytest.fixture(autouse=True)
def on_cpu():
    """JAX would rather put arrays on a GPU where there is one."""
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int8])
def test_inputs(dtype):
    a, b = jnp.arange(12).reshape(4, 3).astype(dtype), jnp.ones((3, 5), dtype)
    out = np.zeros((4, 5), np.int32 if dtype == jnp.int8 else np.float32)
    args = estoc.GemmArguments(a, b, out)
    assert args.A.dtype == dtype
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(out, np.asarray(a, "f8") @ np.asarray(b, "f8"))


def test_outputs_are_refused():
    a = jnp.ones((4, 4))
    assert estoc.Tensor(a).dtype == jnp.float32
    with pytest.raises(ValueError, match="out: expected a tensor that can be written"):
        estoc.GemmArguments(a, a, jnp.zeros((4, 4)))
