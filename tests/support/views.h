// The operands of arguments as plain views, and the same arguments over other memory.
#pragma once

#include <memory>
#include <vector>

#include "estoc/arguments.hpp"

namespace estoc::testing_support {

/// A, B and the output. B is A where the operation has one operand; of scaled operands the data.
struct OperandViews {
  TensorView a, b, out;
  std::vector<EpilogueOperand> epilogue;
};

OperandViews views_of(const RuntimeArguments& arguments);

/// The operation, types, controls and epilogue of `like` on other operands. Throws what the
/// arguments throw.
std::unique_ptr<RuntimeArguments> with_views(const RuntimeArguments& like,
                                             const OperandViews& views);

}  // namespace estoc::testing_support
