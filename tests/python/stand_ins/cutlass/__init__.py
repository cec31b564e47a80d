"""A stand-in for CuTe DSL that runs its kernels on the host, thread after thread, in plain Python."""


class Float64(float):
    """A dtype, and a value of it."""

    width = 64


class Float32(float):
    """A dtype, and a value of it."""

    width = 32
