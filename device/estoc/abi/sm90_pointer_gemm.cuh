// What host and device agree on for sm90_pointer_gemm: that of sm90_gemm, the table, and what a
// kernel ahead of the product makes of it in workspace.
#pragma once

#include <estoc/abi/group_table.cuh>
#include <estoc/abi/sm90_gemm.cuh>

namespace estoc::abi {

using Sm90PointerGemmConfig = Sm90GemmConfig;

/// A group in workspace: where its out is, its extents, and its tiles among those of all groups.
struct PointedTiles {
  unsigned long long out;
  int out_stride;  ///< elements from row to row
  unsigned end;    ///< behind its last tile
  int m;
  int n;
  int k;
  unsigned first;
};
static_assert(sizeof(PointedTiles) == 32);

/// The kernel ahead: groups of a CTA, whose maps of A and of B have a thread each.
inline constexpr int kMapGroups = 256;
inline constexpr int kMapThreads = 2 * kMapGroups;

/// Extents are the largest ones of a group, l is the number of groups. The maps of a and b are
/// those that each group's are made of; rows of out are the table's, columns as stated.
struct Sm90PointerGemmParameters : Sm90GemmParameters {
  GroupTable table;
  unsigned long long a_address;  ///< from which addresses of the table are counted
  unsigned long long b_address;
  unsigned long long maps;    ///< address of two tensor maps for each group, of A and of B
  unsigned long long groups;  ///< address of the groups' PointedTiles
};
static_assert(sizeof(Sm90PointerGemmParameters) == sizeof(Sm90GemmParameters) + 64);

}  // namespace estoc::abi
