// Finds the nearest kernel name by aligning the fields of a suffix with the space's dimensions.
#include "discovery/nearest_kernel.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "core/text.h"

namespace estoc::discovery {
namespace {

constexpr std::size_t kMaxFields = 32;
constexpr std::size_t kMaxFieldLength = 40;
/// Leaving out a field or a dimension costs as much as this many wrong letters.
constexpr int kGap = 4;

using Fields = std::vector<std::string_view>;

/// The fields between the dashes; cut short where no kernel name would be that long.
Fields split_fields(std::string_view suffix) {
  Fields fields;
  while (!suffix.empty() && fields.size() < kMaxFields) {
    suffix.remove_prefix(1);
    const std::size_t end = std::min(suffix.find('-'), suffix.size());
    fields.push_back(suffix.substr(0, std::min(end, kMaxFieldLength)));
    suffix.remove_prefix(end);
  }
  return fields;
}

/// Letters to insert, remove or replace (Levenshtein).
int edit_distance(std::string_view from, std::string_view to) {
  std::vector<int> row(to.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < from.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i) + 1);
    for (std::size_t j = 0; j < to.size(); ++j) {
      const int replaced = diagonal + (from[i] == to[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// How far each value of a dimension is from one field.
std::vector<int> value_distances(const Dimension& dimension, std::string_view field) {
  std::vector<int> distances;
  for (const DesignValue& value : dimension.values) {
    distances.push_back(edit_distance(field, dimension.prefix + value.text));
  }
  return distances;
}

/// Which field, if any, stands for each dimension: the alignment of least cost.
class FieldAlignment {
 public:
  FieldAlignment(std::span<const Dimension> dimensions, const Fields& fields)
      : columns_(fields.size() + 1), cost_((dimensions.size() + 1) * columns_) {
    for (std::size_t j = 1; j < columns_; ++j)
      cost(0, j) = static_cast<int>(j) * kGap;
    for (std::size_t i = 1; i <= dimensions.size(); ++i) {
      cost(i, 0) = static_cast<int>(i) * kGap;
      for (std::size_t j = 1; j < columns_; ++j) {
        const auto distances = value_distances(dimensions[i - 1], fields[j - 1]);
        const int matched =
            cost(i - 1, j - 1) + *std::min_element(distances.begin(), distances.end());
        cost(i, j) = std::min({matched, cost(i - 1, j) + kGap, cost(i, j - 1) + kGap});
      }
    }
  }

  std::vector<std::optional<std::size_t>> field_of_dimension() {
    std::vector<std::optional<std::size_t>> result(cost_.size() / columns_ - 1);
    std::size_t j = columns_ - 1;
    for (std::size_t i = result.size(); i > 0;) {
      if (j > 0 && cost(i, j) == cost(i, j - 1) + kGap) {
        --j;
      } else if (cost(i, j) == cost(i - 1, j) + kGap) {
        --i;
      } else {
        result[--i] = --j;
      }
    }
    return result;
  }

 private:
  int& cost(std::size_t dimension, std::size_t field) {
    return cost_[dimension * columns_ + field];
  }

  std::size_t columns_;
  std::vector<int> cost_;
};

std::vector<int> order_by(const std::vector<int>& keys) {
  std::vector<int> order(keys.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int left, int right) {
    return keys[static_cast<std::size_t>(left)] < keys[static_cast<std::size_t>(right)];
  });
  return order;
}

/// Fixes the dimensions one by one, the surest first, to the nearest value that kernels have.
std::optional<std::string> nearest_suffix(const DesignSpace& space, std::string_view suffix) {
  if (space.size() == 0) return std::nullopt;
  const Fields fields = split_fields(suffix);
  const auto field_of = FieldAlignment(space.dimensions(), fields).field_of_dimension();
  std::vector<std::vector<int>> distances;
  std::vector<int> best;
  for (std::size_t i = 0; i < field_of.size(); ++i) {
    const Dimension& dimension = space.dimensions()[i];
    distances.push_back(field_of[i] ? value_distances(dimension, fields[*field_of[i]])
                                    : std::vector<int>(dimension.values.size(), kGap));
    best.push_back(*std::min_element(distances[i].begin(), distances[i].end()));
  }
  Selection selection(space);
  for (const int dimension : order_by(best)) {
    for (const int value : order_by(distances[static_cast<std::size_t>(dimension)])) {
      Selection narrowed = selection;
      narrowed.fix(dimension, value);
      if (space.count(narrowed) == 0) continue;
      selection = narrowed;
      break;
    }
  }
  std::optional<std::string> nearest;
  space.visit(selection, [&](const DesignPoint& point) {
    nearest = space.suffix(point);
    return false;
  });
  return nearest;
}

}  // namespace

std::string_view class_part(std::string_view kernel_name) {
  return kernel_name.substr(0, kernel_name.find('-'));
}

std::string_view suffix_part(std::string_view kernel_name) {
  return kernel_name.substr(class_part(kernel_name).size());
}

std::optional<std::string> nearest_kernel_name(const Snapshot& snapshot, std::string_view name) {
  std::vector<std::string> names;
  for (const auto& [class_name, entry] : snapshot.by_class_name)
    names.push_back(class_name);
  const auto wanted = class_part(name).substr(0, kMaxFieldLength);
  const auto nearest_class = core::nearest_name(wanted, names);
  if (!nearest_class) return std::nullopt;
  const ClassEntry& entry = *snapshot.by_class_name.find(*nearest_class)->second;
  const auto suffix = nearest_suffix(*entry.info()->space, suffix_part(name));
  if (!suffix) return std::nullopt;
  return entry.name() + *suffix;
}

}  // namespace estoc::discovery
