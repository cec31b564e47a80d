// The text form of filters: terms, alternatives, and what each key looks at.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "core/text.h"
#include "estoc/arguments.hpp"
#include "estoc/metadata.hpp"
#include "model/text_cursor.h"

namespace estoc {
namespace {

using model::TextCursor;

/// One of a term's alternatives.
struct Pattern {
  std::string text;
  bool prefix_only = false;  ///< ended in *

  bool matches(std::string_view value) const {
    return prefix_only ? value.starts_with(text) : value == text;
  }
};

using Patterns = std::vector<Pattern>;

bool any_matches(const Patterns& patterns, std::string_view value) {
  return std::ranges::any_of(patterns,
                             [&](const Pattern& pattern) { return pattern.matches(value); });
}

bool number_matches(const Patterns& patterns, int value) {
  return any_matches(patterns, fmt::format_int(value).c_str());
}

bool shape_matches(const Patterns& patterns, const Shape3& shape) {
  std::array<char, 40> text{};
  const auto end =
      fmt::format_to_n(text.data(), text.size(), "{}x{}x{}", shape.m, shape.n, shape.k).out;
  const std::string_view full(text.data(), static_cast<std::size_t>(end - text.data()));
  if (any_matches(patterns, full)) return true;
  return shape.k == 1 && any_matches(patterns, full.substr(0, full.size() - 2));
}

/// The attributes of A, B or out, whatever the operation.
template <TensorAttributes GemmOperandsMetadata::*gemm,
          TensorAttributes ElementwiseOperandsMetadata::*elementwise>
const TensorAttributes& attributes(const KernelMetadata& metadata) {
  if (const auto* operands = metadata.gemm()) return operands->*gemm;
  return std::get<ElementwiseOperandsMetadata>(metadata.operands).*elementwise;
}

constexpr auto kA = attributes<&GemmOperandsMetadata::a, &ElementwiseOperandsMetadata::a>;
constexpr auto kB = attributes<&GemmOperandsMetadata::b, &ElementwiseOperandsMetadata::b>;
constexpr auto kOut = attributes<&GemmOperandsMetadata::out, &ElementwiseOperandsMetadata::out>;

using Attributes = const TensorAttributes& (*)(const KernelMetadata&);

/// Unary operations have no B.
template <Attributes operand>
bool has(const KernelMetadata& metadata) {
  const auto* elementwise = metadata.elementwise();
  return operand != kB || elementwise == nullptr || is_binary(elementwise->op);
}

template <Attributes operand>
bool dtype_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return has<operand>(metadata) && any_matches(patterns, dtype_name(operand(metadata).dtype));
}

template <Attributes operand>
bool alignment_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return has<operand>(metadata) && number_matches(patterns, operand(metadata).alignment);
}

template <std::string KernelMetadata::*member>
bool text_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return any_matches(patterns, metadata.*member);
}

bool operation_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return any_matches(patterns, operation_name(metadata.operation));
}

bool target_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return std::ranges::any_of(
      metadata.targets, [&](const Target& target) { return any_matches(patterns, target.name()); });
}

bool min_cc_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return number_matches(patterns, metadata.min_cc);
}

bool accumulator_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  const auto* gemm = metadata.gemm();
  return gemm != nullptr && any_matches(patterns, dtype_name(gemm->accumulator_type));
}

bool layouts_match(const KernelMetadata& metadata, const Patterns& patterns) {
  const std::array<char, 3> letters{static_cast<char>(kA(metadata).layout),
                                    static_cast<char>(kB(metadata).layout),
                                    static_cast<char>(kOut(metadata).layout)};
  return any_matches(patterns, {letters.data(), letters.size()});
}

bool op_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  const auto* elementwise = metadata.elementwise();
  return elementwise != nullptr && any_matches(patterns, elementwise_op_name(elementwise->op));
}

bool tile_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return metadata.design.tile && shape_matches(patterns, *metadata.design.tile);
}

bool cluster_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return shape_matches(patterns, metadata.design.cluster);
}

bool instruction_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return metadata.design.instruction && shape_matches(patterns, *metadata.design.instruction);
}

bool stages_match(const KernelMetadata& metadata, const Patterns& patterns) {
  return number_matches(patterns, metadata.design.stages);
}

bool schedule_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return any_matches(patterns, metadata.design.schedule);
}

bool split_matches(const KernelMetadata& metadata, const Patterns& patterns) {
  return number_matches(patterns, metadata.design.split);
}

using Match = bool (*)(const KernelMetadata&, const Patterns&);

/// What a value must be when it does not end in *; a misspelt one would quietly match nothing.
enum class ValueKind : std::uint8_t {
  text,
  dtype,
  layouts,
  operation,
  target,
  op,
  number,
  shape,
};

struct Key {
  std::string_view name;
  ValueKind kind;
  Match match;
};

constexpr std::array<Key, 22> kKeys{{
    {"name", ValueKind::text, text_matches<&KernelMetadata::name>},
    {"class", ValueKind::text, text_matches<&KernelMetadata::kernel_class>},
    {"provider", ValueKind::text, text_matches<&KernelMetadata::provider>},
    {"operation", ValueKind::operation, operation_matches},
    {"target", ValueKind::target, target_matches},
    {"min_cc", ValueKind::number, min_cc_matches},
    {"a", ValueKind::dtype, dtype_matches<kA>},
    {"b", ValueKind::dtype, dtype_matches<kB>},
    {"out", ValueKind::dtype, dtype_matches<kOut>},
    {"acc", ValueKind::dtype, accumulator_matches},
    {"layouts", ValueKind::layouts, layouts_match},
    {"op", ValueKind::op, op_matches},
    {"tile", ValueKind::shape, tile_matches},
    {"cluster", ValueKind::shape, cluster_matches},
    {"instruction", ValueKind::shape, instruction_matches},
    {"stages", ValueKind::number, stages_match},
    {"schedule", ValueKind::text, schedule_matches},
    {"split", ValueKind::number, split_matches},
    {"align_a", ValueKind::number, alignment_matches<kA>},
    {"align_b", ValueKind::number, alignment_matches<kB>},
    {"align_out", ValueKind::number, alignment_matches<kOut>},
    {"epilogue", ValueKind::text, text_matches<&KernelMetadata::epilogue>},
}};

/// As numbers are printed: 4, not 04.
bool is_number(std::string_view text) {
  const auto number = core::parse_int64(text);
  return number && *number >= 0 && (text.front() != '0' || text.size() == 1);
}

bool is_shape(std::string_view text) {
  int parts = 0;
  for (std::size_t start = 0; start <= text.size(); ++parts) {
    const std::size_t end = std::min(text.find('x', start), text.size());
    if (!is_number(text.substr(start, end - start))) return false;
    start = end + 1;
  }
  return parts == 2 || parts == 3;
}

bool is_layouts(std::string_view text) {
  return text.size() == 3 && text.find_first_not_of("tnx") == std::string_view::npos;
}

/// Empty when `text` may be a value of that kind, else what was expected.
std::string_view expected_instead(ValueKind kind, std::string_view text) {
  switch (kind) {
    case ValueKind::text:
      return "";
    case ValueKind::dtype:
      return parse_dtype(text) ? "" : "a dtype such as bf16";
    case ValueKind::layouts:
      return is_layouts(text) ? "" : "layouts of A, B and out such as tnt, x for any";
    case ValueKind::operation:
      return parse_operation(text) ? "" : "an operation, gemm, elementwise or grouped_gemm";
    case ValueKind::target:
      return Target::parse(text) ? "" : "a target such as cpu or sm_90a";
    case ValueKind::op:
      return parse_elementwise_op(text) ? "" : "an elementwise operation such as add";
    case ValueKind::number:
      return is_number(text) ? "" : "a whole number of 0 or more";
    case ValueKind::shape:
      return is_shape(text) ? "" : "a shape such as 128x256x64";
  }
  return "";
}

struct Term {
  Match match;
  bool wanted;  ///< false for !=
  Patterns patterns;

  bool holds(const KernelMetadata& metadata) const { return match(metadata, patterns) == wanted; }
};

class FilterParser {
 public:
  explicit FilterParser(std::string_view text) : cursor_(text, "filter") {}

  std::vector<Term> parse() {
    std::vector<Term> terms;
    for (cursor_.skip_blanks(); !cursor_.at_end(); cursor_.skip_blanks()) {
      terms.push_back(read_term());
    }
    return terms;
  }

 private:
  Term read_term() {
    const Key& key = read_key();
    const bool wanted = !cursor_.accept('!');
    if (!cursor_.accept('=')) {
      cursor_.fail_expected(cursor_.position(),
                            fmt::format("{} after {}", wanted ? "= or !=" : "!=", key.name));
    }
    Term term{key.match, wanted, {}};
    do {
      term.patterns.push_back(read_pattern(key));
    } while (cursor_.accept(','));
    const std::size_t end = cursor_.position();
    if (!cursor_.take_until("").empty()) {
      cursor_.fail_expected(end, fmt::format("a blank after the value of {}", key.name));
    }
    return term;
  }

  const Key& read_key() {
    const std::size_t start = cursor_.position();
    const std::string_view name = cursor_.take_until("=!");
    const auto key = std::ranges::find(kKeys, name, &Key::name);
    if (key != kKeys.end()) return *key;
    std::array<std::string_view, kKeys.size()> names;
    std::ranges::transform(kKeys, names.begin(), &Key::name);
    cursor_.fail_word(start, fmt::format("a key ({})", fmt::join(names, " ")), name, names);
  }

  Pattern read_pattern(const Key& key) {
    const std::size_t start = cursor_.position();
    if (cursor_.peek() == '"') {
      Pattern pattern{cursor_.take_quoted()};
      pattern.prefix_only = cursor_.accept('*');
      return pattern;
    }
    Pattern pattern{std::string(cursor_.take_until(","))};
    if (pattern.text.empty()) {
      cursor_.fail_expected(start, fmt::format("a value of {}", key.name));
    }
    check_star(start, pattern);
    if (pattern.text.ends_with('*')) {
      pattern.text.pop_back();
      pattern.prefix_only = true;
      return pattern;
    }
    const std::string_view expected = expected_instead(key.kind, pattern.text);
    if (!expected.empty()) cursor_.fail_word(start, expected, pattern.text, {});
    return pattern;
  }

  void check_star(std::size_t start, const Pattern& pattern) const {
    const std::size_t star = pattern.text.find('*');
    if (star >= pattern.text.size() - 1) return;
    cursor_.fail_at(start + star, "expected * at the end of a value only");
  }

  TextCursor cursor_;
};

}  // namespace

MetadataFilter MetadataFilter::parse(std::string_view text) {
  std::vector<Term> terms = FilterParser(text).parse();
  if (terms.empty()) return {};
  return MetadataFilter([terms = std::move(terms)](const KernelMetadata& metadata) {
    return std::ranges::all_of(terms, [&](const Term& term) { return term.holds(metadata); });
  });
}

}  // namespace estoc
