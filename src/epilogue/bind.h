// Gives the epilogue of some arguments types and addresses.
#pragma once

#include <memory>
#include <vector>

#include "estoc/arguments.hpp"

namespace estoc::epilogue {

/// The binding of arguments whose operands have been checked; null when out is the accumulator and
/// there is no other output. `used` is an earlier binding whose memory may be reused, or
/// null: where nothing else refers to it, it becomes the result. Throws Error{value | type} as
/// GemmArguments does.
std::shared_ptr<EpilogueBinding> bind(const GemmArguments& arguments,
                                      std::shared_ptr<EpilogueBinding> used);

/// The same for an elementwise operation whose operands have been checked. Addresses have no
/// strides; `tensors` gets the operand's tensor for each of the graph's.
std::shared_ptr<EpilogueBinding> bind(const EpilogueArguments& epilogue, Dtype accumulator,
                                      const TensorView& out, const PerformanceControls& controls,
                                      std::vector<const TensorView*>& tensors);

}  // namespace estoc::epilogue
