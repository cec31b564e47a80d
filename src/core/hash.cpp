// Wraps the one-shot and streaming 128-bit XXH3 of the xxhash library.
#include "core/hash.h"

#include <fmt/format.h>

#include <array>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace estoc::core {
namespace {

Hash128 from_xxh(XXH128_hash_t value) {
  return {value.high64, value.low64};
}

}  // namespace

struct Hasher::State {
  XXH3_state_t xxh;
};

std::string Hash128::hex() const {
  return fmt::format("{:016x}{:016x}", high, low);
}

Hash128 hash(std::span<const std::byte> bytes) {
  return from_xxh(XXH3_128bits(bytes.data(), bytes.size()));
}

Hash128 hash(std::string_view text) {
  return hash(std::as_bytes(std::span(text)));
}

Hasher::Hasher() : state_(std::make_unique<State>()) {
  XXH3_128bits_reset(&state_->xxh);
}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

Hasher& Hasher::update(std::span<const std::byte> bytes) {
  if (!bytes.empty()) XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size());
  return *this;
}

Hasher& Hasher::update(std::string_view text) {
  return update(std::as_bytes(std::span(text)));
}

Hasher& Hasher::field(std::string_view text) {
  std::array<std::byte, 8> length{};
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<std::byte>(std::uint64_t{text.size()} >> (8 * i));
  }
  return update(length).update(text);
}

Hash128 Hasher::digest() const {
  return from_xxh(XXH3_128bits_digest(&state_->xxh));
}

}  // namespace estoc::core
