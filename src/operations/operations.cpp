// The list of operations: the one place that names them all.
#include <algorithm>
#include <array>

#include "operations/elementwise/schema.h"
#include "operations/gemm/schema.h"
#include "operations/grouped_gemm/schema.h"

namespace estoc {
namespace operations {

std::span<const OperationSchema* const> all_operations() {
  static constexpr std::array<const OperationSchema*, 3> kOperations{&kGemm, &kElementwise,
                                                                     &kGroupedGemm};
  return kOperations;
}

const OperationSchema& schema_of(Operation operation) {
  return *all_operations()[static_cast<std::size_t>(operation)];
}

bool OperationSchema::has_key(const TextTarget& target) const {
  return std::ranges::any_of(keys, [&](const TextKey& key) { return key.target == target; });
}

}  // namespace operations

std::string_view operation_name(Operation operation) {
  return operations::schema_of(operation).name;
}

std::optional<Operation> parse_operation(std::string_view name) {
  for (const operations::OperationSchema* schema : operations::all_operations())
    if (schema->name == name) return schema->operation;
  return std::nullopt;
}

}  // namespace estoc
