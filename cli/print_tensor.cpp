// Shows the first elements of a tensor.
#include "print_tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "estoc/numeric.hpp"
#include "table.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr std::int64_t kMaxShown = 4;

/// One of a tensor's last two modes; a mode that it lacks has one element.
struct Mode {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
  std::int64_t shown = 1;
};

/// The mode that is `from_end`-th from the end.
Mode mode_of(const TensorView& tensor, std::size_t from_end) {
  const std::size_t rank = tensor.shape().size();
  if (from_end >= rank) return {};
  const std::int64_t extent = tensor.shape()[rank - 1 - from_end];
  return {extent, tensor.strides()[rank - 1 - from_end], std::min(extent, kMaxShown)};
}

}  // namespace

std::string first_elements(const Output& output, const TensorView& tensor) {
  const Mode rows = mode_of(tensor, 1);
  const Mode columns = mode_of(tensor, 0);
  std::string text =
      labelled_line(output, "first",
                    fmt::format("{} x {} of {} {}", rows.shown, columns.shown,
                                dtype_name(tensor.dtype()), format_shape(tensor.shape())));
  for (std::int64_t row = 0; row < rows.shown; ++row) {
    for (std::int64_t column = 0; column < columns.shown; ++column) {
      const std::int64_t index = row * rows.stride + column * columns.stride;
      text += fmt::format("{:>13.6g}", load_element(tensor.dtype(), tensor.data(), index));
    }
    text += columns.extent > columns.shown ? " ...\n" : "\n";
  }
  return text;
}

}  // namespace estoc::cli
