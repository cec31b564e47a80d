// Tiles of an output, and the order in which they are taken.
#pragma once

#include <estoc/ptx/types.cuh>

namespace estoc {

/// A part of the output: its batch, its first row and its first column.
struct Tile {
  i32 l;
  i32 m;
  i32 n;
};

/// The place of a tile among the tiles of one batch.
struct TileIndex {
  u32 m;
  u32 n;
};

/// Walks bands of `group` rows of tiles (columns if `along_n`), each column by column: tiles that
/// are computed at the same time share rows and columns of the operands in the L2 cache.
struct TileRaster {
  u32 tiles_m;
  u32 tiles_n;
  u32 group;
  bool along_n = false;

  /// Tile number `index`, less than tiles_m * tiles_n.
  __device__ __forceinline__ TileIndex at(u32 index) const {
    const u32 rows = along_n ? tiles_n : tiles_m;
    const u32 columns = along_n ? tiles_m : tiles_n;
    const u32 band = index / (group * columns);
    const u32 first = band * group;
    const u32 height = rows - first < group ? rows - first : group;
    // A remainder, not a difference: ptxas then keeps the place in uniform registers.
    const u32 within = index % (group * columns);
    const u32 column = within / height;
    const u32 row = first + within - column * height;
    return along_n ? TileIndex{column, row} : TileIndex{row, column};
  }
};

}  // namespace estoc
