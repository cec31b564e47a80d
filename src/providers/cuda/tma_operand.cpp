// What TMA takes of the operands of a product.
#include "providers/cuda/tma_operand.h"

#include <fmt/core.h>

#include <algorithm>

namespace estoc::cuda {
namespace {

constexpr std::int64_t kMaxTmaStride = std::int64_t{1} << 40;

std::uint64_t tma_stride_bytes(std::int64_t stride, std::int64_t extent, std::int64_t bytes) {
  // A mode of one element is never stepped along; any legal stride will do.
  return static_cast<std::uint64_t>(extent > 1 ? stride * bytes : 16);
}

}  // namespace

Status check_tma_strides(const OperandPlane& plane) {
  const std::int64_t most = kMaxTmaStride / (dtype_bits(plane.view->dtype) / 8);
  const std::int64_t row = plane.outer() > 1 ? plane.outer_stride() : 0;
  const std::int64_t batch = plane.view->batches > 1 ? plane.view->batch_stride : 0;
  if (std::max(row, batch) >= most) {
    return Status::fail(Reason::layout, fmt::format("{}.strides: expected less than 2^40 bytes, "
                                                    "got {} elements",
                                                    plane.name, std::max(row, batch)));
  }
  if (plane.outer() > 1 && plane.outer_stride() < plane.inner()) {
    return Status::fail(Reason::layout,
                        fmt::format("{}.strides: expected rows that do not overlap (at least {}), "
                                    "got {}",
                                    plane.name, plane.inner(), plane.outer_stride()));
  }
  return check_row_alignment(plane, 16);
}

Status check_tma_rows(const OperandPlane& plane) {
  const std::int64_t bytes = plane.inner() * (dtype_bits(plane.view->dtype) / 8);
  if (bytes % 16 == 0) return Status::success();
  return Status::fail(Reason::shape,
                      fmt::format("{}.shape: expected rows of a multiple of 16 bytes for stores by "
                                  "TMA, got {} bytes",
                                  plane.name, bytes));
}

bool is_batched(const MatrixView& view) {
  return view.batches > 1 && view.batch_stride != 0;
}

TensorMapSpec tma_map_spec(const OperandPlane& plane, abi::Type type, std::uint32_t box_inner,
                           std::uint32_t box_outer, int swizzle_bytes) {
  const MatrixView& view = *plane.view;
  const std::int64_t bytes = dtype_bits(view.dtype) / 8;
  const std::int64_t batches = is_batched(view) ? view.batches : 1;
  return {
      .operand = plane.name,
      .type = type,
      .address = reinterpret_cast<std::uintptr_t>(view.data),
      .extents = {static_cast<std::uint64_t>(plane.inner()),
                  static_cast<std::uint64_t>(plane.outer()), static_cast<std::uint64_t>(batches)},
      .stride_bytes = {tma_stride_bytes(plane.outer_stride(), plane.outer(), bytes),
                       tma_stride_bytes(view.batch_stride, batches, bytes)},
      .box = {box_inner, box_outer, 1},
      .swizzle_bytes = swizzle_bytes};
}

TensorMapSpec tma_load_spec(const OperandPlane& plane, abi::Type type, bool mn_major, int tile,
                            int sharers, int tile_k, int row_bytes) {
  const int inner = row_bytes / abi::type_bytes(type);
  return tma_map_spec(plane, type, static_cast<std::uint32_t>(inner),
                      static_cast<std::uint32_t>(mn_major ? tile_k : tile / sharers), row_bytes);
}

MatrixView as_bytes(const MatrixView& view, bool k_is_rows) {
  if (!is_packed(view.dtype)) return view;
  MatrixView bytes = view;
  bytes.dtype = Dtype::u8;
  (k_is_rows ? bytes.rows : bytes.columns) = (k_is_rows ? view.rows : view.columns) / 2;
  (k_is_rows ? bytes.column_stride : bytes.row_stride) =
      (k_is_rows ? view.column_stride : view.row_stride) / 2;
  bytes.batch_stride = view.batch_stride / 2;
  return bytes;
}

}  // namespace estoc::cuda
