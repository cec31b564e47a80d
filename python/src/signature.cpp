// What a choice of kernel depends on, as the key that estoc.matmul finds its plans by.
#include "signature.h"

#include <algorithm>
#include <bit>

#include "addresses.h"
#include "dlpack.h"

namespace estoc::python {
namespace {

constexpr std::uintptr_t kMostAlignment = 256;

std::uint64_t as_word(std::int64_t number) {
  return static_cast<std::uint64_t>(number);
}

/// The binary logarithm of what the address is aligned to, 8 at most.
std::uint64_t alignment_of(const void* data) {
  return static_cast<std::uint64_t>(std::countr_zero(address_of(data) | kMostAlignment));
}

}  // namespace

void Signature::add(const TensorView& view) {
  const Device device = view.device();
  add(static_cast<std::uint64_t>(view.dtype()) | as_word(view.rank()) << 8 |
      static_cast<std::uint64_t>(device.kind) << 16 | as_word(view.described() ? 1 : 0) << 24 |
      as_word(view.alignment()) << 28 | as_word(device.index) << 40);
  for (int mode = 0; mode < view.rank(); ++mode) {
    add(as_word(view.shape(mode)));
    add(as_word(view.stride(mode)));
  }
}

bool Signature::add(const dlpack::Tensor& tensor) {
  if (tensor.rank < 2 || tensor.rank > kMostModes || tensor.dtype.lanes != 1 ||
      tensor.dtype.bits < 8) {
    return false;
  }
  add(static_cast<std::uint64_t>(tensor.dtype.code) |
      static_cast<std::uint64_t>(tensor.dtype.bits) << 8 | as_word(tensor.rank) << 16 |
      as_word(tensor.device.type) << 24 | alignment_of(dlpack::data_of(tensor)) << 32 |
      as_word(tensor.device.id) << 40);
  for (std::int32_t mode = 0; mode < tensor.rank; ++mode) {
    add(as_word(tensor.shape[mode]));
    add(as_word(tensor.strides[mode]));
  }
  return true;
}

bool Signature::operator==(const Signature& other) const {
  return count_ == other.count_ &&
         std::equal(words_.begin(), words_.begin() + count_, other.words_.begin());
}

std::size_t Signature::hash() const {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;  // 2^64 over the golden ratio
  std::uint64_t state = count_;
  for (std::size_t i = 0; i < count_; ++i)
    state = std::rotl((state ^ words_[i]) * kFactor, 29);
  return state ^ state >> 32;
}

}  // namespace estoc::python
