// Copies of operands that a kernel computes from in place of them: aligned rows along K.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "cost/device_model.h"
#include "cost/prediction.h"
#include "estoc/abi/dequantise.cuh"
#include "estoc/abi/prepare.cuh"
#include "estoc/cuda_kernel_class.hpp"
#include "operations/gemm_problem.h"
#include "providers/cuda/scale_copies.h"

namespace estoc::cuda {

/// The copies that one product needs, if any: where they lie in workspace, and the kernel ahead of
/// the product that makes them.
class OperandCopies {
 public:
  OperandCopies() = default;
  /// Of the problem as the code sees it; `a` and `b` say which operands are copied.
  OperandCopies(const operations::GemmProblem& problem, bool a, bool b);
  /// Of an f32 product as planes of bf16 (abi/prepare.cuh).
  static OperandCopies planes_of(const operations::GemmProblem& problem);
  /// Of quantised operands times their scales, as bf16 (abi/dequantise.cuh).
  static OperandCopies dequantised(const operations::GemmProblem& problem);

  /// Of B alone, in the order in which kernels convert A.
  static OperandCopies converted(const operations::GemmProblem& problem);

  /// Of scales alone, as instructions that take `depth` elements of K read them.
  static OperandCopies swizzled(const operations::GemmProblem& problem, int depth);

  /// Bytes of workspace.
  std::size_t bytes() const;
  /// The time to make them.
  double seconds(const cost::DeviceModel& device) const;

  /// Adds the step that makes them, entry number `entry`, and has the problem refer to them. False
  /// where there is nothing to copy. `workspace` has bytes() bytes and is aligned to 256.
  bool add(operations::GemmProblem& problem, std::byte* workspace, std::size_t entry,
           LaunchPlan& plan) const;

 private:
  struct Copy {
    bool is_made = false;
    MatrixView from;         ///< rows and K in this order
    std::int64_t pitch = 0;  ///< elements from row to row
    std::int64_t plane = 0;  ///< elements of bf16 from plane to plane; 0 for a plain copy
    bool is_dequantised = false;
    bool is_interleaved = false;  ///< rows are in blocks of abi::converted_block elements
    operations::BlockScales scales{};

    std::int64_t batches() const {
      return from.batch_stride != 0 || scales.batch_stride != 0 ? from.batches : 1;
    }
    std::size_t bytes() const;
    std::size_t bytes_moved() const;
    Dtype dtype() const { return plane > 0 || is_dequantised ? Dtype::bf16 : from.dtype; }
    /// The copy at that address, rows and K in this order.
    MatrixView view_at(std::byte* address) const;
    abi::PreparedOperand parameters(std::byte* address) const;
    abi::DequantisedOperand dequantised(std::byte* address) const;
  };

  static Copy copy_of(const MatrixView& rows_and_k);
  static Copy planes_of(const MatrixView& rows_and_k);
  bool add_converted(operations::GemmProblem& problem, std::byte* workspace, std::size_t entry,
                     LaunchPlan& plan) const;
  bool add_dequantised(operations::GemmProblem& problem, std::byte* workspace, std::size_t entry,
                       LaunchPlan& plan) const;
  void apply(operations::GemmProblem& problem, std::byte* workspace) const;

  std::array<Copy, 2> copies_;  ///< of A, and of B transposed
  ScaleCopies scales_;          ///< where neither is made
};

/// The source of the entry "estoc_prepare_operands" for elements of so many bytes, or for planes of
/// f32.
std::string prepare_source(int element_bytes, bool planes);

/// The source of the entry "estoc_dequantise_operands"; types as the code sees A and B.
std::string dequantise_source(Dtype a, Dtype b);

/// The source of the entry "estoc_dequantise_operand"; types as the code sees B and A.
std::string converted_source(Dtype b, Dtype codes);

/// Has the work be that on a copy of B as bf16.
void count_converted(const operations::GemmProblem& problem, cost::Work& work);

/// Has the work be that on copies as bf16.
void count_dequantised(cost::Work& work);

/// Scales as device code reads them; address 0 where there are none.
abi::Scales device_scales(const operations::BlockScales& scales);

}  // namespace estoc::cuda
