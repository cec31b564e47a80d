// Host twin: products of a warpgroup, four warps, from shared memory (PTX ISA 9.7.15, wgmma).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

namespace detail {

// Whether there is an instruction for these types and N.
template <abi::Type a, abi::Type b, typename Value, int n>
constexpr bool is_product() {
  using abi::Type;
  constexpr bool kBytes = (a == Type::i8 || a == Type::u8) && (b == Type::i8 || b == Type::u8);
  constexpr bool kFloats =
      (a == Type::e4m3 || a == Type::e5m2) && (b == Type::e4m3 || b == Type::e5m2);
  constexpr bool kSame = a == b && (a == Type::f16 || a == Type::bf16 || a == Type::tf32);
  constexpr bool kIntegers = Value(0.5f) == Value(0);
  if (n < 8 || n > 256 || n % 8 != 0) return false;
  if (kBytes) return kIntegers && (n <= 32 || n % 16 == 0);
  return !kIntegers && (kFloats || kSame);
}

}  // namespace detail

inline void wgmma_fence(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::wgmma_fence({file, line});
}

inline void wgmma_commit_group(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  emulator::wgmma_commit({file, line});
}

template <int groups>
inline void wgmma_wait_group(int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(groups >= 0 && groups < 8);
  emulator::wgmma_wait(groups, {file, line});
}

template <int count>
inline void acc_use(float (&acc)[count], int line = __builtin_LINE(),
                    const char* file = __builtin_FILE()) {
  emulator::accumulators_used(acc, {file, line});
}

template <int count>
inline void acc_use(i32 (&acc)[count], int line = __builtin_LINE(),
                    const char* file = __builtin_FILE()) {
  emulator::accumulators_used(acc, {file, line});
}

template <abi::Type a_type, abi::Type b_type, bool transpose_a = false, bool transpose_b = false,
          typename Value, int count>
inline void wgmma_mma_async(Value (&acc)[count], u64 a, u64 b, bool add,
                            int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(detail::is_product<a_type, b_type, Value, 2 * count>());
  static_assert(abi::type_bytes(a_type) == 2 || (!transpose_a && !transpose_b));
  emulator::wgmma(
      {a_type, b_type, transpose_a, transpose_b, sizeof(Value) == 4 && Value(0.5f) == Value(0),
       2 * count, acc, nullptr, a, b, add},
      {file, line});
}

template <abi::Type a_type, abi::Type b_type, bool transpose_b = false, typename Value, int count>
inline void wgmma_mma_async(Value (&acc)[count], const u32 (&a)[4], u64 b, bool add,
                            int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  static_assert(detail::is_product<a_type, b_type, Value, 2 * count>());
  static_assert(abi::type_bytes(a_type) == 2 || !transpose_b);
  emulator::wgmma({a_type, b_type, false, transpose_b,
                   sizeof(Value) == 4 && Value(0.5f) == Value(0), 2 * count, acc, a, 0, b, add},
                  {file, line});
}

}  // namespace estoc::ptx
