// What kernels with an epilogue are given at a launch, and the second stage of its reductions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "cost/gemm_work.h"
#include "estoc/abi/epilogue.cuh"
#include "estoc/arguments.hpp"
#include "estoc/cuda_kernel_class.hpp"

namespace estoc::cuda {

/// Bytes of an element, which is not packed.
constexpr int bytes_of(Dtype dtype) {
  return dtype_bits(dtype) / 8;
}

/// How many parts the tiles of a batch leave of a reduction of rows, of columns, of everything.
struct PartCounts {
  std::int64_t row = 0;
  std::int64_t column = 0;
  std::int64_t all = 0;
};

/// A GEMM's epilogue as the code sees it: where `transposed`, rows are columns.
struct EpilogueView {
  const EpilogueBinding* binding;
  GemmExtents extents;
  bool transposed;
  bool batch_invariant;     ///< the order of a reduction's parts does not depend on M
  bool whole_fours = true;  ///< groups of four columns begin at multiples of four
  /// Where D is stored in place of out.
  std::optional<EpilogueAddress> result{};

  EpilogueView(const GemmArguments& gemm, bool transposed);
  const EpilogueGraph& graph() const { return *binding->graph; }
  Varies transpose_modes(Varies varies) const;
  /// Where output `i` of the program goes.
  const EpilogueAddress& store(std::size_t i) const {
    return i == 0 && result ? *result : binding->stores[i];
  }
  /// A tensor's address and strides.
  abi::Matrix matrix(const EpilogueAddress& address) const;
};

/// Bytes of a reduction's parts in the workspace; 0 without an epilogue.
std::size_t epilogue_workspace(const GemmArguments& gemm, bool transposed, const PartCounts& parts);

/// What an epilogue adds to the work of a kernel; nothing where there is none.
cost::EpilogueTraffic epilogue_traffic(const GemmArguments& gemm);

/// What a kernel is given of scalar `i`.
abi::EpilogueScalar scalar_parameter(const EpilogueBinding& binding, std::size_t i);

/// Adds the epilogue's parameters to the kernel that was added to the plan last. `tma[i]` says
/// of each tensor, then of each store, how TMA moves it (abi::EpilogueOperand); null: it does not.
void add_epilogue(const EpilogueView& view, const PartCounts& parts, const Workspace& workspace,
                  const abi::TmaMode* tma, LaunchPlan& plan);

/// Adds the second stage of its reductions, if there are any; `empty` when no tile left anything.
/// `programmatic` says that the kernel runs on sm_90 or later, where the launch of the second stage
/// can be hidden behind it.
void add_reduction(const EpilogueView& view, const PartCounts& parts, const Workspace& workspace,
                   bool empty, bool programmatic, LaunchPlan& plan);

/// The entry "estoc_reduce_partials" of a unit that has a struct Epilogue.
std::string reduction_source(const EpilogueGraph& graph);

/// The struct Epilogue of a unit and what host and device must agree on; nothing for null.
std::string epilogue_source(const EpilogueGraph* graph, bool transposed);

/// Registers of a thread that has four elements, the accumulators not counted: inputs and outputs
/// of those that it evaluates at once, and the values of one.
int epilogue_registers(const EpilogueGraph& graph, bool transposed);

/// Fails where `needed` registers are more than `available`, and names the node that holds most.
Status check_epilogue_registers(const EpilogueGraph& graph, int needed, int available);

/// Why no kernel class of CUDA code can have the epilogue; success for nearly all.
Status check_epilogue_forms(const EpilogueGraph& graph);

}  // namespace estoc::cuda
