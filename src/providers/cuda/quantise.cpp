// The step behind a product that quantises its result.
#include "providers/cuda/quantise.h"

#include <fmt/core.h>

#include <algorithm>

#include "estoc/abi/quantise.cuh"
#include "jit/abi_type.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/groups.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/prepare.h"

namespace estoc::cuda {
namespace {

// Rows begin at multiples of 16 bytes.
constexpr std::int64_t kPitchUnit = 4;
constexpr std::int64_t kQuantiseLiveCtas = 8;  // of a multiprocessor
constexpr double kQuantiseStepSeconds = 2.5e-6;
constexpr double kQuantiseBandwidth = 0.7;

/// The groups of rows that are quantised; none where all are.
abi::Groups groups_of_rows(const operations::GemmProblem& problem) {
  const bool some = problem.mapping == operations::Mapping::rows && !problem.groups.zero_rest;
  return some ? device_groups(problem) : abi::Groups{};
}

}  // namespace

QuantisedResult::QuantisedResult(const GemmArguments& gemm, const operations::GemmProblem& problem)
    : gemm_(gemm),
      problem_(problem.transposed ? operations::transposed(problem) : problem),
      transposed_(problem.transposed),
      rows_(problem.m),
      batches_(problem.l),
      pitch_(ceil_div(problem.n, kPitchUnit) * kPitchUnit) {}

std::size_t QuantisedResult::bytes() const {
  constexpr std::size_t kUnit = 256;
  const auto bytes = static_cast<std::size_t>(batches_ * rows_ * pitch_) * sizeof(float);
  return (bytes + kUnit - 1) / kUnit * kUnit;
}

double quantise_seconds(const cost::Work& work, const cost::DeviceModel& device) {
  const double moved = 2 * sizeof(float) * work.m * work.n * work.l;
  return kQuantiseStepSeconds + moved / (kQuantiseBandwidth * device.memory_bytes_per_s);
}

MatrixView QuantisedResult::view(std::byte* workspace) const {
  return {.data = workspace,
          .dtype = Dtype::f32,
          .rows = rows_,
          .columns = pitch_,
          .batches = batches_,
          .row_stride = pitch_,
          .column_stride = 1,
          .batch_stride = rows_ * pitch_,
          .alignment = 16};
}

EpilogueAddress QuantisedResult::address(std::byte* workspace) const {
  EpilogueAddress address;
  address.data = workspace;
  address.row_stride = transposed_ ? 1 : pitch_;
  address.column_stride = transposed_ ? pitch_ : 1;
  address.batch_stride = rows_ * pitch_;
  address.alignment = 16;
  return address;
}

std::int64_t QuantisedResult::rows_of_scales() const {
  const ScaledTensor& out = *gemm_.out_scaled();
  if (out.swizzle == ScaleSwizzle::none) return gemm_.extents().m;
  return out.scale.shape(out.scale.rank() - 2);
}

void QuantisedResult::add(std::byte* workspace, std::size_t entry, LaunchPlan& plan) const {
  const GemmExtents& e = gemm_.extents();
  const ScaledTensor& out = *gemm_.out_scaled();
  const EpilogueAddress from = address(workspace);
  const std::int64_t rows = rows_of_scales();
  const abi::QuantiseParameters p{
      .from = {.address = reinterpret_cast<std::uintptr_t>(from.data),
               .row_stride = from.row_stride,
               .column_stride = from.column_stride,
               .batch_stride = from.batch_stride},
      .to = device_matrix(gemm_.out_matrix()),
      .scales = device_scales(operations::block_scales(Operand(out), 1)),
      .m = e.m,
      .n = e.n,
      .rows = rows,
      .units = e.l * rows * ceil_div(e.n, std::int64_t{abi::kQuantiseUnit}),
      .groups = groups_of_rows(problem_),
      .powers_of_two = out.powers_of_two ? 1 : 0};
  constexpr std::int64_t kWarps = abi::kQuantiseThreads / 32;
  const std::int64_t live = kQuantiseLiveCtas * std::max(plan.device().multiprocessors, 1);
  plan.kernel(entry,
              {.grid = {static_cast<unsigned>(std::min(ceil_div(p.units, kWarps), live)), 1, 1},
               .block = {abi::kQuantiseThreads, 1, 1}},
              p);
}

Status check_quantised_layout(const GemmArguments& gemm) {
  const MatrixView& out = gemm.out_matrix();
  if (!is_packed(out.dtype)) return Status::success();
  if (out.column_stride == 1 && out.row_stride % 2 == 0 && out.batch_stride % 2 == 0) {
    return Status::success();
  }
  return Status::fail(Reason::layout,
                      fmt::format("out.strides: expected rows of {} that begin at whole bytes, got "
                                  "({}, {})",
                                  dtype_name(out.dtype), out.row_stride, out.column_stride));
}

void add_quantise_entry(Dtype out, bool reduces, CudaCode& code) {
  code.source += fmt::format(R"(
#include <estoc/kernels/quantise.cuh>
extern "C" __global__ void __launch_bounds__({})
estoc_quantise(const __grid_constant__ QuantiseParameters parameters) {{
  static_assert(sizeof(parameters) == {});
  estoc::quantise<{}>(parameters);
}}
)",
                             abi::kQuantiseThreads, sizeof(abi::QuantiseParameters),
                             value_text(abi_type(out)));
  // Entry number 1 is that of reductions.
  if (!reduces) code.entries.emplace_back("estoc_quantise");
  code.entries.emplace_back("estoc_quantise");
}

}  // namespace estoc::cuda
