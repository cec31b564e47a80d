// Device memory between guard bytes, so that a write outside a tensor is seen.
#include "guarded.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace estoc::gpu_test {
namespace {

constexpr std::uint8_t kPoison = 0xff;

/// The bytes from first to last element that belong to none; empty when there are none.
std::vector<bool> gaps_of(const TensorView& view) {
  const std::int64_t element = dtype_bits(view.dtype()) / 8;
  if (element == 0 || view.span_bytes() == view.elements() * element) return {};
  std::vector<bool> gaps(static_cast<std::size_t>(view.span_bytes()), true);
  std::array<std::int64_t, kMaxRank> index{};
  for (std::int64_t i = 0; i < view.elements(); ++i) {
    std::int64_t offset = 0;
    for (int mode = 0; mode < view.rank(); ++mode)
      offset += index[static_cast<std::size_t>(mode)] * view.stride(mode);
    std::fill_n(gaps.begin() + offset * element, element, false);
    for (int mode = view.rank() - 1; mode >= 0; --mode) {
      std::int64_t& place = index[static_cast<std::size_t>(mode)];
      if (++place < view.shape(mode)) break;
      place = 0;
    }
  }
  return gaps;
}

}  // namespace

GuardedMemory::GuardedMemory(std::size_t bytes, Device device, std::size_t skew)
    : begin_(kGuard + skew), bytes_(bytes), memory_(begin_ + bytes + kGuard, device) {
  const std::vector<std::uint8_t> image(memory_.bytes(), kGuardByte);
  memory_.upload(image.data(), image.size());
}

std::string GuardedMemory::broken_guard() const {
  const auto intact = [&](std::size_t bytes, std::size_t offset) {
    std::vector<std::uint8_t> image(bytes);
    memory_.download(image.data(), bytes, offset);
    return std::all_of(image.begin(), image.end(),
                       [](std::uint8_t byte) { return byte == kGuardByte; });
  };
  if (!intact(begin_, 0)) return "bytes before it were written";
  return intact(kGuard, begin_ + bytes_) ? "" : "bytes after it were written";
}

GuardedTensor::GuardedTensor(const TensorView& host, Device device, int skew)
    : memory_(static_cast<std::size_t>(host.span_bytes()), device,
              static_cast<std::size_t>(skew * dtype_bits(host.dtype()) / 8)),
      gaps_(gaps_of(host)) {
  memory_.upload(host.data());
  view_ = TensorView(memory_.data(), host.dtype(), host.shape(), host.strides(), device);
}

void GuardedTensor::poison() {
  const std::vector<std::uint8_t> image(memory_.bytes(), kPoison);
  memory_.upload(image.data());
}

std::string GuardedTensor::read_back(const TensorView& host) const {
  memory_.download(host.data());
  const auto* bytes = static_cast<const std::uint8_t*>(host.data());
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    if (gaps_[i] && bytes[i] != kPoison) return "bytes between its rows were written";
  }
  return memory_.broken_guard();
}

std::string GuardedTensor::changed_from(const TensorView& host) const {
  std::vector<std::uint8_t> image(memory_.bytes());
  memory_.download(image.data());
  if (!image.empty() && std::memcmp(image.data(), host.data(), image.size()) != 0) {
    return "its elements were written";
  }
  return memory_.broken_guard();
}

}  // namespace estoc::gpu_test
