"""Operators of estoc.torch under compile, export, autograd and autocast, on the CPU. Needs torch."""

import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="torch is not installed")

import estoc  # noqa: E402
import estoc.torch  # noqa: E402

OPS = torch.ops.estoc
OFFSETS = torch.tensor([2, 2, 5], dtype=torch.int32)


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(2026)
    yield
    torch.compiler.reset()


def normal(*shape, dtype=torch.float32, grad=False):
    return torch.randn(*shape, dtype=dtype).requires_grad_(grad)


def operands_of_groups(along, dtype=torch.float32, grad=False):
    """A and B of 3 groups; M, N, K of 4, 6, 8, and 5 where they are divided."""
    shapes = {
        "m": ((5, 8), (3, 8, 6)),
        "n": ((3, 4, 8), (8, 5)),
        "k": ((4, 5), (5, 6)),
        "l": ((3, 4, 8), (3, 8, 6)),
    }[along]
    return [normal(*shape, dtype=dtype, grad=grad) for shape in shapes]


def test_importing_estoc_imports_no_torch():
    code = "import estoc, sys; assert 'torch' not in sys.modules and not hasattr(estoc, 'torch')"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


OPERANDS = {
    "matmul": lambda: (OPS.matmul, (normal(5, 8, grad=True), normal(8, 6, grad=True))),
    "matmul, batched": lambda: (OPS.matmul, (normal(3, 5, 8, grad=True), normal(8, 6, grad=True))),
    "matmul, dtype": lambda: (OPS.matmul, (normal(5, 8), normal(8, 6), torch.float64)),
    "linear": lambda: (
        OPS.linear,
        (
            normal(5, 8, grad=True),
            normal(6, 8, grad=True),
            normal(6, grad=True),
            None,
            [],
            "",
            None,
        ),
    ),
    "linear, epilogue": lambda: (
        OPS.linear,
        (
            normal(5, 8, grad=True),
            normal(6, 8, grad=True),
            normal(6, grad=True),
            "D = gelu(accum + bias) * C",
            [normal(5, 6, grad=True)],
            "C",
            None,
        ),
    ),
} | {
    f"grouped_mm, {along}": lambda along=along: (
        OPS.grouped_mm,
        (*operands_of_groups(along, grad=True), None if along == "l" else OFFSETS),
    )
    for along in "mnkl"
}


@pytest.mark.parametrize("name", OPERANDS)
def test_opcheck(name):
    operator, arguments = OPERANDS[name]()
    torch.library.opcheck(operator.default, arguments)


def scaled():
    a, b = (normal(rows, 32).to(torch.float8_e4m3fn) for rows in (16, 24))
    return a, b.t(), torch.tensor(0.5), torch.tensor(0.25)


def test_scaled_mm():
    a, b, scale_a, scale_b = scaled()
    wanted = (a.double() * 0.5) @ (b.double() * 0.25)
    found = estoc.torch.scaled_mm(a, b, scale_a, scale_b, out_dtype=torch.float32)
    torch.testing.assert_close(found.double(), wanted, rtol=1e-5, atol=1e-5)
    bias = normal(24)
    found = estoc.torch.scaled_mm(a, b, scale_a, scale_b, bias=bias, recipe_a="tensorwise")
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found.double(), wanted + bias, rtol=1e-2, atol=1e-2)
    torch.library.opcheck(  # torch cannot compare fp8 operands, which the test of the schema does
        OPS.scaled_mm.default,
        (a, b, [scale_a], [scale_b]),
        test_utils=("test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic"),
    )


@pytest.mark.parametrize("shapes", [((5, 8), (8, 6)), ((3, 5, 8), (3, 8, 6)), ((5, 8), (3, 8, 6))])
def test_matmul_and_its_gradients(shapes):
    a, b = (normal(*shape, dtype=torch.float64, grad=True) for shape in shapes)
    torch.testing.assert_close(estoc.torch.matmul(a, b), a @ b)
    assert torch.autograd.gradcheck(estoc.torch.matmul, (a, b))
    assert torch.autograd.gradgradcheck(estoc.torch.matmul, (a, b))


@pytest.mark.parametrize(
    ("dtype", "wanted"),
    [
        (torch.int8, torch.int32),
        (torch.float8_e5m2, torch.bfloat16),
        (torch.float16, torch.float16),
        (torch.float64, torch.float64),
    ],
)
def test_tracing_knows_the_dtype(dtype, wanted):
    a, b = torch.ones(5, 8).to(dtype), torch.ones(8, 6).to(dtype)
    assert OPS.matmul(a, b).dtype == wanted
    assert OPS.matmul(a.to("meta"), b.to("meta")).dtype == wanted
    assert OPS.matmul(a.to("meta"), b.to("meta"), torch.float32).dtype == torch.float32


def test_gradients_that_are_expanded():
    a, b = normal(5, 8, grad=True), normal(8, 6, grad=True)
    estoc.torch.matmul(a, b).sum().backward()
    ones = torch.ones(5, 6)
    torch.testing.assert_close(a.grad, ones @ b.detach().t())
    torch.testing.assert_close(b.grad, a.detach().t() @ ones)


EPILOGUES = [
    "D = gelu(accum + bias) * C",
    "D = gelu_tanh(accum) + C; ",
    "h = accum + bias; D = silu(h) * tanh(C) + 0.5 * C / (2 + C * C)",
    "D = leaky_relu(accum * 0.5, 0.1) - sigmoid(bias)",
    "D = maximum(accum, C) + minimum(accum, bias) + softplus(-accum)",
    "D = clamp(accum, -0.5, 0.5) + sqrt(exp(C)) + abs(accum) + log(exp(bias))",
    "D = relu(identity(accum)) + C",
    "D = accum + bias + C",
    "D = accum * C - bias",
]


@pytest.mark.parametrize("epilogue", EPILOGUES)
def test_linear_and_its_gradients(epilogue):
    x, weight, bias, c = (
        normal(*shape, dtype=torch.float64, grad=True)
        for shape in ((2, 3, 8), (6, 8), (6,), (2, 3, 6))
    )
    given = {"bias": bias if "bias" in epilogue else None} | ({"C": c} if "C" in epilogue else {})
    used = [x, weight, *(one for one in given.values() if one is not None)]

    def function(x, weight, *rest):
        names = [key for key, one in given.items() if one is not None]
        values = dict(zip(names, rest, strict=True))
        return estoc.torch.linear(x, weight, epilogue=epilogue, **values)

    assert torch.autograd.gradcheck(function, used)
    found = function(*used)
    with torch.no_grad():
        torch.testing.assert_close(function(*used), found.detach())  # the short way


def test_linear_is_that_of_torch():
    x, weight, bias = normal(2, 3, 8), normal(6, 8), normal(6)
    wanted = torch.nn.functional.linear(x, weight, bias)
    torch.testing.assert_close(estoc.torch.linear(x, weight, bias), wanted)
    found = estoc.torch.linear(x, weight, bias, "D = relu(accum + bias)")
    torch.testing.assert_close(found, wanted.relu())


def test_an_epilogue_without_a_derivative():
    x, weight = normal(5, 8, grad=True), normal(6, 8)
    result = estoc.torch.linear(x, weight, epilogue="D = mish(accum)")
    with pytest.raises(estoc.UnsupportedError, match=r"a derivative of .* got mish\(accum\)"):
        result.sum().backward()


@pytest.mark.parametrize("along", list("mnkl"))
def test_grouped_mm_and_its_gradients(along):
    a, b = operands_of_groups(along, torch.float64, grad=True)
    offs = None if along == "l" else OFFSETS
    found = estoc.torch.grouped_mm(a, b, offs=offs)
    if along == "m":
        wanted = torch.cat([a[:2] @ b[0], a[2:5] @ b[2]])
    elif along == "n":
        wanted = torch.cat([a[0] @ b[:, :2], a[2] @ b[:, 2:5]], 1)
    elif along == "k":
        wanted = torch.stack([a[:, :2] @ b[:2], torch.zeros(4, 6, dtype=a.dtype), a[:, 2:] @ b[2:]])
    else:
        wanted = a @ b
    torch.testing.assert_close(found, wanted)
    assert torch.autograd.gradcheck(lambda a, b: estoc.torch.grouped_mm(a, b, offs=offs), (a, b))


def test_rows_of_no_group_have_no_gradient():
    a, b = operands_of_groups("m", grad=True)
    offs = torch.tensor([1, 2, 3], dtype=torch.int32)
    estoc.torch.grouped_mm(a, b, offs=offs)[:3].sum().backward()
    assert a.grad[3:].abs().sum() == 0 and a.grad[:3].abs().sum() > 0
    torch.testing.assert_close(b.grad[1], a.detach()[1:2].t() @ torch.ones(1, 6))


def block(x, weight, bias, down):
    hidden = estoc.torch.linear(x, weight, bias, "D = gelu(accum + bias)")
    return estoc.torch.matmul(hidden, down) * 2


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_graphs(backend):
    given = [normal(5, 8, grad=True), normal(6, 8, grad=True), normal(6, grad=True), normal(6, 7)]
    wanted = block(*given)
    wanted.square().sum().backward()
    gradients = [one.grad.clone() for one in given[:3]]
    for one in given:
        one.grad = None
    found = torch.compile(block, fullgraph=True, backend=backend)(*given)
    torch.testing.assert_close(found, wanted)
    found.square().sum().backward()
    for one, gradient in zip(given, gradients, strict=False):
        torch.testing.assert_close(one.grad, gradient)


def test_dynamic_shapes_compile_once():
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(block, fullgraph=True, backend=counter, dynamic=True)
    rest = normal(6, 8), normal(6), normal(6, 7)
    for rows in (5, 9, 33):
        x = normal(rows, 8)
        torch.testing.assert_close(compiled(x, *rest), block(x, *rest))
    assert counter.frame_count == 1


def test_export():
    class Block(torch.nn.Module):
        def forward(self, x, weight, bias, down):
            return block(x, weight, bias, down)

    given = normal(5, 8), normal(6, 8), normal(6), normal(6, 7)
    rows = torch.export.Dim("rows", min=2)
    shapes = {"x": {0: rows}, "weight": None, "bias": None, "down": None}
    exported = torch.export.export(Block(), given, dynamic_shapes=shapes)
    called = {str(node.target) for node in exported.graph.nodes}
    assert {"estoc.linear.default", "estoc.matmul.default"} <= called
    x = normal(11, 8)
    torch.testing.assert_close(exported.module()(x, *given[1:]), block(x, *given[1:]))


@pytest.mark.parametrize("compiled", [False, True])
def test_autocast(compiled):
    def function(x, weight, bias, b, experts):
        return (
            estoc.torch.linear(x, weight, bias, "D = relu(accum + bias)"),
            estoc.torch.matmul(x, b),
            estoc.torch.grouped_mm(x, experts, offs=OFFSETS),
        )

    if compiled:
        function = torch.compile(function, fullgraph=True, backend="aot_eager")
    given = [normal(5, 8, grad=True), normal(6, 8), normal(6), normal(8, 6), normal(3, 8, 6)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        results = function(*given)
    assert [one.dtype for one in results] == [torch.bfloat16] * 3
    sum(one.float().sum() for one in results).backward()
    assert given[0].grad.dtype == torch.float32
    wide = given[0].detach().double()
    with torch.autocast("cpu", dtype=torch.bfloat16):  # f64 is left as it is, as torch.mm leaves it
        assert estoc.torch.matmul(wide, wide.t()).dtype == torch.float64


@pytest.mark.parametrize(("m", "n", "k"), [(0, 6, 8), (5, 0, 8), (5, 6, 0), (0, 0, 0)])
def test_empty_operands(m, n, k):
    a, b = normal(m, k, grad=True), normal(k, n, grad=True)
    found = estoc.torch.matmul(a, b)
    torch.testing.assert_close(found, a @ b)
    found.sum().backward()
    assert a.grad.shape == a.shape and b.grad.shape == b.shape
    bias = normal(n)
    wanted = torch.nn.functional.linear(a, b.t(), bias)
    torch.testing.assert_close(estoc.torch.linear(a, b.t(), bias), wanted)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estoc.torch.matmul(normal(5, 8), normal(7, 6)), "8|K"),
        (lambda: estoc.torch.bmm(normal(5, 8), normal(8, 6)), "a: expected three modes, got 2"),
        (
            lambda: estoc.torch.linear(normal(5, 8), normal(6, 8), C=normal(6)),
            "C: expected an epilogue",
        ),
        (
            lambda: estoc.torch.linear(normal(5, 8), normal(6, 8), accum=normal(6)),
            "other than accum",
        ),
        (lambda: estoc.torch.linear(normal(5, 8), normal(6, 8), normal(7)), "bias"),
        (
            lambda: estoc.torch.linear(normal(5, 8), normal(6, 8), epilogue="D = geul(accum)"),
            "gelu",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()


def test_refusals_while_tracing():
    x = torch.empty(5, 8, device="meta")
    with pytest.raises(RuntimeError, match="b: expected rows of 8, got 7"):
        OPS.matmul(x, torch.empty(7, 6, device="meta"))
    with pytest.raises(ValueError, match="offs: expected a tensor"):
        OPS.grouped_mm(x, torch.empty(8, 6, device="meta"))


def test_dispatch_modes_see_the_operators():
    seen = []

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Mode():
        estoc.torch.matmul(normal(5, 8), normal(8, 6))
    assert "estoc.matmul.default" in seen
