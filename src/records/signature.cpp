// Writes what identifies a record: problem text, and the epilogue in canonical form.
#include "records/signature.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "estoc/epilogue_graph.hpp"
#include "estoc/problem.hpp"
#include "estoc/status.hpp"

namespace estoc::records {
namespace {

/// Alignment in bytes beyond which no kernel needs more.
constexpr int kMaxAlignment = 16;

void add_addresses(std::string& text, std::string_view what,
                   const std::vector<EpilogueAddress>& addresses) {
  for (const EpilogueAddress& address : addresses) {
    fmt::format_to(std::back_inserter(text), " {}:[{},{},{}]@{}", what, address.batch_stride,
                   address.row_stride, address.column_stride,
                   std::min(address.alignment, kMaxAlignment));
  }
}

std::string canonical_epilogue(const EpilogueBinding& binding) {
  std::string text = fmt::format(" | {} |", binding.graph->canonical);
  add_addresses(text, "in", binding.tensors);
  for (const EpilogueScalarValue& scalar : binding.scalars)
    text += scalar.data == nullptr ? " value" : " scalar";
  add_addresses(text, "out", binding.stores);
  add_addresses(text, "reduced", binding.reduced);
  return text;
}

std::string text_of(const RuntimeArguments& arguments) {
  Problem problem = Problem::of(arguments);
  const EpilogueBinding* const binding = arguments.epilogue_binding();
  if (arguments.operation() != Operation::elementwise && binding != nullptr) {
    problem.epilogue.clear();
    problem.operands.clear();
    return problem.to_string() + canonical_epilogue(*binding);
  }
  for (EpilogueOperandSpec& operand : problem.operands) {
    if (operand.value) operand.value = 1;
  }
  return problem.to_string();
}

}  // namespace

std::optional<std::string> signature_of(const RuntimeArguments& arguments) {
  try {
    return text_of(arguments);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace estoc::records
