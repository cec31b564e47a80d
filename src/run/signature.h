// What the plan for a call of matmul depends on, as a key of integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "estoc/plan.hpp"

namespace estoc::run {

/// A tensor of a call, and its scales where it has some.
struct MatmulOperand {
  const TensorView& tensor;
  const ScaledTensor* scaled = nullptr;
};

/// Dtypes, shapes, strides, alignments and devices of the tensors, and the options.
class Signature {
 public:
  /// `groups` is null for a plain product. nullopt for calls that are not remembered: with tensors
  /// of more than three modes, or with an epilogue of very many operands.
  static std::optional<Signature> of(const MatmulOperand& a, const MatmulOperand& b,
                                     const MatmulOperand& out, const GroupOptions* groups,
                                     const MatmulOptions& options);

  bool operator==(const Signature& other) const;
  std::size_t hash() const;

 private:
  static constexpr std::size_t kMaxWords = 128;

  bool add(std::uint64_t word);
  bool add(const TensorView& view);
  bool add(const MatmulOperand& operand);
  bool add(const GroupOptions* groups);
  bool add(const MatmulOptions& options);
  bool add(const EpilogueOperand& operand);

  std::array<std::uint64_t, kMaxWords> words_;  // those past the count are not initialised
  std::size_t count_ = 0;
};

struct SignatureHash {
  std::size_t operator()(const Signature& signature) const { return signature.hash(); }
};

}  // namespace estoc::run
