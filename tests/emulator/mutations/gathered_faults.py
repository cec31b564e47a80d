"""Faults planted into kernels whose rows of A an index chooses."""

from planted import Planted

ROW_INDEX = "tile/row_index.cuh"
SIMT_GATHERED = "kernels/simt_gathered_gemm.cuh"
SM80_GATHERED = "kernels/sm80_gathered_gemm.cuh"
SM90_GATHERED = "sm90/gathered.cuh"

WRONG = "wrong output"
OUT = "out of bounds"
RACE = "race"

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
    Planted("rows are loaded into a stage in use", SM90_GATHERED, "gathered_wgmma", (RACE, WRONG),
            "        ring.wait_empty(at);\n", ""),
    Planted("two rows change places", SM90_GATHERED, "gathered_wgmma", (WRONG,),
            "(32 * i + lane) * kSwizzleRow", "(32 * i + (lane ^ 1)) * kSwizzleRow"),
    Planted("half of the bytes of rows are announced", SM90_GATHERED, "gathered_wgmma", (RACE, WRONG),
            "mbarrier_arrive_expect_tx(barrier, config.a_bytes())",
            "mbarrier_arrive_expect_tx(barrier, config.a_bytes() / 2)"),
    Planted("rows of the first tile of the group", SM90_GATHERED, "gathered_wgmma", (WRONG,),
            "item.tile.m + 32 * i", "item.begin + 32 * i"),
    Planted("rows of the first K", SM90_GATHERED, "gathered_wgmma", (WRONG,),
            "{step * config.tile_k(), row[i], 0}", "{0, row[i], 0}"),
)
