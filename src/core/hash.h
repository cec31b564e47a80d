// Hashing of bytes and text with XXH3 in 128 bits: cache keys and checksums, not cryptography.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace estoc::core {

struct Hash128 {
  std::uint64_t high = 0;
  std::uint64_t low = 0;

  /// 32 lower-case hexadecimal digits, the high half first.
  std::string hex() const;

  auto operator<=>(const Hash128&) const = default;
};

Hash128 hash(std::span<const std::byte> bytes);
Hash128 hash(std::string_view text);

/// Hashes what comes in pieces; the result is that of the pieces joined.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(Hasher&&) noexcept;
  Hasher& operator=(Hasher&&) noexcept;

  Hasher& update(std::span<const std::byte> bytes);
  Hasher& update(std::string_view text);

  /// Adds the length of `text`, in eight bytes, before the text, so that fields cannot run into
  /// each other.
  Hasher& field(std::string_view text);

  /// The hash of everything so far; more may follow.
  Hash128 digest() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace estoc::core
