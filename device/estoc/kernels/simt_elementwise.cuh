// out = op(A, B) element by element: any dtypes, broadcasting strides, vectors where they fit.
#pragma once

#include <estoc/abi/simt_elementwise.cuh>
#include <estoc/elementwise.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc {

using abi::SimtElementwiseConfig;
using abi::SimtElementwiseParameters;

namespace detail {

/// Of types stored two to a byte, the byte in which the element is.
template <Type type>
__device__ __forceinline__ u64 address_of(u64 base, i64 offset) {
  return base + static_cast<u64>(offset * abi::type_bits(type) >> 3);
}

/// Bits of `count` neighbouring elements.
template <Type type, int count>
struct Run {
  static constexpr int kBits = abi::type_bits(type);
  /// 0 for half a byte.
  static constexpr int kBytes = count * kBits / 8;
  static constexpr int kWords = kBytes < 4 ? 1 : kBytes / 4;
  Words<kWords> words;

  /// From element `offset` on; half a byte is in the low bits, and a whole one is not split.
  __device__ static __forceinline__ Run load(u64 base, i64 offset) {
    const u64 address = address_of<type>(base, offset);
    if constexpr (kBytes == 0) {
      const u32 pair = ptx::ld_global_u8(address);
      return {Words<1>{(offset & 1) != 0 ? pair >> 4 : pair & 0xf}};
    }
    if constexpr (kBytes > 0) return {load_global<kBytes>(address)};
  }

  __device__ __forceinline__ void store(u64 base, i64 offset) const {
    static_assert(kBytes > 0, "a neighbour is in the same byte");
    store_global<kBytes>(address_of<type>(base, offset), words);
  }

  template <typename Value>
  __device__ __forceinline__ void set(int index, Value value) {
    if constexpr (type == Type::f64) {
      const Words<2> pair = bit_cast<Words<2>>(static_cast<double>(value));
      words.word[2 * index] = pair.word[0];
      words.word[2 * index + 1] = pair.word[1];
    } else {
      words.word[index * kBits / 32] |= encode<type>(value) << (index * kBits % 32);
    }
  }

  /// Puts a single element in its place, where there are zeros.
  __device__ __forceinline__ void place(int index, const Run<type, 1>& one) {
    if constexpr (type == Type::f64) {
      words.word[2 * index] = one.words.word[0];
      words.word[2 * index + 1] = one.words.word[1];
    } else {
      words.word[index * kBits / 32] |= one.words.word[0] << (index * kBits % 32);
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

/// One vector of an input: a run, one element repeated, or elements a stride apart.
template <SimtElementwiseConfig config, Type type>
struct Input {
  using Elements = Run<type, config.vector>;
  Elements run;

  __device__ static __forceinline__ Input load(u64 base, i64 offset, i64 inner_stride) {
    if constexpr (config.strided && config.vector > 1) {
      Elements all{};
#pragma unroll
      for (int i = 0; i < config.vector; ++i)
        all.place(i, Run<type, 1>::load(base, offset + i * inner_stride));
      return {all};
    }
    if (config.vector == 1 || inner_stride != 0) return {Elements::load(base, offset)};
    return {repeated(Run<type, 1>::load(base, offset))};
  }

  __device__ __forceinline__ Compute<config.compute> operator[](int index) const {
    return element_of<config.compute, type>(run.words, index);
  }

 private:
  __device__ static __forceinline__ Elements repeated(const Run<type, 1>& one) {
    constexpr u32 kCopies = abi::type_bits(type) == 4    ? 0x11111111u
                            : abi::type_bits(type) == 8  ? 0x01010101u
                            : abi::type_bits(type) == 16 ? 0x00010001u
                                                         : 1u;
    Elements all;
#pragma unroll
    for (int w = 0; w < Elements::kWords; ++w) {
      all.words.word[w] = one.words.word[w % Run<type, 1>::kWords] * kCopies;
    }
    return all;
  }
};

/// op of one element of A and B each.
template <SimtElementwiseConfig config>
__device__ __forceinline__ auto element_at(const Place& at, i64 i,
                                           const SimtElementwiseParameters& p) {
  const auto a = Run<config.a, 1>::load(p.a, at.a + i * p.a_stride[0]);
  const auto b = Run<config.b, 1>::load(p.b, at.b + i * p.b_stride[0]);
  return apply<config.op>(element_of<config.compute, config.a>(a.words, 0),
                          element_of<config.compute, config.b>(b.words, 0));
}

/// Of types stored two to a byte: elements of this vector are the only ones in their bytes that
/// anyone writes, and innermost extents are even unless there is a single element.
template <SimtElementwiseConfig config>
__device__ __forceinline__ void partial_packed_vector(const Place& at,
                                                      const SimtElementwiseParameters& p) {
#pragma unroll 1
  for (i64 i = 0; i < at.room; i += 2) {
    const u64 address = address_of<config.out>(p.out, at.out + i);
    const u32 low = encode<config.out>(element_at<config>(at, i, p));
    const u32 high = i + 1 < at.room ? encode<config.out>(element_at<config>(at, i + 1, p)) << 4
                                     : ptx::ld_global_u8(address) & 0xf0;
    ptx::st_global_u8(address, low | high);
  }
}

/// A vector of which only some elements exist, one element after the other.
template <SimtElementwiseConfig config>
__device__ __forceinline__ void partial_vector(const Place& at,
                                               const SimtElementwiseParameters& p) {
#pragma unroll 1
  for (i64 i = 0; i < at.room; ++i) {
    const u64 out = address_of<config.out>(p.out, at.out + i * p.out_stride[0]);
    store_element<config.out>(out, element_at<config>(at, i, p));
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
      out.store(p.out, out_offset[u]);
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
    if (at.room >= config.vector) continue;
    if constexpr (abi::type_bits(config.out) == 4) {
      partial_packed_vector<config>(at, p);
    } else {
      partial_vector<config>(at, p);
    }
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
