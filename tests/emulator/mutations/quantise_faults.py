"""Faults planted into the step that quantises results: which elements share a scale, what it is, and where it goes."""

from planted import QUANTISE, Planted
from sm90_faults import OUT, RACE, WRONG

FAULTS = (
    Planted("half of a block decides its scale", QUANTISE, "quantised", (WRONG,),
            "for (u32 mask = lanes / 2; mask > 0; mask /= 2) {",
            "for (u32 mask = lanes / 4; mask > 0; mask /= 2) {"),
    Planted("the sign is part of the magnitude", QUANTISE, "quantised", (WRONG,),
            "values.word[j] & 0x7fffffffu;",
            "values.word[j];"),
    Planted("scales of the next row", QUANTISE, "quantised", (WRONG, OUT, RACE),
            "m * p.scales.row_stride +",
            "(m + 1) * p.scales.row_stride +"),
    Planted("blocks of scales are elements", QUANTISE, "quantised", (WRONG, OUT, RACE),
            "n / p.block * p.scales.column_stride",
            "n * p.scales.column_stride"),
    Planted("all batches have the first one's scales", QUANTISE, "quantised", (WRONG, RACE),
            "l * p.scales.batch_stride + m",
            "m"),
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
)
