// Moves the rows of an expert layer: tokens to the rows of their slots, gated products, and the
// weighted sums of each token's rows.
//
// A thread moves 16 bytes of a row, one element at a time where they are not aligned or the row
// ends before.
#pragma once

#include <estoc/abi/moe.cuh>
#include <estoc/epilogue/ops.cuh>
#include <estoc/numeric.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc::experts {

template <Type type>
inline constexpr int kVector = abi::kMoeVectorBytes / abi::type_bytes(type);

/// The elements that a thread moves: `count` from `column` on, in the row of its CTA.
struct Span {
  i64 row;
  i64 column;
  int count;

  template <Type type>
  __device__ __forceinline__ static Span of(i64 columns) {
    const i64 thread = static_cast<i64>(ptx::ctaid_y()) * abi::kMoeThreads + ptx::tid();
    const i64 column = thread * kVector<type>;
    const i64 left = columns - column;
    const int count = left < kVector<type> ? static_cast<int>(left) : kVector<type>;
    return {static_cast<i64>(ptx::ctaid_x()), column, count};
  }
};

template <Type type>
__device__ __forceinline__ u64 element_address(u64 base, i64 index) {
  return base + static_cast<u64>(index * abi::type_bytes(type));
}

/// `span.count` elements from the address on, in the low bits first; 16 bytes at once if `wide`.
template <Type type>
__device__ __forceinline__ Words<4> load_span(u64 address, int count, bool wide) {
  if (wide && count == kVector<type>) return ptx::ld_global<4>(address);
  constexpr int kBytes = abi::type_bytes(type);
  Words<4> words{};
#pragma unroll
  for (int e = 0; e < kVector<type>; ++e) {
    if (e >= count) continue;
    const u32 bits = load_global<kBytes>(address + static_cast<u64>(e * kBytes)).word[0];
    words.word[e * kBytes / 4] |= bits << e * kBytes % 4 * 8;
  }
  return words;
}
template <Type type>
__device__ __forceinline__ void store_span(u64 address, Words<4> words, int count, bool wide) {
  if (wide && count == kVector<type>) {
    ptx::st_global<4>(address, words);
    return;
  }
  constexpr int kBytes = abi::type_bytes(type);
#pragma unroll
  for (int e = 0; e < kVector<type>; ++e) {
    if (e >= count) continue;
    const u32 bits = words.word[e * kBytes / 4] >> e * kBytes % 4 * 8;
    store_global<kBytes>(address + static_cast<u64>(e * kBytes), {bits});
  }
}

template <Type type>
__device__ __forceinline__ float float_of(const Words<4>& words, int index) {
  return element_of<Type::f32, type>(words, index);
}

/// The elements rounded to the type.
template <Type type>
__device__ __forceinline__ Words<4> rounded(const float (&values)[kVector<type>]) {
  Words<4> words;
  constexpr int kWords = abi::type_bytes(type) / 2;
#pragma unroll
  for (int e = 0; e < kVector<type>; e += 2) {
    const auto pair = encode_pair<type>(values[e], values[e + 1]);
#pragma unroll
    for (int w = 0; w < kWords; ++w)
      words.word[e / 2 * kWords + w] = pair.word[w];
  }
  return words;
}

/// The row of a slot; negative where it is dropped.
__device__ __forceinline__ i32 row_of(u64 rows, i64 slot) {
  return static_cast<i32>(ptx::ld_global<1>(rows + static_cast<u64>(slot * 4)).word[0]);
}

/// Of each token (CTA): its row, to the rows of its slots.
template <Type type>
__device__ inline void gather(const abi::MoeGather& p) {
  ptx::griddepcontrol_wait();
  const Span at = Span::of<type>(p.columns);
  if (at.count <= 0) return;
  const u64 from = element_address<type>(p.from, at.row * p.from_stride + at.column);
  const Words<4> words = load_span<type>(from, at.count, p.wide);
#pragma unroll 4
  for (int choice = 0; choice < p.top_k; ++choice) {
    const i32 row = row_of(p.rows, at.row * p.top_k + choice);
    if (row < 0) continue;
    const u64 to = element_address<type>(p.to, row * p.to_stride + at.column);
    store_span<type>(to, words, at.count, true);
  }
}

/// How gate and up are combined.
enum class Gate { silu, gelu };

template <Gate gate>
__device__ __forceinline__ float gated(float x, float up) {
  if constexpr (gate == Gate::silu) return epilogue::silu(x) * up;
  if constexpr (gate == Gate::gelu) return epilogue::gelu(x) * up;
}

/// Of each row (CTA) before the end of the last expert: gate and up to their product. Interleaved,
/// columns 2 i and 2 i + 1 are gate and up.
template <Type type, Gate gate, bool interleaved>
__device__ inline void activate(const abi::MoeGate& p) {
  ptx::griddepcontrol_wait();
  const Span at = Span::of<type>(p.columns);
  if (at.count <= 0 || at.row >= row_of(p.last_end, 0)) return;
  constexpr int kCount = kVector<type>;
  const i64 row = at.row * p.from_stride;
  const i64 first = row + (interleaved ? 2 * at.column : at.column);
  const i64 second = interleaved ? first + kCount : first + p.columns;
  const int count = interleaved ? 2 * at.count : at.count;
  const auto part = [&](i64 element, int begin, bool wide) {
    const int left = count - begin;
    const int some = left < 0 ? 0 : left < kCount ? left : kCount;
    return load_span<type>(element_address<type>(p.from, element), some, wide);
  };
  const Words<4> low = part(first, 0, true);
  const Words<4> high = part(second, interleaved ? kCount : 0, interleaved || p.wide);
  float values[kCount];
#pragma unroll
  for (int e = 0; e < kCount; ++e) {
    if constexpr (interleaved) {
      const Words<4>& words = e < kCount / 2 ? low : high;
      const int pair = 2 * (e % (kCount / 2));
      values[e] = gated<gate>(float_of<type>(words, pair), float_of<type>(words, pair + 1));
    } else {
      values[e] = gated<gate>(float_of<type>(low, e), float_of<type>(high, e));
    }
  }
  const u64 to = element_address<type>(p.to, at.row * p.to_stride + at.column);
  store_span<type>(to, rounded<type>(values), at.count, true);
}

/// Of each token (CTA): the sum of its slots' rows, each times its weight, slot by slot.
template <Type type>
__device__ inline void combine(const abi::MoeCombine& p) {
  ptx::griddepcontrol_wait();
  const Span at = Span::of<type>(p.columns);
  if (at.count <= 0) return;
  constexpr int kAtOnce = 4;
  float sums[kVector<type>] = {};
#pragma unroll 1
  for (int first = 0; first < p.top_k; first += kAtOnce) {
    i32 rows[kAtOnce];
    Words<4> words[kAtOnce];
    float weights[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const int choice = first + i;
      rows[i] = choice < p.top_k ? row_of(p.rows, at.row * p.top_k + choice) : -1;
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (rows[i] < 0) continue;
      const i64 weight = at.row * p.token_stride + (first + i) * p.choice_stride;
      weights[i] = bit_cast<float>(ptx::ld_global<1>(p.weights + static_cast<u64>(weight * 4)));
      const i64 element = rows[i] * p.from_stride + at.column;
      words[i] = load_span<type>(element_address<type>(p.from, element), at.count, true);
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      if (rows[i] < 0) continue;
#pragma unroll
      for (int e = 0; e < kVector<type>; ++e)
        sums[e] = ptx::fma_rn(weights[i], float_of<type>(words[i], e), sums[e]);
    }
  }
  const u64 to = element_address<type>(p.to, at.row * p.to_stride + at.column);
  store_span<type>(to, rounded<type>(sums), at.count, p.wide);
}

}  // namespace estoc::experts
