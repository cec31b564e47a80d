"""Faults planted into kernels whose rows of A an index chooses."""

from planted import Planted

ROW_INDEX = "tile/row_index.cuh"
SIMT_GATHERED = "kernels/simt_gathered_gemm.cuh"
SM80_GATHERED = "kernels/sm80_gathered_gemm.cuh"

WRONG = "wrong output"
OUT = "out of bounds"

FAULTS = (
    Planted("the index is not read", ROW_INDEX, "gathered", (OUT, WRONG),
            "static_cast<i32>(ptx::ld_global<1>(entry).word[0])", "static_cast<i32>(i)"),
    Planted("entries of the tile, not of the product", SIMT_GATHERED, "gathered", (WRONG,),
            "begin + Tile::outer_of_first() + i * Tile::kStep, end",
            "Tile::outer_of_first() + i * Tile::kStep, end"),
    Planted("an index past the last row of A", ROW_INDEX, "gathered", (OUT,),
            "row < index.count ? row : -1", "row"),
    Planted("an index before the first row of A", SIMT_GATHERED, "gathered", (OUT,),
            "row_[i] < 0 || left <= 0", "left <= 0"),
    Planted("entries past the group", ROW_INDEX, "gathered_mma", (OUT,),
            "if (i >= end) return -1;", ""),
    Planted("mma has one entry for the rows of a thread", ROW_INDEX, "gathered_mma", (WRONG,),
            "first + first_ + i * kRowsBetween, end", "first + first_, end"),
    Planted("mma reads rows that A has not", ROW_INDEX, "gathered_mma", (OUT,),
            "const bool is_there = row_[i] >= 0 && row_bytes > 0;",
            "const bool is_there = row_bytes > 0;"),
    Planted("mma goes on by half a tile along K", ROW_INDEX, "gathered_mma", (WRONG,),
            "address_ += tile_k * Layout::kBytes;", "address_ += tile_k * Layout::kBytes / 2;"),
    Planted("mma copies beyond K", ROW_INDEX, "gathered_mma", (OUT, WRONG),
            "left < 0 ? 0 : left > 16 ? 16 : left", "16"),
    Planted("mma gathers from the first row of the tile", SM80_GATHERED, "gathered_mma", (WRONG,),
            "p.rows, tile.at.m, tile.ends.m", "p.rows, 0, tile.ends.m"),
)
