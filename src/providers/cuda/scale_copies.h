// Copies of scales in the order in which tensor cores of sm_100 read them.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "cost/device_model.h"
#include "estoc/abi/swizzle_scales.cuh"
#include "estoc/cuda_kernel_class.hpp"
#include "operations/gemm_problem.h"

namespace estoc::cuda {

/// The copies of scales that one product needs, if any: those that are not swizzled, or have
/// scales beyond K, which may be NaN, among those that an instruction takes.
class ScaleCopies {
 public:
  ScaleCopies() = default;
  /// Of the problem as the code sees it, whose instructions take `depth` elements of K.
  ScaleCopies(const operations::GemmProblem& problem, int depth);

  std::size_t bytes() const;
  double seconds(const cost::DeviceModel& device) const;

  /// Adds the step that makes them, entry number `entry`, and has the problem refer to them. False
  /// where there is nothing to copy. `workspace` has bytes() bytes and is aligned to 256.
  bool add(operations::GemmProblem& problem, std::byte* workspace, std::size_t entry,
           LaunchPlan& plan) const;

 private:
  struct Copy {
    operations::BlockScales from{};  ///< of those that are copied
    std::int64_t rows = 0;
    std::int64_t scales = 0;  ///< along K
    std::int64_t batches = 1;

    std::int64_t tiles() const { return (scales + 3) / 4; }
    std::int64_t batch_bytes() const { return (rows + 127) / 128 * tiles() * 512; }
    std::size_t bytes() const;
    abi::SwizzledScales parameters(std::byte* to) const;
    void apply(operations::BlockScales& scales, std::byte* to) const;
  };
  static Copy copy_of(const operations::BlockScales& scales, std::int64_t rows, std::int64_t k,
                      std::int64_t batches, int depth);

  std::array<Copy, 2> copies_;
};

/// The source of the entry "estoc_swizzle_scales".
std::string swizzle_source();

}  // namespace estoc::cuda
