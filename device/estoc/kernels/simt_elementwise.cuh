// out = the program of an epilogue whose accumulator is A: any dtypes, broadcasting strides,
// vectors where they fit.
#pragma once

#include <estoc/abi/simt_elementwise.cuh>
#include <estoc/epilogue/values.cuh>
#include <estoc/ptx/griddepcontrol.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc {

using abi::SimtElementwiseConfig;
using abi::SimtElementwiseParameters;
template <typename E>
using ElementwiseInputs = abi::ElementwiseInputs<E::kTensors, E::kScalars>;

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
      words.word[index * kBits / 32] |= epilogue::bits_of<type>(value) << (index * kBits % 32);
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

/// Element offsets of one vector in A, the other inputs and out, and how many of its elements
/// exist.
template <typename E>
struct Place {
  i64 a;
  i64 out;
  i64 room;
  i64 tensor[E::kTensors > 0 ? E::kTensors : 1];
};

template <SimtElementwiseConfig config, typename E>
__device__ __forceinline__ Place<E> place_of(i64 vector, const SimtElementwiseParameters& p,
                                             const ElementwiseInputs<E>& inputs) {
  i64 rest = config.flat ? 0 : vector / p.row_vectors;
  const i64 first = (vector - rest * p.row_vectors) * config.vector;
  Place<E> at{first * p.a_stride[0], config.flat ? first : first * p.out_stride[0],
              p.extent[0] - first};
#pragma unroll
  for (int t = 0; t < E::kTensors; ++t)
    at.tensor[t] = first * inputs.tensor[t].stride[0];
  if constexpr (!config.flat) {
#pragma unroll
    for (int mode = 1; mode < abi::kElementwiseRank; ++mode) {
      if (rest == 0) break;
      const i64 next = rest / p.extent[mode];
      const i64 index = rest - next * p.extent[mode];
      at.a += index * p.a_stride[mode];
#pragma unroll
      for (int t = 0; t < E::kTensors; ++t)
        at.tensor[t] += index * inputs.tensor[t].stride[mode];
      at.out += index * p.out_stride[mode];
      rest = next;
    }
  }
  return at;
}

/// Element `index` of packed words in the type that programs hold it in.
template <Type held, Type type, int count>
__device__ __forceinline__ epilogue::Held<held> held_element(const Words<count>& words, int index) {
  if constexpr (held == Type::boolean) return element_of<Type::i32, type>(words, index) != 0;
  if constexpr (held != Type::boolean) return element_of<held, type>(words, index);
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

  /// Element `index` in the type that it is held in.
  template <Type held>
  __device__ __forceinline__ epilogue::Held<held> at(int index) const {
    return held_element<held, type>(run.words, index);
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

/// A vector of each input beside A.
template <SimtElementwiseConfig config, typename E, int count = E::kTensors>
struct Vectors : Vectors<config, E, count - 1> {
  Input<config, E::kTensor[count - 1].type> input;
};
template <SimtElementwiseConfig config, typename E>
struct Vectors<config, E, 0> {};

template <int i, SimtElementwiseConfig config, typename E>
__device__ __forceinline__ auto& vector_of(Vectors<config, E>& list) {
  return static_cast<Vectors<config, E, i + 1>&>(list).input;
}
template <int i, SimtElementwiseConfig config, typename E>
__device__ __forceinline__ const auto& vector_of(const Vectors<config, E>& list) {
  return static_cast<const Vectors<config, E, i + 1>&>(list).input;
}

/// What the program reads for element `index` of a vector.
template <SimtElementwiseConfig config, typename E>
struct VectorInputs {
  const Vectors<config, E>& vectors;
  const epilogue::ScalarValues<E>& scalars;
  int index;

  template <int i>
  __device__ __forceinline__ auto tensor() const {
    return vector_of<i>(vectors).template at<E::kTensor[i].held>(index);
  }
  template <int i>
  __device__ __forceinline__ auto scalar() const {
    return epilogue::of<i>(scalars);
  }
  __device__ __forceinline__ float gelu_tanh(float x) const { return epilogue::gelu_tanh(x); }
};

/// What the program reads for a single element, `index` elements behind a place.
template <typename E>
struct SingleInputs {
  const ElementwiseInputs<E>& inputs;
  const epilogue::ScalarValues<E>& scalars;
  const Place<E>& at;
  i64 index;

  template <int i>
  __device__ __forceinline__ auto tensor() const {
    constexpr epilogue::TensorSpec kSpec = E::kTensor[i];
    const abi::ElementwiseTensor& from = inputs.tensor[i];
    const auto one = Run<kSpec.type, 1>::load(from.address, at.tensor[i] + index * from.stride[0]);
    return held_element<kSpec.held, kSpec.type>(one.words, 0);
  }
  template <int i>
  __device__ __forceinline__ auto scalar() const {
    return epilogue::of<i>(scalars);
  }
  __device__ __forceinline__ float gelu_tanh(float x) const { return epilogue::gelu_tanh(x); }
};

/// Takes D.
template <typename E>
struct Result {
  epilogue::Held<E::kStore[0].held> value;

  template <int i, typename Value>
  __device__ __forceinline__ void store(Value stored) {
    static_assert(i == 0, "D is the only output");
    value = stored;
  }
};

/// D for one value of A.
template <typename E, typename In>
__device__ __forceinline__ auto evaluate(typename E::Accumulator a, const In& in) {
  Result<E> result;
  E::element(a, in, result);
  return result.value;
}

/// The parameters of a kernel, with the scalars in registers.
template <typename E>
struct Given {
  const SimtElementwiseParameters& p;
  const ElementwiseInputs<E>& inputs;
  epilogue::ScalarValues<E> scalars;
};

/// D of the element that is `index` elements behind a place.
template <SimtElementwiseConfig config, typename E>
__device__ __forceinline__ auto element_at(const Place<E>& at, i64 index, const Given<E>& given) {
  const auto a = Run<config.a, 1>::load(given.p.a, at.a + index * given.p.a_stride[0]);
  return evaluate<E>(element_of<config.compute, config.a>(a.words, 0),
                     SingleInputs<E>{given.inputs, given.scalars, at, index});
}

/// Of types stored two to a byte: elements of this vector are the only ones in their bytes that
/// anyone writes, and innermost extents are even unless there is a single element.
template <SimtElementwiseConfig config, typename E>
__device__ __forceinline__ void partial_packed_vector(const Place<E>& at, const Given<E>& given) {
#pragma unroll 1
  for (i64 i = 0; i < at.room; i += 2) {
    const u64 address = address_of<config.out>(given.p.out, at.out + i);
    const u32 low = epilogue::bits_of<config.out>(element_at<config>(at, i, given));
    const u32 high = i + 1 < at.room
                         ? epilogue::bits_of<config.out>(element_at<config>(at, i + 1, given)) << 4
                         : ptx::ld_global_u8(address) & 0xf0;
    ptx::st_global_u8(address, low | high);
  }
}

/// A vector of which only some elements exist, one element after the other.
template <SimtElementwiseConfig config, typename E>
__device__ __forceinline__ void partial_vector(const Place<E>& at, const Given<E>& given) {
#pragma unroll 1
  for (i64 i = 0; i < at.room; ++i) {
    const u64 out = address_of<config.out>(given.p.out, at.out + i * given.p.out_stride[0]);
    epilogue::store_one<config.out>(out, element_at<config>(at, i, given));
  }
}

/// The vectors of a block that are complete: all loads first, so that they overlap.
template <SimtElementwiseConfig config, typename E>
__device__ __forceinline__ void whole_vectors(i64 block, const Given<E>& given) {
  const SimtElementwiseParameters& p = given.p;
  Input<config, config.a> a[config.unroll()];
  Vectors<config, E> others[config.unroll()];
  i64 out_offset[config.unroll()];
  bool whole[config.unroll()];
#pragma unroll
  for (int u = 0; u < config.unroll(); ++u) {
    const i64 vector = block + u * config.threads() + ptx::tid();
    whole[u] = vector < p.vectors;
    if (whole[u]) {
      const Place<E> at = place_of<config, E>(vector, p, given.inputs);
      whole[u] = at.room >= config.vector;
      out_offset[u] = at.out;
      if (whole[u]) {
        a[u] = Input<config, config.a>::load(p.a, at.a, p.a_stride[0]);
        epilogue::repeat<E::kTensors>([&](auto t) __attribute__((always_inline)) {
          const abi::ElementwiseTensor& from = given.inputs.tensor[t.value];
          vector_of<t.value>(others[u]) = Input<config, E::kTensor[t.value].type>::load(
              from.address, at.tensor[t.value], from.stride[0]);
        });
      }
    }
  }
#pragma unroll
  for (int u = 0; u < config.unroll(); ++u) {
    if (whole[u]) {
      Run<config.out, config.vector> out{};
#pragma unroll
      for (int i = 0; i < config.vector; ++i)
        out.set(i, evaluate<E>(a[u].template at<config.compute>(i),
                               VectorInputs<config, E>{others[u], given.scalars, i}));
      out.store(p.out, out_offset[u]);
    }
  }
}

/// The others of the block: the ends of rows.
template <SimtElementwiseConfig config, typename E>
__device__ __forceinline__ void ragged_vectors(i64 block, const Given<E>& given) {
#pragma unroll 1
  for (int u = 0; u < config.unroll(); ++u) {
    const i64 vector = block + u * config.threads() + ptx::tid();
    if (vector >= given.p.vectors) break;
    const Place<E> at = place_of<config, E>(vector, given.p, given.inputs);
    if (at.room >= config.vector) continue;
    if constexpr (abi::type_bits(config.out) == 4) {
      partial_packed_vector<config>(at, given);
    } else {
      partial_vector<config>(at, given);
    }
  }
}

}  // namespace detail

/// The entry: every CTA takes threads x unroll vectors at a time, then the next such block. `E` is
/// a generated epilogue (docs/kernels.md, "Epilogues") with D as its only output.
template <SimtElementwiseConfig config, typename E>
__device__ __forceinline__ void simt_elementwise(const SimtElementwiseParameters& p,
                                                 const ElementwiseInputs<E>& inputs) {
  static_assert(E::kTensors == config.tensors && E::kStores == 1 && E::kReductions == 0);
  ptx::griddepcontrol_wait();
  const detail::Given<E> given{p, inputs, epilogue::load_scalars<E>(inputs)};
  constexpr i64 kBlock = config.threads() * config.unroll();
  const bool ragged = p.extent[0] % config.vector != 0;
  for (i64 block = ptx::ctaid_x() * kBlock; block < p.vectors; block += ptx::nctaid_x() * kBlock) {
    detail::whole_vectors<config>(block, given);
    if (ragged) detail::ragged_vectors<config>(block, given);
  }
}

}  // namespace estoc
