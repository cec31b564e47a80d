// What the plan for a call of matmul depends on, as a key of whole numbers.
#include "run/signature.h"

#include <algorithm>
#include <bit>
#include <functional>

namespace estoc::run {
namespace {

constexpr int kMaxModes = 3;

std::uint64_t as_word(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

std::uint64_t as_word(std::string_view text) {
  return std::hash<std::string_view>()(text);
}

std::uint64_t dtype_word(std::optional<Dtype> dtype) {
  return dtype ? static_cast<std::uint64_t>(*dtype) : 0xff;
}

}  // namespace

std::optional<Signature> Signature::of(const MatmulOperand& a, const MatmulOperand& b,
                                       const MatmulOperand& out, const GroupOptions* groups,
                                       const MatmulOptions& options) {
  std::optional<Signature> signature(std::in_place);
  const bool fits = signature->add(a) && signature->add(b) && signature->add(out) &&
                    signature->add(groups) && signature->add(options) &&
                    std::ranges::all_of(options.operands, [&](const EpilogueOperand& operand) {
                      return signature->add(operand);
                    });
  if (!fits) signature.reset();
  return signature;
}

bool Signature::add(std::uint64_t word) {
  if (count_ == kMaxWords) return false;
  words_[count_++] = word;
  return true;
}

bool Signature::add(const TensorView& view) {
  if (view.rank() > kMaxModes || count_ + 1 + 2 * kMaxModes > kMaxWords) return false;
  const Device device = view.device();
  add(static_cast<std::uint64_t>(view.dtype()) | as_word(view.rank()) << 8 |
      static_cast<std::uint64_t>(device.kind) << 16 | as_word(view.described() ? 1 : 0) << 24 |
      as_word(view.alignment()) << 28 | as_word(device.index) << 40);
  for (int mode = 0; mode < view.rank(); ++mode) {
    add(as_word(view.shape(mode)));
    add(as_word(view.stride(mode)));
  }
  return true;
}

bool Signature::add(const MatmulOperand& operand) {
  if (!add(operand.tensor)) return false;
  const ScaledTensor* const scaled = operand.scaled;
  if (scaled == nullptr) return add(std::uint64_t{0});
  return add(std::uint64_t{1} | static_cast<std::uint64_t>(scaled->mode) << 8 |
             static_cast<std::uint64_t>(scaled->swizzle) << 16 |
             (scaled->powers_of_two ? 1U : 0U) << 24 | (scaled->tensor_scale ? 1U : 0U) << 25) &&
         add(scaled->scale) && (!scaled->tensor_scale || add(*scaled->tensor_scale));
}

bool Signature::add(const GroupOptions* groups) {
  if (groups == nullptr) return add(std::uint64_t{0});
  add(std::uint64_t{1} | (groups->zero_rest ? 2U : 0U) | (groups->offsets ? 4U : 0U) |
      (groups->rows ? 8U : 0U) | static_cast<std::uint64_t>(groups->layout) << 4);
  return (!groups->offsets || add(*groups->offsets)) && (!groups->rows || add(*groups->rows));
}

bool Signature::add(const MatmulOptions& options) {
  const auto& [allow_tf32, fast_accumulation, deterministic, batch_invariant, allow_bf16x6,
               workspace_limit] = options.controls;
  add((allow_tf32 ? 1U : 0U) | (fast_accumulation ? 2U : 0U) | (deterministic ? 4U : 0U) |
      (batch_invariant ? 8U : 0U) | (workspace_limit ? 16U : 0U) |
      (options.programmatic ? 32U : 0U) | (allow_bf16x6 ? 64U : 0U) |
      dtype_word(options.accumulator_type) << 8 | as_word(options.threads) << 32);
  return add(as_word(workspace_limit.value_or(0))) && add(as_word(options.epilogue));
}

bool Signature::add(const EpilogueOperand& operand) {
  if (!add(as_word(operand.name))) return false;
  if (const TensorView* const tensor = operand.tensor()) return add(*tensor);
  const EpilogueScalarOperand& scalar = *operand.scalar();
  return add(dtype_word(scalar.dtype) | (scalar.is_integer ? 0x100U : 0U));
}

bool Signature::operator==(const Signature& other) const {
  return count_ == other.count_ &&
         std::equal(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(count_),
                    other.words_.begin());
}

std::size_t Signature::hash() const {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  std::uint64_t state = count_;
  for (std::size_t i = 0; i < count_; ++i)
    state = std::rotl((state ^ words_[i]) * kFactor, 29);
  return state ^ state >> 32;
}

}  // namespace estoc::run
