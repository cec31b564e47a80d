// Problems: completing them, the arguments they describe, and the problem of given arguments.
#include "estoc/problem.hpp"

#include <variant>

#include "operations/grouped_gemm/schema.h"
#include "operations/operation.h"

namespace estoc {
namespace {

using operations::OperationSchema;
using operations::TextField;

/// The controls that are keys of the operation's text.
PerformanceControls controls_with_keys(const OperationSchema& schema,
                                       const PerformanceControls& controls) {
  PerformanceControls kept;
  for (const operations::TextKey& key : schema.keys) {
    if (const auto* flag = std::get_if<bool PerformanceControls::*>(&key.target)) {
      kept.** flag = controls.**flag;
    }
  }
  if (schema.has_key(TextField::workspace)) kept.workspace_limit = controls.workspace_limit;
  return kept;
}

}  // namespace

void Problem::complete() {
  operations::schema_of(operation).complete(*this);
}

std::unique_ptr<RuntimeArguments> Problem::arguments(Device device) const {
  Problem completed = *this;
  completed.complete();
  return operations::schema_of(operation).arguments(completed, device);
}

void Problem::fill_index(const TensorView& view, std::string_view operand) const {
  Problem completed = *this;
  completed.complete();
  if (operand == "rows") return operations::fill_rows(completed, view);
  operations::fill_offsets(completed, view);
}

Problem Problem::of(const RuntimeArguments& arguments) {
  const OperationSchema& schema = operations::schema_of(arguments);
  Problem problem = schema.problem(arguments);
  problem.operation = schema.operation;
  problem.controls = controls_with_keys(schema, arguments.controls());
  return problem;
}

}  // namespace estoc
