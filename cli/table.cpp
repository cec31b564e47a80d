// Pads cells to the width of their columns.
#include "table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace estoc::cli {
namespace {

constexpr std::string_view kGap = "  ";

/// Characters, not bytes, of UTF-8 text.
std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string padding(std::string_view text, std::size_t width) {
  const std::size_t used = display_width(text);
  return std::string(used < width ? width - used : 0, ' ');
}

}  // namespace

Table::Table(const Output& output, std::vector<Column> columns)
    : output_(&output), columns_(std::move(columns)) {
  for (const Column& column : columns_)
    widths_.push_back(display_width(column.title));
}

void Table::add_row(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  for (std::size_t i = 0; i < cells.size(); ++i) {
    widths_[i] = std::max(widths_[i], display_width(cells[i]));
  }
  rows_.push_back(std::move(cells));
}

std::string Table::take() {
  std::string text;
  if (!titles_printed_) {
    std::vector<std::string> titles;
    for (const Column& column : columns_)
      titles.push_back(column.title);
    text += line(titles, Style::bold);
    titles_printed_ = true;
  }
  for (const auto& row : rows_)
    text += line(row, Style::plain);
  rows_.clear();
  return text;
}

std::string Table::line(const std::vector<std::string>& cells, Style style) const {
  std::string text;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string pad = padding(cells[i], widths_[i]);
    const bool right = columns_[i].align == Align::right;
    const bool last = i + 1 == cells.size();
    if (i > 0) text += kGap;
    if (right) text += pad;
    text += output_->styled(cells[i], style);
    if (!right && !last) text += pad;
  }
  return text + '\n';
}

std::string labelled_line(const Output& output, std::string_view label, std::string_view value,
                          std::size_t width) {
  return fmt::format("{}{}{}{}\n", output.styled(label, Style::bold), padding(label, width), kGap,
                     value);
}

}  // namespace estoc::cli
