// The C interface to offsets of grouped products.
#include "estoc/groups.hpp"

#include <string>

#include "c_api/objects.h"
#include "c_api/support.h"

namespace estoc::c_api {
namespace {

const GroupedGemmArguments& grouped_of(const estoc_arguments* arguments) {
  const RuntimeArguments& given = *value_of(arguments, "arguments");
  if (given.operation() != Operation::grouped_gemm) {
    throw Error(ErrorKind::type, "arguments: expected those of grouped_gemm, got " +
                                     std::string(operation_name(given.operation())));
  }
  return static_cast<const GroupedGemmArguments&>(given);
}

TensorView status_word(const estoc_tensor* status) {
  return status == nullptr ? TensorView() : view_of(status, "status");
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::guarded;
using c_api::view_of;

estoc_status estoc_check_groups(const estoc_arguments* arguments, const estoc_tensor* status,
                                void* stream) {
  return guarded([&] {
    estoc::check_groups(c_api::grouped_of(arguments), c_api::status_word(status), stream);
  });
}

estoc_status estoc_ranges_of_index(const estoc_tensor* index, const estoc_tensor* ranges,
                                   void* stream) {
  return guarded(
      [&] { estoc::ranges_of_index(view_of(index, "index"), view_of(ranges, "ranges"), stream); });
}

estoc_status estoc_check_group_index(const estoc_tensor* index, int64_t groups,
                                     const estoc_tensor* status, void* stream) {
  return guarded([&] {
    estoc::check_group_index(view_of(index, "index"), groups, c_api::status_word(status), stream);
  });
}
