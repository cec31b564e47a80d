// The work of estoc.check_groups and of an index of groups.
#include "estoc/groups.hpp"

#include <optional>
#include <vector>

#include "arguments.h"
#include "binding.h"
#include "errors.h"
#include "streams.h"
#include "tensors.h"

namespace estoc::python {
namespace {

/// A tensor that may be left out.
std::optional<Tensor> status_tensor(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  Tensor status = import_tensor(given, "status");
  if (status.read_only) {
    fail_value("status: expected a tensor that can be written, got a read-only one");
  }
  return status;
}

void* stream_of_tensors(nb::handle stream, std::initializer_list<const Tensor*> tensors) {
  std::vector<void*> awaited;
  for (const Tensor* tensor : tensors)
    if (tensor != nullptr) add_awaited(awaited, *tensor);
  return stream_for(**tensors.begin(), stream, awaited);
}

TensorView status_view(const std::optional<Tensor>& status) {
  return status ? status->view : TensorView();
}

void look_at_offsets(nb::handle args, nb::handle given_status, nb::handle given_stream) {
  const PyArguments& given = to_arguments(args);
  if (given.native()->operation() != Operation::grouped_gemm) {
    fail_type("args: expected GroupedGemmArguments, got those of " +
              std::string(operation_name(given.native()->operation())));
  }
  const auto& grouped = static_cast<const GroupedGemmArguments&>(*given.native());
  const std::optional<Tensor> status = status_tensor(given_status);
  void* const stream = stream_for(given, given_stream);
  const nb::gil_scoped_release unlocked;
  check_groups(grouped, status_view(status), stream);
}

void find_index_ranges(nb::handle given_index, nb::handle given_ranges, nb::handle given_stream) {
  const Tensor index = import_tensor(given_index, "index");
  const Tensor ranges = import_tensor(given_ranges, "ranges");
  if (ranges.read_only) {
    fail_value("ranges: expected a tensor that can be written, got a read-only one");
  }
  void* const stream = stream_of_tensors(given_stream, {&ranges, &index});
  const nb::gil_scoped_release unlocked;
  ranges_of_index(index.view, ranges.view, stream);
}

void look_at_index(nb::handle given_index, std::int64_t groups, nb::handle given_status,
                   nb::handle given_stream) {
  const Tensor index = import_tensor(given_index, "index");
  const std::optional<Tensor> status = status_tensor(given_status);
  void* const stream = stream_of_tensors(given_stream, {&index, status ? &*status : nullptr});
  const nb::gil_scoped_release unlocked;
  check_group_index(index.view, groups, status_view(status), stream);
}

}  // namespace

void bind_groups(nb::module_& module) {
  module.def(
      "check_groups", &look_at_offsets, nb::arg("args"), nb::arg("status").none() = nb::none(),
      nb::arg("stream").none() = nb::none(),
      "Looks for wrong offsets of a grouped product.\n\n"
      "An offset is wrong that is negative, less than the one before it (but for masked\n"
      "groups), or beyond the mode that is divided.\n\n"
      "Parameters\n----------\n"
      "args : GroupedGemmArguments\n"
      "status : tensor of one element, dtype i32, optional\n"
      "    The number of wrong offsets is added to it, on a GPU by a kernel: nothing waits.\n"
      "    May be left out on the CPU alone.\n"
      "stream : optional\n    As of Kernel.run.\n\n"
      "Raises\n------\n"
      "ValueError\n"
      "    On the CPU for the first wrong offset; for a status that does not fit.\n"
      "TypeError\n    For arguments of another operation, or a status that is not i32.");
  module.def("_ranges_of_index", &find_index_ranges, nb::arg("index"), nb::arg("ranges"),
             nb::arg("stream").none());
  module.def("check_group_index", &look_at_index, nb::arg("index"), nb::arg("groups"),
             nb::arg("status").none() = nb::none(), nb::arg("stream").none() = nb::none(),
             "Looks for wrong rows of an index, as check_groups does for offsets.\n\n"
             "A row is wrong that is of group `groups` or beyond, of an earlier group than a row\n"
             "ahead of it, or apart from the others of its group.\n\n"
             "Parameters\n----------\n"
             "index : tensor of shape (E,), dtype i32\n"
             "    As of ranges_of_index.\n"
             "groups : int\n"
             "status, stream\n    As of check_groups.\n\n"
             "Raises\n------\n"
             "ValueError, TypeError\n    As check_groups.");
}

}  // namespace estoc::python
