// Compares design values with signatures, and words the mismatches.
#include "discovery/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "estoc/device.hpp"

namespace estoc::discovery {
namespace {

using Values = std::vector<const DesignValue*>;

bool dtype_fits(Dtype required, std::size_t operand, const Signature& signature) {
  const Dtype dtype = signature.operands()[operand].dtype;
  if (required == dtype) return true;
  return required == Dtype::tf32 && dtype == Dtype::f32 && signature.may_be_rounded(operand);
}

/// The dtype that a kernel for such arguments expects.
Dtype dtype_for(const Requirement& requirement, const DesignValue& value,
                const Signature& signature) {
  const Dtype second = requirement.second < 0 ? Dtype::f32 : signature.operands()[1].dtype;
  return required_dtype(requirement, value, second);
}

const char* name_of(const Requirement& requirement, const Signature& signature) {
  return signature.schema().operands[requirement.operand].name;
}

bool layout_fits(char letter, const OperandSignature& operand) {
  if (letter == 't') return operand.row_major;
  if (letter == 'n') return operand.column_major;
  return true;
}

char layout_letter(const Requirement& requirement, const DesignValue& value) {
  return value.text[requirement.operand];
}

/// The letter that the point has for an operand; x where layouts are no part of the space.
char letter_of(const ClassInfo& info, const DesignPoint& point, std::size_t operand) {
  const int layouts = info.space->find(Role::layouts);
  return layouts < 0 ? 'x' : info.value(point, layouts).text[operand];
}

int alignment_as_laid_out(const ClassInfo& info, const DesignPoint& point, std::size_t operand,
                          const Signature& signature) {
  return signature.operands()[operand].alignment_as(letter_of(info, point, operand));
}

/// The smallest and the largest number among the values of the dimension that the selection allows.
std::pair<int, int> allowed_range(const ClassInfo& info, int dimension,
                                  const Selection& selection) {
  std::pair range{std::numeric_limits<int>::max(), 0};
  const auto& values = info.space->dimensions()[static_cast<std::size_t>(dimension)].values;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!selection.allows(dimension, static_cast<int>(i))) continue;
    range = {std::min(range.first, values[i].numbers[0]),
             std::max(range.second, values[i].numbers[0])};
  }
  return range;
}

/// "f16", "f16 or bf16", "f64, f32 or f16"; repetitions are left out.
std::string join_alternatives(const std::vector<std::string>& words) {
  std::vector<std::string> unique;
  for (const std::string& word : words) {
    if (std::find(unique.begin(), unique.end(), word) == unique.end()) unique.push_back(word);
  }
  if (unique.empty()) return "nothing";
  std::string text = unique.front();
  for (std::size_t i = 1; i < unique.size(); ++i) {
    text += (i + 1 == unique.size() ? " or " : ", ") + unique[i];
  }
  return text;
}

std::string subject(const Requirement& requirement, const Signature& signature) {
  switch (requirement.aspect) {
    case Aspect::op:
      return "op";
    case Aspect::accumulator_type:
      return "accumulator_type";
    case Aspect::dtype:
      return fmt::format("{}.dtype", name_of(requirement, signature));
    case Aspect::layout:
      return fmt::format("{}.layout", name_of(requirement, signature));
    case Aspect::alignment:
      return fmt::format("{}.alignment", name_of(requirement, signature));
  }
  return {};
}

std::string layout_in_words(char letter) {
  if (letter == 't') return "last mode contiguous (t)";
  if (letter == 'n') return "next-to-last mode contiguous (n)";
  return "any strides (x)";
}

std::string expected_word(const Requirement& requirement, const DesignValue& value,
                          const Signature& signature) {
  switch (requirement.aspect) {
    case Aspect::dtype:
    case Aspect::accumulator_type:
      return std::string(dtype_name(dtype_for(requirement, value, signature)));
    case Aspect::layout:
      return layout_in_words(layout_letter(requirement, value));
    default:
      return value.text;
  }
}

std::string expected(const Requirement& requirement, const Values& values,
                     const Signature& signature) {
  if (requirement.aspect == Aspect::alignment) {
    const auto smallest = std::min_element(values.begin(), values.end(),
                                           [](const DesignValue* left, const DesignValue* right) {
                                             return left->numbers[0] < right->numbers[0];
                                           });
    return fmt::format("a multiple of {} bytes", (*smallest)->numbers[0]);
  }
  std::vector<std::string> words;
  for (const DesignValue* value : values)
    words.push_back(expected_word(requirement, *value, signature));
  return join_alternatives(words);
}

std::string got(const Requirement& requirement, const RuntimeArguments& arguments,
                const Signature& signature) {
  const OperandSignature& operand = signature.operands()[requirement.operand];
  switch (requirement.aspect) {
    case Aspect::op:
      return std::string(elementwise_op_name(signature.attributes().op));
    case Aspect::dtype:
      return std::string(dtype_name(operand.dtype));
    case Aspect::accumulator_type:
      return std::string(dtype_name(signature.attributes().accumulator_type));
    case Aspect::layout:
      return fmt::format("strides ({})",
                         fmt::join(operand_view(arguments, requirement.operand).strides(), ", "));
    case Aspect::alignment:
      return fmt::format("{}", operand.alignment);
  }
  return {};
}

Reason reason_of(Aspect aspect) {
  switch (aspect) {
    case Aspect::op:
      return Reason::operation;
    case Aspect::layout:
      return Reason::layout;
    case Aspect::alignment:
      return Reason::alignment;
    default:
      return Reason::dtype;
  }
}

Status mismatch(const Requirement& requirement, const Values& values,
                const RuntimeArguments& arguments, const Signature& signature,
                const char* condition = "") {
  return Status::fail(reason_of(requirement.aspect),
                      fmt::format("{}: expected {}{}, got {}", subject(requirement, signature),
                                  expected(requirement, values, signature), condition,
                                  got(requirement, arguments, signature)));
}

Status operation_mismatch(const ClassInfo& info, const Signature& signature) {
  return Status::fail(Reason::operation,
                      fmt::format("operation: expected {}, got {}", operation_name(info.operation),
                                  operation_name(signature.operation())));
}

/// Joins failures; the reason is the first one's.
class Mismatches {
 public:
  void add(const Status& status) {
    if (status.ok()) return;
    if (reason_ == Reason::none) reason_ = status.reason();
    if (!text_.empty()) text_ += "; ";
    text_ += status.error();
  }
  bool empty() const { return reason_ == Reason::none; }
  Status status() const { return empty() ? Status::success() : Status::fail(reason_, text_); }

 private:
  Reason reason_ = Reason::none;
  std::string text_;
};

Values all_values(const Dimension& dimension) {
  Values values;
  for (const DesignValue& value : dimension.values)
    values.push_back(&value);
  return values;
}

const Dimension& dimension_of(const ClassInfo& info, const Requirement& requirement) {
  return info.space->dimensions()[static_cast<std::size_t>(requirement.dimension)];
}

/// The requirements that no value of their dimension meets.
Status unmet_requirements(const ClassInfo& info, const RuntimeArguments& arguments,
                          const Signature& signature) {
  Mismatches mismatches;
  for (const Requirement& requirement : info.requirements) {
    const Values values = all_values(dimension_of(info, requirement));
    const bool met = std::any_of(values.begin(), values.end(), [&](const DesignValue* value) {
      return fits(requirement, *value, signature);
    });
    if (!met) mismatches.add(mismatch(requirement, values, arguments, signature));
  }
  return mismatches.status();
}

/// The values of `dimension` that kernels of the selection have.
Values values_that_occur(const DesignSpace& space, const Selection& selection, int dimension) {
  Values values;
  const auto& all = space.dimensions()[static_cast<std::size_t>(dimension)].values;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int index = static_cast<int>(i);
    if (!selection.allows(dimension, index)) continue;
    Selection one = selection;
    one.fix(dimension, index);
    if (space.count(one) > 0) values.push_back(&all[i]);
  }
  return values;
}

/// Every requirement can be met, but not together: names each one whose change alone would help.
Status unmet_combination(const ClassInfo& info, const RuntimeArguments& arguments,
                         const Signature& signature) {
  Mismatches mismatches;
  for (const Requirement& requirement : info.requirements) {
    const auto others = select(info, signature, &requirement);
    if (!others) continue;
    const Values values = values_that_occur(*info.space, *others, requirement.dimension);
    if (values.empty()) continue;
    mismatches.add(mismatch(requirement, values, arguments, signature, " with the rest as it is"));
  }
  if (!mismatches.empty()) return mismatches.status();
  return Status::fail(Reason::other,
                      "arguments: expected a combination of dtypes, layouts and alignments that "
                      "the class describes, got another");
}

/// Their names; of all CUDA architectures, the first one's name and that all later ones are meant.
std::string list_of(std::span<const Target> targets) {
  if (std::ranges::equal(targets, cuda_targets()))
    return targets.front().name() + " and later CUDA architectures";
  std::vector<std::string> names;
  for (const Target target : targets)
    names.push_back(target.name());
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

bool fits(const Requirement& requirement, const DesignValue& value, const Signature& signature) {
  const OperandSignature& operand = signature.operands()[requirement.operand];
  switch (requirement.aspect) {
    case Aspect::op:
      return value.numbers[0] == static_cast<int>(signature.attributes().op);
    case Aspect::dtype:
      return dtype_fits(dtype_for(requirement, value, signature), requirement.operand, signature);
    case Aspect::accumulator_type:
      return dtype_for(requirement, value, signature) == signature.attributes().accumulator_type;
    case Aspect::layout:
      return layout_fits(layout_letter(requirement, value), operand);
    case Aspect::alignment:
      return operand.alignment >= value.numbers[0];  // both are powers of two
  }
  return false;
}

std::optional<Selection> select(const ClassInfo& info, const Signature& signature,
                                const Requirement* except) {
  Selection selection(*info.space);
  for (const Requirement& requirement : info.requirements) {
    if (&requirement == except) continue;
    const bool some = selection.restrict(requirement.dimension, [&](const DesignValue& value) {
      return fits(requirement, value, signature);
    });
    if (!some) return std::nullopt;
  }
  return selection;
}

bool drop_misaligned(const ClassInfo& info, const Signature& signature, Selection& selection) {
  const int layouts = info.space->find(Role::layouts);
  if (layouts < 0 || !signature.aligns_by_letter()) return true;
  for (const Requirement& requirement : info.requirements) {
    if (requirement.aspect != Aspect::alignment) continue;
    const auto operand = requirement.operand;
    const int least = allowed_range(info, requirement.dimension, selection).first;
    const bool some = selection.restrict(layouts, [&](const DesignValue& value) {
      return signature.operands()[operand].alignment_as(value.text[operand]) >= least;
    });
    if (!some) return false;
  }
  return true;
}

bool has_misaligned(const ClassInfo& info, const Signature& signature, const Selection& selection) {
  const int layouts = info.space->find(Role::layouts);
  if (layouts < 0 || !signature.aligns_by_letter()) return false;
  const auto& letters = info.space->dimensions()[static_cast<std::size_t>(layouts)].values;
  return std::ranges::any_of(info.requirements, [&](const Requirement& requirement) {
    if (requirement.aspect != Aspect::alignment) return false;
    const auto operand = requirement.operand;
    const int most = allowed_range(info, requirement.dimension, selection).second;
    for (std::size_t i = 0; i < letters.size(); ++i) {
      if (selection.allows(layouts, static_cast<int>(i)) &&
          signature.operands()[operand].alignment_as(letters[i].text[operand]) < most) {
        return true;
      }
    }
    return false;
  });
}

const Requirement* misaligned(const ClassInfo& info, const DesignPoint& point,
                              const Signature& signature) {
  if (!signature.aligns_by_letter()) return nullptr;
  for (const Requirement& requirement : info.requirements) {
    const auto operand = requirement.operand;
    if (requirement.aspect != Aspect::alignment) continue;
    if (!signature.operands()[operand].aligns_by_letter()) continue;
    const int alignment = alignment_as_laid_out(info, point, requirement.operand, signature);
    if (alignment < info.value(point, requirement.dimension).numbers[0]) return &requirement;
  }
  return nullptr;
}

AlignedKernels::AlignedKernels(const ClassInfo& info, const Signature& signature)
    : layouts_(static_cast<std::size_t>(std::max(info.space->find(Role::layouts), 0))) {
  if (info.space->find(Role::layouts) < 0) return;
  const auto dimensions = info.space->dimensions();
  for (const Requirement& requirement : info.requirements) {
    const OperandSignature& operand = signature.operands()[requirement.operand];
    if (requirement.aspect != Aspect::alignment || !operand.aligns_by_letter()) continue;
    const auto dimension = static_cast<std::size_t>(requirement.dimension);
    Bound bound{dimension, dimensions[dimension].values.data(), {}};
    for (const DesignValue& letters : dimensions[layouts_].values)
      bound.most.push_back(operand.alignment_as(letters.text[requirement.operand]));
    bounds_.push_back(std::move(bound));
    same_.add(dimension);
    same_.add(layouts_);
  }
}

bool AlignedKernels::looks_aligned(const DesignPoint& point) const {
  return std::ranges::all_of(bounds_, [&](const Bound& bound) {
    return bound.values[point.indices()[bound.dimension]].numbers[0] <=
           bound.most[point.indices()[layouts_]];
  });
}

Status check_alignments(const ClassInfo& info, const DesignPoint& point,
                        const Signature& signature) {
  const Requirement* const requirement = misaligned(info, point, signature);
  if (requirement == nullptr) return Status::success();
  const std::size_t operand = requirement->operand;
  return Status::fail(
      Reason::alignment,
      fmt::format("{}.alignment: expected a multiple of {} bytes with the {}, got {}",
                  name_of(*requirement, signature),
                  info.value(point, requirement->dimension).numbers[0],
                  layout_in_words(letter_of(info, point, operand)),
                  alignment_as_laid_out(info, point, operand, signature)));
}

Status check_pointers(const ClassInfo& info, const Signature& signature) {
  using TakesPointers = KernelClass::TakesPointers;
  const TakesPointers takes = info.kernel_class->takes_pointers();
  const bool by_pointers = signature.by_pointers();
  if (by_pointers && takes == TakesPointers::never) {
    return Status::fail(Reason::layout, "offsets.layout: expected any but pointers, got pointers");
  }
  if (!by_pointers && takes == TakesPointers::only) {
    return Status::fail(Reason::layout, "offsets.layout: expected pointers, got others");
  }
  return Status::success();
}

Status check_rows(const ClassInfo& info, const Signature& signature) {
  using TakesRows = KernelClass::TakesRows;
  const TakesRows takes = info.kernel_class->takes_rows();
  const bool chooses = signature.chooses_rows();
  if (chooses && takes == TakesRows::never) {
    return Status::fail(Reason::layout, "rows: expected none, got an index");
  }
  if (!chooses && takes == TakesRows::only) {
    return Status::fail(Reason::layout, "rows: expected an index, got none");
  }
  return Status::success();
}

Status check_extras(const ClassInfo& info, const Signature& signature) {
  if (Status pointers = check_pointers(info, signature); !pointers.ok()) return pointers;
  if (Status rows = check_rows(info, signature); !rows.ok()) return rows;
  if (signature.paired() && !info.kernel_class->takes_pairs()) {
    return Status::fail(Reason::epilogue,
                        "epilogue: expected accum alone, got accumulators in pairs");
  }
  if (signature.quantised() != info.kernel_class->quantises()) {
    return Status::fail(Reason::dtype, signature.quantised()
                                           ? "out.scale: expected none, got scales to write"
                                           : "out.scale: expected scales to write, got none");
  }
  if (!signature.block_scaled() || info.kernel_class->takes_block_scales()) {
    return Status::success();
  }
  for (std::size_t i = 0; i < signature.operands().size(); ++i) {
    const bool is_input = signature.schema().operands[i].role == OperandRole::input;
    if (!is_input || !signature.operands()[i].block_scaled) continue;
    return Status::fail(Reason::dtype,
                        fmt::format("{}.scale: expected none, or those of the tensor "
                                    "or its rows, got those of blocks",
                                    signature.schema().operands[i].name));
  }
  return Status::success();
}

Status check_point(const ClassInfo& info, const DesignPoint& point,
                   const RuntimeArguments& arguments, const Signature& signature) {
  if (signature.operation() != info.operation) return operation_mismatch(info, signature);
  for (const Requirement& requirement : info.requirements) {
    const DesignValue& value = info.value(point, requirement.dimension);
    if (!fits(requirement, value, signature)) {
      return mismatch(requirement, {&value}, arguments, signature);
    }
  }
  Status status = check_alignments(info, point, signature);
  return status.ok() ? check_extras(info, signature) : status;
}

Status check_target(const ClassInfo& info, Target target) {
  if (info.has_target(target)) return Status::success();
  return Status::fail(Reason::target, fmt::format("target: expected one of {}, got {}",
                                                  list_of(info.targets), target.name()));
}

Status check_presence(const KernelClass& kernel_class, Target target) {
  if (!kernel_class.needs_device()) return Status::success();
  if (target.is_cpu()) {
    return Status::fail(Reason::target, "target: expected a CUDA architecture, got cpu");
  }
  for (const DeviceInfo& device : cuda_devices()) {
    if (device.target == target) return Status::success();
  }
  return Status::fail(
      Reason::device,
      fmt::format("device: expected a CUDA device of {} on this machine, got none", target.name()));
}

Status check_class(const ClassInfo& info, const RuntimeArguments& arguments,
                   const Signature& signature) {
  if (signature.operation() != info.operation) return operation_mismatch(info, signature);
  Mismatches mismatches;
  mismatches.add(unmet_requirements(info, arguments, signature));
  if (mismatches.empty()) {
    const auto selection = select(info, signature);
    if (!selection || info.space->count(*selection) == 0) {
      mismatches.add(unmet_combination(info, arguments, signature));
    }
  }
  mismatches.add(check_extras(info, signature));
  return mismatches.status();
}

}  // namespace estoc::discovery
