"""Products in JAX programs: values, gradients, jit, vmap, shards, what is refused. Needs jax."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

jax = pytest.importorskip("jax", reason="jax is not installed")

import jax.numpy as jnp  # noqa: E402

from estoc.jax import grouped_matmul, matmul, scaled_matmul  # noqa: E402


@pytest.fixture(autouse=True)
def on_cpu():
    """JAX would rather put arrays on a GPU where there is one."""
    with jax.default_device(jax.devices("cpu")[0]):
        yield


@pytest.fixture
def integers():
    random = np.random.default_rng(4)
    return lambda *shape, dtype="f4": jnp.asarray(random.integers(-3, 4, shape)).astype(dtype)


def equal(got, wanted, dtype=None):
    assert isinstance(got, jax.Array)
    assert dtype is None or got.dtype == dtype
    np.testing.assert_array_equal(np.asarray(got, "f8"), np.asarray(wanted, "f8"))


@pytest.mark.parametrize(
    ("dtype", "result"),
    [("float32", "float32"), ("float16", "float16"), ("bfloat16", "bfloat16"), ("int8", "int32")],
)
@pytest.mark.parametrize("transform", [lambda f: f, jax.jit])
def test_dtypes(integers, dtype, result, transform):
    a, b = integers(5, 7, dtype=dtype), integers(7, 6, dtype=dtype)
    equal(transform(matmul)(a, b), np.asarray(a, "f8") @ np.asarray(b, "f8"), result)


def test_floats_of_eight_bits(integers):
    a, b = integers(8, 16, dtype="float8_e4m3fn"), integers(16, 4, dtype="float8_e4m3fn")
    wanted = np.asarray(a, "f8") @ np.asarray(b, "f8")
    equal(matmul(a, b), wanted, "bfloat16")
    equal(matmul(a, b, out_dtype="float32"), wanted, "float32")
    scale = jnp.asarray(2.0 ** np.arange(8).reshape(8, 1), "f4")
    equal(scaled_matmul(a, b, scale, 0.5, out_dtype="float32"), wanted * np.asarray(scale) * 0.5)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 5, 7), (7, 6)),
        ((2, 3, 5, 7), (7, 6)),
        ((3, 5, 7), (3, 7, 6)),
        ((5, 7), (3, 7, 6)),
        ((2, 3, 5, 7), (3, 7, 6)),
        ((2, 1, 5, 7), (1, 3, 7, 6)),
        ((0, 7), (7, 6)),
        ((5, 0), (0, 6)),
    ],
)
def test_batches(integers, left, right):
    a, b = integers(*left), integers(*right)
    wanted = np.asarray(a) @ np.asarray(b)
    got = jax.jit(matmul)(a, b)
    assert got.shape == wanted.shape
    equal(got, wanted)
    if 0 in left:
        return
    for argument in (0, 1):
        ours, theirs = (
            jax.grad(lambda *xs, f=f: (f(*xs) ** 2).sum(), argument)(a, b) for f in (matmul, jnp.matmul)
        )
        equal(ours, theirs)


@pytest.mark.parametrize("axes", [(0, 0), (0, None), (None, 0), (2, 1)])
def test_vmap(integers, axes):
    a, b = integers(4, 2, 5, 3), integers(4, 2, 3, 6)
    a, b = (
        one[0] if axis is None else jnp.moveaxis(one, 0, axis) for one, axis in zip((a, b), axes)
    )

    def scalar(product):
        return lambda x, y: (product(x, y) ** 2).sum()

    for make in (lambda f: f, lambda f: jax.grad(scalar(f), (0, 1))):
        ours, theirs = (jax.vmap(make(f), axes)(a, b) for f in (matmul, jnp.matmul))
        jax.tree.map(equal, ours, theirs)


def test_vmap_is_one_product(integers):
    a, b = integers(4, 5, 3), integers(4, 3, 6)
    text = jax.jit(jax.vmap(matmul)).lower(a, b).as_text()
    assert (text.count("estoc_product"), "while" in text) == (1, False)


def test_vmap_of_vmap(integers):
    a, b = integers(2, 5, 3), integers(4, 3, 6)
    equal(*(jax.vmap(jax.vmap(f, (0, None)), (None, 0))(a, b) for f in (matmul, jnp.matmul)))


def test_second_derivatives(integers):
    a, b = integers(3, 4), integers(4, 2)

    def gradient(product):
        inner = jax.grad(lambda x, y: (product(x, y) ** 3).sum(), 1)
        return jax.grad(lambda x, y: (inner(x, y) ** 2).sum(), (0, 1))

    for ours, theirs in zip(gradient(matmul)(a, b), gradient(jnp.matmul)(a, b)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_mixed_precision(integers):
    a, b = integers(5, 7, dtype="bfloat16"), integers(7, 6, dtype="bfloat16")
    gradients = jax.jit(
        jax.grad(lambda x, y: matmul(x, y, out_dtype="float32").sum(), (0, 1))
    )(a, b)
    equal(gradients[0], np.ones((5, 6)) @ np.asarray(b, "f8").T, "bfloat16")
    equal(gradients[1], np.asarray(a, "f8").T @ np.ones((5, 6)), "bfloat16")


def test_epilogue(integers):
    a, b, bias = integers(5, 7), integers(7, 6), integers(6)

    def layer(a, b, bias, scale):
        return matmul(
            a, b, epilogue="D = relu(scale * accum + bias)", bias=bias, scale=jnp.float32(scale)
        )

    wanted = np.maximum(2 * (np.asarray(a) @ np.asarray(b)) + np.asarray(bias), 0)
    equal(jax.jit(layer)(a, b, bias, 2.0), wanted)
    stacked = jax.vmap(layer, (0, None, None, None))(jnp.stack([a, -a]), b, bias, 2.0)
    equal(stacked[0], wanted)


GROUPED = [((11, 4), (3, 4, 5)), ((3, 6, 4), (4, 11)), ((6, 11), (11, 5))]


def grouped_reference(a, b, offs):
    """The same by slices, which JAX differentiates itself."""
    bounds = [0, *np.asarray(offs).tolist()]
    parts = list(zip(bounds, bounds[1:]))
    if b.ndim == 3:
        rows = [a[start:end] @ b[g] for g, (start, end) in enumerate(parts)]
        return jnp.concatenate([*rows, jnp.zeros((a.shape[0] - bounds[-1], b.shape[2]))])
    if a.ndim == 3:
        columns = [a[g] @ b[:, start:end] for g, (start, end) in enumerate(parts)]
        return jnp.concatenate([*columns, jnp.zeros((a.shape[1], b.shape[1] - bounds[-1]))], 1)
    return jnp.stack([a[:, start:end] @ b[start:end] for start, end in parts])


@pytest.mark.parametrize(("left", "right"), GROUPED)
def test_groups(integers, left, right):
    a, b, offs = integers(*left), integers(*right), jnp.array([2, 2, 9], jnp.int32)
    equal(jax.jit(grouped_matmul)(a, b, offs), grouped_reference(a, b, offs))
    for argument in (0, 1):
        ours, theirs = (
            jax.grad(lambda *xs, f=f: (f(*xs, offs) ** 2).sum(), argument)(a, b)
            for f in (grouped_matmul, grouped_reference)
        )
        equal(ours, theirs)
    stacked = jax.vmap(grouped_matmul, (0, None, None))(jnp.stack([a, 2 * a]), b, offs)
    equal(stacked[1], 2 * grouped_reference(a, b, offs))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: matmul(x, x), "b.shape: expected K = 3, got 2"),
        (lambda x: matmul(x[0], x), "two modes or more"),
        (lambda x: matmul(x, x.T, out_dtype="int8"), "out_dtype: expected one of f64"),
        (lambda x: matmul(x, x.T, bias=x), "expected an epilogue beside bias"),
        (lambda x: matmul(x[None], x.T, epilogue="D = accum"), "vmap does it"),
        (lambda x: scaled_matmul(x, x.T, x, 1.0), r"scale_a.shape: expected \(\) or \(2, 1\)"),
        (lambda x: grouped_matmul(x, x.T, jnp.zeros(2)), "offs .G,. of i32"),
        (lambda x: grouped_matmul(x, x[None], jnp.zeros(1, jnp.int32)), "one K"),
    ],
)
def test_refusals(integers, call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(integers(2, 3))


def test_errors_of_the_library_reach_the_program(integers):
    with pytest.raises(Exception, match="epilogue.*nothing"):
        jax.block_until_ready(matmul(integers(2, 3), integers(3, 2), epilogue="D = nothing(accum)"))


def test_no_copies_of_transposes(integers):
    """The backward products read the operands as they lie."""
    a, b = integers(5, 7), integers(7, 6)
    text = jax.jit(jax.grad(lambda x, y: matmul(x, y).sum(), (0, 1))).lower(a, b).as_text()
    assert text.count("estoc_product") == 2
    assert "transpose" not in text


def test_shards():
    """Each device of a mesh multiplies its part; the program adds the parts."""
    code = """
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, PartitionSpec as P
from estoc.jax import matmul
shard_map = getattr(jax, "shard_map", None)
if shard_map is None:
    from jax.experimental.shard_map import shard_map
mesh = Mesh(np.array(jax.devices("cpu")), ("k",))
part = shard_map(
    lambda a, b: jax.lax.psum(matmul(a, b), "k"), mesh=mesh,
    in_specs=(P(None, "k"), P("k", None)), out_specs=P(),
)
a, b = jnp.arange(40.0).reshape(5, 8) % 7, jnp.arange(48.0).reshape(8, 6) % 5
print(len(jax.devices("cpu")), bool((jax.jit(part)(a, b) == a @ b).all()))
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=4", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "4 True\n", done.stderr


def test_the_document(integers):
    page = (pathlib.Path(__file__).parents[2] / "docs/jax.md").read_text()
    names = {}
    exec(page.split("```python\n")[1].split("```")[0], names)
    x, w, bias = integers(5, 7), integers(7, 6), integers(6)
    equal(names["layer"](x, w, bias), np.maximum(np.asarray(x) @ np.asarray(w) + bias, 0))
    wanted = jax.grad(lambda x, w: ((x @ w) ** 2).sum(), (0, 1))(x, w)
    jax.tree.map(equal, names["gradients"](x, w), wanted)
