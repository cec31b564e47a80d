"""Runs a kernel that reads memory before it waits for the kernel ahead of it.

Usage: early_program.py WAITS OPTION    WAITS: 1 where the class says that its code waits;
OPTION: the value of `programmatic`, or "default". Prints "right", or the error.
"""

import sys

import numpy as np
from device_arrays import DeviceArray, Driver

import estoc

SOURCE = """
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/memory.cuh>

extern "C" __global__ void early(estoc::u64 a, estoc::u64 out) {
  const auto first = estoc::ptx::ld_global<1>(a);
  estoc::ptx::griddepcontrol_wait();
  estoc::ptx::st_global<1>(out, first);
}
"""


@estoc.register
class Early(estoc.CudaKernelClass):
    """Copies an element."""

    waits_for_dependencies = sys.argv[1] == "1"

    def configurations(self):
        yield {"a": "f32", "layouts": "ttt"}

    def code(self, config, target):
        return estoc.CudaCode(SOURCE, entries="early")

    def plan(self, config, args, workspace, launch):
        launch.kernel(1, 1, args.A, args.out)


driver = Driver()
a, b, out = (DeviceArray(driver, np.full((8, 8), value, "f4")) for value in (3, 4, 5))
args = estoc.GemmArguments(a, b, out)
kernel = estoc.get_kernels(args, metadata_filter="class=early")[0]
options = {} if sys.argv[2] == "default" else {"programmatic": sys.argv[2] == "True"}
try:
    kernel.run(args, **options)
    kernel.bind(args, **options)()
    print("right" if out.get()[0, 0] == 3 else "wrong")
except estoc.Error as error:
    print(error)
