"""Multiplies two small matrices through the C interface by ctypes: product_ctypes.py libestoc.so.

A struct of estoc.h becomes a ctypes.Structure with the same fields in the same order; `struct_size`
says how many of them the program knows. Python programs with NumPy or torch use the package instead
(docs/python.md).
"""

import ctypes
import sys
from ctypes import POINTER, c_char_p, c_float, c_int, c_int64, c_size_t, c_void_p


class Tensor(ctypes.Structure):
    """estoc_tensor without its last fields, which this program does not use."""

    _fields_ = [("struct_size", c_size_t), ("data", c_void_p), ("dtype", c_char_p),
                ("shape", POINTER(c_int64)), ("strides", POINTER(c_int64)), ("rank", c_int),
                ("device", c_int)]


class Gemm(ctypes.Structure):
    """estoc_gemm as far as its operands."""

    _fields_ = [("struct_size", c_size_t), ("a", POINTER(Tensor)), ("b", POINTER(Tensor)),
                ("out", POINTER(Tensor))]


class Library:
    """The functions of the shared library; a status other than 0 becomes an exception."""

    def __init__(self, path):
        self._library = ctypes.CDLL(path)
        self._library.estoc_last_error.restype = c_char_p

    def call(self, name, *arguments):
        if getattr(self._library, name)(*arguments) != 0:
            raise RuntimeError(self._library.estoc_last_error().decode())

    def make(self, name, *arguments):
        """The object that a function writes to its last argument."""
        made = c_void_p()
        self.call(name, *arguments, ctypes.byref(made))
        return made

    def destroy(self, kind, made):
        function = getattr(self._library, f"estoc_{kind}_destroy")
        function.restype = None
        function(made)


def matrix(values, rows, columns):
    """A tensor of f32 on the host, and what it points to."""
    data, shape = (c_float * len(values))(*values), (c_int64 * 2)(rows, columns)
    tensor = Tensor(ctypes.sizeof(Tensor), ctypes.addressof(data), b"f32", shape, None, 2, -1)
    return tensor, data


def main():
    estoc = Library(sys.argv[1])
    a, a_data = matrix([1, 2, 3, 4, 5, 6], 2, 3)
    b, b_data = matrix([7, 8, 9, 10, 11, 12], 3, 2)
    out, out_data = matrix([0] * 4, 2, 2)
    gemm = Gemm(ctypes.sizeof(Gemm), ctypes.pointer(a), ctypes.pointer(b), ctypes.pointer(out))

    arguments = estoc.make("estoc_arguments_gemm", ctypes.byref(gemm))
    kernel = estoc.make("estoc_kernel_find", arguments, None)
    artifact = estoc.make("estoc_kernel_compile", kernel, b"cpu", None)
    estoc.call("estoc_artifact_run", artifact, arguments, None)
    print(*(f"{value:g}" for value in out_data))
    del a_data, b_data  # they had to live until the run

    try:
        estoc.make("estoc_kernel_by_name", b"nothing")
    except RuntimeError as error:
        print(error, file=sys.stderr)
    for kind, made in (("artifact", artifact), ("kernel", kernel), ("arguments", arguments)):
        estoc.destroy(kind, made)


if __name__ == "__main__":
    main()
