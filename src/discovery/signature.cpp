// Builds the signature of arguments without allocating.
#include "discovery/signature.h"

#include <bit>

#include "operations/grouped_gemm/lowering.h"

namespace estoc::discovery {
namespace {

/// Of a mode counted from the first; of one that is not there, which is contiguous, 1.
std::int64_t extent_of(const TensorView& view, int mode) {
  return mode < 0 ? 1 : view.shape(mode);
}

OperandSignature signature_of(const NamedOperand& named) {
  const TensorView& view = *named.tensor;
  const int column = view.rank() - 1;
  const int row = view.rank() - 2;
  const auto is_contiguous = [&](int mode) {
    return extent_of(view, mode) <= 1 || view.stride(mode) == 1;
  };
  const auto steps_by_one = [&](int mode) {
    return extent_of(view, mode) > 1 && view.stride(mode) == 1;
  };
  OperandSignature operand{.dtype = view.dtype(),
                           .row_major = is_contiguous(column),
                           .column_major = is_contiguous(row),
                           .block_scaled = named.scaled != nullptr && named.scaled->has_blocks(),
                           .alignment = static_cast<std::int16_t>(view.alignment())};
  operand.element_rows = operand.row_major && steps_by_one(row);
  operand.element_columns = operand.column_major && steps_by_one(column);
  return operand;
}

/// The place in `operands` of the schema's operand; `next` is that of the one to come. An operand
/// that the arguments lack is the one before it.
std::size_t place_of(const operations::OperandSchema& schema, const OperandList& operands,
                     std::size_t next) {
  const bool is_there = next < operands.size() && operands[next].role == schema.role;
  return is_there ? next : next - 1;
}

std::uint32_t word_of(const OperandSignature& operand) {
  std::uint32_t word = static_cast<std::uint32_t>(operand.dtype);
  for (const bool bit : {operand.row_major, operand.column_major, operand.block_scaled,
                         operand.element_rows, operand.element_columns})
    word = word << 1 | (bit ? 1U : 0U);
  return word << 4 |
         static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint16_t>(operand.alignment)));
}

bool has_pairs(const RuntimeArguments& arguments) {
  const EpilogueBinding* const binding = arguments.epilogue_binding();
  return binding != nullptr && binding->graph->pairs != AccumulatorPairs::none;
}

}  // namespace

std::size_t SignatureKey::hash() const {
  std::uint64_t hash = 0;
  for (const std::uint64_t word : words())
    hash = std::rotl(hash ^ word, 29) * 0x9E3779B97F4A7C15U;
  return static_cast<std::size_t>(hash ^ hash >> 32);
}

Signature::Signature(const RuntimeArguments& arguments)
    : schema_(&operations::schema_of(arguments)),
      size_(schema_->operands.size()),
      attributes_(schema_->attributes(arguments)),
      paired_(has_pairs(arguments)),
      by_pointers_(operations::has_pointers(arguments)),
      chooses_rows_(operations::has_rows(arguments)),
      allow_tf32_(arguments.controls().allow_tf32),
      fast_accumulation_(arguments.controls().fast_accumulation) {
  const OperandList operands = arguments.operands();
  std::size_t next = 0;
  for (std::size_t i = 0; i < size_; ++i) {
    const std::size_t place =
        operands.size() == size_ ? i : place_of(schema_->operands[i], operands, next);
    operands_[i] = signature_of(operands[place]);
    // What each group has its own of is no factor of out.
    operands_[i].block_scaled |= operations::has_rows_of_groups(arguments, operands[place]);
    aligns_by_letter_ |= operands_[i].aligns_by_letter();
    const bool is_output = schema_->operands[i].role == OperandRole::output;
    (is_output ? quantised_ : block_scaled_) |= operands_[i].block_scaled;
    next = place + 1;
  }
}

std::uint64_t Signature::head() const {
  std::uint64_t first = static_cast<std::uint64_t>(schema_->operation);
  first = first << 8 | static_cast<std::uint64_t>(attributes_.op);
  first = first << 8 | static_cast<std::uint64_t>(attributes_.accumulator_type);
  first = first << 1 | (paired_ ? 1 : 0);
  first = first << 1 | (by_pointers_ ? 1 : 0);
  first = first << 1 | (chooses_rows_ ? 1 : 0);
  first = first << 1 | (allow_tf32_ ? 1 : 0);
  return first << 1 | (fast_accumulation_ ? 1 : 0);
}

SignatureKey Signature::key() const {
  SignatureKey key(head());
  const auto all = operands();
  for (std::size_t i = 0; i < all.size(); i += 2) {
    const std::uint64_t second = i + 1 < all.size() ? word_of(all[i + 1]) : 0;
    key.add(second << 32 | word_of(all[i]));
  }
  return key;
}

const TensorView& operand_view(const RuntimeArguments& arguments, std::size_t operand) {
  const auto& schemas = operations::schema_of(arguments).operands;
  const OperandList operands = arguments.operands();
  std::size_t place = 0;
  for (std::size_t i = 0; i <= operand; ++i)
    place = place_of(schemas[i], operands, i == 0 ? 0 : place + 1);
  return *operands[place].tensor;
}

}  // namespace estoc::discovery
