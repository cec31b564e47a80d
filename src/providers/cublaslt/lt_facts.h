// What cuBLASLt says of the algorithms that it offers for a product.
#pragma once

#include <cstddef>
#include <cstdint>

#include "providers/cublaslt/lt_library.h"

namespace estoc::cublaslt {

/// The order that out is described in to cuBLASLt: column-major, where a row-major out is described
/// as its transpose, or row-major.
enum class OutOrder { column, row };

/// An algorithm's configuration, in the library's numbers and in its terms: rows and columns are
/// those of the D that it is told of. 0 is what is not known.
struct LtFacts {
  int algorithm = 0;
  int tile_id = 0;  ///< cublasLtMatmulTile_t
  int tile_rows = 0;
  int tile_columns = 0;
  int stages_id = 0;  ///< cublasLtMatmulStages_t
  int split_k = 0;    ///< parts of K that are computed at once
  int reduction = 0;  ///< cublasLtReductionScheme_t
  int swizzle = 0;
  int inner_shape_id = 0;  ///< cublasLtMatmulInnerShape_t
  int cluster_id = 0;      ///< cublasLtClusterShape_t
  int cluster_m = 0;
  int cluster_n = 0;
  double waves = 0;  ///< of CTAs over the device
  std::size_t workspace_bytes = 0;

  bool operator==(const LtFacts&) const = default;
};

/// Rows and columns; both 0 where they are not known.
struct LtShape {
  int rows = 0;
  int columns = 0;
  bool operator==(const LtShape&) const = default;
};

/// The tile of a cublasLtMatmulTile_t.
LtShape tile_shape(int tile_id);

/// The cluster of a cublasLtClusterShape_t, in CTAs.
LtShape cluster_shape(int cluster_id);

/// The facts of a result; they are 0 where the library does not tell them.
LtFacts read_facts(const LtTable& table, const HeuristicResult& result);

}  // namespace estoc::cublaslt
