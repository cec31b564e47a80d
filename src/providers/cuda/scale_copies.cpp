// Copies of scales in the order in which tensor cores of sm_100 read them.
#include "providers/cuda/scale_copies.h"

#include <fmt/core.h>

#include <algorithm>

#include "providers/cuda/operand_plane.h"
#include "providers/cuda/prepare.h"

namespace estoc::cuda {
namespace {

constexpr std::int64_t kScaleCopyAlignment = 256;
// In each mode of a grid that steps on by its CTAs.
constexpr std::int64_t kMaxScaleCtas = 256;
// Of the bandwidth of a plain copy, since bytes are read one by one; and of the launch.
constexpr double kScaleBandwidthReached = 0.25;
constexpr double kScaleStepSeconds = 2.5e-6;

}  // namespace

ScaleCopies::Copy ScaleCopies::copy_of(const operations::BlockScales& scales, std::int64_t rows,
                                       std::int64_t k, std::int64_t batches, int depth) {
  if (!scales.any()) return {};
  const bool taken_as_they_are = scales.k_tiles > 0 && (depth == scales.k_block || k % depth == 0);
  if (taken_as_they_are) return {};
  return {.from = scales,
          .rows = rows,
          .scales = ceil_div(k, scales.k_block),
          .batches = scales.batch_stride != 0 ? batches : 1};
}

ScaleCopies::ScaleCopies(const operations::GemmProblem& problem, int depth)
    : copies_{copy_of(problem.a.scales, problem.m, problem.k, problem.l, depth),
              copy_of(problem.b.scales, problem.n, problem.k, problem.l, depth)} {}

std::size_t ScaleCopies::Copy::bytes() const {
  return static_cast<std::size_t>(ceil_div(batches * batch_bytes(), kScaleCopyAlignment) *
                                  kScaleCopyAlignment);
}

abi::SwizzledScales ScaleCopies::Copy::parameters(std::byte* to) const {
  return {.from = device_scales(from),
          .to = reinterpret_cast<std::uintptr_t>(to),
          .rows = rows,
          .scales = scales,
          .tiles = tiles(),
          .batches = batch_bytes() > 0 ? batches : 0};
}

void ScaleCopies::Copy::apply(operations::BlockScales& to_be_read, std::byte* to) const {
  if (bytes() == 0) return;
  to_be_read.data = to;
  to_be_read.k_tiles = tiles();
  to_be_read.batch_stride = batches > 1 ? batch_bytes() : 0;
}

std::size_t ScaleCopies::bytes() const {
  return copies_[0].bytes() + copies_[1].bytes();
}

double ScaleCopies::seconds(const cost::DeviceModel& device) const {
  const double moved = 2 * static_cast<double>(bytes());
  if (moved == 0) return 0;
  return kScaleStepSeconds + moved / (kScaleBandwidthReached * device.memory_bytes_per_s);
}

bool ScaleCopies::add(operations::GemmProblem& problem, std::byte* workspace, std::size_t entry,
                      LaunchPlan& plan) const {
  const auto& [a, b] = copies_;
  std::byte* const b_copy = workspace + a.bytes();
  const abi::SwizzleParameters p{a.parameters(workspace), b.parameters(b_copy)};
  if (p.a.batches == 0 && p.b.batches == 0) return false;
  const auto ctas = [](std::int64_t of_a, std::int64_t of_b) {
    return static_cast<unsigned>(std::clamp<std::int64_t>(std::max(of_a, of_b), 1, kMaxScaleCtas));
  };
  constexpr std::int64_t kCtaTiles = abi::kSwizzleThreads * abi::kSwizzleUnit / 512;
  plan.kernel(entry,
              {.grid = {ctas(ceil_div(p.a.tiles, kCtaTiles), ceil_div(p.b.tiles, kCtaTiles)),
                        ctas(ceil_div(p.a.rows, 128), ceil_div(p.b.rows, 128)),
                        ctas(p.a.batches, p.b.batches)},
               .block = {abi::kSwizzleThreads, 1, 1}},
              p);
  a.apply(problem.a.scales, workspace);
  b.apply(problem.b.scales, b_copy);
  return true;
}

std::string swizzle_source() {
  return fmt::format(R"(
#include <estoc/kernels/swizzle_scales.cuh>
extern "C" __global__ void __launch_bounds__({})
estoc_swizzle_scales(const __grid_constant__ SwizzleParameters parameters) {{
  static_assert(sizeof(parameters) == {});
  estoc::swizzle_scales(parameters);
}}
)",
                     abi::kSwizzleThreads, sizeof(abi::SwizzleParameters));
}

}  // namespace estoc::cuda
