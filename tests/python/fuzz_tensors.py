"""Random hostile tensors: DLPack capsules, __cuda_array_interface__, objects that lie about both.

Each is taken or refused by an estoc.Error; nothing crashes, and what a capsule holds is given back
once. A short run is a test; a long one is

    PYTHONPATH=build/release/python python tests/python/fuzz_tensors.py --inputs 1000000 --seed 7
"""

import argparse
import ctypes
import faulthandler
import gc
import random

import numpy as np

import estoc

MEMORY = np.zeros(4096, "f4")
FIRST = -MEMORY.ctypes.data % 256 + MEMORY.ctypes.data
FLOATS = {"f64": "f8", "f32": "f4", "f16": "f2"}
NUMBERS = (0, 1, 2, 3, 4, 8, 16, 64, 2**31 - 1, 2**32, 2**62, 2**63 - 1, -1, -4, -(2**63))


class DlTensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("rank", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", DlTensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


class ManagedVersioned(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", DlTensor),
    )


NEW_CAPSULE = ctypes.pythonapi.PyCapsule_New
NEW_CAPSULE.restype, NEW_CAPSULE.argtypes = ctypes.py_object, [ctypes.c_void_p] * 3
CAPSULE_NAME = ctypes.pythonapi.PyCapsule_GetName
CAPSULE_NAME.restype, CAPSULE_NAME.argtypes = ctypes.c_char_p, [ctypes.py_object]
NAMES = [ctypes.create_string_buffer(name) for name in (b"dltensor", b"dltensor_versioned", b"x")]
given_back: list[int] = []


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)
def give_back(address):
    given_back.append(address)


GIVE_BACK = ctypes.cast(give_back, ctypes.c_void_p).value


class Chance(random.Random):
    """Random choices, of which some inputs make many odd ones, others few or none."""

    def __init__(self, seed):
        super().__init__(seed)
        self.odds = self.choice((0, 0.03, 0.1, 0.4))

    def odd(self):
        return self.random() < self.odds

    def pick(self, usual, odd):
        return self.choice(odd if self.odd() else usual)


class Capsule:
    """A capsule and the memory that it tells of."""

    def __init__(self, chance):
        versioned = chance.random() < 0.5
        self.held = (ManagedVersioned if versioned else Managed)()
        self.held.deleter = chance.pick((GIVE_BACK,), (None,))
        if versioned:
            self.held.major = chance.pick((1,), (0, 2, 2**32 - 1))
            self.held.minor = chance.pick((0, 1, 3), (2**32 - 1,))
            self.held.flags = chance.pick((0, 1), (2, 2**64 - 1))
        self.shape = (ctypes.c_int64 * 16)(*(extent(chance) for _ in range(16)))
        self.strides = (ctypes.c_int64 * 16)(*(extent(chance) for _ in range(16)))
        self.fill(self.held.tensor, chance)
        name = chance.pick((NAMES[versioned],), (NAMES[2],))
        self.capsule = NEW_CAPSULE(ctypes.addressof(self.held), ctypes.addressof(name), None)

    def fill(self, tensor, chance):
        tensor.data = chance.pick((FIRST, FIRST + 4), (FIRST + 1, None, 2**64 - 1))
        tensor.device_type = chance.pick((1,), (2, 2, 3, 13, 10, 0, -1, 2**31 - 1))
        tensor.device_id = chance.pick((0,), (1, -1, 255, 2**31 - 1, -(2**31)))
        tensor.rank = chance.pick((2, 2, 0, 1, 3, 6), (7, 16, -1, 2**31 - 1, -(2**31)))
        tensor.code, tensor.bits = chance.pick(
            ((2, 32), (2, 64), (2, 16), (4, 16), (0, 8), (10, 8), (6, 8)),
            tuple((code, bits) for code in (*range(20), 255) for bits in (0, 4, 8, 32, 255)),
        )
        tensor.lanes = chance.pick((1,), (0, 2, 4, 2**16 - 1))
        if tensor.code == 17:
            tensor.lanes = 2
        tensor.shape = chance.pick((ctypes.addressof(self.shape),), (None,))
        tensor.strides = chance.choice((None, ctypes.addressof(self.strides)))
        tensor.byte_offset = chance.pick((0, 256), (1, 2**63, 2**64 - 1))

    def was_taken(self):
        return CAPSULE_NAME(self.capsule).startswith(b"used")


def extent(chance):
    return chance.pick((1, 2, 3, 4), NUMBERS)


def junk(chance):
    """Something that is not what the protocol asks for."""
    return chance.choice(
        (None, 0, -1, 2**64, 2**70, 1.5, float("nan"), "text", b"\xff", (), (None,), [1, [2]], {})
        + ("\ud800", object(), range(2**40), np.int64(3), np.zeros(3), True, iter((1, 2)), type)
    )


def some_shape(chance, rank):
    if chance.random() < chance.odds / 4:
        return junk(chance)
    rank = chance.pick((rank,), (0, 1, 3, 6, 7, 20))
    numbers = [junk(chance) if chance.random() < chance.odds / 8 else extent(chance)
               for _ in range(rank)]
    return chance.choice((tuple, list))(numbers)


def interface(chance):
    """What __cuda_array_interface__ gives."""
    if chance.random() < chance.odds / 8:
        return junk(chance)
    rank = chance.choice((2, 2, 2, 0, 1, 3, 6))
    said = {
        "typestr": chance.pick(("<f4", "<f2", "|u1"), (">f4", "<c8", "", "f4", "<f")),
        "shape": some_shape(chance, rank),
        "strides": None,
        "data": (chance.pick((FIRST, 2**48), (FIRST + 2, 0, 2**64 - 1, 2**64, -1)), False),
        "version": chance.choice((0, 2, 3, 99)),
        "stream": chance.pick((None, 1, 2, 12345), (0, -1, 2**64)),
        "mask": chance.pick((None,), ((1,), False)),
    }
    if chance.random() < 0.5:
        steps = some_shape(chance, rank)
        multiply = isinstance(steps, (tuple, list))
        said["strides"] = [4 * one for one in steps if isinstance(one, int)] if multiply else steps
    for key in list(said):
        if chance.random() < chance.odds / 8:
            said[key] = junk(chance)
        elif chance.random() < chance.odds / 8:
            del said[key]
    return said


class Array:
    def __init__(self, chance):
        self.__cuda_array_interface__ = interface(chance)
        if chance.odd():
            self.device = junk(chance)
        if chance.odd():
            self.dtype = junk(chance)


class Exporter:
    def __init__(self, chance):
        self.capsule = Capsule(chance)
        self.device = chance.choice(((1, 0), (1, 0), (2, 0)))
        if chance.odd():
            self.device = junk(chance)
        self.given = junk(chance) if chance.odd() else self.capsule.capsule
        self.plain = chance.random() < 0.3

    def __dlpack_device__(self):
        return self.device

    def __dlpack__(self, **wishes):
        if self.plain and "max_version" in wishes:
            raise TypeError("no such wish")
        return self.given


def lies_in_memory(tensor):
    if tensor.device != "cpu" or tensor.dtype.name not in FLOATS or 0 in tensor.shape:
        return False
    size = np.dtype(FLOATS[tensor.dtype.name]).itemsize
    last = sum((extent - 1) * step for extent, step in zip(tensor.shape, tensor.strides))
    end = MEMORY.ctypes.data + MEMORY.nbytes
    return MEMORY.ctypes.data <= tensor.data_ptr and tensor.data_ptr + (last + 1) * size <= end


def use(tensor):
    """Calls that look at a tensor which has been taken, and run on it where it is in memory."""
    assert len(tensor.shape) == len(tensor.strides) == tensor.ndim <= 6, tensor
    assert all(extent >= 0 for extent in tensor.shape), tensor
    repr(tensor)
    if lies_in_memory(tensor) and tensor.ndim == 2 and max(tensor.shape) <= 64:
        b = np.ones((tensor.shape[1], 2), FLOATS[tensor.dtype.name])
        assert estoc.matmul(tensor, b).shape == (tensor.shape[0], 2)
    estoc.GemmArguments(tensor, tensor, tensor)


def try_one(number, seed):
    """Whether the tensor of that number was taken."""
    chance = Chance(f"{seed}:{number}")
    made = chance.choice((Capsule, Capsule, Exporter, Array, Array))(chance)
    source = made if isinstance(made, Capsule) else getattr(made, "capsule", None)
    given_back.clear()
    taken = False
    try:
        tensor = estoc.Tensor(made.capsule if isinstance(made, Capsule) else made)
        taken = True
        use(tensor)
    except estoc.Error:
        pass
    tensor = None
    if source is not None:
        wanted = source.was_taken() and source.held.deleter is not None
        assert len(given_back) == wanted, (number, given_back)
    return taken


def run(inputs, seed, report=None):
    """Tries that many; how many were taken."""
    taken = 0
    for number in range(inputs):
        try:
            taken += try_one(number, seed)
        except Exception as error:
            raise AssertionError(f"input {number} of seed {seed}: {error!r}") from error
        if report is not None and number % 50_000 == 49_999:
            gc.collect()
            report(number + 1, taken)
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    words = parser.parse_args()
    faulthandler.enable()
    taken = run(words.inputs, words.seed, lambda *counts: print(*counts, flush=True))
    print(f"{words.inputs} inputs of seed {words.seed}, {taken} taken, no crash")


if __name__ == "__main__":
    main()
