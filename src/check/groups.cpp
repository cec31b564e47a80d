// Cuts rows and columns of out where what they are summed from changes.
#include "check/groups.h"

#include <algorithm>

namespace estoc::check {
namespace {

class Cutter {
 public:
  Cutter(const GemmArguments& product, const Groups* groups)
      : product_(product), groups_(groups), m_(product.extents().m) {}

  std::vector<Part> cut(std::span<const std::int64_t> rows, std::int64_t first_column,
                        int columns) {
    while (!rows.empty()) {
      const std::int64_t band = band_of(rows.front());
      const auto end =
          std::ranges::find_if(rows, [&](std::int64_t row) { return band_of(row) != band; });
      const auto some = rows.first(static_cast<std::size_t>(end - rows.begin()));
      cut_columns({some, first_column, columns, product_.extents().k}, band);
      rows = rows.subspan(some.size());
    }
    return std::move(parts_);
  }

 private:
  bool is(GroupMode mode) const { return groups_ != nullptr && groups_->mode == mode; }

  /// What rows of one part have in common: the group, or the batch.
  std::int64_t band_of(std::int64_t row) const {
    if (is(GroupMode::rows)) return group_of(row);
    const bool by_batch = has_batches_of_b(product_) || is(GroupMode::reduction);
    return by_batch ? row / m_ : 0;
  }

  /// The number of groups for what is in none.
  std::int64_t group_of(std::int64_t element) const {
    const auto found = next_of(element);
    const bool in_none = found == groups_->ranges.end() || element < found->begin;
    return in_none ? count() : found - groups_->ranges.begin();
  }

  /// The first group that ends behind the element.
  std::vector<GroupRange>::const_iterator next_of(std::int64_t element) const {
    return std::ranges::upper_bound(groups_->ranges, element, {}, &GroupRange::end);
  }

  /// Where the group of an element, or what is in none, ends.
  std::int64_t end_of(std::int64_t element, std::int64_t last) const {
    const auto found = next_of(element);
    if (found == groups_->ranges.end()) return last;
    return std::min(last, element < found->begin ? found->begin : found->end);
  }

  void cut_columns(Part part, std::int64_t band) {
    if (!is(GroupMode::columns)) return add(part, band);
    for (const std::int64_t end = part.first_column + part.columns; part.first_column < end;) {
      const std::int64_t group = group_of(part.first_column);
      const std::int64_t next = end_of(part.first_column, end);
      part.columns = static_cast<int>(next - part.first_column);
      add(part, group);
      part.first_column = next;
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(groups_->ranges.size()); }

  void add(Part part, std::int64_t group) {
    if (is(GroupMode::reduction)) {
      const auto& [begin, end] = groups_->ranges[static_cast<std::size_t>(group)];
      part.k = end - begin;
      part.first_k = begin;
      part.a_offset = begin * product_.a_matrix().column_stride;
      part.b_offset = begin * product_.b_matrix().row_stride;
    } else if (is(GroupMode::rows) || is(GroupMode::columns)) {
      if (group == count() && !groups_->zero_rest) return;
      const bool in_none = group == count();
      if (in_none) part.k = 0;
      const std::int64_t offset = in_none ? 0 : group * groups_->matrix_stride;
      (is(GroupMode::rows) ? part.b_offset : part.a_offset) = offset;
      part.group = group;
    }
    parts_.push_back(part);
  }

  const GemmArguments& product_;
  const Groups* groups_;
  std::int64_t m_;
  std::vector<Part> parts_;
};

}  // namespace

int Groups::row_scales() const {
  const auto counts = [](const Operand* operand) {
    return operand != nullptr && operand->is_scaled() &&
           operand->scaled()->mode == ScaleMode::rowwise;
  };
  if (mode == GroupMode::rows) return counts(b) ? 1 : 0;
  return mode == GroupMode::columns && counts(a) ? 1 : 0;
}

bool has_batches_of_b(const GemmArguments& arguments) {
  const ScaledTensor* const scaled = arguments.b().scaled();
  const bool scales = scaled != nullptr && scaled->has_blocks() && scaled->scale.rank() > 2 &&
                      scaled->scale.shape(0) > 1;
  return scales || arguments.b_matrix().batch_stride != 0;
}

std::vector<Part> parts_of(const GemmArguments& product, const Groups* groups,
                           std::span<const std::int64_t> rows, std::int64_t first_column,
                           int columns) {
  return Cutter(product, groups).cut(rows, first_column, columns);
}

}  // namespace estoc::check
