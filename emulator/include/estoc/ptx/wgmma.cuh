// Host twin: products of a warpgroup, four warps, from shared memory (PTX ISA 9.7.15, wgmma).
#pragma once

#include <emulator/runtime.h>

namespace estoc::ptx {

namespace detail {

// What is added up in: packed halves are words.
template <typename Value>
constexpr abi::Type kSum = abi::Type::f32;
template <>
inline constexpr abi::Type kSum<i32> = abi::Type::i32;
template <>
inline constexpr abi::Type kSum<u32> = abi::Type::f16;

// The columns of so many registers of sums.
template <typename Value, int count>
constexpr int kColumns = (kSum<Value> == abi::Type::f16 ? 4 : 2) * count;

// Whether there is an instruction for these types and N.
template <abi::Type a, abi::Type b, abi::Type sum, int n>
constexpr bool is_product() {
  using abi::Type;
  constexpr bool kBytes = (a == Type::i8 || a == Type::u8) && (b == Type::i8 || b == Type::u8);
  constexpr bool kFloats =
      (a == Type::e4m3 || a == Type::e5m2) && (b == Type::e4m3 || b == Type::e5m2);
  constexpr bool kSame = a == b && (a == Type::f16 || a == Type::bf16 || a == Type::tf32);
  if (n < 8 || n > 256 || n % 8 != 0) return false;
  if (kBytes) return sum == Type::i32 && (n <= 32 || n % 16 == 0);
  if (sum == Type::f16) return n % 16 == 0 && (kFloats || (kSame && a == Type::f16));
  return sum == Type::f32 && (kFloats || kSame);
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

inline float acc_value(float value) {
  return value;
}
inline i32 acc_value(i32 value) {
  return value;
}
inline u32 acc_value(u32 value) {
  return value;
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

template <int count>
inline void acc_use(u32 (&acc)[count], int line = __builtin_LINE(),
                    const char* file = __builtin_FILE()) {
  emulator::accumulators_used(acc, {file, line});
}

template <abi::Type a_type, abi::Type b_type, bool transpose_a = false, bool transpose_b = false,
          typename Value, int count>
inline void wgmma_mma_async(Value (&acc)[count], u64 a, u64 b, bool add,
                            int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  constexpr int kColumns = detail::kColumns<Value, count>;
  static_assert(detail::is_product<a_type, b_type, detail::kSum<Value>, kColumns>());
  static_assert(abi::type_bytes(a_type) == 2 || (!transpose_a && !transpose_b));
  emulator::wgmma({a_type, b_type, transpose_a, transpose_b, detail::kSum<Value>, kColumns, acc,
                   nullptr, a, b, add},
                  {file, line});
}

template <abi::Type a_type, abi::Type b_type, bool transpose_b = false, typename Value, int count>
inline void wgmma_mma_async(Value (&acc)[count], const u32 (&a)[4], u64 b, bool add,
                            int line = __builtin_LINE(), const char* file = __builtin_FILE()) {
  constexpr int kColumns = detail::kColumns<Value, count>;
  static_assert(detail::is_product<a_type, b_type, detail::kSum<Value>, kColumns>());
  static_assert(abi::type_bytes(a_type) == 2 || !transpose_b);
  emulator::wgmma(
      {a_type, b_type, false, transpose_b, detail::kSum<Value>, kColumns, acc, a, 0, b, add},
      {file, line});
}

}  // namespace estoc::ptx
