// Reads tables of pointers on the host.
#include "operations/grouped_gemm/group_table.h"

#include <algorithm>
#include <cstring>

namespace estoc::operations {
namespace {

std::optional<bool> contiguous_rows(std::int64_t rows, std::int64_t columns,
                                    std::int64_t row_stride, std::int64_t column_stride) {
  if (column_stride == 1) return true;
  if (row_stride == 1) return false;
  if (columns <= 1) return true;
  return rows <= 1 ? std::optional(false) : std::nullopt;
}

std::uint64_t address_of(const MatrixView& matrix) {
  return reinterpret_cast<std::uintptr_t>(matrix.data);
}

std::int32_t inside(std::int32_t extent, std::int64_t most) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(extent, 0, most));
}

/// A matrix of a group in the place of `like`.
MatrixView placed(const MatrixView& like, std::uint64_t address, std::int64_t rows,
                  std::int64_t columns, std::int64_t stride) {
  MatrixView matrix = like;
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the table is as device code reads it
  matrix.data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));
  matrix.rows = rows;
  matrix.columns = columns;
  matrix.batches = 1;
  matrix.batch_stride = 0;
  const bool by_rows = has_contiguous_rows(like).value_or(true);
  matrix.row_stride = by_rows ? stride : 1;
  matrix.column_stride = by_rows ? 1 : stride;
  return matrix;
}

}  // namespace

std::optional<bool> has_contiguous_rows(const MatrixView& matrix) {
  return contiguous_rows(matrix.rows, matrix.columns, matrix.row_stride, matrix.column_stride);
}

std::optional<bool> has_contiguous_rows(const TensorView& view) {
  const int rank = view.rank();
  return contiguous_rows(view.shape(rank - 2), view.shape(rank - 1), view.stride(rank - 2),
                         view.stride(rank - 1));
}

GroupTable::GroupTable(const GroupedGemmArguments& grouped)
    : words_(static_cast<const std::int32_t*>(grouped.offsets()->data())),
      stride_(grouped.offsets()->stride(0)),
      count_(grouped.groups()),
      most_(grouped.product().extents()),
      a_(grouped.product().a_matrix()),
      b_(grouped.product().b_matrix()),
      out_(grouped.product().out_matrix()) {}

GroupEntry GroupTable::entry(std::int64_t group) const {
  GroupEntry entry;
  std::memcpy(static_cast<void*>(&entry), words_ + group * stride_, sizeof entry);
  entry.a += address_of(a_);
  entry.b += address_of(b_);
  entry.out += address_of(out_);
  entry.m = inside(entry.m, most_.m);
  entry.n = inside(entry.n, most_.n);
  entry.k = inside(entry.k, most_.k);
  return entry;
}

GroupProduct GroupTable::product(std::int64_t group) const {
  const GroupEntry e = entry(group);
  return {e.m,
          e.n,
          e.k,
          placed(a_, e.a, e.m, e.k, e.a_stride),
          placed(b_, e.b, e.k, e.n, e.b_stride),
          placed(out_, e.out, e.m, e.n, e.out_stride)};
}

GroupProduct GroupTable::transposed_product(std::int64_t group) const {
  const GroupProduct given = product(group);
  return {
      given.n, given.m, given.k, transposed(given.b), transposed(given.a), transposed(given.out)};
}

}  // namespace estoc::operations
