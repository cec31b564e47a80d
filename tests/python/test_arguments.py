"""Arguments: what they say of themselves and what they refuse; metadata and status likewise."""

import pickle

import numpy as np
import pytest

import estoc

A = np.zeros((2, 12, 16), "f2")
B = np.zeros((2, 16, 8), "f2")
OUT = np.zeros((2, 12, 8), "f4")


def test_gemm_arguments():
    args = estoc.arguments.GemmArguments(A=A, B=B, out=OUT, accumulator_type="f32")
    assert isinstance(args, estoc.RuntimeArguments)
    assert (args.A.shape, args.B.shape, args.out.shape) == (A.shape, B.shape, OUT.shape)
    assert args.accumulator_type == np.float32
    assert args.extents == (12, 8, 16, 2)
    assert (args.operation, args.device, args.epilogue) == ("gemm", "cpu", None)
    assert args.performance == estoc.PerformanceControls()
    assert args.problem == "gemm m=12 n=8 k=16 l=2 a=f16:t b=f16:t out=f32:t acc=f32"
    assert repr(args).startswith("GemmArguments(A=f16 (2, 12, 16) strides (192, 16, 1) on cpu, B=")


@pytest.mark.parametrize(
    ("a", "b", "accumulator"),
    [("f2", "f2", "f32"), ("f8", "f8", "f64"), ("i1", "u1", "i32"), ("f4", "f8", "f64"),
     ("f8", "f4", "f64"), ("i1", "f4", "f32")],
)
def test_usual_accumulator(a, b, accumulator):
    args = estoc.GemmArguments(A.astype(a), B.astype(b), OUT.astype("i4"))
    assert args.accumulator_type == accumulator


@pytest.mark.parametrize(
    ("a", "b", "out", "message"),
    [
        (A[:, :, :4], B, OUT, r"B\.shape: expected K = 4, got 16"),
        (A, B, OUT[:, :4], r"out\.shape: expected M = 12, got 4"),
        (A, B, OUT[:, :, :4], r"out\.shape: expected N = 8, got 4"),
        (A[0, 0], B, OUT, "A"),
        (A, B, np.broadcast_to(OUT[:1, :1], OUT.shape), "out"),
        (OUT.reshape(2, 12, 8), B[:, :8], OUT, "out"),
    ],
)
def test_gemm_refusals(a, b, out, message):
    with pytest.raises(ValueError, match=message):
        estoc.GemmArguments(a, b, out)


def test_gemm_accumulators_that_are_none():
    for wrong in ("bf16", "i8"):
        with pytest.raises(TypeError, match="accumulator_type"):
            estoc.GemmArguments(A, B, OUT, wrong)
    with pytest.raises(TypeError, match="accumulator_type: expected a dtype"):
        estoc.GemmArguments(A, B, OUT, "float31")


def test_elementwise_arguments():
    a = np.arange(6, dtype="f4").reshape(2, 3)
    out = np.zeros((2, 3), "f4")
    args = estoc.ElementwiseArguments("add", a, a[0], out)
    assert (args.op, args.operation, args.B.shape) == ("add", "elementwise", (3,))
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(out, a + a[0])
    relu = estoc.ElementwiseArguments("relu", a - 3, None, out)
    assert relu.B is None
    estoc.get_kernels(relu)[0].run(relu)
    np.testing.assert_array_equal(out, np.maximum(a - 3, 0))
    with pytest.raises(ValueError, match="B: expected a tensor for add, got None"):
        estoc.ElementwiseArguments("add", a, None, out)
    with pytest.raises(ValueError, match="B: expected None for relu, got a tensor"):
        estoc.ElementwiseArguments("relu", a, a, out)
    with pytest.raises(ValueError, match='op: expected an elementwise operation .*, got "frobnicate"'):
        estoc.ElementwiseArguments("frobnicate", a, a, out)


def test_performance_controls():
    controls = estoc.PerformanceControls(allow_tf32=True, workspace_limit=64)
    args = estoc.GemmArguments(A, B, OUT, performance=controls)
    assert args.performance == controls
    assert "allow_tf32=1" in args.problem
    assert pickle.loads(pickle.dumps(controls)) == controls
    assert hash(controls) == hash(estoc.PerformanceControls(True, False, False, 64))
    assert controls != estoc.PerformanceControls()
    invariant = estoc.PerformanceControls(batch_invariant=True)
    assert invariant.batch_invariant and invariant != estoc.PerformanceControls()
    assert pickle.loads(pickle.dumps(invariant)) == invariant
    assert "batch_invariant=True" in repr(invariant)
    split = estoc.PerformanceControls(allow_bf16x6=True)
    assert split.allow_bf16x6 and split not in (estoc.PerformanceControls(), invariant)
    assert pickle.loads(pickle.dumps(split)) == split
    assert "allow_bf16x6=True" in repr(split)
    assert "allow_bf16x6=1" in estoc.GemmArguments(A, B, OUT, performance=split).problem
    with pytest.raises(TypeError):
        estoc.GemmArguments(A, B, OUT, performance=3)


def test_scaled_tensor():
    data = np.zeros((128, 256), "u1")
    scale = np.zeros((128, 8), "u1")
    scaled = estoc.ScaledTensor(
        estoc.Tensor(data, dtype="e4m3"),
        estoc.Tensor(scale, dtype="e8m0"),
        estoc.ScaleMode.blockwise_1x32,
        estoc.ScaleSwizzleMode.none,
    )
    assert (scaled.mode, scaled.swizzle, scaled.shape) == ("blockwise_1x32", "none", (128, 256))
    assert (scaled.dtype, scaled.scale.dtype) == (estoc.e4m3, estoc.e8m0)
    b = estoc.ScaledTensor(
        estoc.Tensor(np.zeros((256, 8), "u1"), dtype="e4m3"),
        estoc.Tensor(np.zeros((8, 8), "u1"), dtype="e8m0"),
        "blockwise_1x32",
    )
    args = estoc.GemmArguments(scaled, b, np.zeros((128, 8), "f4"))
    assert isinstance(args.A, estoc.ScaledTensor)
    assert estoc.get_kernels(args)[0].name.startswith("cpu_scaled_gemm-e4m3")
    with pytest.raises(ValueError, match="mode: expected one of tensorwise, rowwise"):
        estoc.ScaledTensor(data, scale, "blockwise")
    with pytest.raises(ValueError, match="scale"):
        wrong = estoc.ScaledTensor(scaled.base, estoc.Tensor(scale[:4], dtype="e8m0"), scaled.mode)
        estoc.GemmArguments(wrong, b, np.zeros((128, 8), "f4"))


def test_tensor_attributes():
    attributes = estoc.metadata.TensorAttributes(np.float16, (0, 1, 0), 8)
    assert (attributes.dtype, attributes.layout) == (estoc.f16, "n")
    assert (attributes.divisibility, attributes.alignment) == (8, 16)
    assert attributes.stride == (0, 1, 0)
    assert estoc.TensorAttributes("f64", (16, 1), 1).layout == "t"
    assert estoc.TensorAttributes("f64", None, 1).stride is None
    assert pickle.loads(pickle.dumps(attributes)) == attributes
    assert attributes != estoc.TensorAttributes("f16", "t", 8)
    assert attributes != 3
    with pytest.raises(ValueError, match="divisibility: expected at least 1"):
        estoc.TensorAttributes("f64", "t", 0)
    with pytest.raises(ValueError, match="stride: expected"):
        estoc.TensorAttributes("f64", "q", 1)


def test_operands_and_design_metadata():
    one = estoc.TensorAttributes("f16", "t", 8)
    gemm = estoc.metadata.GemmOperandsMetadata(one, one, one, accumulator_type="f32")
    assert (gemm.A, gemm.B, gemm.out, gemm.accumulator_type) == (one, one, one, estoc.f32)
    unary = estoc.metadata.ElementwiseOperandsMetadata(one, one, one, "relu")
    assert unary.op == "relu"
    assert gemm != unary
    design = estoc.metadata.BLASDesignMetadata((128, 64, 32), (2, 1, 1))
    assert (design.tile_shape, design.cluster_shape) == ((128, 64, 32), (2, 1, 1))
    sm100 = estoc.metadata.Sm100DesignMetadata((256, 64, 32), use_2cta_mma=True)
    assert isinstance(sm100, estoc.BLASDesignMetadata)
    assert isinstance(sm100, estoc.DesignMetadata)
    assert (sm100.use_2cta_mma, sm100.use_tma_store) == (True, False)
    for one in (gemm, unary, design, sm100, estoc.DesignMetadata()):
        assert pickle.loads(pickle.dumps(one)) == one
        assert hash(pickle.loads(pickle.dumps(one))) == hash(one)
    with pytest.raises(ValueError, match="tile_shape: expected two or three numbers, got 1"):
        estoc.BLASDesignMetadata((128,))
    assert not hasattr(estoc.DesignMetadata(), "tile_shape")


def test_status():
    good = estoc.Status.success()
    bad = estoc.status.Status.fail("A.dtype: expected f16, got f32")
    assert good and good.error is None
    assert not bad
    assert bad.error == "A.dtype: expected f16, got f32"
    assert repr(bad) == "Status.fail('A.dtype: expected f16, got f32')"


def test_errors_are_pythons_own():
    kinds = {
        estoc.InvalidValueError: ValueError,
        estoc.InvalidTypeError: TypeError,
        estoc.NotFoundError: LookupError,
        estoc.ExistsError: ValueError,
        estoc.UnsupportedError: RuntimeError,
        estoc.IoError: OSError,
        estoc.OutOfMemoryError: MemoryError,
        estoc.CompileError: RuntimeError,
        estoc.DriverError: RuntimeError,
        estoc.CancelledError: RuntimeError,
    }
    for own, base in kinds.items():
        assert issubclass(own, base)
        assert issubclass(own, estoc.Error)
        assert own.__doc__
        assert isinstance(pickle.loads(pickle.dumps(own("text"))), own)


def test_utilities():
    assert estoc.utils.strides_to_layout_string((0, 0, 1), (0, 1, 0), (64, 1)) == "tnt"
    assert estoc.utils.strides_to_layout_string() == ""
    with pytest.raises(ValueError, match="stride: expected 1 in the last or the next to last"):
        estoc.utils.strides_to_layout_string((0, 0, 2))
    status = estoc.utils.is_device_cc_supported({1})
    assert not status
    assert "expected compute capability 1, got" in status.error


def test_streams():
    class Own:
        def __cuda_stream__(self):
            return (0, 40)

    class Torch:
        cuda_stream = 41

    class Cupy:
        ptr = 42

    class Driver:
        def __int__(self):
            return 43

    found = [estoc.utils.to_cuda_stream(one) for one in (None, 7, Own(), Torch(), Cupy(), Driver())]
    assert found == [0, 7, 40, 41, 42, 43]
    for wrong in ("stream", object(), 1.5j):
        with pytest.raises(TypeError, match="stream: expected a stream of torch"):
            estoc.utils.to_cuda_stream(wrong)
    with pytest.raises(ValueError, match="stream: expected an address, got -1"):
        estoc.utils.to_cuda_stream(-1)
