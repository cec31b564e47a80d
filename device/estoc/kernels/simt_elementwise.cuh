// out = op(A, B) element by element: any dtypes, broadcasting strides, vectors where they fit.
#pragma once

#include <estoc/elementwise.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc {

using abi::SimtElementwiseConfig;
using abi::SimtElementwiseParameters;

namespace detail {

/// Bits of `count` neighbouring elements.
template <Type type, int count>
struct Run {
  static constexpr int kBytes = count * abi::type_bytes(type);
  static constexpr int kWords = (kBytes + 3) / 4;
  Words<kWords> words;

  __device__ static __forceinline__ Run load(u64 address) {
    if constexpr (kBytes >= 4) return {ptx::ld_global<kWords>(address)};
    if constexpr (kBytes == 2) return {Words<1>{ptx::ld_global_u16(address)}};
    if constexpr (kBytes == 1) return {Words<1>{ptx::ld_global_u8(address)}};
  }

  __device__ __forceinline__ void store(u64 address) const {
    if constexpr (kBytes >= 4) ptx::st_global<kWords>(address, words);
    if constexpr (kBytes == 2) ptx::st_global_u16(address, words.word[0]);
    if constexpr (kBytes == 1) ptx::st_global_u8(address, words.word[0]);
  }

  template <typename Value>
  __device__ __forceinline__ void set(int index, Value value) {
    if constexpr (type == Type::f64) {
      const Words<2> pair = bit_cast<Words<2>>(static_cast<double>(value));
      words.word[2 * index] = pair.word[0];
      words.word[2 * index + 1] = pair.word[1];
    } else {
      constexpr int kSize = abi::type_bytes(type);
      words.word[index * kSize / 4] |= encode<type>(value) << (8 * (index * kSize % 4));
    }
  }
};

/// Element offsets of one vector in A, B and out, and how many of its elements exist.
struct Place {
  i64 a;
  i64 b;
  i64 out;
  i64 room;
};

template <SimtElementwiseConfig config>
__device__ __forceinline__ Place place_of(i64 vector, const SimtElementwiseParameters& p) {
  if constexpr (config.flat) {
    const i64 first = vector * config.vector;
    return {first * p.a_stride[0], first * p.b_stride[0], first, p.extent[0] - first};
  } else {
    i64 rest = vector / p.row_vectors;
    const i64 first = (vector - rest * p.row_vectors) * config.vector;
    Place at{first * p.a_stride[0], first * p.b_stride[0], first * p.out_stride[0],
             p.extent[0] - first};
#pragma unroll
    for (int mode = 1; mode < abi::kElementwiseRank; ++mode) {
      if (rest == 0) break;
      const i64 next = rest / p.extent[mode];
      const i64 index = rest - next * p.extent[mode];
      at.a += index * p.a_stride[mode];
      at.b += index * p.b_stride[mode];
      at.out += index * p.out_stride[mode];
      rest = next;
    }
    return at;
  }
}

/// One vector of an input: a run, or one element repeated.
template <SimtElementwiseConfig config, Type type>
struct Input {
  using Elements = Run<type, config.vector>;
  Elements run;

  __device__ static __forceinline__ Input load(u64 base, i64 offset, i64 inner_stride) {
    const u64 address = base + static_cast<u64>(offset * abi::type_bytes(type));
    if (config.vector == 1 || inner_stride != 0) return {Elements::load(address)};
    return {repeated(Run<type, 1>::load(address))};
  }

  __device__ __forceinline__ Compute<config.compute> operator[](int index) const {
    return element_of<config.compute, type>(run.words, index);
  }

 private:
  __device__ static __forceinline__ Elements repeated(const Run<type, 1>& one) {
    constexpr u32 kCopies = abi::type_bytes(type) == 1   ? 0x01010101u
                            : abi::type_bytes(type) == 2 ? 0x00010001u
                                                         : 1u;
    Elements all;
#pragma unroll
    for (int w = 0; w < Elements::kWords; ++w) {
      all.words.word[w] = one.words.word[w % Run<type, 1>::kWords] * kCopies;
    }
    return all;
  }
};

/// A vector of which only some elements exist, one element after the other.
template <SimtElementwiseConfig config>
__device__ __forceinline__ void partial_vector(const Place& at,
                                               const SimtElementwiseParameters& p) {
#pragma unroll 1
  for (i64 i = 0; i < at.room; ++i) {
    const u64 a = p.a + static_cast<u64>((at.a + i * p.a_stride[0]) * abi::type_bytes(config.a));
    const u64 b = p.b + static_cast<u64>((at.b + i * p.b_stride[0]) * abi::type_bytes(config.b));
    const u64 out =
        p.out + static_cast<u64>((at.out + i * p.out_stride[0]) * abi::type_bytes(config.out));
    const auto value = apply<config.op>(load_element<config.compute, config.a>(a),
                                        load_element<config.compute, config.b>(b));
    store_element<config.out>(out, value);
  }
}

/// The vectors of a block that are complete: all loads first, so that they overlap.
template <SimtElementwiseConfig config>
__device__ __forceinline__ void whole_vectors(i64 block, const SimtElementwiseParameters& p) {
  Input<config, config.a> a[config.unroll()];
  Input<config, config.b> b[config.unroll()];
  i64 out_offset[config.unroll()];
  bool whole[config.unroll()];
#pragma unroll
  for (int u = 0; u < config.unroll(); ++u) {
    const i64 vector = block + u * config.threads() + ptx::tid();
    whole[u] = vector < p.vectors;
    if (whole[u]) {
      const Place at = place_of<config>(vector, p);
      whole[u] = at.room >= config.vector;
      out_offset[u] = at.out;
      if (whole[u]) {
        a[u] = Input<config, config.a>::load(p.a, at.a, p.a_stride[0]);
        b[u] = Input<config, config.b>::load(p.b, at.b, p.b_stride[0]);
      }
    }
  }
#pragma unroll
  for (int u = 0; u < config.unroll(); ++u) {
    if (whole[u]) {
      Run<config.out, config.vector> out{};
#pragma unroll
      for (int i = 0; i < config.vector; ++i)
        out.set(i, apply<config.op>(a[u][i], b[u][i]));
      out.store(p.out + static_cast<u64>(out_offset[u] * abi::type_bytes(config.out)));
    }
  }
}

/// The others of the block: the ends of rows.
template <SimtElementwiseConfig config>
__device__ __forceinline__ void ragged_vectors(i64 block, const SimtElementwiseParameters& p) {
#pragma unroll 1
  for (int u = 0; u < config.unroll(); ++u) {
    const i64 vector = block + u * config.threads() + ptx::tid();
    if (vector >= p.vectors) break;
    const Place at = place_of<config>(vector, p);
    if (at.room < config.vector) partial_vector<config>(at, p);
  }
}

}  // namespace detail

/// The entry: every CTA takes threads x unroll vectors at a time, then the next such block.
template <SimtElementwiseConfig config>
__device__ __forceinline__ void simt_elementwise(const SimtElementwiseParameters& p) {
  ptx::griddepcontrol_launch_dependents();
  ptx::griddepcontrol_wait();
  constexpr i64 kBlock = config.threads() * config.unroll();
  const bool ragged = p.extent[0] % config.vector != 0;
  for (i64 block = ptx::ctaid_x() * kBlock; block < p.vectors; block += ptx::nctaid_x() * kBlock) {
    detail::whole_vectors<config>(block, p);
    if (ragged) detail::ragged_vectors<config>(block, p);
  }
}

}  // namespace estoc
