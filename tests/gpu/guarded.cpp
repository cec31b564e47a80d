// Device memory between guard bytes, so that a write outside a tensor is seen.
#include "guarded.h"

#include <algorithm>
#include <cstring>

namespace estoc::gpu_test {

GuardedTensor::GuardedTensor(const TensorView& host, Device device, int skew)
    : begin_(kGuard + static_cast<std::size_t>(skew * dtype_bits(host.dtype()) / 8)),
      bytes_(static_cast<std::size_t>(host.span_bytes())),
      memory_(begin_ + bytes_ + kGuard, device) {
  std::vector<std::uint8_t> image(memory_.bytes(), kGuardByte);
  std::memcpy(image.data() + begin_, host.data(), bytes_);
  memory_.upload(image.data(), image.size());
  view_ = TensorView(static_cast<std::uint8_t*>(memory_.data()) + begin_, host.dtype(),
                     host.shape(), host.strides(), device);
}

void GuardedTensor::poison() {
  const std::vector<std::uint8_t> image(bytes_, 0xff);
  memory_.upload(image.data(), bytes_, begin_);
}

bool GuardedTensor::read_back(const TensorView& host) const {
  std::vector<std::uint8_t> image(memory_.bytes());
  memory_.download(image.data(), image.size());
  std::memcpy(host.data(), image.data() + begin_, bytes_);
  auto intact = [&](std::size_t from, std::size_t to) {
    return std::all_of(image.begin() + static_cast<std::ptrdiff_t>(from),
                       image.begin() + static_cast<std::ptrdiff_t>(to),
                       [](std::uint8_t byte) { return byte == kGuardByte; });
  };
  return intact(0, begin_) && intact(begin_ + bytes_, image.size());
}

}  // namespace estoc::gpu_test
