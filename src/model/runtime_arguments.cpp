// What the arguments of all operations share: scaled operands, and a change of operands.
#include "estoc/arguments.hpp"
#include "model/fail.h"

namespace estoc {

Operand::Operand(const ScaledTensor& scaled)
    : data_(scaled.data), scaled_(std::make_shared<const ScaledTensor>(scaled)) {}

bool RuntimeArguments::move(std::span<void* const> /*data*/, CheckDevice /*check*/) {
  return false;
}

std::unique_ptr<RuntimeArguments> RuntimeArguments::with_operands(
    std::span<const Operand> operands, std::vector<EpilogueOperand> epilogue) const {
  const std::size_t expected = this->operands().size();
  if (operands.size() != expected) {
    model::fail_value("operands: expected {}, got {}", expected, operands.size());
  }
  const std::size_t expected_of_epilogue = epilogue_.operands().size();
  if (epilogue.size() != expected_of_epilogue) {
    model::fail_value("operands of the epilogue: expected {}, got {}", expected_of_epilogue,
                      epilogue.size());
  }
  if (epilogue_.empty()) return rebuilt(operands, {});
  return rebuilt(operands, {epilogue_.program(), std::move(epilogue)});
}

}  // namespace estoc
