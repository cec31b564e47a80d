// Text in aligned columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "output.h"

namespace estoc::cli {

/// A table that can be printed in parts: columns never get narrower, so that later parts line up.
class Table {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  Table(const Output& output, std::vector<Column> columns);

  /// One cell for each column.
  void add_row(std::vector<std::string> cells);
  std::size_t pending_rows() const { return rows_.size(); }

  /// The text of the rows added since the last call; the titles come before the first.
  std::string take();

 private:
  std::string line(const std::vector<std::string>& cells, Style style) const;

  const Output* output_;
  std::vector<Column> columns_;
  std::vector<std::size_t> widths_;
  std::vector<std::vector<std::string>> rows_;
  bool titles_printed_ = false;
};

/// "problem  gemm m=4 ...": a label in its column, then its value.
/// `width` is that of the longest label.
std::string labelled_line(const Output& output, std::string_view label, std::string_view value,
                          std::size_t width = 7);

}  // namespace estoc::cli
