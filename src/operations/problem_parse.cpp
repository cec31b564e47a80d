// Reads problem text; docs/problem_text.md has the grammar.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "core/text.h"
#include "estoc/problem.hpp"
#include "model/checked.h"
#include "model/text_cursor.h"
#include "operations/operation.h"
#include "operations/problem_scale.h"

namespace estoc {
namespace {

using model::TextCursor;
using operations::OperationSchema;
using operations::TextField;
using operations::TextKey;

constexpr int kLargestAlignment = 256;
// That an operation may have.
constexpr std::size_t kMaxKeys = 32;

/// The dtype that NumPy, torch or CUTLASS call by this name.
std::optional<Dtype> theirs(std::string_view name) {
  struct Row {
    Dtype dtype;
    std::array<std::string_view, 3> names;
  };
  static constexpr Row kRows[] = {
#define ESTOC_DTYPE_NAMES(name, safetensors, npy, dlpack, xla, ...) {Dtype::name, {__VA_ARGS__}},
#include "estoc/dtypes.def"
  };
  if (name == "float") return Dtype::f32;  // as in C; Python's is f64
  if (name.empty()) return std::nullopt;
  for (const Row& row : kRows)
    if (std::ranges::find(row.names, name) != row.names.end()) return row.dtype;
  return std::nullopt;
}

class ProblemParser {
 public:
  explicit ProblemParser(std::string_view text)
      : cursor_(text, "problem"), has_epilogue_(text.find("epi=") != std::string_view::npos) {}

  Problem parse() {
    read_operation();
    for (cursor_.skip_blanks(); !cursor_.at_end(); cursor_.skip_blanks())
      read_pair();
    if (problem_.epilogue.empty() && !problem_.operands.empty()) {
      cursor_.fail_at(first_operand_, fmt::format("{} is an operand of an epilogue, and epi is "
                                                  "empty",
                                                  problem_.operands.front().name));
    }
    const bool pointers = problem_.layout == GroupLayout::pointers;
    if (parts_of_size_ != 0 && pointers != (parts_of_size_ == 3)) {
      cursor_.fail_expected(sizes_, pointers ? "m, n and k of each group, such as 64x32x16"
                                             : "sizes of groups such as 10,0,33");
    }
    return std::move(problem_);
  }

 private:
  std::span<const TextKey> keys() const { return schema_->keys; }

  void read(std::optional<std::int64_t> Problem::*extent) {
    problem_.*extent = read_number("an extent, a whole number of 0 or more");
  }
  void read(OperandSpec Problem::*operand) {
    read_spec(problem_.*operand, schema_->accumulates);
    const std::optional<ScaleSpec>& scale = (problem_.*operand).scale;
    if (operand != &Problem::out && scale && scale->powers_of_two) {
      cursor_.fail_expected(cursor_.position(), "+pow2 of out alone");
    }
  }
  void read(std::optional<Dtype> Problem::*dtype) { problem_.*dtype = read_dtype(); }
  void read(bool PerformanceControls::*control) { problem_.controls.*control = read_flag(); }
  void read(bool Problem::*flag) { problem_.*flag = read_flag(); }
  void read(TextField field) {
    switch (field) {
      case TextField::op:
        return read_op();
      case TextField::shape:
        return read_shape();
      case TextField::epilogue:
        problem_.epilogue = cursor_.take_quoted();
        return;
      case TextField::workspace:
        return read_workspace();
      case TextField::along:
        return read_along();
      case TextField::sizes:
        return read_sizes();
      case TextField::layout:
        return read_group_layout();
    }
  }

  void read_operation() {
    cursor_.skip_blanks();
    const std::size_t start = cursor_.position();
    const std::string_view name = cursor_.take_until("");
    std::vector<std::string_view> names;
    for (const OperationSchema* schema : operations::all_operations()) {
      names.push_back(schema->name);
      if (schema->name == name) schema_ = schema;
    }
    if (schema_ == nullptr) {
      cursor_.fail_word(start, fmt::format("an operation, {}", fmt::join(names, " or ")), name,
                        names);
    }
    problem_.operation = schema_->operation;
  }

  void read_pair() {
    const std::size_t start = cursor_.position();
    const std::string_view name = cursor_.take_until("=");
    const auto key = std::ranges::find(keys(), name, &TextKey::name);
    if (key == keys().end()) {
      if (!may_be_epilogue_operand(name)) fail_key(start, name);
      return read_epilogue_operand(start, std::string(name));
    }
    const auto index = static_cast<std::size_t>(key - keys().begin());
    if (columns_[index] != 0) {
      cursor_.fail_at(
          start, fmt::format("key {} is given twice, first in column {}", name, columns_[index]));
    }
    columns_[index] = start + 1;
    if (!cursor_.accept('=')) {
      cursor_.fail_expected(cursor_.position(), fmt::format("= after {}", name));
    }
    std::visit([this](auto target) { read(target); }, key->target);
    const std::size_t end = cursor_.position();
    if (cursor_.take_until("").empty()) return;
    cursor_.fail_expected(end, fmt::format("a blank after the value of {}", name));
  }

  /// Other keys are names of the epilogue, where there is one.
  bool may_be_epilogue_operand(std::string_view name) const {
    const auto is_letter = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    };
    const auto continues = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
    return schema_->has_key(TextField::epilogue) && has_epilogue_ && !name.empty() &&
           is_letter(name.front()) && std::ranges::all_of(name, continues);
  }

  void read_epilogue_operand(std::size_t start, std::string name) {
    if (std::ranges::find(problem_.operands, name, &EpilogueOperandSpec::name) !=
        problem_.operands.end()) {
      cursor_.fail_at(start, fmt::format("key {} is given twice", name));
    }
    if (!cursor_.accept('=')) {
      cursor_.fail_expected(cursor_.position(), fmt::format("= after {}", name));
    }
    if (problem_.operands.empty()) first_operand_ = start;
    EpilogueOperandSpec spec;
    spec.name = std::move(name);
    const EpilogueOperandSpec empty = spec;
    const std::size_t value = cursor_.position();
    if (!accept_value(spec)) read_epilogue_spec(spec);
    if (spec == empty) {
      cursor_.fail_expected(value, "an operand such as bf16:t, f32:row or 0.5");
    }
    const std::size_t end = cursor_.position();
    if (!cursor_.take_until("").empty()) {
      cursor_.fail_expected(end, fmt::format("a blank after the value of {}", spec.name));
    }
    problem_.operands.push_back(std::move(spec));
  }

  void read_epilogue_spec(EpilogueOperandSpec& spec) {
    if (cursor_.peek() != ':' && cursor_.peek() != '@') spec.tensor.dtype = read_dtype();
    if (cursor_.accept(':')) read_form(spec);
    if (cursor_.accept('@')) spec.tensor.alignment = read_alignment();
  }

  /// A number by itself: the value of a scalar.
  bool accept_value(EpilogueOperandSpec& spec) {
    const TextCursor start = cursor_;
    const std::string_view word = cursor_.take_until("");
    const auto number = core::parse_double(word);
    if (!number) {
      cursor_ = start;
      return false;
    }
    spec.form = EpilogueForm::scalar;
    spec.value = *number;
    spec.is_integer = word.find_first_not_of("-0123456789") == std::string_view::npos;
    return true;
  }

  void read_form(EpilogueOperandSpec& spec) {
    constexpr std::array<EpilogueForm, 4> kForms{EpilogueForm::row, EpilogueForm::column,
                                                 EpilogueForm::batch, EpilogueForm::scalar};
    if (accept_value(spec)) return;
    const TextCursor start = cursor_;
    const std::string_view word = cursor_.take_until("[@");
    for (const EpilogueForm form : kForms) {
      if (word != epilogue_form_name(form)) continue;
      spec.form = form;
      if (form != EpilogueForm::scalar && cursor_.accept('[')) read_strides(spec.tensor.strides);
      return;
    }
    cursor_ = start;
    const bool matrix = cursor_.peek() == '[' || word == "t" || word == "n";
    if (!matrix) {
      cursor_.fail_expected(cursor_.position(),
                            "t, n, row, column, batch, scalar, a number, or strides such as "
                            "[128,1]");
    }
    read_layout(spec.tensor);
  }

  [[noreturn]] void fail_key(std::size_t start, std::string_view name) const {
    std::vector<std::string_view> names;
    std::string list;
    for (const TextKey& key : keys()) {
      names.push_back(key.name);
      list += fmt::format("{}{}", list.empty() ? "" : " ", key.name);
    }
    cursor_.fail_word(start, fmt::format("a key of {} ({})", schema_->name, list), name, names);
  }

  /// Digits here; a number that does not fit an int64 gives another error.
  std::int64_t read_number(std::string_view expected) {
    const std::size_t start = cursor_.position();
    std::int64_t value = 0;
    bool fits = true;
    while (cursor_.peek() >= '0' && cursor_.peek() <= '9') {
      fits = fits && model::multiply_by(value, 10) && model::add_to(value, cursor_.peek() - '0');
      cursor_.accept(cursor_.peek());
    }
    if (cursor_.position() == start) cursor_.fail_expected(start, expected);
    if (!fits) cursor_.fail_expected(start, "a number up to 9223372036854775807");
    return value;
  }

  bool read_flag() {
    if (cursor_.accept('0')) return false;
    if (cursor_.accept('1')) return true;
    cursor_.fail_expected(cursor_.position(), "0 or 1");
  }

  Dtype read_dtype() {
    const std::size_t start = cursor_.position();
    const std::string_view name = cursor_.take_until(":@*");
    if (const auto dtype = parse_dtype(name)) return *dtype;
    if (const auto dtype = theirs(name)) return *dtype;
    std::array<std::string_view, kDtypeCount> names;
    std::ranges::transform(all_dtypes(), names.begin(), dtype_name);
    cursor_.fail_word(start, "a dtype", name, names);
  }

  void read_op() {
    const std::size_t start = cursor_.position();
    const std::string_view name = cursor_.take_until("");
    problem_.op = parse_elementwise_op(name);
    if (problem_.op) return;
    std::vector<std::string_view> names;
    for (int op = 0; op <= static_cast<int>(ElementwiseOp::tanh); ++op) {
      names.push_back(elementwise_op_name(static_cast<ElementwiseOp>(op)));
    }
    cursor_.fail_word(start, "an elementwise operation such as add or relu", name, names);
  }

  void read_along() {
    const std::size_t start = cursor_.position();
    const std::string_view name = cursor_.take_until("");
    problem_.along = parse_group_mode(name);
    if (!problem_.along) cursor_.fail_expected(start, "the mode that is divided, m, n, k or l");
  }

  void read_group_layout() {
    const std::size_t start = cursor_.position();
    const auto layout = parse_group_layout(cursor_.take_until(""));
    if (!layout) {
      cursor_.fail_expected(start, "a layout of offsets, ends, prefix, masked, ranges or pointers");
    }
    problem_.layout = *layout;
  }

  void read_sizes() {
    sizes_ = cursor_.position();
    do {
      const std::size_t start = cursor_.position();
      const std::size_t first = problem_.sizes.size();
      do {
        problem_.sizes.push_back(read_number("sizes of groups such as 10,0,33"));
      } while (cursor_.accept('x'));
      const std::size_t parts = problem_.sizes.size() - first;
      if (parts != 1 && parts != 3) cursor_.fail_expected(start, "one size or m, n and k");
      if (first == 0) parts_of_size_ = parts;
      if (parts != parts_of_size_) cursor_.fail_expected(start, "sizes that are alike");
    } while (cursor_.accept(','));
  }

  void read_shape() {
    problem_.has_shape = true;
    if (cursor_.accept('(')) {
      if (!cursor_.accept(')')) cursor_.fail_expected(cursor_.position(), ")");
      return;
    }
    do {
      check_modes(problem_.shape);
      problem_.shape.push_back(read_number("extents such as 2x64x64, or ()"));
    } while (cursor_.accept('x'));
  }

  void read_spec(OperandSpec& spec, bool may_be_scaled) {
    const std::size_t start = cursor_.position();
    const char first = cursor_.peek();
    if (first != ':' && first != '@' && first != '*') spec.dtype = read_dtype();
    if (cursor_.accept(':')) read_layout(spec);
    if (cursor_.accept('@')) spec.alignment = read_alignment();
    if (may_be_scaled && cursor_.accept('*')) read_scale(spec.scale.emplace());
    if (spec == OperandSpec{}) cursor_.fail_expected(start, "an operand such as bf16:t");
  }

  void read_scale(ScaleSpec& scale) {
    scale.mode = read_scale_mode();
    if (cursor_.accept(':')) read_scale_layout(scale);
    if (!cursor_.accept('+')) return;
    const std::size_t start = cursor_.position();
    const std::string_view more = cursor_.take_until("");
    scale.tensor_scale = more == scale_mode_text(ScaleMode::tensorwise);
    scale.powers_of_two = more == operations::kPowersOfTwo;
    if (!scale.tensor_scale && !scale.powers_of_two) {
      cursor_.fail_expected(start, "tensor or pow2 after +");
    }
  }

  ScaleMode read_scale_mode() {
    const std::size_t start = cursor_.position();
    const std::string_view name = cursor_.take_until(":+");
    std::vector<std::string_view> names;
    for (int i = 0; i <= static_cast<int>(ScaleMode::blockwise_128x128); ++i) {
      const auto mode = static_cast<ScaleMode>(i);
      if (scale_mode_text(mode) == name) return mode;
      names.push_back(scale_mode_text(mode));
    }
    cursor_.fail_word(start, fmt::format("scales, {}", fmt::join(names, " ")), name, names);
  }

  void read_scale_layout(ScaleSpec& scale) {
    const TextCursor start = cursor_;
    if (cursor_.take_until("+") == "swizzled") {
      scale.swizzle = ScaleSwizzle::swizzle_32x4x4;
      return;
    }
    cursor_ = start;
    OperandSpec layout;
    read_layout(layout);
    scale.layout = layout.layout;
    scale.strides = std::move(layout.strides);
  }

  void read_layout(OperandSpec& spec) {
    if (cursor_.accept('t')) {
      spec.layout = Layout::t;
    } else if (cursor_.accept('n')) {
      spec.layout = Layout::n;
    } else if (cursor_.accept('[')) {
      read_strides(spec.strides);
    } else {
      cursor_.fail_expected(cursor_.position(), "a layout, t, n or strides such as [128,1]");
    }
  }

  void read_strides(std::vector<std::int64_t>& strides) {
    do {
      check_modes(strides);
      strides.push_back(read_number("a stride, a whole number of 0 or more"));
    } while (cursor_.accept(','));
    if (!cursor_.accept(']')) cursor_.fail_expected(cursor_.position(), ", or ] after a stride");
  }

  void check_modes(const std::vector<std::int64_t>& values) const {
    if (values.size() == kMaxRank) {
      cursor_.fail_expected(cursor_.position(), fmt::format("at most {} modes", kMaxRank));
    }
  }

  int read_alignment() {
    const std::size_t start = cursor_.position();
    constexpr std::string_view kExpected = "an alignment, a power of two up to 256";
    const std::int64_t value = read_number(kExpected);
    if (value < 1 || value > kLargestAlignment ||
        !std::has_single_bit(static_cast<unsigned>(value))) {
      cursor_.fail_expected(start, kExpected);
    }
    return static_cast<int>(value);
  }

  void read_workspace() {
    const std::size_t start = cursor_.position();
    std::int64_t bytes = read_number("bytes such as 1048576 or 64MiB");
    const std::size_t unit_start = cursor_.position();
    const std::string_view unit = cursor_.take_until("");
    constexpr std::array<std::string_view, 4> kUnits{"", "KiB", "MiB", "GiB"};
    const auto found = std::ranges::find(kUnits, unit);
    if (found == kUnits.end()) cursor_.fail_word(unit_start, "KiB, MiB or GiB", unit, kUnits);
    if (!model::multiply_by(bytes, std::int64_t{1} << (10 * (found - kUnits.begin())))) {
      cursor_.fail_expected(start, "at most 9223372036854775807 bytes");
    }
    problem_.controls.workspace_limit = bytes;
  }

  TextCursor cursor_;
  bool has_epilogue_;  ///< the text may have one further on
  std::size_t first_operand_ = 0;
  const OperationSchema* schema_ = nullptr;
  std::size_t sizes_ = 0;          ///< where they were given
  std::size_t parts_of_size_ = 0;  ///< 3 where m, n and k are
  Problem problem_;
  std::array<std::size_t, kMaxKeys> columns_{};  ///< where each key was given, from 1
};

}  // namespace

Problem Problem::parse(std::string_view text) {
  return ProblemParser(text).parse();
}

}  // namespace estoc
