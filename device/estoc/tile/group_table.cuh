// Reads the table of a product by pointers: where the matrices of a group are, and how large.
#pragma once

#include <estoc/abi/group_table.cuh>
#include <estoc/abi/matrix.cuh>
#include <estoc/ptx/memory.cuh>

namespace estoc {

/// A group as the code sees its product: out (m, n) = a (m, k) @ b (k, n).
struct PointedGroup {
  abi::Matrix a;
  abi::Matrix b;
  abi::Matrix out;
  i32 m;
  i32 n;
  i32 k;
};

namespace detail {

__device__ __forceinline__ i32 extent_inside(u32 stated, i64 most) {
  const auto extent = static_cast<i32>(stated);
  const i32 inside = extent < most ? extent : static_cast<i32>(most);
  return inside > 0 ? inside : 0;
}

__device__ __forceinline__ abi::Matrix pointed_matrix(u64 base, u32 low, u32 high, u32 stride,
                                                      int rows) {
  const u64 distance = static_cast<u64>(high) << 32 | low;
  const i64 leading = static_cast<i32>(stride);
  return {base + distance, rows != 0 ? leading : 1, rows != 0 ? 1 : leading, 0};
}

}  // namespace detail

/// Group number `group` of the table of `p`, no larger than the extents of `p`.
template <typename Parameters>
__device__ __forceinline__ PointedGroup pointed_group(const Parameters& p, i64 group) {
  const abi::GroupTable& table = p.table;
  const u64 entry = table.address + static_cast<u64>(group * table.stride);
  const Words<4> inputs = ptx::ld_global<4>(entry);       // A, B
  const Words<4> output = ptx::ld_global<4>(entry + 16);  // out, m, n
  const Words<4> others = ptx::ld_global<4>(entry + 32);  // k, leading dimensions
  const bool turned = table.transposed != 0;
  PointedGroup found;
  found.a = detail::pointed_matrix(p.a.address, turned ? inputs.word[2] : inputs.word[0],
                                   turned ? inputs.word[3] : inputs.word[1],
                                   turned ? others.word[2] : others.word[1], table.a_rows);
  found.b = detail::pointed_matrix(p.b.address, turned ? inputs.word[0] : inputs.word[2],
                                   turned ? inputs.word[1] : inputs.word[3],
                                   turned ? others.word[1] : others.word[2], table.b_rows);
  found.out = detail::pointed_matrix(p.out.address, output.word[0], output.word[1], others.word[3],
                                     table.out_rows);
  found.m = detail::extent_inside(turned ? output.word[3] : output.word[2], p.m);
  found.n = detail::extent_inside(turned ? output.word[2] : output.word[3], p.n);
  found.k = detail::extent_inside(others.word[0], p.k);
  return found;
}

}  // namespace estoc
