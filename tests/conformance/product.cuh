// Products of warps and warpgroups, and the instructions that bring their fragments.
#pragma once

#include <conformance/parameters.cuh>
#include <estoc/ptx/cvt.cuh>
#include <estoc/ptx/ldmatrix.cuh>
#include <estoc/ptx/mma.cuh>
#include <estoc/ptx/wgmma.cuh>

namespace conformance {

template <int count, bool transpose>
__device__ inline void load_matrices(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 base = load_image(p);
  const Words<count> words = ptx::ldmatrix<count, transpose>(base + 16 * ((t * 5) % 32));
  for (u32 i = 0; i < count; ++i)
    put(p, 32 * i + t, words.word[i]);
}

template <int count, bool transpose>
__device__ inline void store_matrices(const Parameters& p) {
  const u32 t = ptx::tid();
  const u32 base = load_image(p);
  Words<count> words;
  for (u32 i = 0; i < count; ++i)
    words.word[i] = get(p, 128 + 32 * i + t);
  ptx::stmatrix<count, transpose>(base + 16 * ((t * 5) % 32), words);
  ptx::barrier_sync();
  dump(p, base, 512);
}

/// A's words of all lanes, then B's, then the sums.
struct Fragments {
  u32 a[4];
  u32 b[2];

  __device__ explicit Fragments(const Parameters& p) {
    const u32 t = ptx::tid();
    for (u32 i = 0; i < 4; ++i)
      a[i] = get(p, 4 * t + i);
    for (u32 i = 0; i < 2; ++i)
      b[i] = get(p, 128 + 2 * t + i);
  }
};

template <typename Value>
__device__ inline void read_sums(const Parameters& p, Value (&acc)[4]) {
  for (u32 i = 0; i < 4; ++i)
    acc[i] = bit_cast<Value>(get(p, 192 + 4 * ptx::tid() + i));
}

template <typename Value>
__device__ inline void write_sums(const Parameters& p, const Value (&acc)[4]) {
  for (u32 i = 0; i < 4; ++i)
    put(p, 4 * ptx::tid() + i, acc[i]);
}

template <Type type>
__device__ inline void mma_16(const Parameters& p) {
  const Fragments f(p);
  float acc[4];
  read_sums(p, acc);
  ptx::mma_m16n8k16<type>(acc, f.a, f.b);
  write_sums(p, acc);
}

__device__ inline void mma_16_half(const Parameters& p) {
  const Fragments f(p);
  u32 acc[2] = {0, 0x3c003c00};
  ptx::mma_m16n8k16_f16(acc, f.a, f.b);
  put(p, 2 * ptx::tid(), acc[0]);
  put(p, 2 * ptx::tid() + 1, acc[1]);
}

__device__ inline void mma_tf32(const Parameters& p) {
  const Fragments f(p);
  float acc[4];
  read_sums(p, acc);
  ptx::mma_m16n8k8_tf32(acc, f.a, f.b);
  write_sums(p, acc);
}

template <Type a, Type b, typename Value>
__device__ inline void mma_8(const Parameters& p) {
  const Fragments f(p);
  Value acc[4];
  read_sums(p, acc);
  ptx::mma_m16n8k32<a, b>(acc, f.a, f.b);
  write_sums(p, acc);
}

__device__ inline void mma_f64_small(const Parameters& p) {
  const u32 t = ptx::tid();
  double acc[2] = {get_double(p, 64 + 2 * t), get_double(p, 65 + 2 * t)};
  ptx::mma_m8n8k4_f64(acc, get_double(p, t), get_double(p, 32 + t));
  put(p, 2 * t, acc[0]);
  put(p, 2 * t + 1, acc[1]);
}

template <int k>
__device__ inline void mma_f64(const Parameters& p) {
  const u32 t = ptx::tid();
  double a[k / 2];
  double b[k / 4];
  double acc[4];
  for (u32 i = 0; i < k / 2; ++i)
    a[i] = get_double(p, k / 2 * t + i);
  for (u32 i = 0; i < k / 4; ++i)
    b[i] = get_double(p, 256 + k / 4 * t + i);
  for (u32 i = 0; i < 4; ++i)
    acc[i] = get_double(p, 384 + 4 * t + i);
  ptx::mma_m16n8_f64<k>(acc, a, b);
  for (u32 i = 0; i < 4; ++i)
    put(p, 4 * t + i, acc[i]);
}

template <typename Value, int count>
__device__ inline void start_sums(Value (&acc)[count]) {
#pragma unroll
  for (u32 i = 0; i < count; ++i)
    acc[i] = static_cast<Value>((ptx::tid() + 3 * i) % 8);
}
/// The same numbers as f16, two to a register.
template <int count>
__device__ inline void start_sums(u32 (&acc)[count]) {
#pragma unroll
  for (u32 i = 0; i < count; ++i) {
    const u32 first = ptx::tid() + 6 * i;
    acc[i] =
        ptx::cvt_rn_f16x2_f32(static_cast<float>(first % 8), static_cast<float>((first + 3) % 8));
  }
}

/// Registers of the sums of n columns.
template <typename Value, int n>
inline constexpr int kRegisters = n / 2;
template <int n>
inline constexpr int kRegisters<u32, n> = n / 4;

template <typename Value, int count>
__device__ inline void finish_sums(const Parameters& p, Value (&acc)[count]) {
  ptx::wgmma_commit_group();
  ptx::wgmma_wait_group<0>();
  ptx::acc_use(acc);
#pragma unroll
  for (u32 i = 0; i < count; ++i)
    put(p, i * 128 + ptx::tid(), ptx::acc_value(acc[i]));
}

/// Two products, the second added to the first, which replaces the sums or is added to them.
template <Type a, Type b, int n, bool transpose_a, bool transpose_b, typename Value>
__device__ inline void wgmma_shared(const Parameters& p) {
  const u32 base = load_image(p);
  Value acc[kRegisters<Value, n>];
  start_sums(acc);
  const u64 from_a = p.descriptor_a + (base >> 4);
  const u64 from_b = p.descriptor_b + ((base + kImageOfB) >> 4);
  ptx::wgmma_fence();
  ptx::wgmma_mma_async<a, b, transpose_a, transpose_b>(acc, from_a, from_b, p.at[0] != 0);
  ptx::wgmma_mma_async<a, b, transpose_a, transpose_b>(acc, from_a, from_b, true);
  finish_sums(p, acc);
}

template <Type a, Type b, int n, bool transpose_b, typename Value>
__device__ inline void wgmma_registers(const Parameters& p) {
  const u32 base = load_image(p);
  Value acc[kRegisters<Value, n>];
  start_sums(acc);
  u32 words[4];
  for (u32 i = 0; i < 4; ++i)
    words[i] = get(p, 4 * ptx::tid() + i);
  const u64 from_b = p.descriptor_b + ((base + kImageOfB) >> 4);
  ptx::wgmma_fence();
  ptx::wgmma_mma_async<a, b, transpose_b>(acc, words, from_b, p.at[0] != 0);
  finish_sums(p, acc);
}

}  // namespace conformance
