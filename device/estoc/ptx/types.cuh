// Native types of device code, and the vectors that loads and stores move.
#pragma once

namespace estoc {

using u8 = unsigned char;
using i8 = signed char;
using u16 = unsigned short;
using u32 = unsigned int;
using i32 = int;
using u64 = unsigned long long;
using i64 = long long;

/// `count` words of 32 bits that one instruction moves.
template <int count>
struct alignas(4 * count) Words {
  u32 word[count];
};

/// The bits of `from` as a `To` of the same size.
template <typename To, typename From>
__device__ __forceinline__ To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace estoc
