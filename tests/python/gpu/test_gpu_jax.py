"""Arrays of JAX on a GPU: inputs by DLPack, refused as outputs."""

import os

import numpy as np
import pytest

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
jax = pytest.importorskip("jax", reason="jax is not installed")
torch = pytest.importorskip("torch", reason="torch, which holds the output, is not installed")

import jax.numpy as jnp  # noqa: E402

import estoc  # noqa: E402

if jax.default_backend() != "gpu":
    pytest.skip(f"jax works on {jax.default_backend()} here", allow_module_level=True)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.bfloat16, jnp.int8])
def test_inputs(dtype):
    a = (jnp.arange(48 * 32) % 7 - 3).reshape(48, 32).astype(dtype)
    b = (jnp.arange(32 * 64) % 5 - 2).reshape(32, 64).astype(dtype)
    kind = torch.int32 if dtype == jnp.int8 else torch.float32
    out = torch.empty(48, 64, dtype=kind, device="cuda")
    args = estoc.GemmArguments(a, b, out)
    assert (args.A.device, args.A.dtype) == ("cuda:0", dtype)
    estoc.get_kernels(args)[0].run(args)
    torch.cuda.synchronize()
    wanted = np.asarray(a.astype("float32"), "f8") @ np.asarray(b.astype("float32"), "f8")
    np.testing.assert_array_equal(out.cpu().double().numpy(), wanted)


def test_outputs_are_refused():
    a = jnp.ones((16, 16))
    with pytest.raises(ValueError, match="out: expected a tensor that can be written"):
        estoc.GemmArguments(a, a, jnp.zeros((16, 16)))
