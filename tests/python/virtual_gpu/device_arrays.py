"""Arrays in the memory of a GPU, by the driver's own calls."""

import ctypes

import numpy as np


def check(code):
    assert code == 0, f"the driver says {code}"


class Driver:
    """The few calls of the driver that a program makes for its own memory."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")
        self.contexts = {}

    def call(self, name, *arguments):
        check(getattr(self.library, name)(*arguments))

    def enter(self, device):
        if device not in self.contexts:
            context = ctypes.c_void_p()
            self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
            self.contexts[device] = context
        self.call("cuCtxPushCurrent_v2", self.contexts[device])

    def leave(self):
        self.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def stream(self, device=0):
        self.enter(device)
        stream = ctypes.c_void_p()
        self.call("cuStreamCreate", ctypes.byref(stream), 1)
        self.leave()
        return stream.value

    def begin_capture(self, stream):
        self.enter(0)
        self.call("cuStreamBeginCapture_v2", ctypes.c_void_p(stream), 0)
        self.leave()

    def end_capture(self, stream):
        """What launches the graph that was captured."""
        graph, executable = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamEndCapture", ctypes.c_void_p(stream), ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(executable), graph, ctypes.c_uint64(0))

        def launch():
            self.enter(0)
            self.call("cuGraphLaunch", executable, ctypes.c_void_p(stream))
            self.leave()

        return launch


class DeviceArray:
    """A contiguous array on a device, as any framework would hand it on."""

    def __init__(self, driver, host, device=0):
        self.driver, self.shape, self.dtype, self.device = driver, host.shape, host.dtype, device
        self.bytes = host.nbytes
        address = ctypes.c_uint64()
        driver.enter(device)
        driver.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(self.bytes))
        driver.leave()
        self.address = address.value
        self.put(host)
        self.__cuda_array_interface__ = {
            "typestr": host.dtype.str,
            "shape": host.shape,
            "strides": None,
            "data": (self.address, False),
            "version": 3,
        }

    def put(self, host):
        host = np.ascontiguousarray(host)
        self.driver.enter(self.device)
        self.driver.call(
            "cuMemcpyHtoD_v2",
            ctypes.c_uint64(self.address),
            ctypes.c_void_p(host.ctypes.data),
            ctypes.c_size_t(self.bytes),
        )
        self.driver.call("cuStreamSynchronize", None)
        self.driver.leave()

    def get(self):
        host = np.empty(self.shape, self.dtype)
        self.driver.enter(self.device)
        self.driver.call(
            "cuMemcpyDtoH_v2",
            ctypes.c_void_p(host.ctypes.data),
            ctypes.c_uint64(self.address),
            ctypes.c_size_t(self.bytes),
        )
        self.driver.leave()
        return host
