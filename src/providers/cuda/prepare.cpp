// Copies of operands that a kernel computes from in place of them: aligned rows along K.
#include "providers/cuda/prepare.h"

#include <fmt/core.h>

#include <algorithm>

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

std::size_t OperandCopies::Copy::bytes_moved() const {
  const std::int64_t read = batches() * from.rows * from.columns * element_bytes(from);
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
  if (plane > 0) view.columns = pitch;
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

std::size_t OperandCopies::bytes() const {
  return copies_[0].bytes() + copies_[1].bytes();
}

double OperandCopies::seconds(const cost::DeviceModel& device) const {
  const auto moved = static_cast<double>(copies_[0].bytes_moved() + copies_[1].bytes_moved());
  return moved > 0 ? kStepSeconds + moved / (kBandwidthReached * device.memory_bytes_per_s) : 0;
}

bool OperandCopies::add(operations::GemmProblem& problem, std::byte* workspace, std::size_t entry,
                        LaunchPlan& plan) const {
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

}  // namespace estoc::cuda
