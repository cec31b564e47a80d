"""Kernels and providers written in Python are found, ranked, run and reported like the others."""

import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import estoc
from estoc import providers


class Product(estoc.Kernel):
    """out = A @ B by NumPy, for f64 in rows."""

    expected_seconds = None

    def compile(self, args, cc=None):
        return estoc.CompiledArtifact(np.matmul, self)

    def _run(self, args, artifact, stream, workspace=None):
        self.last = (stream, workspace)
        artifact.compiled_obj(args.A.tensor, args.B.tensor, out=args.out.tensor)

    def _supports(self, args):
        if len(args.A.shape) != 2:
            return estoc.Status.fail("All operands must be rank 2.")
        return estoc.Status.success()

    def predict(self, args):
        return self.expected_seconds

    @classmethod
    def generate_kernels(cls, metadata_filter, epilogue_args=None, cc=None):
        rows = estoc.TensorAttributes(estoc.f64, (0, 0, 1), 1)
        metadata = estoc.KernelMetadata(
            kernel_name="numpy_product",
            kernel_class=cls,
            min_cc=0,
            operands=estoc.GemmOperandsMetadata(rows, rows, rows, estoc.f64),
            design=estoc.BLASDesignMetadata((1, 1, 1), (1, 1, 1)),
        )
        return [cls(metadata)] if metadata_filter(metadata) else []


@pytest.fixture
def registered():
    """Registers classes for one test."""
    known = []

    def register(kernel_class, **options):
        known.append(kernel_class)
        return estoc.register(kernel_class, **options)

    yield register
    for kernel_class in known:
        estoc.unregister(kernel_class)


@pytest.fixture
def args(gemm):
    a, b, out, wanted = gemm(dtype="f8", out="f8")
    return estoc.GemmArguments(a, b, out), wanted


def names(kernels):
    return [kernel.metadata.kernel_name for kernel in kernels]


def test_found_and_run(registered, args):
    args, wanted = args
    assert "numpy_product" not in names(estoc.get_kernels(args))
    registered(Product)
    kernels = estoc.get_kernels(args)
    assert names(kernels)[-1] == "numpy_product"
    assert kernels.failures == []
    kernel = kernels[-1]
    assert type(kernel) is Product
    assert kernel.metadata.kernel_class is Product
    kernel.run(args)
    np.testing.assert_array_equal(args.out.tensor, wanted)
    artifact = kernel.compile(args)
    assert (artifact.compiled_obj, artifact.kernel) == (np.matmul, kernel)
    for call in (
        lambda: kernel.run(args, artifact, stream=None, assume_supported_args=True),
        kernel.bind(args),
        kernel.bind(args, artifact).launch,
    ):
        args.out.tensor[...] = 77
        call()
        np.testing.assert_array_equal(args.out.tensor, wanted)
    workspace = np.zeros(3, "i1")
    kernel.run(args, artifact, stream=11, workspace=workspace)
    assert kernel.last == (11, workspace)
    assert kernel.get_workspace_size(args) == 0
    assert kernel.predicted_seconds is None
    assert repr(kernel) == "<Kernel numpy_product>"
    assert names(estoc.get_kernels())[-1] == "numpy_product"
    assert names(estoc.get_kernels(providers=["python"])) == ["numpy_product"]
    assert names(estoc.get_kernels(providers=providers.PythonProvider)) == ["numpy_product"]
    assert estoc.unregister(Product)
    assert not estoc.unregister(Product)
    assert "numpy_product" not in names(estoc.get_kernels(args))


def test_ranked_by_prediction(registered, args):
    args, _ = args
    quick = type("Quick", (Product,), {"expected_seconds": 1e-12})
    slow = type("Slow", (Product,), {"expected_seconds": 1e3})
    registered(slow)
    registered(quick)
    found = estoc.get_kernels(args)
    assert [type(found[0]), type(found[-1])] == [quick, slow]


def test_metadata_is_compared_with_the_arguments(registered, gemm):
    registered(Product)

    def status(*operands, **options):
        kernel = estoc.get_kernels(providers="python")[0]
        args = estoc.GemmArguments(*operands, **options)
        status = kernel.supports(args)
        if not status:
            with pytest.raises(estoc.UnsupportedError, match="kernel numpy_product: "):
                kernel.run(args)
            assert "numpy_product" not in names(estoc.get_kernels(args))
        return status.error

    a, b, out, _ = gemm(dtype="f8", out="f8")
    assert status(a, b, out) is None
    assert status(a.astype("f4"), b, out, "f64") == "A.dtype: expected f64, got f32"
    assert status(a, np.asfortranarray(b), out).startswith("B.strides: expected layout t, got f64")
    assert status(a, b, out, "f32") == "accumulator_type: expected f64, got f32"
    assert status(a[None], b[None], out[None]) == "All operands must be rank 2."
    kernel = estoc.get_kernels(providers="python")[0]
    relu = estoc.ElementwiseArguments("relu", a, None, np.zeros_like(a))
    assert kernel.supports(relu).error == "operation: expected gemm, got another"


def test_alignment_and_capability(args):
    args, _ = args
    wide = estoc.TensorAttributes("f64", None, 32)
    operands = estoc.GemmOperandsMetadata(wide, wide, wide, "f64")
    kernel = Product(estoc.KernelMetadata("wide", Product, 90, operands))
    assert kernel.supports(args).error.startswith("A.alignment: expected 256 bytes, got")
    assert kernel.supports(args, cc=80).error == "target: expected compute capability 90, got sm_80"


def test_targets(args):
    args = args[0]
    kernel = Product.generate_kernels(lambda _: True)[0]
    device = estoc.GemmArguments(
        *[estoc.Tensor.describe("f64", (8, 8), device="cuda:7") for _ in range(3)]
    )
    assert kernel.supports(device), "a class without targets is asked for every device"
    for targets in [("cpu",), "cpu", ["sm_90a", "cpu"]]:
        only = type("Only", (Product,), {"targets": targets}).generate_kernels(lambda _: True)[0]
        assert only.supports(args) and only.supports(args, target="cpu")
        assert "expected one of" in only.supports(args, target="sm_80").error
        assert "cpu, got cuda:7" in only.supports(device).error
        with pytest.raises(estoc.UnsupportedError, match="target: expected one of"):
            only.run(device)
    only = type("Only", (Product,), {"targets": ("sm_90a",)}).generate_kernels(lambda _: True)[0]
    assert only.supports(args).error == "target: expected one of sm_90a, got cpu"


def test_own_operands_are_left_to_the_class(args):
    args, _ = args
    kernel = Product(estoc.KernelMetadata("own", Product, 0, {"anything": 1}, {"tile": 3}))
    assert kernel.metadata.operands == {"anything": 1}
    assert kernel.metadata.design == {"tile": 3}
    assert kernel.supports(args)


def test_filters_reach_the_class(registered, args):
    args, _ = args
    registered(Product)
    found = estoc.get_kernels(args, metadata_filter=lambda m: m.kernel_class == Product)
    assert names(found) == ["numpy_product"]
    assert names(estoc.get_kernels(args, "class=product")) == ["numpy_product"]
    assert len(estoc.get_kernels(args, "class=other")) == 0
    with pytest.raises(KeyError):
        estoc.get_kernels(args, lambda m: {}[m.kernel_name], providers="python")


def test_what_a_class_raises_hides_nobody_else(registered, args):
    args, _ = args

    @registered
    class Broken(Product):
        @classmethod
        def generate_kernels(cls, metadata_filter, epilogue_args=None, cc=None):
            raise RuntimeError("out of order")

    registered(Product)
    found = estoc.get_kernels(args)
    assert "numpy_product" in names(found)
    assert found.failures == [("python", "broken", "RuntimeError: out of order")]


def test_supports_never_raises(args):
    args, _ = args

    class Raises(Product):
        def _supports(self, args):
            raise RuntimeError("no answer")

    class Silent(Product):
        def _supports(self, args):
            return None

    def status(kernel_class):
        return kernel_class.generate_kernels(lambda _: True)[0].supports(args)

    assert "kernel class Raises: RuntimeError: no answer" in status(Raises).error
    assert status(Silent).error == "_supports: expected an estoc.Status, got NoneType"


def test_what_is_not_written_says_so(args):
    args, _ = args

    class Empty(estoc.Kernel):
        pass

    kernel = Empty(Product.generate_kernels(lambda _: True)[0].metadata)
    assert kernel.supports(args)
    with pytest.raises(NotImplementedError, match="Empty: a kernel .* method compile"):
        kernel.run(args)
    with pytest.raises(NotImplementedError, match="Empty: a kernel .* method _run"):
        kernel.run(args, estoc.CompiledArtifact(None, kernel))
    with pytest.raises(NotImplementedError, match="generate_kernels"):
        Empty.generate_kernels(lambda _: True)
    with pytest.raises(TypeError, match="metadata: expected an estoc.KernelMetadata, got int"):
        Empty(3)
    with pytest.raises(TypeError, match="kernel_class: expected a class, got str"):
        estoc.KernelMetadata("name", "class", 0, None)


def test_without_super_init(args):
    args, _ = args

    class Forgets(Product):
        def __init__(self, metadata):
            pass

    kernel = Forgets(None)
    for ask in (lambda: kernel.supports(args), lambda: kernel.run(args), lambda: kernel.metadata):
        with pytest.raises(TypeError):
            ask()


def test_what_run_raises_reaches_the_caller(args):
    args, _ = args

    class Raises(Product):
        def _run(self, args, artifact, stream, workspace=None):
            raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        Raises.generate_kernels(lambda _: True)[0].run(args)


def test_providers(args):
    args, _ = args

    @providers.register_provider("mine")
    class Mine(providers.Provider):
        pass

    try:
        assert Mine.name == "mine"
        assert providers.available_providers["mine"] is Mine
        assert "mine" in providers.available_providers()
        assert names(estoc.get_kernels(args, providers=["mine"])) == []
        assert Mine.register(Product) is Product
        assert names(estoc.get_kernels(args, providers=["mine"])) == ["numpy_product"]
        assert "numpy_product" in names(estoc.get_kernels(args))
        with pytest.raises(estoc.ExistsError, match="Product is registered already"):
            Mine.register(Product)
        with pytest.raises(TypeError, match="expected a subclass of estoc.Kernel"):
            Mine.register(int)
        with pytest.raises(estoc.ExistsError, match="provider mine exists already"):
            providers.register_provider("mine")(Mine)
        assert providers.PythonProvider.kernel_classes == []
    finally:
        assert estoc.unregister("mine")
    assert not estoc.unregister("mine")
    assert not estoc.unregister("cpu")
    with pytest.raises(estoc.NotFoundError, match="provider: expected one of cuda, "):
        estoc.get_kernels(args, providers=["mine"])


def test_a_provider_with_its_own_generate_kernels(args):
    args, _ = args

    @estoc.register_provider("bare")
    class Bare:
        @classmethod
        def generate_kernels(cls, metadata_filter, epilogue_args=None, cc=None):
            return Product.generate_kernels(metadata_filter, epilogue_args, cc)

    try:
        assert names(estoc.get_kernels(args, providers="bare")) == ["numpy_product"]
    finally:
        estoc.unregister("bare")
    with pytest.raises(TypeError, match="expected a classmethod generate_kernels"):
        estoc.register_provider("nothing")(object)


class BiasRelu(Product):
    """out = relu(A @ B + bias)."""

    targets = ("cpu",)
    text = "acc f64; t0 f64 ln; v2 = add accum t0; v3 = relu v2; store f64 v3"

    def _supports_epilogue(self, epilogue):
        if epilogue.text == self.text:
            return estoc.Status.success()
        return estoc.Status.fail(f"epilogue: expected relu(accum + bias), got {epilogue.text}")

    def _run(self, args, artifact, stream, workspace=None):
        product = artifact.compiled_obj(np.asarray(args.A), np.asarray(args.B))
        if args.epilogue is not None:
            (bias,) = args.epilogue.operands.values()
            product = np.maximum(product + np.asarray(bias), 0)
        np.asarray(args.out)[...] = product


def test_epilogues(registered, gemm):
    a, b, out, wanted = gemm(dtype="f8", out="f8")
    bias = np.linspace(-9, 9, out.shape[1])
    wanted = np.maximum(wanted + bias, 0)
    epilogue = estoc.EpilogueArguments("D = relu(accum + shift)", shift=bias)
    args = estoc.GemmArguments(a, b, out, epilogue=epilogue)
    registered(Product)
    kernel = Product.generate_kernels(lambda _: True)[0]
    assert "epilogue: expected none, got acc f64" in kernel.supports(args).error
    with pytest.raises(estoc.UnsupportedError, match="epilogue: expected none"):
        kernel.run(args)
    assert len(estoc.get_kernels(args, providers="python")) == 0
    registered(BiasRelu)
    (kernel,) = estoc.get_kernels(args, providers="python")
    assert type(kernel) is BiasRelu
    for launch in (lambda: kernel.run(args), kernel.bind(args), estoc.plan(args)):
        out[...] = 77
        launch()
        np.testing.assert_array_equal(out, wanted)
    other = estoc.GemmArguments(a, b, out, epilogue="D = tanh(accum)")
    assert len(estoc.get_kernels(other, providers="python")) == 0
    assert "expected relu(accum + bias), got acc f64" in kernel.supports(other).error
    assert "relu(accum + bias)" in str(estoc.explain(other))


def test_epilogues_of_elementwise_kernels(registered):
    @registered
    class Chain(estoc.Kernel):
        targets = ("cpu",)

        @classmethod
        def generate_kernels(cls, metadata_filter, epilogue_args=None, cc=None):
            f64 = estoc.TensorAttributes(estoc.f64, None)
            operands = estoc.ElementwiseOperandsMetadata(f64, f64, f64, "identity")
            return [cls(estoc.KernelMetadata("chain", cls, 0, operands))]

        def compile(self, args, cc=None):
            return estoc.CompiledArtifact(None, self)

        def _supports_epilogue(self, epilogue):
            return estoc.Status.success()

        def _run(self, args, artifact, stream, workspace=None):
            scale = args.epilogue.operands["scale"] if args.epilogue is not None else 1
            np.asarray(args.out)[...] = np.asarray(args.A) * scale

    a, out = np.arange(5.0), np.zeros(5)
    epilogue = estoc.EpilogueArguments("D = accum * scale", scale=3.0)
    for args, wanted in (
        (estoc.ElementwiseArguments(a, out, epilogue=epilogue), 3 * a),
        (estoc.ElementwiseArguments("identity", a, None, out), a),
    ):
        (kernel,) = estoc.get_kernels(args, providers="python")
        kernel.run(args)
        np.testing.assert_array_equal(out, wanted)
    named = estoc.ElementwiseArguments("relu", a, None, out)
    assert len(estoc.get_kernels(named, providers="python")) == 0


def test_plans_give_the_epilogue_of_each_call(registered, gemm):
    a, b, out, wanted = gemm(dtype="f8", out="f8")
    bias = np.zeros(out.shape[1])
    epilogue = estoc.EpilogueArguments("D = relu(accum + bias)", bias=bias)
    registered(type("First", (BiasRelu,), {"expected_seconds": 1e-12}))
    plan = estoc.plan(a, b, out, epilogue=epilogue)
    assert plan.kernel.name == "numpy_product"
    for shift in (1.0, -3.0, 2.0):
        plan(a, b, out, bias=bias + shift)
        np.testing.assert_array_equal(out, np.maximum(wanted + shift, 0))
    plan(a, b, out)
    np.testing.assert_array_equal(out, np.maximum(wanted, 0))


def test_pickling(args):
    args, wanted = args
    kernel = Product.generate_kernels(lambda _: True)[0]
    again = pickle.loads(pickle.dumps(kernel))
    assert type(again) is Product
    assert again.metadata == kernel.metadata
    assert again.metadata.operands == kernel.metadata.operands
    assert again.metadata.design == kernel.metadata.design
    artifact = pickle.loads(pickle.dumps(kernel.compile(args)))
    assert artifact.compiled_obj is np.matmul
    again.run(args, artifact)
    np.testing.assert_array_equal(args.out.tensor, wanted)


def test_cycles_are_collected(args):
    args, _ = args
    kernel = Product.generate_kernels(lambda _: True)[0]
    kernel.artifact = kernel.compile(args)
    gone = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert gone() is None


def test_what_supports_raises_is_a_failure(registered, args):
    args, _ = args

    class Broken(Product):
        def _supports(self, args):
            raise ZeroDivisionError("asked")

    class Wrong(Product):
        def supports(self, args, cc=None, target=None):
            raise KeyError("its own")

    registered(Broken)
    registered(Wrong)
    found = estoc.get_kernels(args)
    assert found.failures == [
        ("python", "broken", "ZeroDivisionError: asked"),
        ("python", "wrong", "KeyError: 'its own'"),
    ]
    assert "numpy_product" not in names(found)
    kernel = Broken.generate_kernels(lambda _: True)[0]
    assert kernel.supports(args).error == "kernel class Broken: ZeroDivisionError: asked"


def test_what_is_predicted_is_a_number(registered, args):
    args, _ = args
    registered(Product)
    for predicted, message in [("soon", "got str"), ([1.0], "got list")]:
        Product.expected_seconds = predicted
        failures = estoc.get_kernels(args).failures
        assert len(failures) == 1 and message in failures[0][2]
    Product.expected_seconds = None
    assert estoc.get_kernels(args).failures == []


class Everywhere(Product):
    """The same for any tensors, the fastest of all."""

    expected_seconds = 0.0

    def _run(self, args, artifact, stream, workspace=None):
        np.matmul(np.asarray(args.A), np.asarray(args.B), out=np.asarray(args.out))


NAME = "everywhere-kernel.numpy_product-f64-f64-f64-f64"


def test_everything_that_finds_kernels_finds_these(registered, args):
    args, wanted = args
    a, b, out = args.A.tensor, args.B.tensor, args.out.tensor
    registered(Everywhere)
    kernel = estoc.kernel_by_name(NAME)
    assert type(kernel) is Everywhere
    assert kernel is estoc.get_kernels(args)[0]
    lines = {line["kernel_class"]: line for line in estoc.explain(args)}
    assert lines["everywhere"]["supported"] == 1
    plan = estoc.plan(a, b, out)
    assert plan.kernel is kernel
    for call in (plan, lambda: plan(a, b, out), lambda: estoc.matmul(a, b, out)):
        for _ in range(10):
            out[...] = 77
            call()
            np.testing.assert_array_equal(out, wanted)
    np.testing.assert_array_equal(plan_on_copies(plan, a, b, out), wanted)
    assert estoc.unregister(Everywhere)
    with pytest.raises(estoc.NotFoundError):
        estoc.kernel_by_name(NAME)
    out[...] = 77
    plan()  # who holds a plan can still use it
    np.testing.assert_array_equal(out, wanted)
    assert estoc.plan(a, b, out).kernel.name.startswith("cpu_gemm")


def plan_on_copies(plan, a, b, out):
    result = np.full_like(out, 77)
    plan(a.copy(), b.copy(), result)
    return result


def test_what_run_raises_in_plans(registered, args):
    args, _ = args

    @registered
    class Raises(Everywhere):
        def _run(self, args, artifact, stream, workspace=None):
            raise ZeroDivisionError("here")

    operands = (args.A, args.B, args.out)
    for call in (lambda: estoc.matmul(*operands), estoc.plan(*operands)):
        with pytest.raises(estoc.UnsupportedError, match="raises, _run: ZeroDivisionError: here"):
            call()


def test_classes_are_asked_about_the_callers_own_tensors(registered, args):
    args, _ = args
    seen = []

    @registered
    class Looks(Product):
        def _supports(self, args):
            seen.append(args.A.tensor)
            return super()._supports(args)

    estoc.get_kernels(args)
    estoc.explain(args)
    assert seen and all(tensor is args.A.tensor for tensor in seen)


def test_epilogues_are_refused(registered, args):
    args, _ = args
    registered(Everywhere)
    fused = estoc.GemmArguments(args.A, args.B, args.out, epilogue="D = -accum")
    assert estoc.get_kernels(fused)[0].name.startswith("cpu_gemm")
    lines = {line["kernel_class"]: line["status"] for line in estoc.explain(fused)}
    assert lines["everywhere"].error.startswith("epilogue: expected none")


def test_names_are_taken_once(registered):
    registered(Product)
    with pytest.raises(estoc.ExistsError, match='already has a kernel class "product"'):
        estoc.register(type("Product", (Product,), {}))


@pytest.mark.parametrize("count", [0, 2, 300])
def test_any_number_of_kernels(registered, args, count):
    args, _ = args

    @registered
    class Many(Product):
        @classmethod
        def generate_kernels(cls, metadata_filter, epilogue_args=None, cc=None):
            any_f64 = estoc.TensorAttributes(estoc.f64, None)
            operands = estoc.GemmOperandsMetadata(any_f64, any_f64, any_f64, estoc.f64)
            # Names that are alike as parts of the library's names.
            made = [estoc.KernelMetadata("." * i, cls, 0, operands) for i in range(1, count + 1)]
            return [cls(metadata) for metadata in made]

    found = estoc.get_kernels(args, providers="python")
    assert found.failures == []
    assert names(found) == ["." * i for i in range(1, count + 1)]
    assert len(estoc.get_kernels(providers="python")) == count


def test_generated_once(registered, args):
    args, _ = args
    counts = []

    @registered
    class Counted(Product):
        @classmethod
        def generate_kernels(cls, metadata_filter, epilogue_args=None, cc=None):
            counts.append(None)
            if len(counts) == 1:
                raise RuntimeError("not yet")
            return Product.generate_kernels.__func__(cls, metadata_filter, epilogue_args, cc)

    assert counts == []
    assert len(estoc.get_kernels(args, providers="python")) == 0
    failed = len(counts)
    kernels = [estoc.get_kernels(args, providers="python")[0] for _ in range(3)]
    assert kernels[0] is kernels[2]
    assert len(counts) == failed + 1


def test_threads(registered, gemm):
    """Threads that find, plan and multiply while classes come and go."""

    class Passing(Everywhere):
        pass

    registered(Everywhere)
    problems = [gemm(m=4 + i, dtype="f8", out="f8") for i in range(8)]
    failed = []
    done = threading.Event()

    def work(a, b, out, wanted):
        try:
            for _ in range(30):
                for call in (
                    lambda: estoc.matmul(a, b, out),
                    estoc.plan(a, b, out),
                    lambda: estoc.get_kernels(estoc.GemmArguments(a, b, out))[0].compile,
                ):
                    call()
                np.testing.assert_array_equal(out, wanted)
        except BaseException as error:
            failed.append(error)

    def come_and_go():
        while not done.is_set():
            estoc.register(Passing)
            estoc.unregister(Passing)

    threads = [threading.Thread(target=work, args=problem) for problem in problems]
    changing = threading.Thread(target=come_and_go)
    for thread in (changing, *threads):
        thread.start()
    for thread in threads:
        thread.join()
    done.set()
    changing.join()
    assert not failed, failed[0]
