// Checks offsets of groups, and finds the ranges of groups by an index.
#include "estoc/groups.hpp"

#include <algorithm>
#include <limits>

#include "groups/device_offsets.h"
#include "model/fail.h"
#include "model/operand_checks.h"

namespace estoc {
namespace {

using model::fail;
using model::fail_value;

abi::OffsetCheck check_of(const GroupedGemmArguments& arguments, const TensorView& status) {
  const TensorView& offsets = *arguments.offsets();
  const bool masked = arguments.layout() == GroupLayout::masked;
  const std::int64_t most = masked
                                ? arguments.out().shape(1)
                                : std::min<std::int64_t>(arguments.divided_extent(),
                                                         std::numeric_limits<std::int32_t>::max());
  return {.offsets = reinterpret_cast<std::uintptr_t>(offsets.data()),
          .stride = offsets.rank() == 1 ? offsets.stride(0) : 1,
          .status = reinterpret_cast<std::uintptr_t>(status.data()),
          .count = offsets.elements(),
          .most = static_cast<int>(most),
          .ascending = !masked};
}

abi::RowIndex index_of(const TensorView& index, std::int64_t groups, const TensorView& ranges,
                       const TensorView& status) {
  return {.index = reinterpret_cast<std::uintptr_t>(index.data()),
          .stride = index.stride(0),
          .ranges = reinterpret_cast<std::uintptr_t>(ranges.data()),
          .status = reinterpret_cast<std::uintptr_t>(status.data()),
          .rows = index.shape(0),
          .groups = groups};
}

void require_i32(const TensorView& view, const char* name) {
  if (view.dtype() == Dtype::i32) return;
  fail(ErrorKind::type, "{}.dtype: expected i32, got {}", name, dtype_name(view.dtype()));
}

void require_data(const TensorView& view, const char* name) {
  if (view.data() == nullptr && view.elements() > 0)
    fail_value("{}: expected a tensor with data, got a description", name);
}

/// Whether there is a status, without which a GPU cannot answer.
bool check_status(const TensorView& status, model::NamedView reference) {
  if (status.data() == nullptr) {
    if (reference.view->device().is_cpu()) return false;
    fail_value("status: expected a tensor of one element on {}, got none",
               reference.view->device().name());
  }
  if (status.elements() != 1) {
    fail_value("status.shape: expected one element, got {}", status.elements());
  }
  require_i32(status, "status");
  model::check_device({&status, "status"}, reference);
  model::check_pointer({&status, "status"});
  model::check_overlap({&status, "status"}, reference);
  return true;
}

void check_index(const TensorView& index) {
  if (index.rank() != 1) fail_value("index.shape: expected 1 mode, got {}", index.rank());
  require_i32(index, "index");
  require_data(index, "index");
  model::check_pointer({&index, "index"});
  if (index.shape(0) > std::numeric_limits<std::int32_t>::max()) {
    fail_value("index.shape: expected at most 2^31 - 1 rows, got {}", index.shape(0));
  }
}

std::int32_t* integers(const TensorView& view) {
  return static_cast<std::int32_t*>(view.data());
}

void add(const TensorView& status, bool is_given, std::int32_t count) {
  if (is_given) *integers(status) += count;
}

void check_on_host(const abi::OffsetCheck& check, const TensorView& offsets,
                   const TensorView& status, bool has_status) {
  const std::int32_t* const values = integers(offsets);
  std::int32_t wrong = 0;
  std::int64_t first = 0;
  std::int32_t least = 0;
  const auto at = [&](std::int64_t i) { return values[i * check.stride]; };
  for (std::int64_t i = 0; i < check.count; ++i) {
    const std::int32_t before = check.ascending && i > 0 ? std::max(at(i - 1), 0) : 0;
    if (at(i) >= before && at(i) <= check.most) continue;
    if (wrong++ > 0) continue;
    first = i;
    least = before;
  }
  if (wrong == 0) return;
  add(status, has_status, wrong);
  fail_value("offsets[{}]: expected at least {} and at most {}, got {}", first, least, check.most,
             at(first));
}

void check_on_host(const abi::RowIndex& p, const TensorView& index, const TensorView& status,
                   bool has_status) {
  const std::int32_t* const values = integers(index);
  std::int32_t wrong = 0;
  std::int64_t first = 0;
  std::int64_t before = -1;
  std::int64_t last = -1;  // row of a group
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const std::int64_t group = values[row * p.stride];
    if (group < 0) continue;
    const bool apart = group == before && last != row - 1;
    if ((group >= p.groups || group < before || apart) && wrong++ == 0) first = row;
    if (group >= p.groups) continue;
    before = group;
    last = row;
  }
  if (wrong == 0) return;
  add(status, has_status, wrong);
  fail_value("index[{}]: expected groups below {} in ascending order, each in one piece, got {}",
             first, p.groups, values[first * p.stride]);
}

void ranges_on_host(const abi::RowIndex& p, const TensorView& index, const TensorView& ranges) {
  std::int32_t* const found = integers(ranges);
  std::fill_n(found, 2 * p.groups, 0);
  const std::int32_t* const values = integers(index);
  std::int64_t before = -1;
  for (std::int64_t row = 0; row < p.rows; ++row) {
    const std::int64_t stated = values[row * p.stride];
    const std::int64_t group = stated < p.groups ? stated : -1;
    if (group >= 0) {
      if (group != before) found[2 * group] = static_cast<std::int32_t>(row);
      found[2 * group + 1] = static_cast<std::int32_t>(row + 1);
    }
    before = group;
  }
}

}  // namespace

void check_groups(const GroupedGemmArguments& arguments, const TensorView& status, void* stream) {
  if (arguments.offsets() == nullptr) return;
  if (arguments.layout() == GroupLayout::pointers) {
    fail_value("offsets.layout: expected any but pointers, got pointers");
  }
  const TensorView& offsets = *arguments.offsets();
  require_data(offsets, "offsets");
  const bool has_status = check_status(status, {&offsets, "offsets"});
  const abi::OffsetCheck check = check_of(arguments, status);
  if (check.count == 0) return;
  if (offsets.device().is_cpu()) return check_on_host(check, offsets, status, has_status);
  groups::start_check(check, offsets.device(), stream);
}

void ranges_of_index(const TensorView& index, const TensorView& ranges, void* stream) {
  check_index(index);
  const bool pairs = ranges.rank() == 2 && ranges.shape(1) == 2;
  const bool packed =
      pairs && ranges.stride(1) == 1 && (ranges.shape(0) <= 1 || ranges.stride(0) == 2);
  if (!packed) fail_value("ranges: expected (G, 2) without gaps, got {}", ranges.to_string());
  require_i32(ranges, "ranges");
  if (ranges.shape(0) == 0) return;
  require_data(ranges, "ranges");
  model::check_device({&ranges, "ranges"}, {&index, "index"});
  model::check_pointer({&ranges, "ranges"});
  model::check_overlap({&ranges, "ranges"}, {&index, "index"});
  const abi::RowIndex p = index_of(index, ranges.shape(0), ranges, {});
  if (index.device().is_cpu()) return ranges_on_host(p, index, ranges);
  groups::start_ranges(p, index.device(), stream);
}

void check_group_index(const TensorView& index, std::int64_t groups, const TensorView& status,
                       void* stream) {
  check_index(index);
  if (groups < 0) fail_value("groups: expected 0 or more, got {}", groups);
  const bool has_status = check_status(status, {&index, "index"});
  if (index.shape(0) == 0) return;
  const abi::RowIndex p = index_of(index, groups, {}, status);
  if (index.device().is_cpu()) return check_on_host(p, index, status, has_status);
  groups::start_check(p, index.device(), stream);
}

}  // namespace estoc
