// Native types of device code on the host, and the marks that only a device compiler knows.
#pragma once
#pragma GCC system_header

#include <emulator/c_headers.h>

#define __device__
#define __global__
#define __shared__
#define __grid_constant__
#define __launch_bounds__(...)
#define __forceinline__ inline
// The C++ library spells an attribute like this: a kernel's file includes its headers first.
#ifndef ESTOC_EMULATOR_LIBRARY
#define __noinline__ __attribute__((noinline))
#endif

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
inline To bit_cast(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

}  // namespace estoc
