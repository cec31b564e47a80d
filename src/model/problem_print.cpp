// Writes problem text in its canonical form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <iterator>

#include "estoc/problem.hpp"

namespace estoc {
namespace {

/// Collects "key=value" pairs.
class ProblemPrinter {
 public:
  explicit ProblemPrinter(const Problem& problem)
      : problem_(problem), text_(operation_name(problem.operation)) {}

  std::string print() {
    if (problem_.operation == Operation::gemm) {
      add_extent("m", problem_.m);
      add_extent("n", problem_.n);
      add_extent("k", problem_.k);
      add_extent("l", problem_.l);
    } else {
      if (problem_.op) add("op", elementwise_op_name(*problem_.op));
      if (problem_.has_shape) add("shape", shape_text());
    }
    add_operand("a", problem_.a);
    add_operand("b", problem_.b);
    add_operand("out", problem_.out);
    if (problem_.operation == Operation::gemm) {
      if (problem_.accumulator_type) add("acc", dtype_name(*problem_.accumulator_type));
      for (const EpilogueOperandSpec& operand : problem_.operands)
        add(operand.name, text_of(operand));
      if (!problem_.epilogue.empty()) add("epi", quoted(problem_.epilogue));
    }
    add_controls();
    return std::move(text_);
  }

 private:
  void add(std::string_view key, std::string_view value) {
    fmt::format_to(std::back_inserter(text_), " {}={}", key, value);
  }

  void add_extent(std::string_view key, const std::optional<std::int64_t>& extent) {
    if (extent) add(key, std::to_string(*extent));
  }

  static std::string number_text(double value, bool whole) {
    std::string text = fmt::format("{}", value);
    const bool bare = text.find_first_not_of("-0123456789") == std::string::npos;
    if (whole) return fmt::format("{:.0f}", value);
    return bare ? text + ".0" : text;
  }

  static std::string text_of(const EpilogueOperandSpec& operand) {
    if (!operand.value && operand.form == EpilogueForm::matrix) return text_of(operand.tensor);
    std::string text;
    if (operand.tensor.dtype) text += dtype_name(*operand.tensor.dtype);
    if (operand.value) {
      if (operand.tensor.dtype) text += ':';
      return text + number_text(*operand.value, operand.whole);
    }
    text += fmt::format(":{}", epilogue_form_name(operand.form));
    const auto& strides = operand.tensor.strides;
    if (!strides.empty()) text += fmt::format("[{}]", fmt::join(strides, ","));
    if (operand.tensor.alignment) text += fmt::format("@{}", *operand.tensor.alignment);
    return text;
  }

  void add_operand(std::string_view key, const OperandSpec& spec) {
    const std::string value = text_of(spec);
    if (!value.empty()) add(key, value);
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
    return value;
  }

  void add_controls() {
    if (problem_.controls.allow_tf32) add("allow_tf32", "1");
    if (problem_.controls.fast_accumulation) add("fast_accumulation", "1");
    if (problem_.controls.deterministic) add("deterministic", "1");
    if (problem_.controls.batch_invariant) add("batch_invariant", "1");
    if (problem_.controls.workspace_limit) {
      add("workspace", bytes_text(*problem_.controls.workspace_limit));
    }
  }

  std::string shape_text() const {
    return problem_.shape.empty() ? "()" : fmt::format("{}", fmt::join(problem_.shape, "x"));
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
  std::string text_;
};

}  // namespace

std::string Problem::to_string() const {
  return ProblemPrinter(*this).print();
}

}  // namespace estoc
