// Writes problem text in its canonical form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <iterator>
#include <variant>

#include "estoc/problem.hpp"
#include "operations/operation.h"
#include "operations/problem_scale.h"

namespace estoc {
namespace {

using operations::OperationSchema;
using operations::TextField;
using operations::TextKey;

/// Collects "key=value" pairs.
class ProblemPrinter {
 public:
  explicit ProblemPrinter(const Problem& problem)
      : problem_(problem), schema_(operations::schema_of(problem.operation)), text_(schema_.name) {}

  std::string print() {
    for (const TextKey& key : schema_.keys)
      std::visit([&](auto target) { print(key.name, target); }, key.target);
    return std::move(text_);
  }

 private:
  void add(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), " {}={}", key, value);
  }

  void print(std::string_view key, std::optional<std::int64_t> Problem::*extent) {
    if (problem_.*extent) add(key, std::to_string(*(problem_.*extent)));
  }
  void print(std::string_view key, OperandSpec Problem::*operand) {
    const std::string value = text_of(problem_.*operand);
    if (!value.empty()) add(key, value);
  }
  void print(std::string_view key, std::optional<Dtype> Problem::*dtype) {
    if (problem_.*dtype) add(key, dtype_name(*(problem_.*dtype)));
  }
  void print(std::string_view key, bool PerformanceControls::*control) {
    if (problem_.controls.*control) add(key, "1");
  }
  void print(std::string_view key, bool Problem::*flag) {
    if (problem_.*flag) add(key, "1");
  }
  void print(std::string_view key, TextField field) {
    switch (field) {
      case TextField::op:
        if (problem_.op) add(key, elementwise_op_name(*problem_.op));
        return;
      case TextField::shape:
        if (problem_.has_shape) add(key, shape_text());
        return;
      case TextField::epilogue:
        return print_epilogue(key);
      case TextField::workspace:
        if (problem_.controls.workspace_limit) {
          add(key, bytes_text(*problem_.controls.workspace_limit));
        }
        return;
      case TextField::along:
        if (problem_.along) add(key, group_mode_name(*problem_.along));
        return;
      case TextField::layout:
        if (problem_.layout != GroupLayout::ends) add(key, group_layout_name(problem_.layout));
        return;
      case TextField::sizes:
        if (!problem_.sizes.empty()) add(key, sizes_text());
        return;
    }
  }

  void print_epilogue(std::string_view key) {
    for (const EpilogueOperandSpec& operand : problem_.operands)
      add(operand.name, text_of(operand));
    if (!problem_.epilogue.empty()) add(key, quoted(problem_.epilogue));
  }

  static std::string number_text(double value, bool is_integer) {
    std::string text = fmt::format("{}", value);
    const bool bare = text.find_first_not_of("-0123456789") == std::string::npos;
    if (is_integer) return fmt::format("{:.0f}", value);
    return bare ? text + ".0" : text;
  }

  static std::string text_of(const EpilogueOperandSpec& operand) {
    if (!operand.value && operand.form == EpilogueForm::matrix) return text_of(operand.tensor);
    std::string text;
    if (operand.tensor.dtype) text += dtype_name(*operand.tensor.dtype);
    if (operand.value) {
      if (operand.tensor.dtype) text += ':';
      return text + number_text(*operand.value, operand.is_integer);
    }
    text += fmt::format(":{}", epilogue_form_name(operand.form));
    const auto& strides = operand.tensor.strides;
    if (!strides.empty()) text += fmt::format("[{}]", fmt::join(strides, ","));
    if (operand.tensor.alignment) text += fmt::format("@{}", *operand.tensor.alignment);
    return text;
  }

  static std::string text_of(const OperandSpec& spec) {
    std::string value;
    if (spec.dtype) value += dtype_name(*spec.dtype);
    if (!spec.strides.empty()) {
      value += fmt::format(":[{}]", fmt::join(spec.strides, ","));
    } else if (spec.layout) {
      value += *spec.layout == Layout::t ? ":t" : ":n";
    }
    if (spec.alignment) value += fmt::format("@{}", *spec.alignment);
    if (spec.scale) value += fmt::format("*{}", operations::scale_text(*spec.scale));
    return value;
  }

  std::string shape_text() const {
    return problem_.shape.empty() ? "()" : fmt::format("{}", fmt::join(problem_.shape, "x"));
  }

  /// Of pointers 64x32x16,0x32x16.
  std::string sizes_text() const {
    const std::size_t together = problem_.layout == GroupLayout::pointers ? 3 : 1;
    std::string text;
    for (std::size_t i = 0; i < problem_.sizes.size(); ++i) {
      if (i > 0) text += i % together == 0 ? ',' : 'x';
      fmt::format_to(std::back_inserter(text), "{}", problem_.sizes[i]);
    }
    return text;
  }

  /// With the largest unit that divides the number.
  static std::string bytes_text(std::int64_t bytes) {
    constexpr std::array<std::string_view, 4> kUnits{"", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    for (; bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size(); ++unit)
      bytes /= 1024;
    return fmt::format("{}{}", bytes, kUnits[unit]);
  }

  static std::string quoted(std::string_view text) {
    std::string value = "\"";
    for (const char character : text) {
      if (character == '"' || character == '\\') value += '\\';
      value += character;
    }
    return value + '"';
  }

  const Problem& problem_;
  const OperationSchema& schema_;
  std::string text_;
};

}  // namespace

std::string Problem::to_string() const {
  return ProblemPrinter(*this).print();
}

}  // namespace estoc
