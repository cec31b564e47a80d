// Copies of operands that a kernel computes from in place of them: aligned rows along K.
#include "providers/cuda/prepare.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "jit/abi_type.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/operand_plane.h"

namespace estoc::cuda {
namespace {

// Rows that TMA loads begin at multiples of 16 bytes; long ones are quicker by whole lines.
constexpr std::int64_t kRowAlignment = 16;
constexpr std::int64_t kLine = 128;
constexpr std::int64_t kLongRow = 4 * kLine;
// Planes are whole stages; six products of them are summed.
constexpr std::int64_t kPlaneUnit = 64;
constexpr std::int64_t kPlanes = 3;
constexpr std::int64_t kPlaneProducts = 6;
constexpr std::size_t kCopyAlignment = 256;
// Of 256 threads, that live on a multiprocessor at once.
constexpr std::int64_t kLiveCtas = 8;
// In each mode of a grid that steps on by its CTAs.
constexpr std::int64_t kMaxCtas = 256;
// Of the bandwidth of a plain copy, and from one launch to the next.
constexpr double kBandwidthReached = 0.7;
constexpr double kStepSeconds = 2.5e-6;

std::int64_t element_bytes(const MatrixView& view) {
  return dtype_bits(view.dtype) / 8;
}

/// Whether four bytes at a time can be read along the rows.
bool reads_words(const MatrixView& from) {
  const std::int64_t width = 4 / element_bytes(from);
  const std::int64_t batch_stride = from.batches > 1 ? from.batch_stride : 0;
  return from.row_stride == 1 && reinterpret_cast<std::uintptr_t>(from.data) % 4 == 0 &&
         from.column_stride % width == 0 && from.rows % width == 0 && batch_stride % width == 0;
}

}  // namespace

OperandCopies::Copy OperandCopies::copy_of(const MatrixView& rows_and_k) {
  const std::int64_t bytes = element_bytes(rows_and_k);
  const std::int64_t row = rows_and_k.columns * bytes;
  const std::int64_t unit = row >= kLongRow ? kLine : kRowAlignment;
  return {true, rows_and_k, ceil_div(row, unit) * unit / bytes};
}

OperandCopies::Copy OperandCopies::planes_of(const MatrixView& rows_and_k) {
  const std::int64_t plane = ceil_div(rows_and_k.columns, kPlaneUnit) * kPlaneUnit;
  return {true, rows_and_k, kPlanes * plane, plane};
}

OperandCopies::OperandCopies(const operations::GemmProblem& problem, bool a, bool b) {
  if (a) copies_[0] = copy_of(problem.a.view);
  if (b) copies_[1] = copy_of(operations::transposed(problem.b.view));
}

OperandCopies OperandCopies::planes_of(const operations::GemmProblem& problem) {
  OperandCopies copies;
  copies.copies_ = {planes_of(problem.a.view), planes_of(operations::transposed(problem.b.view))};
  return copies;
}

OperandCopies OperandCopies::converted(const operations::GemmProblem& problem) {
  const MatrixView from = operations::transposed(problem.b.view);
  const std::int64_t block = abi::converted_block(dtype_bits(problem.a.view.dtype));
  OperandCopies copies;
  copies.copies_[1] = {.is_made = true,
                       .from = from,
                       .pitch = ceil_div(from.columns, block) * block,
                       .is_dequantised = true,
                       .is_interleaved = true,
                       .scales = problem.b.scales};
  return copies;
}

OperandCopies OperandCopies::dequantised(const operations::GemmProblem& problem) {
  const auto copy_of = [](const MatrixView& rows_and_k, const operations::BlockScales& scales) {
    MatrixView widened = rows_and_k;
    widened.dtype = Dtype::bf16;
    Copy copy = OperandCopies::copy_of(widened);
    copy.from = rows_and_k;
    copy.is_dequantised = true;
    copy.scales = scales;
    return copy;
  };
  OperandCopies copies;
  copies.copies_ = {copy_of(problem.a.view, problem.a.scales),
                    copy_of(operations::transposed(problem.b.view), problem.b.scales)};
  return copies;
}

OperandCopies OperandCopies::swizzled(const operations::GemmProblem& problem, int depth) {
  OperandCopies copies;
  copies.scales_ = ScaleCopies(problem, depth);
  return copies;
}

std::size_t OperandCopies::Copy::bytes_moved() const {
  const std::int64_t read = batches() * from.rows * from.columns * dtype_bits(from.dtype) / 8;
  return is_made ? static_cast<std::size_t>(read) + bytes() : 0;
}

std::size_t OperandCopies::Copy::bytes() const {
  if (!is_made) return 0;
  const std::int64_t all = batches() * from.rows * pitch * (dtype_bits(dtype()) / 8);
  return (static_cast<std::size_t>(all) + kCopyAlignment - 1) / kCopyAlignment * kCopyAlignment;
}

MatrixView OperandCopies::Copy::view_at(std::byte* address) const {
  MatrixView view = from;
  view.data = address;
  view.dtype = dtype();
  if (plane > 0 || is_interleaved) view.columns = pitch;
  view.row_stride = pitch;
  view.column_stride = 1;
  view.batch_stride = batches() > 1 ? from.rows * pitch : 0;
  view.alignment = static_cast<int>(kRowAlignment);
  return view;
}

abi::PreparedOperand OperandCopies::Copy::parameters(std::byte* address) const {
  if (!is_made) return {};
  const std::int64_t tiles_rows = ceil_div(from.rows, abi::kPrepareTile);
  const std::int64_t tiles_k = ceil_div(plane > 0 ? plane : pitch, abi::kPrepareTile);
  return {.from = reinterpret_cast<std::uintptr_t>(from.data),
          .to = reinterpret_cast<std::uintptr_t>(address),
          .row_stride = from.row_stride,
          .k_stride = from.column_stride,
          .batch_stride = from.batch_stride,
          .rows = from.rows,
          .k = from.columns,
          .pitch = pitch,
          .plane = plane,
          .tiles = tiles_rows * tiles_k * batches(),
          .tiles_k = static_cast<int>(tiles_k),
          .tiles_rows = static_cast<int>(tiles_rows),
          .words = reads_words(from)};
}

abi::Scales device_scales(const operations::BlockScales& scales) {
  if (!scales.any()) return {};
  const auto shift_of = [](std::int64_t block) {
    return static_cast<unsigned char>(std::countr_zero(static_cast<std::uint64_t>(block)));
  };
  return {.address = reinterpret_cast<std::uintptr_t>(scales.data),
          .k_stride = scales.k_stride,
          .other_stride = scales.other_stride,
          .batch_stride = scales.batch_stride,
          .k_tiles = static_cast<int>(scales.k_tiles),
          .k_shift = shift_of(scales.k_block),
          .other_shift = shift_of(scales.other_block),
          .type = abi_type(scales.dtype)};
}

abi::DequantisedOperand OperandCopies::Copy::dequantised(std::byte* address) const {
  return {.from = device_matrix(from),
          .to = reinterpret_cast<std::uintptr_t>(address),
          .scales = device_scales(scales),
          .rows = from.rows,
          .k = from.columns,
          .pitch = pitch,
          .batches = batches()};
}

bool OperandCopies::add_converted(operations::GemmProblem& problem, std::byte* workspace,
                                  std::size_t entry, LaunchPlan& plan) const {
  const abi::DequantisedOperand p = copies_[1].dequantised(workspace);
  if (p.batches * p.rows * p.pitch == 0) return false;
  constexpr std::int64_t kCtaElements = abi::kDequantiseThreads * abi::kDequantiseUnit;
  const auto ctas = [](std::int64_t extent) {
    return static_cast<unsigned>(std::min(extent, kMaxCtas));
  };
  plan.kernel(entry,
              {.grid = {ctas(ceil_div(p.pitch, kCtaElements)), ctas(p.rows), ctas(p.batches)},
               .block = {abi::kDequantiseThreads, 1, 1}},
              p, p.batches);
  apply(problem, workspace);
  return true;
}

bool OperandCopies::add_dequantised(operations::GemmProblem& problem, std::byte* workspace,
                                    std::size_t entry, LaunchPlan& plan) const {
  abi::DequantiseParameters p{copies_[0].dequantised(workspace),
                              copies_[1].dequantised(workspace + copies_[0].bytes()), 0};
  const std::int64_t rows = std::max(p.a.rows, p.b.rows);
  const std::int64_t units = std::max(p.a.pitch, p.b.pitch) / abi::kDequantiseUnit;
  const std::int64_t batches = std::max(p.a.batches, p.b.batches);
  if (rows * units * batches == 0) return false;
  constexpr auto kThreads = static_cast<std::uint64_t>(abi::kDequantiseThreads);
  const auto across = std::min(std::bit_ceil(static_cast<std::uint64_t>(units)), kThreads);
  p.shift = std::countr_zero(across);
  const auto ctas = [](std::int64_t wanted, std::int64_t most) {
    return static_cast<unsigned>(std::clamp(wanted, std::int64_t{1}, most));
  };
  const std::int64_t live = kLiveCtas * std::max(plan.device().multiprocessors, 1);
  const unsigned along_k = ctas(ceil_div(units, static_cast<std::int64_t>(across)), live);
  const auto rows_of_cta = static_cast<std::int64_t>(kThreads / across);
  const unsigned down = ctas(ceil_div(rows, rows_of_cta), live / along_k);
  plan.kernel(
      entry,
      {.grid = {along_k, down, ctas(batches, kMaxCtas)}, .block = {abi::kDequantiseThreads, 1, 1}},
      p);
  apply(problem, workspace);
  return true;
}

std::size_t OperandCopies::bytes() const {
  return copies_[0].bytes() + copies_[1].bytes() + scales_.bytes();
}

double OperandCopies::seconds(const cost::DeviceModel& device) const {
  if (scales_.bytes() > 0) return scales_.seconds(device);
  const auto moved = static_cast<double>(copies_[0].bytes_moved() + copies_[1].bytes_moved());
  return moved > 0 ? kStepSeconds + moved / (kBandwidthReached * device.memory_bytes_per_s) : 0;
}

bool OperandCopies::add(operations::GemmProblem& problem, std::byte* workspace, std::size_t entry,
                        LaunchPlan& plan) const {
  if (scales_.bytes() > 0) return scales_.add(problem, workspace, entry, plan);
  if (copies_[1].is_interleaved) return add_converted(problem, workspace, entry, plan);
  if (copies_[0].is_dequantised) return add_dequantised(problem, workspace, entry, plan);
  std::byte* const b_copy = workspace + copies_[0].bytes();
  const abi::PrepareParameters p{{copies_[0].parameters(workspace), copies_[1].parameters(b_copy)}};
  const std::int64_t tiles = p.operand[0].tiles + p.operand[1].tiles;
  if (tiles == 0) return false;
  const auto bytes = static_cast<int>(element_bytes(problem.a.view));
  const std::int64_t live = kLiveCtas * std::max(plan.device().multiprocessors, 1);
  plan.kernel(entry,
              {.grid = {static_cast<unsigned>(std::min(tiles, live)), 1, 1},
               .block = {abi::kPrepareThreads, 1, 1},
               .shared_bytes = static_cast<unsigned>(abi::prepare_shared_bytes(bytes))},
              p);
  apply(problem, workspace);
  return true;
}

void OperandCopies::apply(operations::GemmProblem& problem, std::byte* workspace) const {
  const auto& [a, b] = copies_;
  if (a.is_made) problem.a.view = a.view_at(workspace);
  if (b.is_made) problem.b.view = operations::transposed(b.view_at(workspace + a.bytes()));
  problem.k = a.plane > 0 ? kPlaneProducts * a.plane : problem.k;
}

std::string prepare_source(int element_bytes, bool planes) {
  return fmt::format(R"(
#include <estoc/kernels/prepare.cuh>
extern "C" __global__ void __launch_bounds__({})
estoc_prepare_operands(const __grid_constant__ PrepareParameters parameters) {{
  static_assert(sizeof(parameters) == {});
  estoc::prepare_operands<{}, {}>(parameters);
}}
)",
                     abi::kPrepareThreads, sizeof(abi::PrepareParameters), element_bytes, planes);
}

void count_dequantised(cost::Work& work) {
  constexpr double kBytes = 2;
  work.compulsory += (work.m + work.n) * work.k * work.l * (kBytes - work.element_bytes);
  work.element_bytes = kBytes;
}

void count_converted(const operations::GemmProblem& problem, cost::Work& work) {
  const double more = 2 - dtype_bits(problem.b.view.dtype) / 8.0;
  work.compulsory += work.n * work.k * work.l * more;
}

std::string converted_source(Dtype b, Dtype codes) {
  return fmt::format(R"(
#include <estoc/kernels/dequantise.cuh>
extern "C" __global__ void __launch_bounds__({})
estoc_dequantise_operand(const __grid_constant__ DequantisedOperand operand, long long batches) {{
  static_assert(sizeof(operand) == {});
  estoc::dequantise_converted<{}, {}>(operand, batches);
}}
)",
                     abi::kDequantiseThreads, sizeof(abi::DequantisedOperand),
                     value_text(abi_type(b)), value_text(abi_type(codes)));
}

std::string dequantise_source(Dtype a, Dtype b) {
  return fmt::format(R"(
#include <estoc/kernels/dequantise.cuh>
extern "C" __global__ void __launch_bounds__({})
estoc_dequantise_operands(const __grid_constant__ DequantiseParameters parameters) {{
  static_assert(sizeof(parameters) == {});
  estoc::dequantise_operands<{}, {}>(parameters);
}}
)",
                     abi::kDequantiseThreads, sizeof(abi::DequantiseParameters),
                     value_text(abi_type(a)), value_text(abi_type(b)));
}

}  // namespace estoc::cuda
