"""Writes tests/unit/core/dtype_table.txt: the values of narrow floats, and what doubles round to.

The values of the formats come from ml_dtypes and NumPy. Rounding is worked out here with exact
fractions from neighbouring values, because ml_dtypes rounds a double twice (by way of float32), and
for want of range saturates as `store_element` in include/estoc/numeric.hpp documents.

    pip install numpy ml_dtypes
    python tests/python/make_dtype_table.py
"""

import argparse
import dataclasses
import math
import pathlib
import random
import struct
import zlib
from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np

TABLE = pathlib.Path(__file__).parents[1] / "unit" / "core" / "dtype_table.txt"


@dataclasses.dataclass(frozen=True)
class Format:
    """A format: its non-negative values in the order of their codes, and its special codes."""

    name: str
    bits: int
    max_code: int
    value: Callable[[int], float]
    overflow: int
    nan: int
    signed: bool = True
    shift: int = 0  # of the code in what is stored

    def sign_code(self) -> int:
        return 1 << (self.bits - 1)


def decoder(dtype, code_type) -> Callable[[int], float]:
    codes = np.arange(np.iinfo(code_type).max + 1).astype(code_type)
    with np.errstate(invalid="ignore"):
        table = codes.view(dtype).astype(np.float64)
    return lambda code: float(table[code])


def f32_value(bits: int) -> float:
    return struct.unpack("<f", struct.pack("<I", bits))[0]


def nibble_values() -> list[float]:
    codes = np.arange(16, dtype=np.uint8)
    return [float(value) for value in codes.view(ml_dtypes.float4_e2m1fn).astype(np.float64)]


F16 = decoder(np.float16, np.uint16)
BF16 = decoder(ml_dtypes.bfloat16, np.uint16)
E4M3 = decoder(ml_dtypes.float8_e4m3fn, np.uint8)
E5M2 = decoder(ml_dtypes.float8_e5m2, np.uint8)
E8M0 = decoder(ml_dtypes.float8_e8m0fnu, np.uint8)
E2M1 = nibble_values()

FORMATS = [
    Format("f32", 32, 0x7F7FFFFF, f32_value, overflow=0x7F800000, nan=0x7FC00000),
    Format(
        "tf32",
        32,
        0x3FBFF,
        lambda code: f32_value(code << 13),
        overflow=0x3FC00,
        nan=0x3FE00,
        shift=13,
    ),
    Format("f16", 16, 0x7BFF, F16, overflow=0x7C00, nan=0x7E00),
    Format("bf16", 16, 0x7F7F, BF16, overflow=0x7F80, nan=0x7FC0),
    Format("e4m3", 8, 0x7E, E4M3, overflow=0x7E, nan=0x7F),
    Format("e5m2", 8, 0x7B, E5M2, overflow=0x7C, nan=0x7E),
    Format("e2m1", 4, 7, E2M1.__getitem__, overflow=7, nan=7),
    Format("e8m0", 8, 254, E8M0, overflow=254, nan=255, signed=False),
]


def exact(format_: Format, code: int) -> Fraction:
    """The value of a code; one past the largest is where the next value would be."""
    if code <= format_.max_code:
        return Fraction(format_.value(code))
    last = Fraction(format_.value(format_.max_code))
    if not format_.signed:
        return last * 2
    return last + (last - Fraction(format_.value(format_.max_code - 1)))


def floor_code(format_: Format, magnitude: Fraction) -> int:
    """The largest code whose value is not above `magnitude`; -1 when there is none."""
    low, high = -1, format_.max_code + 1
    while low + 1 < high:
        middle = (low + high) // 2
        if Fraction(format_.value(middle)) <= magnitude:
            low = middle
        else:
            high = middle
    return low


def round_magnitude(format_: Format, magnitude: Fraction) -> int:
    below = floor_code(format_, magnitude)
    if below < 0:
        return 0
    distance_down = magnitude - exact(format_, below)
    distance_up = exact(format_, below + 1) - magnitude
    up_on_tie = below % 2 == 1 or not format_.signed
    up = distance_up < distance_down or (distance_up == distance_down and up_on_tie)
    return below + 1 if up else below


def encode(format_: Format, value: float) -> int:
    """The bits that `store_element` must write for `value`."""
    negative = math.copysign(1.0, value) < 0
    if math.isnan(value):
        keep_sign = negative and format_.name not in ("e2m1", "e8m0")
        return format_.nan << format_.shift | (format_.sign_code() if keep_sign else 0)
    if negative and not format_.signed:
        return 0
    if math.isinf(value):
        code = format_.overflow
    else:
        code = round_magnitude(format_, abs(Fraction(value)))
        code = format_.overflow if code > format_.max_code else code
    return code << format_.shift | (format_.sign_code() if negative else 0)


def around(value: float) -> list[float]:
    """The value, its neighbours, and what rounds to it in float32: a trap for rounding twice."""
    traps = [value * (1 - 2.0**-40), value * (1 + 2.0**-40)]
    neighbours = [math.nextafter(value, -math.inf), math.nextafter(value, math.inf)]
    return [value, *neighbours, *traps]


def midpoint(format_: Format, code: int) -> float:
    middle = (exact(format_, code) + exact(format_, code + 1)) / 2
    return float(middle) if middle < Fraction(2) ** 1023 else math.inf


def sampled_codes(format_: Format, generator: random.Random) -> list[int]:
    if format_.bits <= 8:
        return list(range(format_.max_code + 1))
    mantissa_bits = {"f32": 23, "tf32": 10, "f16": 10, "bf16": 7}[format_.name]
    powers = range(0, format_.max_code, 1 << mantissa_bits)
    if len(powers) > 64:
        powers = [*powers[:6], *powers[100:150:4], *powers[-6:]]
    edges = [power + step for power in powers for step in (-1, 0, 1) if power + step >= 0]
    subnormals = [2, 3, (1 << mantissa_bits) // 3, (1 << mantissa_bits) // 2]
    inner = [generator.randrange(format_.max_code) for _ in range(160)]
    return sorted({*edges, *subnormals, *inner, format_.max_code - 1, format_.max_code})


def interesting_doubles(format_: Format) -> list[float]:
    generator = random.Random(format_.name)
    doubles = [0.0, -0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, -5e-324, 1e308, -1e308]
    smallest = format_.value(1 if format_.signed else 0)
    largest = format_.value(format_.max_code)
    doubles += [smallest / 4, smallest / 8, -smallest / 4, largest * 2, largest * 1.5, -largest * 2]
    doubles += [3.4e38, -3.5e38, 65519.999, 65520.0, 448.0, 464.0, 465.0, 480.0, -1.0]
    for code in sampled_codes(format_, generator):
        sign = generator.choice([-1.0, 1.0]) if format_.signed else 1.0
        doubles.append(-sign * format_.value(code))
        doubles += [sign * value for value in around(midpoint(format_, code))]
    low, high = math.log2(smallest) - 2, math.log2(largest) + 1
    for _ in range(100):
        doubles.append(generator.choice([-1.0, 1.0]) * 2.0 ** generator.uniform(low, high))
    return list({struct.pack("<d", value): value for value in doubles}.values())


def double_bits(value: float) -> str:
    return struct.pack(">d", value).hex()


def check_against_library(format_: Format, doubles: list[float]) -> None:
    """Where float32 holds the double exactly, ml_dtypes must round as `encode` does, in range."""
    dtypes = {
        "f16": (np.float16, np.uint16),
        "bf16": (ml_dtypes.bfloat16, np.uint16),
        "e4m3": (ml_dtypes.float8_e4m3fn, np.uint8),
        "e5m2": (ml_dtypes.float8_e5m2, np.uint8),
        "e2m1": (ml_dtypes.float4_e2m1fn, np.uint8),
        "e8m0": (ml_dtypes.float8_e8m0fnu, np.uint8),
    }
    if format_.name not in dtypes:
        return
    dtype, code_type = dtypes[format_.name]
    for value in doubles:
        in_range = abs(value) <= format_.value(format_.max_code)
        if not format_.signed:
            in_range = in_range and value >= format_.value(0)
        if not in_range or float(np.float32(value)) != value:
            continue
        code = int(np.array([value], np.float32).astype(dtype).view(code_type)[0])
        if code != encode(format_, value):
            raise SystemExit(
                f"{format_.name}: {value!r} is {code:#x} to the library, "
                f"{encode(format_, value):#x} here"
            )


def decode_section(name: str, values: list[float]) -> list[str]:
    rows = [" ".join(map(double_bits, values[i : i + 4])) for i in range(0, len(values), 4)]
    return [f"decode {name} {len(values)}", *rows]


def crc_line(name: str, decode: Callable[[int], float]) -> str:
    """CRC-32 of the float32 bits, low byte first, of all 65536 codes; NaN counts as 0x7fc00000."""
    values = np.array([decode(code) for code in range(65536)]).astype("<f4")
    bits = np.where(np.isnan(values), np.uint32(0x7FC00000), values.view("<u4")).astype("<u4")
    return f"crc {name} {zlib.crc32(bits.tobytes()):08x}"


def encode_section(format_: Format) -> list[str]:
    doubles = interesting_doubles(format_)
    check_against_library(format_, doubles)
    rows = [f"{double_bits(value)} {encode(format_, value):x}" for value in doubles]
    return [f"encode {format_.name} {len(rows)}", *rows]


def table() -> str:
    lines = ["# Written by tests/python/make_dtype_table.py: doubles and codes in hexadecimal."]
    lines += decode_section("e4m3", [E4M3(code) for code in range(256)])
    lines += decode_section("e5m2", [E5M2(code) for code in range(256)])
    lines += decode_section("e8m0", [E8M0(code) for code in range(256)])
    lines += decode_section("e2m1", E2M1)
    lines += [crc_line("f16", F16), crc_line("bf16", BF16)]
    for format_ in FORMATS:
        lines += encode_section(format_)
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=TABLE)
    with np.errstate(all="ignore"):
        text = table()
    parser.parse_args().output.write_text(text, encoding="ascii")


if __name__ == "__main__":
    main()
