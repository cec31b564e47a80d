// What the kernel classes for sm_90 share of a launch.
#include "providers/cuda/sm90_launch.h"

#include <fmt/core.h>

#include "providers/cuda/sm90_epilogue.h"
#include "providers/cuda/tensor_map.h"
#include "providers/cuda/tma_operand.h"

namespace estoc::cuda {
namespace {

using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;

/// Rows of 128 bytes of codes of A.
TensorMapSpec codes_spec(const operations::GemmOperand& a, int tile_m) {
  const MatrixView& view = a.view;
  const int bits = dtype_bits(view.dtype);
  const auto bytes = [&](std::int64_t elements, std::int64_t extent) {
    return static_cast<std::uint64_t>(extent > 1 ? elements * bits / 8 : 16);
  };
  const std::int64_t batches = is_batched(view) ? view.batches : 1;
  return {.operand = a.name,
          .type = abi::Type::u8,
          .address = reinterpret_cast<std::uintptr_t>(view.data),
          .extents = {static_cast<std::uint64_t>(ceil_div(view.columns * bits, 8)),
                      static_cast<std::uint64_t>(view.rows), static_cast<std::uint64_t>(batches)},
          .stride_bytes = {bytes(view.row_stride, view.rows), bytes(view.batch_stride, batches)},
          .box = {128, static_cast<std::uint32_t>(tile_m), 1},
          .swizzle_bytes = 128};
}

/// B with a mode for which of two accumulators a column is of. K-major, eight columns for first and
/// eight for second ones are neighbours in a box; N-major, 64.
TensorMapSpec paired_spec(const Sm90GemmConfig& config, const operations::GemmOperand& b) {
  const MatrixView& view = b.view;
  const std::int64_t bytes = dtype_bits(view.dtype) / 8;
  const std::int64_t batches = is_batched(view) ? view.batches : 1;
  const auto extent = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const auto stride = [&](std::int64_t elements, std::int64_t of) {
    return static_cast<std::uint64_t>(of > 1 ? elements * bytes : 16);
  };
  const std::uint64_t pair = stride(b.pair_distance, 2);
  const std::uint64_t batch = stride(view.batch_stride, batches);
  TensorMapSpec spec{.operand = b.name,
                     .type = config.b,
                     .address = reinterpret_cast<std::uintptr_t>(view.data),
                     .swizzle_bytes = 128};
  const auto row = static_cast<std::uint32_t>(128 / bytes);
  if (config.b_n_major) {
    spec.rank = 4;
    spec.extents = {extent(view.columns), extent(view.rows), 2, extent(batches)};
    spec.stride_bytes = {stride(view.row_stride, view.rows), pair, batch};
    spec.box = {row, static_cast<std::uint32_t>(config.tile_k()), 2, 1};
    return spec;
  }
  const auto columns = static_cast<std::uint32_t>(config.tile_n / config.cluster_m);
  spec.rank = 5;
  spec.extents = {extent(view.rows), 8, 2, extent(view.columns / 8), extent(batches)};
  spec.stride_bytes = {stride(view.column_stride, 8), pair, stride(8 * view.column_stride, 2),
                       batch};
  spec.box = {row, 8, 2, columns / 16, 1};
  return spec;
}

/// A in boxes of p.a_rows.
TensorMapSpec a_spec(const Sm90GemmConfig& config, const GemmProblem& problem,
                     const Sm90GemmParameters& p) {
  if (config.converts()) return codes_spec(problem.a, config.tile_m);
  TensorMapSpec spec =
      tma_load_spec({problem.a, config.a_m_major}, config.a, config.a_m_major,
                    config.gathered ? 1 : p.a_rows, config.cluster_n, config.tile_k());
  // Rows that are read once, beside few columns: 3 to 4 % faster on an H200
  // (docs/notes/2026-11-28_streams.md).
  constexpr int kFewColumns = 32;
  if (config.tile_n <= kFewColumns) spec.promotion_bytes = 128;
  return spec;
}

TensorMapSpec b_spec(const Sm90GemmConfig& config, const GemmProblem& problem,
                     const Sm90GemmParameters& p) {
  if (config.paired) return paired_spec(config, problem.b);
  return tma_load_spec({problem.b, !config.b_n_major}, config.b, config.b_n_major, p.b_rows,
                       config.cluster_m, config.tile_k());
}

/// TMA fills some rows beyond an operand for nothing, many of them slowly: 64 rows of which one is
/// inside took 1.5 times as long as one row on an H200.
unsigned short box_rows(bool may_be_short, int tile, std::int64_t extent) {
  constexpr int kFilledForNothing = 16;
  const bool shortened = may_be_short && tile - extent > kFilledForNothing;
  return static_cast<unsigned short>(shortened ? extent : tile);
}

void encode_operands(const Sm90GemmConfig& config, const GemmLaunch& launch,
                     Sm90GemmParameters& p) {
  const GemmProblem& problem = launch.problem;
  const PlanDevice& device = launch.device;
  p.a_rows = box_rows(config.has_short_a(), config.tile_m, problem.m);
  p.b_rows = box_rows(config.has_short_b(), config.tile_n, problem.n);
  if (problem.k > 0) {
    p.a = encode_tensor_map(device, a_spec(config, problem, p));
    p.b = encode_tensor_map(device, b_spec(config, problem, p));
  }
  if (config.epilogue.columns > 0) {
    EpilogueView view(launch.gemm, problem.transposed);
    view.whole_fours = problem.mapping != operations::Mapping::columns;
    view.result = launch.result;
    p.out = fused_out_map(device, config, view);
  } else if (config.out_m_major) {
    p.out = encode_tensor_map(device,
                              tma_map_spec({problem.out, true}, config.out,
                                           static_cast<std::uint32_t>(config.store_columns()),
                                           Sm90GemmConfig::kBoxColumns, config.store_row_bytes()));
  } else if (config.tma_store) {
    p.out =
        encode_tensor_map(device, tma_map_spec({problem.out, false}, config.out,
                                               static_cast<std::uint32_t>(config.store_columns()),
                                               64, config.store_row_bytes()));
  }
}

}  // namespace

Status check_sm90_out(const DesignPoint& point, const OperandPlane& out) {
  if (point.integer(Role::out_alignment) != 16) return Status::success();
  Status status = check_tma_strides(out);
  return status.ok() ? check_tma_rows(out) : status;
}

Status check_tma_pairs(const DesignPoint& point, const GemmArguments& gemm) {
  const std::int64_t bytes = dtype_bits(gemm.b().tensor().dtype()) / 8;
  const bool n_major = point.value(Role::layouts).numbers[1] == 't';
  if (!n_major && gemm.extents().n % 8 != 0) {
    return Status::fail(Reason::shape,
                        fmt::format("out.shape: expected N a multiple of 8 with accumulators in "
                                    "pairs, got {}",
                                    gemm.extents().n));
  }
  if (n_major && gemm.pairs() == AccumulatorPairs::interleaved) {
    return Status::fail(Reason::layout,
                        "B.layout: expected next-to-last mode contiguous (n) with interleaved "
                        "accumulators, got t");
  }
  if (gemm.pair_distance() * bytes % 16 == 0) return Status::success();
  return Status::fail(Reason::alignment,
                      fmt::format("B.shape: expected second accumulators a multiple of 16 bytes "
                                  "behind the first, got {} bytes",
                                  gemm.pair_distance() * bytes));
}

bool sm90_takes_tma_stores(const GemmProblem& problem, bool m_major) {
  const OperandPlane out(problem.out, m_major);
  const std::int64_t row_bytes = out.inner() * (dtype_bits(out.view->dtype) / 8);
  const std::int64_t stride = m_major ? out.view->row_stride : out.view->column_stride;
  const bool rows = stride == 1 || out.inner() == 1;
  return rows && out.view->alignment >= 16 && row_bytes % 16 == 0;
}

Sm90GemmParameters sm90_operands(const Sm90GemmConfig& config, const GemmLaunch& launch) {
  const GemmProblem& problem = launch.problem;
  Sm90GemmParameters p{};
  encode_operands(config, launch, p);
  p.out_raw = device_matrix(problem.out.view);
  p.m = static_cast<int>(problem.m);
  p.n = static_cast<int>(problem.n);
  p.k = static_cast<int>(problem.k);
  p.l = static_cast<int>(problem.l);
  p.a_batched = is_batched(problem.a.view);
  p.b_batched = is_batched(problem.b.view);
  return p;
}

std::string sm90_fused_entry(std::string_view device_name, std::string_view type_name) {
  return fmt::format(R"(using FusedMaps = estoc::epilogue::MappedFused<Epilogue>::Maps;
extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ {1}Parameters parameters,
             const __grid_constant__ Epilogue::Parameters epilogue,
             const __grid_constant__ FusedMaps maps) {{
  estoc::{0}<kConfig>(parameters,
                            estoc::epilogue::MappedFused<Epilogue>{{epilogue, maps}});
}}
)",
                     device_name, type_name);
}

}  // namespace estoc::cuda
