"""Tensors of the library as producers of DLPack capsules: the same memory, its life, what is refused."""

import gc
import sys

import ml_dtypes
import numpy as np
import pytest

import estoc


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4", "i1", "u1", "?"])
def test_the_same_memory(dtype):
    host = np.arange(12).reshape(3, 4).astype(dtype)[:, 1:]
    seen = np.from_dlpack(estoc.Tensor(host))
    assert (seen.dtype, seen.shape, seen.strides) == (host.dtype, host.shape, host.strides)
    assert seen.ctypes.data == host.ctypes.data
    np.testing.assert_array_equal(seen, host)
    host[0, 0] = not host[0, 0]
    np.testing.assert_array_equal(seen, host)


@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"])
def test_to_the_library_and_back(name):
    tensor = estoc.Tensor(np.ones((2, 3), getattr(ml_dtypes, name)))
    for options in ({}, {"max_version": (1, 0)}, {"max_version": (0, 8)}):
        capsule = tensor.__dlpack__(**options)
        wanted = "dltensor_versioned" if options == {"max_version": (1, 0)} else '"dltensor"'
        assert wanted in repr(capsule)
        again = estoc.Tensor(capsule)
        assert (again.dtype, again.shape, again.strides) == (tensor.dtype, (2, 3), (3, 1))
        assert again.data_ptr == tensor.data_ptr


def test_the_memory_lives_as_long_as_it_is_used():
    host = np.arange(6, dtype="f4")
    before = sys.getrefcount(host)
    seen = np.from_dlpack(estoc.Tensor(host))
    gc.collect()
    assert sys.getrefcount(host) > before
    del seen
    assert sys.getrefcount(host) == before
    for options in ({}, {"max_version": (1, 3)}):
        capsule = estoc.Tensor(host).__dlpack__(**options)
        assert sys.getrefcount(host) > before
        del capsule  # which nobody took
        assert sys.getrefcount(host) == before


def test_read_only_memory():
    host = np.arange(6, dtype="f4")
    host.flags.writeable = False
    tensor = estoc.Tensor(host)
    assert not np.from_dlpack(tensor).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        tensor.__dlpack__()


def test_device():
    tensor = estoc.Tensor(np.zeros(3))
    assert tensor.__dlpack_device__() == (1, 0)
    assert tensor.__dlpack__(dl_device=(1, 0), copy=False, stream=None) is not None


@pytest.mark.parametrize(
    ("options", "message"), [({"dl_device": (2, 0)}, "dl_device"), ({"copy": True}, "copy")]
)
def test_what_is_refused(options, message):
    with pytest.raises(BufferError, match=f"{message}: expected"):
        estoc.Tensor(np.zeros(3)).__dlpack__(**options)


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_description_has_no_memory(device):
    described = estoc.Tensor.describe("f16", (4, 4), device=device)
    for call in (described.__dlpack__, described.__dlpack_device__):
        with pytest.raises(BufferError, match="no memory"):
            call()


def test_operands_in_a_plan():
    """Kernels written in Python see views of the caller's memory, also within matmul."""
    seen = []

    @estoc.register
    class Seeing(estoc.Kernel):
        targets = ("cpu",)

        @staticmethod
        def generate_kernels(metadata_filter, epilogue_args=None, cc=None):
            operands = estoc.GemmOperandsMetadata(*[estoc.TensorAttributes("i8", None)] * 2,
                                                  estoc.TensorAttributes("i32", None), "i32")
            metadata = estoc.KernelMetadata("seeing", Seeing, 0, operands)
            return [Seeing(metadata)] if metadata_filter(metadata) else []

        def predict(self, args):
            return 0.0

        def compile(self, args, cc=None):
            return estoc.CompiledArtifact(None, self)

        def _run(self, args, artifact, stream, workspace=None):
            a, b, out = (np.from_dlpack(one) for one in (args.A, args.B, args.out))
            seen.append(a.ctypes.data)
            out[...] = a.astype("i4") @ b.astype("i4")

    try:
        a = np.arange(4, dtype="i1").reshape(2, 2)
        np.testing.assert_array_equal(estoc.matmul(a, a), a.astype("i4") @ a.astype("i4"))
        assert seen == [a.ctypes.data]
    finally:
        estoc.unregister(Seeing)
