"""Faults planted into the step that quantises results: which elements share a scale, what it is, and where it goes."""

from planted import QUANTISE, Planted
from sm90_faults import OUT, RACE, WRONG

UNWRITTEN = "unwritten output"

FAULTS = (
    Planted("half of a block decides its scale", QUANTISE, "quantised", (WRONG,),
            "for (u32 mask = lanes / 2; mask > 0; mask /= 2) {",
            "for (u32 mask = lanes / 4; mask > 0; mask /= 2) {"),
    Planted("the sign is part of the magnitude", QUANTISE, "quantised", (WRONG,),
            "values.word[j] & 0x7fffffffu;",
            "values.word[j];"),
    Planted("scales of the next row", QUANTISE, "quantised", (WRONG, OUT, RACE),
            "scale_at(p.scales, l, m, block), scale);",
            "scale_at(p.scales, l, m + 1, block), scale);"),
    Planted("blocks of scales are elements", QUANTISE, "quantised", (WRONG, OUT, RACE),
            "const i64 block = n >> p.scales.k_shift;",
            "const i64 block = n;"),
    Planted("all batches have the first one's scales", QUANTISE, "quantised", (WRONG, RACE),
            "l * scales.batch_stride + scale_index",
            "scale_index"),
    Planted("data are multiplied by the scale", QUANTISE, "quantised", (WRONG,),
            "bit_cast<float>(values.word[j]) / scale",
            "bit_cast<float>(values.word[j]) * scale"),
    Planted("scales are rounded down to powers of two", QUANTISE, "quantised", (WRONG,),
            "(bit_cast<u32>(scale) + kFraction) & ~kFraction",
            "bit_cast<u32>(scale) & ~kFraction"),
    Planted("halves of a byte are exchanged", QUANTISE, "quantised_fours", (WRONG,),
            "codes[0] | codes[1] << 4",
            "codes[1] | codes[0] << 4"),
    Planted("the end of a row is stored by words", QUANTISE, "quantised", (WRONG, OUT, RACE),
            "if (to.column_stride == 1 && room >= 4 && address % 4 == 0) {",
            "if (to.column_stride == 1 && address % 4 == 0) {"),
    Planted("rows that fill up tiles of scales are left", QUANTISE, "quantised_fours", (UNWRITTEN,),
            "detail::fill_up(p, l, m, n, is_computed ? p.n : 0);",
            "detail::fill_up(p, l, m, n, p.n);"),
)
