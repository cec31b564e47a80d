// check_output: has the operation judge its output.
#include <fmt/format.h>

#include "estoc/check.hpp"
#include "estoc/status.hpp"
#include "operations/operation.h"

namespace estoc {
namespace {

void check_operands(const RuntimeArguments& arguments) {
  if (!arguments.device().is_cpu()) {
    throw Error(ErrorKind::value, fmt::format("check_output: expected operands in host memory, got "
                                              "operands on {}",
                                              arguments.device().name()));
  }
  if (!arguments.has_data()) {
    throw Error(ErrorKind::value, "check_output: expected operands with data, got a description");
  }
}

}  // namespace

CheckResult check_output(const RuntimeArguments& arguments, const CheckOptions& options) {
  check_operands(arguments);
  const operations::OperationSchema& schema = operations::schema_of(arguments);
  schema.require_checkable(arguments);
  return schema.check(arguments, options);
}

}  // namespace estoc
