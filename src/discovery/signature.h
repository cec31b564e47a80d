// What of some arguments decides which values of a design space fit them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "operations/operation.h"

namespace estoc::discovery {

/// What a kernel's constraints can require of one operand.
struct OperandSignature {
  Dtype dtype = Dtype::f32;
  bool row_major = false;     ///< fits layout letter t
  bool column_major = false;  ///< fits layout letter n
  bool block_scaled = false;
  std::int16_t alignment = 1;  ///< bytes, a power of two up to 256
  // An operand of one row or column fits both letters, and may be aligned as one of them alone:
  // rows of one element, which the other letter has, begin at every element.
  bool element_rows = false;     ///< as letter t
  bool element_columns = false;  ///< as letter n

  bool aligns_by_letter() const { return element_rows || element_columns; }
  /// The alignment of what is contiguous by that letter.
  int alignment_as(char letter) const {
    const bool elements = (letter == 't' && element_rows) || (letter == 'n' && element_columns);
    return elements ? std::min<int>(alignment, std::max(dtype_bits(dtype) / 8, 1)) : alignment;
  }
};

/// A signature in 64-bit words. Equal signatures and no others have equal keys.
class SignatureKey {
 public:
  static constexpr std::size_t kMaxWords = 1 + kMaxOperands / 2;

  explicit SignatureKey(std::uint64_t first = 0) : words_{first} {}

  void add(std::uint64_t word) { words_[size_++] = word; }
  std::span<const std::uint64_t> words() const { return {words_.data(), size_}; }
  std::size_t hash() const;

  bool operator==(const SignatureKey& other) const {
    return std::ranges::equal(words(), other.words());
  }

 private:
  std::array<std::uint64_t, kMaxWords> words_;
  std::size_t size_ = 1;
};

/// Arguments of one signature are fitted by the same kernels of a design space.
class Signature {
 public:
  explicit Signature(const RuntimeArguments& arguments);

  const operations::OperationSchema& schema() const { return *schema_; }
  Operation operation() const { return schema_->operation; }
  /// One for each operand of the schema.
  std::span<const OperandSignature> operands() const { return {operands_.data(), size_}; }
  const operations::Attributes& attributes() const { return attributes_; }

  /// Whether f32 stands for tf32 where the operation multiplies the operand.
  bool may_be_rounded(std::size_t operand) const {
    return allow_tf32_ && schema_->accumulates &&
           schema_->operands[operand].role == OperandRole::input;
  }

  /// Whether some operand's alignment depends on the letter that it is seen as.
  bool aligns_by_letter() const { return aligns_by_letter_; }
  /// Whether out is quantised.
  bool quantised() const { return quantised_; }
  /// Whether the epilogue has accumulators in pairs.
  bool paired() const { return paired_; }
  /// Whether groups are given by pointers.
  bool by_pointers() const { return by_pointers_; }
  /// Whether an index chooses the rows of A.
  bool chooses_rows() const { return chooses_rows_; }
  /// Whether some input has scales of blocks. Other scales are part of the epilogue.
  bool block_scaled() const { return block_scaled_; }

  SignatureKey key() const;
  /// What of the key does not follow from the operands.
  std::uint64_t head() const;

 private:
  const operations::OperationSchema* schema_;
  std::array<OperandSignature, kMaxOperands> operands_;
  std::size_t size_;
  operations::Attributes attributes_;
  bool aligns_by_letter_ = false;
  bool block_scaled_ = false;
  bool quantised_ = false;
  bool paired_;
  bool by_pointers_;
  bool chooses_rows_;
  bool allow_tf32_;
  bool fast_accumulation_;
};

/// The view of an operand of the schema, by its place there.
const TensorView& operand_view(const RuntimeArguments& arguments, std::size_t operand);

}  // namespace estoc::discovery
