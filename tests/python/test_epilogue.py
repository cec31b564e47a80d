"""Epilogues from text and from Python functions, and what they refuse."""

import inspect
import pickle

import numpy as np
import pytest

import estoc

FACTOR = 2


@pytest.fixture
def run(gemm):
    """Runs an epilogue on small integers; gives the output and the exact product."""

    def call(source, **operands):
        a, b, out, wanted = gemm()
        if source is not None and operands:
            source = estoc.EpilogueArguments(source, **operands)
        args = estoc.GemmArguments(a, b, out, "f32", epilogue=source)
        kernels = estoc.get_kernels(args)
        assert kernels
        kernels[0].run(args)
        return out, wanted

    return call


def test_text(run):
    bias = np.arange(8, dtype="f4")
    out, product = run("D = relu(alpha * accum + bias)", alpha=0.5, bias=bias)
    np.testing.assert_array_equal(out, np.maximum(0.5 * product + bias, 0))
    out, product = run("D = relu(accum)")
    np.testing.assert_array_equal(out, np.maximum(product, 0))


def test_outputs(run):
    aux, top = np.zeros((12, 8), "f4"), np.zeros((12, 1), "f4")
    out, product = run("D = -accum; aux = accum; top = max(D)", aux=aux, top=top)
    np.testing.assert_array_equal(out, -product)
    np.testing.assert_array_equal(aux, product)
    np.testing.assert_array_equal(top, (-product).max(axis=1, keepdims=True))


def test_function(run):
    def epilogue(accum, C, alpha, beta=3):
        """Every sort of statement."""
        scaled = alpha * accum + beta * C / 2
        above: bool = scaled > 4
        D = scaled if above and not (1 < C <= 2) else -relu(scaled) ** 1  # noqa: F821
        aux = minimum(accum, +2.0)  # noqa: F821
        return D, aux

    C = np.arange(96, dtype="f4").reshape(12, 8) % 5
    aux = np.zeros((12, 8), "f4")
    out, product = run(epilogue, C=C, alpha=np.float32(2), aux=aux)
    scaled = 2 * product + 3 * C / 2
    wanted = np.where((scaled > 4) & ~((1 < C) & (C <= 2)), scaled, -np.maximum(scaled, 0))
    np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(aux, np.minimum(product, 2))


def test_source_of_a_function(run):
    out, product = run("def f(accum, C):\n    D = accum + C\n    return D", C=np.ones((12, 8), "f4"))
    np.testing.assert_array_equal(out, product + 1)


def test_numbers_around_the_function(run):
    shift = 3.0

    def epilogue(accum):
        return FACTOR * accum + shift

    out, product = run(epilogue)
    np.testing.assert_array_equal(out, 2 * product + 3)
    assert estoc.EpilogueArguments(epilogue).operands == {"FACTOR": 2, "shift": 3.0}


def test_lambda(run):
    square = lambda accum: accum * accum  # noqa: E731
    out, product = run(square)
    np.testing.assert_array_equal(out, product**2)


def test_same_program_whoever_wrote_it():
    def epilogue(accum, bias):
        D = relu(accum + bias)  # noqa: F821
        return D

    bias = np.zeros(8, "f4")
    text = estoc.EpilogueArguments("D = relu((accum + bias))", bias=bias)
    function = estoc.EpilogueArguments(epilogue, bias=bias)
    assert function == text
    assert function.text == text.text
    assert hash(function) == hash(text)
    again = pickle.loads(pickle.dumps(function))
    assert again.text == text.text
    assert "relu" in repr(again)


BAD = [
    ("def f(x):\n    return x", "epilogue:1: expected accum as the first parameter"),
    ("def f(accum):\n    D = accum", "epilogue:1: expected a function that ends with return D"),
    ("def f(accum):\n    D = accum\n    D = accum\n    return D", "epilogue:3: D is assigned twice"),
    ("def f(accum):\n    D = accum + y\n    return D", "epilogue:2: y is not known"),
    ("def f(accum):\n    D = accum @ accum\n    return D", r"epilogue:2: expected \+ - "),
    ("def f(accum):\n    for i in accum: pass\n    return D", "epilogue:2: .* got For"),
    ("def f(accum):\n    x = accum\n    y = x\n    return y, x", "epilogue:4: expected D among"),
    ("def f(accum, C):\n    return accum + C", "operand for the parameter C, got none"),
    ("def f(accum, *rest):\n    return accum", "epilogue:1: expected parameters with names"),
    ("def f(accum):\n    x = accum\n    D = x\n    return D, x", "a tensor for the output x"),
    ("def f(accum):\n    D = 'text'\n    return D", "epilogue:2: expected a number, got 'text'"),
    ("def f(accum):\n    D = [accum]\n    return D", "epilogue:2: expected arithmetic, got List"),
    ("def f(accum):\n    D = relu(x=accum)\n    return D", "arguments without names"),
    ("def f(accum):\n    return geul(accum)", "epilogue:1: .*did you mean gelu"),
    ("def f(accum):\n  return (", "epilogue:2: expected Python"),
    ("D = geul(accum)", "column 5: expected an operation, got 'geul'"),
    ("E = accum", "D"),
]


@pytest.mark.parametrize(("source", "message"), BAD)
def test_refusals(source, message):
    with pytest.raises(ValueError, match=message):
        estoc.EpilogueArguments(source)


def test_lines_are_those_of_the_users_file():
    def epilogue(accum):
        D = accum << 2
        return D

    line = inspect.getsourcelines(epilogue)[1] + 1
    with pytest.raises(ValueError, match=rf"test_epilogue\.py:{line}: expected \+ - \* / or \*\*"):
        estoc.EpilogueArguments(epilogue)


def test_functions_without_source():
    made = {}
    exec("def f(accum): return accum", made)  # noqa: S102
    with pytest.raises(ValueError, match="the source of f is not known; give it as text"):
        estoc.EpilogueArguments(made["f"])
    two = (lambda accum: accum, lambda accum: accum + 1)
    with pytest.raises(ValueError, match="expected one function or lambda, got 2"):
        estoc.EpilogueArguments(two[0])
    with pytest.raises(TypeError, match="epilogue: expected text or a function, got type"):
        estoc.EpilogueArguments(int)


def elementwise(**given):
    a = np.arange(-3, 3, dtype="f4").reshape(2, 3)
    out = np.zeros((2, 3), "f4")
    bias = np.array([0, 10, 20], "f4")
    epilogue = estoc.EpilogueArguments("D = relu(s * accum + bias)", s=2, bias=bias)
    expected = np.maximum(2 * a + bias, 0)
    return estoc.ElementwiseArguments(a, out, epilogue=epilogue, **given), out, expected


def test_elementwise():
    args, out, expected = elementwise()
    assert (args.op, args.B, args.operation) == ("identity", None, "elementwise")
    assert str(args).endswith("epilogue='D = relu(s * accum + bias)')")
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(out, expected)
    assert estoc.check_output(args)
    again = estoc.parse_problem(args.problem)
    assert again.problem == args.problem
    assert again.epilogue.text == args.epilogue.text


def test_elementwise_of_a_function_or_text():
    a, out = np.array([-1.0, 2.0]), np.zeros(2)

    def relu_and_half(accum):
        return relu(accum) + 0.5  # noqa: F821

    for epilogue in ("D = relu(accum) + 0.5", relu_and_half):
        out[:] = 0
        args = estoc.ElementwiseArguments(a, out, epilogue=epilogue)
        estoc.get_kernels(args)[0].run(args)
        np.testing.assert_array_equal(out, [0.5, 2.5])


def test_elementwise_controls_and_pickling():
    args, _, expected = elementwise(performance=estoc.PerformanceControls(workspace_limit=7))
    again = pickle.loads(pickle.dumps(args))
    assert again.performance.workspace_limit == 7
    assert repr(again) == repr(args)
    estoc.get_kernels(again)[0].run(again)
    np.testing.assert_array_equal(np.asarray(again.out), expected)


def test_elementwise_plans():
    args, out, expected = elementwise()
    plan = estoc.plan(args)
    plan()
    np.testing.assert_array_equal(out, expected)
    a, other = np.array([[-1, 0, 1]], "f4"), np.zeros((1, 3), "f4")
    plan(a, other)
    np.testing.assert_array_equal(other, [[0, 10, 22]])
    plan(a, other, bias=np.array([5, 6, 7], "f4"), s=1)
    np.testing.assert_array_equal(other, [[4, 6, 8]])


@pytest.mark.parametrize(
    "epilogue, kind, message",
    [
        (None, TypeError, "epilogue: expected an estoc.EpilogueArguments, text or a function, got None"),
        (3, TypeError, "epilogue: expected an estoc.EpilogueArguments, .* got int"),
        ("D = accum + bias", ValueError, "bias"),
        ("D = sum(accum)", ValueError, "D: expected a value .*, got a reduction"),
        (estoc.EpilogueArguments("y = accum; D = y", y=np.zeros(3)), ValueError, "y"),
    ],
)
def test_elementwise_refusals(epilogue, kind, message):
    a, out = np.zeros(3), np.zeros(3)
    with pytest.raises(kind, match=message):
        estoc.ElementwiseArguments(a, out, epilogue=epilogue)
    with pytest.raises(TypeError):
        estoc.ElementwiseArguments(a, out)


def test_what_is_no_epilogue(gemm):
    a, b, out, _ = gemm()
    with pytest.raises(TypeError, match="epilogue: expected an estoc.EpilogueArguments, text"):
        estoc.GemmArguments(a, b, out, epilogue=3)
    with pytest.raises(TypeError, match="C: expected a tensor"):
        estoc.EpilogueArguments("D = accum + C", C="C")
    with pytest.raises(ValueError, match="C"):
        epilogue = estoc.EpilogueArguments("D = accum + C", C=np.zeros((5, 5), "f4"))
        estoc.GemmArguments(a, b, out, epilogue=epilogue)


def test_plan_and_matmul(gemm):
    a, b, out, wanted = gemm()
    bias = np.arange(8, dtype="f4")
    epilogue = estoc.EpilogueArguments("D = accum + bias", bias=bias)
    plan = estoc.plan(a, b, out, epilogue=epilogue, keep=False)
    del epilogue
    plan(a, b, out)
    np.testing.assert_array_equal(out, wanted + bias)
    np.testing.assert_array_equal(estoc.matmul(a, b, epilogue="D = -accum"), -wanted)
    np.testing.assert_array_equal(estoc.matmul(a, b, epilogue="D = -accum"), -wanted)
    np.testing.assert_array_equal(estoc.matmul(a, b, epilogue="D = 2 * accum"), 2 * wanted)
    np.testing.assert_array_equal(estoc.matmul(a, b, epilogue=lambda accum: accum + 1), wanted + 1)


def test_arguments_with_an_epilogue_can_be_pickled(gemm):
    a, b, out, wanted = gemm()
    epilogue = estoc.EpilogueArguments("D = s * accum + bias", bias=np.ones(8, "f4"), s=3)
    args = pickle.loads(pickle.dumps(estoc.GemmArguments(a, b, out, epilogue=epilogue)))
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(args.out.tensor, 3 * wanted + 1)
    assert args.epilogue.operands["s"] == 3


def test_kernels_keep_their_epilogue_when_they_are_pickled(gemm):
    a, b, out, wanted = gemm()
    bias = np.arange(8, dtype="f4")
    epilogue = estoc.EpilogueArguments("D = relu(accum + bias)", bias=bias)
    args = estoc.GemmArguments(a, b, out, epilogue=epilogue)
    kernel = estoc.get_kernels(args)[0]
    assert kernel.metadata.epilogue
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    assert again != estoc.kernel_by_name(kernel.name)
    assert pickle.loads(pickle.dumps(kernel.metadata)).epilogue == kernel.metadata.epilogue
    assert kernel.metadata.kernel_class(kernel.metadata) == kernel
    artifact = pickle.loads(pickle.dumps(kernel.compile(args)))
    again.run(args, artifact)
    np.testing.assert_array_equal(out, np.maximum(wanted + bias, 0))


def test_artifacts_with_an_epilogue_can_be_pickled_needs_nvrtc(nvrtc):
    shapes = ((64, 32), (32, 64), (64, 64))
    a, b, out = (estoc.Tensor.describe("f32", shape, device="cuda") for shape in shapes)
    args = estoc.GemmArguments(a, b, out, epilogue="D = relu(accum)")
    kernel = estoc.get_kernels(args, "class=simt_gemm", target="sm_90a")[0]
    artifact = kernel.compile(args, target="sm_90a")
    again = pickle.loads(pickle.dumps(artifact))
    assert again.compiled_obj == artifact.compiled_obj
    assert again.kernel == kernel


def test_a_function_is_read_once(monkeypatch):
    """Its numbers and operands are looked up each time."""
    read = []
    lines = inspect.getsourcelines
    monkeypatch.setattr(inspect, "getsourcelines", lambda what: (read.append(1), lines(what))[1])
    scale = 2.0

    def scaled(accum, bias):
        D = accum * scale + bias
        return D

    for scale in (2.0, 3.0):
        for bias in (1, 2):
            epilogue = estoc.EpilogueArguments(scaled, bias=bias)
            assert epilogue.operands == {"scale": scale, "bias": bias}
    with pytest.raises(ValueError, match="expected an operand for the parameter bias"):
        estoc.EpilogueArguments(scaled)
    assert len(read) == 1


@pytest.mark.parametrize("number", [np.float32(2), np.float64(2), np.int64(2), np.uint8(2)])
def test_scalars_of_numpy_are_numbers(number):
    epilogue = estoc.EpilogueArguments("D = alpha * accum", alpha=number)
    assert epilogue.operands == {"alpha": 2}
    zero_modes = estoc.EpilogueArguments("D = alpha * accum", alpha=np.array(2, "f4"))
    assert isinstance(zero_modes.operands["alpha"], estoc.Tensor)
