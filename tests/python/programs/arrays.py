"""Arrays on a GPU for the programs beside it: torch's where torch has a GPU, else the driver's."""

import pathlib
import sys

import numpy as np

try:
    import torch
except ImportError:
    torch = None
if torch is not None and not torch.cuda.is_available():
    torch = None
if torch is None:
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "virtual_gpu"))
    from device_arrays import DeviceArray, Driver

    driver = Driver()

random = np.random.default_rng(7)
FLOAT16, FLOAT32, FLOAT64 = (
    (np.float16, np.float32, np.float64)
    if torch is None
    else (torch.float16, torch.float32, torch.float64)
)


def integers(low, high, shape, dtype):
    """Random whole numbers, so that products are exact."""
    return on_gpu(random.integers(low, high, shape), dtype)


def on_gpu(host, dtype):
    if torch is None:
        return DeviceArray(driver, host.astype(dtype))
    return torch.as_tensor(host, device="cuda").to(dtype)


def filled(shape, dtype, value=77):
    """An output that holds none of the products."""
    return on_gpu(np.full(shape, value), dtype)


def refill(array, value=77):
    array.put(np.full(array.shape, value, array.dtype)) if torch is None else array.fill_(value)


def as_bf16(array):
    """The array, or where there is no torch its bits, in bf16."""
    import estoc

    return estoc.Tensor(array, "bf16") if torch is None else array.to(torch.bfloat16)


def stream():
    return driver.stream() if torch is None else torch.cuda.Stream()


def bytes_on_gpu(size):
    return filled((max(size, 1),), np.int8 if torch is None else torch.int8, 0)


def get(array):
    """The array in float64 on the host, when all work is done."""
    if torch is None:
        return array.get().astype("f8")
    torch.cuda.synchronize()
    return array.cpu().double().numpy()


def assert_is_product(out, a, b):
    np.testing.assert_array_equal(get(out), get(a) @ get(b))
