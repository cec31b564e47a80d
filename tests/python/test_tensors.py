"""Tensors of every kind come in with the right dtype, shape, strides and memory, or are refused."""

import array
import ctypes
import gc
import sys
import types
import weakref

import ml_dtypes
import numpy as np
import pytest

import estoc

NUMPY = [
    ("f64", np.float64),
    ("f32", np.float32),
    ("f16", np.float16),
    ("bf16", ml_dtypes.bfloat16),
    ("e4m3", ml_dtypes.float8_e4m3fn),
    ("e5m2", ml_dtypes.float8_e5m2),
    ("e8m0", ml_dtypes.float8_e8m0fnu),
    ("i32", np.int32),
    ("i8", np.int8),
    ("u8", np.uint8),
    ("bool", np.bool_),
]


@pytest.mark.parametrize(("name", "dtype"), NUMPY)
def test_numpy_dtypes(name, dtype):
    data = np.zeros((3, 4), dtype)
    tensor = estoc.Tensor(data)
    assert tensor.dtype == name
    assert tensor.dtype == dtype
    assert tensor.dtype == np.dtype(dtype)
    assert (tensor.shape, tensor.strides, tensor.device) == ((3, 4), (4, 1), "cpu")
    assert tensor.data_ptr == data.ctypes.data
    assert tensor.tensor is data
    assert estoc.dtype(dtype) is estoc.dtype(name)


@pytest.mark.parametrize("dtype", [np.int64, np.complex64, np.uint16, ">f4", "U3", "M8[s]", object])
def test_other_numpy_dtypes_are_refused(dtype):
    with pytest.raises(TypeError, match=r"A\.dtype: expected one that Estoc has, got"):
        estoc.GemmArguments(np.zeros((2, 2), dtype), np.zeros((2, 2)), np.zeros((2, 2)))


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, ml_dtypes.uint4, ml_dtypes.float4_e2m1fn])
def test_four_bit_types_that_take_a_byte_are_refused(dtype):
    with pytest.raises(TypeError, match="two elements to a byte"):
        estoc.Tensor(np.zeros(4, dtype))


def test_strides_are_in_elements():
    data = np.zeros((4, 6, 8), np.float16)
    assert estoc.Tensor(data[:, ::2, :4]).strides == (48, 16, 1)
    assert estoc.Tensor(data.transpose(0, 2, 1)).strides == (48, 1, 8)
    assert estoc.Tensor(np.broadcast_to(data[:1], data.shape)).strides == (0, 8, 1)
    assert estoc.Tensor(np.float32(3)[()].reshape(())).shape == ()


def test_negative_strides_are_refused():
    with pytest.raises(ValueError, match="stride"):
        estoc.Tensor(np.zeros((4, 4))[::-1])
    assert estoc.Tensor(np.zeros((1, 4))[::-1]).shape == (1, 4)


def test_strides_between_elements_are_refused():
    records = np.zeros(4, [("x", "f4"), ("y", "i1")])
    with pytest.raises(ValueError, match=r"tensor\.strides: expected multiples of the element's 4"):
        estoc.Tensor(records["x"])


def test_too_many_modes():
    with pytest.raises(ValueError, match="at most 6 modes, got 7"):
        estoc.Tensor(np.zeros((1,) * 7))


def test_read_only_memory_is_an_input_but_no_output(gemm):
    a, b, out, wanted = gemm()
    a.flags.writeable = False
    args = estoc.GemmArguments(a, b, out)
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(out, wanted)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="out: expected a tensor that can be written"):
        estoc.GemmArguments(a, b, out)
    with pytest.raises(ValueError, match="out: expected a tensor that can be written"):
        estoc.GemmArguments(a, b, bytes(4 * 96))


def test_buffers():
    numbers = array.array("d", range(6))
    tensor = estoc.Tensor(numbers)
    assert (tensor.dtype, tensor.shape) == (estoc.f64, (6,))
    with pytest.raises(BufferError):
        numbers.append(1.0)  # the memory is held
    del tensor
    numbers.append(1.0)
    view = memoryview(bytearray(24)).cast("f", (2, 3))
    assert estoc.Tensor(view).shape == (2, 3)
    assert estoc.Tensor((ctypes.c_int * 5)()).dtype == "i32"


class WithDlpack:
    """Gives a NumPy array by DLPack, in the way that is asked for."""

    def __init__(self, data, versioned):
        self.data = data
        self.versioned = versioned

    def __dlpack_device__(self):
        return self.data.__dlpack_device__()

    def __dlpack__(self, **wishes):
        if not self.versioned and wishes:
            raise TypeError("what is max_version?")
        return self.data.__dlpack__(**wishes)


@pytest.mark.parametrize("versioned", [False, True])
def test_dlpack(versioned):
    data = np.arange(12, dtype="f4").reshape(3, 4)[:, 1:]
    alive = sys.getrefcount(data.base)
    tensor = estoc.Tensor(WithDlpack(data, versioned))
    assert (tensor.shape, tensor.strides, tensor.dtype) == ((3, 3), (4, 1), estoc.f32)
    assert tensor.data_ptr == data.ctypes.data
    np.testing.assert_array_equal(np.asarray(tensor), data)
    del tensor
    gc.collect()
    now = sys.getrefcount(data.base)
    assert now == alive


def test_read_only_dlpack():
    data = np.zeros((2, 2))
    data.flags.writeable = False
    with pytest.raises(ValueError, match="out: expected a tensor that can be written"):
        estoc.GemmArguments(data, np.zeros((2, 2)), WithDlpack(data, True))


def test_what_dlpack_raises_reaches_the_caller():
    class Refuses:
        def __dlpack_device__(self):
            return (1, 0)

        def __dlpack__(self, **_):
            raise BufferError("not today")

    with pytest.raises(BufferError, match="not today"):
        estoc.Tensor(Refuses())


def test_a_capsule_is_used_once():
    capsule = np.zeros((2, 2)).__dlpack__()
    assert estoc.Tensor(capsule).shape == (2, 2)
    with pytest.raises(ValueError, match="expected an unused DLPack capsule, got one named used_dltensor"):
        estoc.Tensor(capsule)


def test_other_devices_are_refused():
    class Elsewhere:
        def __dlpack_device__(self):
            return (10, 0)

        def __dlpack__(self, **_):
            raise AssertionError

    with pytest.raises(ValueError, match="device: expected CPU or CUDA, got DLPack's device type 10"):
        estoc.Tensor(Elsewhere())


class OnDevice:
    """Claims to be CUDA memory."""

    def __init__(self, **interface):
        self.__cuda_array_interface__ = {
            "typestr": "<f2",
            "shape": (4, 8),
            "strides": None,
            "data": (0x7F0000000000, False),
            "version": 3,
        } | interface


def test_cuda_array_interface():
    tensor = estoc.Tensor(OnDevice())
    assert (tensor.dtype, tensor.shape, tensor.strides) == (estoc.f16, (4, 8), (8, 1))
    assert (tensor.device, tensor.data_ptr) == ("cuda:0", 0x7F0000000000)
    assert estoc.Tensor(OnDevice(strides=(2, 8))).strides == (1, 4)
    assert tensor.__cuda_array_interface__["data"] == (0x7F0000000000, False)
    with pytest.raises(TypeError, match=r"tensor\.dtype"):
        estoc.Tensor(OnDevice(typestr="<c8"))
    with pytest.raises(ValueError, match="expected a tensor that can be written"):
        estoc.GemmArguments(OnDevice(), OnDevice(), OnDevice(data=(0x7F0000000000, True)))


def test_devices_must_agree():
    with pytest.raises(ValueError, match=r"out.*cuda:0|device"):
        estoc.GemmArguments(np.zeros((4, 4), "f2"), np.zeros((4, 8), "f2"), OnDevice())


@pytest.mark.parametrize("what", [None, 3, "text", [[1.0]], object(), {"shape": (2, 2)}])
def test_what_is_no_tensor(what):
    with pytest.raises(TypeError, match=r"B: expected a tensor \(torch, NumPy"):
        estoc.GemmArguments(np.zeros((2, 2)), what, np.zeros((2, 2)))


def test_seen_otherwise():
    data = np.zeros((4, 8), np.uint8)
    packed = estoc.Tensor(data, dtype="i4", shape=(4, 16))
    assert (packed.dtype, packed.shape, packed.strides) == (estoc.i4, (4, 16), (16, 1))
    assert estoc.Tensor(np.zeros(3, "f4"), dtype="tf32").dtype == "tf32"
    assert estoc.Tensor(data, shape=(2, 2), strides=(8, 2)).strides == (8, 2)
    with pytest.raises(ValueError, match="expected at most 32 bytes"):
        estoc.Tensor(data, dtype="i4", shape=(4, 17))
    with pytest.raises(TypeError, match="width|bits|wide"):
        estoc.Tensor(data, dtype="f32")
    with pytest.raises(ValueError, match="together with shape"):
        estoc.Tensor(data, strides=(1, 1))


def test_described():
    tensor = estoc.Tensor.describe("bf16", (4, 8), device="cuda:1")
    assert (tensor.device, tensor.has_data, tensor.data_ptr) == ("cuda:1", False, 0)
    assert tensor.strides == (8, 1)
    assert tensor.tensor is None
    assert repr(tensor) == "Tensor(bf16 (4, 8) strides (8, 1) on cuda:1)"
    for device in ("gpu", "cuda:", "cuda:x", "cuda:-1"):
        with pytest.raises(ValueError, match="device: expected"):
            estoc.Tensor.describe("bf16", (4, 8), device=device)


def test_arguments_keep_memory_alive(gemm):
    class Array(np.ndarray):
        pass

    a, b, out, wanted = gemm()
    own = a.view(Array)
    gone = weakref.ref(own)
    args = estoc.GemmArguments(own, b, out)
    del own
    gc.collect()
    assert gone() is not None
    assert args.A.tensor is gone()
    estoc.get_kernels(args)[0].run(args)
    np.testing.assert_array_equal(out, wanted)
    del args
    gc.collect()
    assert gone() is None


def test_numpy_sees_the_memory(gemm):
    a, b, out, _ = gemm()
    args = estoc.GemmArguments(a, b, out)
    np.asarray(args.out)[0, 0] = 5
    assert out[0, 0] == 5
    assert not hasattr(estoc.Tensor(np.zeros(2, ml_dtypes.bfloat16)), "__array_interface__")
    assert not hasattr(estoc.Tensor.describe("f32", (2,)), "__array_interface__")


def test_many_tensors_leak_nothing(gemm):
    a, b, out, _ = gemm()
    before = [sys.getrefcount(one) for one in (a, b, out)]
    for _ in range(2000):
        estoc.GemmArguments(a, b, out)
        estoc.Tensor(WithDlpack(a, True))
        with pytest.raises(TypeError):
            estoc.GemmArguments(a, b, None)
    gc.collect()
    assert [sys.getrefcount(one) for one in (a, b, out)] == before


@pytest.mark.parametrize("shape", [(2**40, 2**40), (1, 2**62, 2**62)])
def test_shapes_of_device_arrays_past_63_bits(shape):
    with pytest.raises(ValueError, match="shape: expected at most 2.63 - 1"):
        estoc.Tensor(OnDevice(shape=shape))


@pytest.mark.parametrize(
    ("interface", "error", "message"),
    [
        ({"mask": OnDevice()}, TypeError, "expected a tensor without a mask, got one with a mask"),
        ({"strides": (16,)}, ValueError, "strides: expected 2, one for each mode, got 1"),
        ({"shape": (4.5, 8)}, TypeError, "expected a whole number, got 4.5"),
        ({"shape": range(2**40)}, ValueError, "expected at most 6 modes, got 7"),
        ({"stream": 0}, ValueError, r"tensor\.stream: expected 1, 2 or an address, got 0"),
        ({"stream": "x"}, TypeError, r"tensor\.stream: expected a whole number"),
    ],
)
def test_device_arrays_that_are_refused(interface, error, message):
    with pytest.raises(error, match=message) as refused:
        estoc.Tensor(OnDevice(**interface))
    assert isinstance(refused.value, estoc.Error)


@pytest.mark.parametrize("index", [-1, 10**6, 2**40])
def test_devices_that_no_machine_has(index):
    array_ = OnDevice()
    array_.device = index
    with pytest.raises(ValueError, match="device: expected the index of a CUDA device, got"):
        estoc.Tensor(array_)


class Pairs:
    """Looks like torch's float4_e2m1fn_x2."""

    layout, is_nested, dtype = "torch.strided", False, "torch.float4_e2m1fn_x2"
    device = types.SimpleNamespace(type="cpu", index=None)

    def __init__(self, shape, strides):
        self.memory = np.zeros(4096, "u1")
        self.shape, self.strides = shape, strides

    def is_neg(self):
        return False

    def stride(self):
        return self.strides

    def data_ptr(self):
        return self.memory.ctypes.data


Pairs.__module__, Pairs.__name__ = "torch", "Tensor"


@pytest.mark.parametrize(
    ("shape", "strides", "seen"),
    [
        ((8, 4), (4, 1), ((8, 8), (8, 1))),
        ((4, 8), (1, 4), ((8, 8), (1, 8))),  # a transposed one
        ((64, 1), (1, 1), ((64, 2), (2, 1))),
        ((64, 1), (1, 64), ((128, 1), (1, 128))),
    ],
)
def test_pairs_of_elements_are_counted_in_one_mode(shape, strides, seen):
    tensor = estoc.Tensor(Pairs(shape, strides))
    assert (tensor.dtype, tensor.shape, tensor.strides) == (estoc.e2m1, *seen)


@pytest.mark.parametrize("strides", [(16, 2), (0, 0)])
def test_pairs_that_lie_apart_are_refused(strides):
    with pytest.raises(ValueError, match="expected a mode of stride 1, whose elements are pairs"):
        estoc.Tensor(Pairs((8, 8), strides))


def test_extension_dtypes_are_read_as_the_others():
    """The first array of a dtype goes another way than those after it."""
    for _ in range(3):
        data = np.arange(48).reshape(4, 12).astype(ml_dtypes.bfloat16)
        view = data[:, ::3]
        view.flags.writeable = False
        tensor = estoc.Tensor(view)
        assert (tensor.dtype, tensor.shape, tensor.strides) == (estoc.bf16, (4, 4), (12, 3))
        assert (tensor.data_ptr, tensor.tensor) == (data.ctypes.data, view)
        with pytest.raises(ValueError, match="out: expected a tensor that can be written"):
            estoc.GemmArguments(data[:, :4], data[:, :4], view)
        with pytest.raises(ValueError, match="strides: expected strides of 0 or more"):
            estoc.Tensor(data[::-1])
        with pytest.raises(ValueError, match="at most 6 modes, got 7"):
            estoc.Tensor(data[:1, :1].reshape((1,) * 7))
        assert estoc.Tensor(data[::-1][:1]).shape == (1, 12)


def test_work_on_the_device_is_awaited_by_the_legacy_stream():
    """The stream of the launch is not known yet."""
    asked = []

    class Producer:
        def __dlpack_device__(self):
            return (2, 0)

        def __dlpack__(self, stream=None, max_version=None):
            asked.append(stream)
            raise BufferError("seen")

    with pytest.raises(BufferError, match="seen"):
        estoc.Tensor(Producer())
    assert asked == [1]
