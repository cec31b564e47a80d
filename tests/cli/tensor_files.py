"""Minimal writers and readers of .npy and .safetensors files, independent of the library's."""

import itertools
import json
import math
import struct

# dtype -> (numpy's descr, struct format of one element)
NPY = {
    "f64": ("<f8", "d"),
    "f32": ("<f4", "f"),
    "f16": ("<f2", "e"),
    "i32": ("<i4", "i"),
    "i8": ("|i1", "b"),
    "u8": ("|u1", "B"),
    "bool": ("|b1", "?"),
}
SAFETENSORS = {
    "f64": "F64",
    "f32": "F32",
    "f16": "F16",
    "bf16": "BF16",
    "i32": "I32",
    "i8": "I8",
    "u8": "U8",
}


def pack(dtype, values):
    if dtype == "bf16":  # exact for the small whole numbers that the tests use
        return b"".join(struct.pack("<f", value)[2:] for value in values)
    return struct.pack(f"<{len(values)}{NPY[dtype][1]}", *values)


def unpack(dtype, data):
    if dtype == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i : i + 2])[0] for i in range(0, len(data), 2)]
    code = NPY[dtype][1]
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


def npy_header(descr, shape, fortran=False):
    text = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


def fortran_values(shape, values):
    """The row-major `values` in column-major order."""
    strides = [math.prod(shape[mode + 1 :]) for mode in range(len(shape))]
    indices = itertools.product(*(range(extent) for extent in reversed(shape)))
    return [values[sum(s * i for s, i in zip(strides, reversed(index)))] for index in indices]


def write_npy(path, dtype, shape, values, fortran=False):
    """`values` are in row-major order, however they are stored."""
    stored = fortran_values(shape, values) if fortran else values
    with open(path, "wb") as file:
        file.write(npy_header(NPY[dtype][0], shape, fortran) + pack(dtype, stored))
    return str(path)


def read_npy(path):
    """(descr, shape, values) of a version 1 file in C order."""
    with open(path, "rb") as file:
        blob = file.read()
    assert blob[:8] == b"\x93NUMPY\x01\x00", blob[:8]
    length = struct.unpack_from("<H", blob, 8)[0]
    header = eval(blob[10 : 10 + length].decode(), {})  # a literal that the test just produced
    assert not header["fortran_order"]
    dtype = {descr: name for name, (descr, _) in NPY.items()}[header["descr"]]
    values = unpack(dtype, blob[10 + length :])
    assert len(values) == math.prod(header["shape"])
    return dtype, header["shape"], values


def write_safetensors(path, tensors):
    """`tensors`: name -> (dtype, shape, row-major values)."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        raw = pack(dtype, values)
        header[name] = {
            "dtype": SAFETENSORS[dtype],
            "shape": list(shape),
            "data_offsets": [len(data), len(data) + len(raw)],
        }
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return str(path)


def read_safetensors(path):
    """name -> (dtype, shape, values)."""
    with open(path, "rb") as file:
        blob = file.read()
    start = 8 + struct.unpack_from("<Q", blob)[0]
    names = {name: dtype for dtype, name in SAFETENSORS.items()}
    tensors = {}
    for name, entry in json.loads(blob[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        dtype = names[entry["dtype"]]
        tensors[name] = (dtype, entry["shape"], unpack(dtype, blob[start + begin : start + end]))
    return tensors


def small_integers(count, seed):
    """Whole numbers in -4 .. 4 without a pattern: products of them are exact in every dtype."""
    values = []
    for _ in range(count):
        seed = (seed * 1103515245 + 12345) % 2**31
        values.append((seed >> 16) % 9 - 4)
    return values


def matmul(a, b, m, n, k):
    """Row-major product of row-major (m, k) and (k, n)."""
    return [
        sum(a[i * k + x] * b[x * n + j] for x in range(k)) for i in range(m) for j in range(n)
    ]


def transpose(values, rows, columns):
    """Row-major (columns, rows) of a row-major (rows, columns)."""
    return [values[i * columns + j] for j in range(columns) for i in range(rows)]
