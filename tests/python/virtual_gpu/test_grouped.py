"""Grouped products on a device: offsets stay there, and graphs replay with others."""

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
