"""Faults planted into scaled products in groups on tensor cores: which group's scales a tile has, and
where blocks of K begin."""

from planted import ABI, GROUP_WORK, SM90_GROUP_SCALES, SM90_SCALED, Planted
from sm90_faults import OUT, WRONG

FAULTS = (
    Planted("all groups have the scales of the first one's columns", SM90_SCALED, "scaled_wgmma_rows", (WRONG,),
            "l.b * p.b_scales.batch_stride",
            "0 * p.b_scales.batch_stride"),
    Planted("all groups have the scales of the first one's rows", SM90_SCALED, "scaled_wgmma_columns", (WRONG,),
            "l.a * p.a_scales.batch_stride",
            "0 * p.a_scales.batch_stride"),
    Planted("blocks of K are counted from the group", GROUP_WORK, "scaled_wgmma_k", (WRONG,),
            "static_cast<i32>(first_k()) / config.tile_k()",
            "0"),
    Planted("a stage begins within a block of K", ABI, "scaled_wgmma_k", (WRONG,),
            "return scaled() ? tile_k() : 16 / type_bytes(a);",
            "return 16 / type_bytes(a);"),
    Planted("rows of all groups have the first one's scales", SM90_GROUP_SCALES, "row_wgmma_rows", (WRONG,),
            "static_cast<i64>(group) * scales.batch_stride +",
            "static_cast<i64>(group) * 0 +"),
    Planted("both columns of a pair have the first one's scale", SM90_GROUP_SCALES, "row_wgmma_rows", (WRONG,),
            "first + j / 2 * 8 + j % 2, p.n",
            "first + j / 2 * 8, p.n"),
    Planted("both rows of a thread have the first one's scale", SM90_GROUP_SCALES, "row_wgmma_columns", (WRONG,),
            "first + i / 2 * 64 + i % 2 * 8, p.m",
            "first + i / 2 * 64, p.m"),
    Planted("tiles have the scales of the first columns", SM90_GROUP_SCALES, "row_wgmma_rows", (WRONG,),
            "item.tile.n + static_cast<i32>(place.column)",
            "static_cast<i32>(place.column)"),
    Planted("scales beyond the matrix are read", SM90_GROUP_SCALES, "row_wgmma_rows", (OUT,),
            "(at < extent ? at : extent - 1)",
            "at"),
    Planted("what is in no group is scaled", SM90_GROUP_SCALES, "row_wgmma_rest", (OUT,),
            "    if (item.k_tiles == 0) return;\n",
            ""),
)
