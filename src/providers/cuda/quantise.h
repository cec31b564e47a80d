// The step behind a product that quantises its result, which is kept in f32 until then.
#pragma once

#include <cstddef>

#include "cost/device_model.h"
#include "cost/prediction.h"
#include "estoc/arguments.hpp"
#include "estoc/cuda_kernel_class.hpp"
#include "operations/gemm_problem.h"

namespace estoc::cuda {

/// D of a product with a quantised out: f32 in workspace, rows of the code's out one after the
/// other.
class QuantisedResult {
 public:
  /// `problem` is the product as the code sees it.
  QuantisedResult(const GemmArguments& gemm, const operations::GemmProblem& problem);

  /// Bytes of workspace, a multiple of 256.
  std::size_t bytes() const;
  /// D in the code's rows and columns, rounded up to whole rows of 16 bytes; `workspace` is aligned
  /// to 256 bytes.
  MatrixView view(std::byte* workspace) const;
  /// The same as the epilogue stores it, rows and columns as in the arguments.
  EpilogueAddress address(std::byte* workspace) const;
  /// Adds the step, entry number `entry`.
  void add(std::byte* workspace, std::size_t entry, LaunchPlan& plan) const;

 private:
  /// Rows of scales, those included that fill up tiles.
  std::int64_t rows_of_scales() const;

  const GemmArguments& gemm_;
  operations::GemmProblem problem_;  ///< as in the arguments
  bool transposed_;
  std::int64_t rows_, batches_;  ///< of the code
  std::int64_t pitch_;           ///< of its columns
};

/// The time to write D and to quantise it.
double quantise_seconds(const cost::Work& work, const cost::DeviceModel& device);

/// Adds the entry "estoc_quantise" to the code of a kernel, as number 2; `reduces` says that entry
/// number 1 is there.
void add_quantise_entry(Dtype out, bool reduces, CudaCode& code);

/// Fails where threads would write different halves of a byte.
Status check_quantised_layout(const GemmArguments& gemm);

}  // namespace estoc::cuda
