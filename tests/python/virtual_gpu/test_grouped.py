"""Grouped products on a device: offsets stay there, and graphs replay with others."""

import struct

import numpy as np
import pytest
from device_arrays import DeviceArray

import estoc

GROUPS, M, N, K = 3, 40, 16, 24


def wanted(a, b, ends):
    out = np.full((M, N), 77, "f4")
    begin = 0
    for group, end in enumerate(ends):
        end = max(begin, min(end, M))
        out[begin:end] = a[begin:end].astype("f8") @ b[group].astype("f8")
        begin = end
    return out


@pytest.fixture
def tensors(driver):
    random = np.random.default_rng(5)
    a = random.integers(-3, 4, (M, K)).astype("f2")
    b = random.integers(-3, 4, (GROUPS, K, N)).astype("f2")
    out = np.full((M, N), 77, "f4")
    ends = np.array([7, 7, 31], "i4")
    return a, b, [DeviceArray(driver, each) for each in (a, b, out, ends)]


def test_grouped_mm_on_a_device(tensors):
    a, b, (device_a, device_b, out, ends) = tensors
    for offsets in ([7, 7, 31], [0, 40, 12], [-3, 1, 2**31 - 1]):
        out.put(np.full((M, N), 77, "f4"))
        ends.put(np.array(offsets, "i4"))
        estoc.grouped_mm(device_a, device_b, offs=ends, out=out)
        np.testing.assert_array_equal(out.get(), wanted(a, b, offsets))


def test_a_captured_product_replays_with_other_offsets(tensors, driver):
    a, b, (device_a, device_b, out, ends) = tensors
    stream = driver.stream()

    def call():
        estoc.grouped_mm(device_a, device_b, offs=ends, out=out, stream=stream)

    call()  # what is loaded once is loaded before the capture
    driver.begin_capture(stream)
    call()
    launch = driver.end_capture(stream)
    for offsets in ([7, 7, 31], [40, 0, 40], [13, 14, 15]):
        out.put(np.full((M, N), 77, "f4"))
        ends.put(np.array(offsets, "i4"))
        launch()
        np.testing.assert_array_equal(out.get(), wanted(a, b, offsets))


def test_offsets_of_the_host_are_refused(tensors):
    _, _, (a, b, out, _) = tensors
    with pytest.raises(ValueError, match=r"offsets\.device: expected cuda:0 like B, got cpu"):
        estoc.grouped_mm(a, b, offs=np.array([7, 7, 31], "i4"), out=out)


class Pointed:
    """Two products with memory of their own, and their table on the device."""

    SIZES = ((40, 24, 16), (9, 33, 24))

    def __init__(self, driver):
        random = np.random.default_rng(9)
        self.a = [random.integers(-3, 4, (m, k)).astype("f2") for m, _, k in self.SIZES]
        self.b = [random.integers(-3, 4, (k, n)).astype("f2") for _, n, k in self.SIZES]
        made = [np.zeros((m, n), "f4") for m, n, _ in self.SIZES]
        self.arrays = [[DeviceArray(driver, each) for each in one] for one in (self.a, self.b, made)]
        self.out = self.arrays[2]
        self.table = DeviceArray(driver, self.entries(self.SIZES))

    def entries(self, sizes):
        rows = [
            struct.pack("<3Q6i", *(one[i].address for one in self.arrays), *sizes[i], k, n, n)
            for i, (_, n, k) in enumerate(self.SIZES)
        ]
        return np.frombuffer(b"".join(rows), "i4").reshape(2, 12).copy()

    def clear(self):
        for one in self.out:
            one.put(np.full(one.shape, 77, "f4"))

    def check(self, sizes):
        for a, b, out, (m, n, k) in zip(self.a, self.b, self.out, sizes):
            wanted = np.full(out.shape, 77, "f4")
            wanted[:m, :n] = a[:m, :k].astype("f4") @ b[:k, :n].astype("f4")
            np.testing.assert_array_equal(out.get(), wanted)


def described(dtype, rows, columns, alignment):
    return estoc.Tensor.describe(
        dtype, (2, rows, columns), (rows * 128, 128, 1), "cuda:0", alignment
    )


def test_a_captured_product_by_pointers_replays_with_other_tables(driver):
    pointed = Pointed(driver)
    stream = driver.stream()
    operands = (described("f16", 40, 24, 2), described("f16", 24, 33, 2))
    out = described("f32", 40, 33, 4)

    def call():
        estoc.grouped_mm(*operands, offs=pointed.table, out=out, layout="pointers", stream=stream)

    pointed.clear()
    call()
    pointed.check(pointed.SIZES)
    driver.begin_capture(stream)
    call()
    launch = driver.end_capture(stream)
    for sizes in (pointed.SIZES, ((7, 24, 5), (0, 33, 24)), ((40, 1, 0), (9, 33, 1))):
        pointed.clear()
        pointed.table.put(pointed.entries(sizes))
        launch()
        pointed.check(sizes)


@pytest.mark.parametrize("name", ["sm80_pointer_gemm", "sm90_pointer_gemm"])
def test_tensor_cores_take_what_is_aligned(driver, name):
    pointed = Pointed(driver)
    args = estoc.GroupedGemmArguments(
        described("f16", 40, 24, 16), described("f16", 24, 24, 16), described("f32", 40, 24, 16),
        "f32", pointed.table, layout="pointers",
    )  # fmt: skip
    by_name = {kernel.metadata.kernel_name: kernel for kernel in estoc.get_kernels(args)}
    kernel = next(by_name[one] for one in by_name if one.startswith(name))
    # The second's rows are 33 elements apart. Each run finds the workspace of the one before.
    for first in (pointed.SIZES[0], (7, 24, 5), (40, 1, 0)):
        sizes = (first, (0, 0, 0))
        pointed.table.put(pointed.entries(sizes))
        pointed.clear()
        kernel.run(args)
        pointed.check(sizes)
    with pytest.raises(estoc.UnsupportedError, match="A: expected data that matrices of groups"):
        estoc.check_output(args)


def test_lists_need_a_framework_that_makes_a_table(driver):
    pointed = Pointed(driver)
    a, b, out = pointed.arrays
    with pytest.raises(TypeError, match="mat_a: expected matrices of NumPy, torch or CuPy"):
        estoc.grouped_mm(a, b, out=out)
