"""A stand-in for CUDA Python's driver: the type of a stream."""


class CUstream(int):
    """The address of a stream."""
