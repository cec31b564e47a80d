"""What programs use of cutlass.cute.runtime: tensors, and placeholders for them."""

import numpy as np


class Symbol:
    """An extent or a stride that is known at run time."""


def sym_int():
    return Symbol()


def sym_int64():
    return Symbol()


class FakeStream:
    """Stands for a stream while a kernel is compiled."""


def make_fake_stream():
    return FakeStream()


class FakeTensor:
    """Stands for tensors of a dtype and layout while a kernel is compiled."""

    def __init__(self, kind, shape, strides, assumed_align):
        self.kind, self.shape, self.strides, self.align = kind, shape, strides, assumed_align


def make_fake_tensor(kind, shape, stride, *, assumed_align):
    return FakeTensor(kind, shape, stride, assumed_align)


class Tensor:
    """An array of the host that is read and written by index."""

    def __init__(self, array, align):
        self.array, self.align, self.leading = array, align, None
        self.shape = array.shape

    def mark_layout_dynamic(self, leading_dim):
        assert self.array.strides[leading_dim] == self.array.itemsize
        self.leading = leading_dim
        return self

    def is_like(self, fake):
        leading = [mode for mode, stride in enumerate(fake.strides) if stride == 1]
        return (
            len(self.shape) == len(fake.shape)
            and self.array.itemsize * 8 == fake.kind.width
            and leading == [self.leading]
            and self.align >= fake.align
        )

    def __getitem__(self, place):
        return self.array[place]

    def __setitem__(self, place, value):
        self.array[place] = value


def from_dlpack(tensor, assumed_align):
    return Tensor(np.asarray(tensor), assumed_align)
