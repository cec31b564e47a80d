// Epilogues: what is applied to accumulators before they are stored. An epilogue is a struct that
// is generated for a graph; docs/kernels.md says what it has.
#pragma once

#include <estoc/abi/epilogue.cuh>
#include <estoc/epilogue/ops.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/warp.cuh>

namespace estoc::epilogue {

using abi::Reduction;

/// Where an element of the output stands.
struct Position {
  i64 l;
  i64 m;
  i64 n;
};

/// out = accumulator. Kernels know it, and need nothing else for it.
struct Identity {
  template <typename Value>
  __device__ __forceinline__ Value operator()(Value accumulator, const Position&) const {
    return accumulator;
  }
};

/// A generated epilogue `E` and what it is given.
template <typename E_>
struct Fused {
  using E = E_;
  const typename E::Parameters& parameters;
};

template <typename Epilogue>
inline constexpr bool kIsIdentity = false;
template <>
inline constexpr bool kIsIdentity<Identity> = true;

/// The C++ type in which values of a type are held.
template <Type type>
struct HeldOf {
  using type_ = Compute<type>;
};
template <>
struct HeldOf<Type::boolean> {
  using type_ = bool;
};
template <Type type>
using Held = typename HeldOf<type>::type_;

/// An input: how it is stored and held, and the modes that it depends on.
struct TensorSpec {
  Type type;
  Type held;
  bool m;
  bool n;
};
struct ScalarSpec {
  Type type;
  Type held;
};
struct StoreSpec {
  Type type;
  Type held;
};
/// A reduction that keeps some modes; `held` is f64, f32 or i32.
struct ReducedSpec {
  Reduction reduction;
  Type type;
  Type held;
  bool l;
  bool m;
  bool n;
};

template <int value_>
struct Constant {
  static constexpr int value = value_;
};

/// each(Constant<0>), ... each(Constant<count - 1>).
template <int count, int first = 0, typename Each>
__device__ __forceinline__ void repeat(const Each& each) {
  if constexpr (first < count) {
    each(Constant<first>{});
    repeat<count, first + 1>(each);
  }
}

// A list with a place for each tensor, scalar, store or reduction, of the type that it is held in.
template <typename E, int width, int count = E::kTensors>
struct TensorValues : TensorValues<E, width, count - 1> {
  Held<E::kTensor[count - 1].held> value[E::kTensor[count - 1].n ? width : 1];
};
template <typename E, int width>
struct TensorValues<E, width, 0> {};
template <typename E, int count = E::kScalars>
struct ScalarValues : ScalarValues<E, count - 1> {
  Held<E::kScalar[count - 1].held> value;
};
template <typename E>
struct ScalarValues<E, 0> {};
template <typename E, int width, int count = E::kStores>
struct StoreValues : StoreValues<E, width, count - 1> {
  Held<E::kStore[count - 1].held> value[width];
};
template <typename E, int width>
struct StoreValues<E, width, 0> {};
template <typename E, int width, int count = E::kReductions>
struct ReducedValues : ReducedValues<E, width, count - 1> {
  Held<E::kReduced[count - 1].held> value[E::kReduced[count - 1].n ? width : 1];
};
template <typename E, int width>
struct ReducedValues<E, width, 0> {};

template <int i, typename E, int width>
__device__ __forceinline__ auto& of(TensorValues<E, width>& list) {
  return static_cast<TensorValues<E, width, i + 1>&>(list).value;
}
template <int i, typename E, int width>
__device__ __forceinline__ const auto& of(const TensorValues<E, width>& list) {
  return static_cast<const TensorValues<E, width, i + 1>&>(list).value;
}
template <int i, typename E>
__device__ __forceinline__ auto& of(ScalarValues<E>& list) {
  return static_cast<ScalarValues<E, i + 1>&>(list).value;
}
template <int i, typename E>
__device__ __forceinline__ const auto& of(const ScalarValues<E>& list) {
  return static_cast<const ScalarValues<E, i + 1>&>(list).value;
}
template <int i, typename E, int width>
__device__ __forceinline__ auto& of(StoreValues<E, width>& list) {
  return static_cast<StoreValues<E, width, i + 1>&>(list).value;
}
template <int i, typename E, int width>
__device__ __forceinline__ auto& of(ReducedValues<E, width>& list) {
  return static_cast<ReducedValues<E, width, i + 1>&>(list).value;
}

/// Reads one element.
template <typename To, Type type>
__device__ __forceinline__ To load_one(u64 address) {
  if constexpr (type == Type::f64) {
    return to<To>(bit_cast<double>(ptx::ld_global<2>(address)));
  } else {
    return value_of<To, type>(load_global<abi::type_bytes(type)>(address).word[0]);
  }
}

/// Rounds a value to one element and writes it.
template <Type type, typename From>
__device__ __forceinline__ void store_one(u64 address, From value) {
  if constexpr (type == Type::f64) {
    ptx::st_global<2>(address, bit_cast<Words<2>>(static_cast<double>(value)));
  } else {
    store_global<abi::type_bytes(type)>(address, {bits_of<type>(value)});
  }
}

/// Four neighbours at once, from an address that is aligned to all of them.
template <Type type, typename To>
__device__ __forceinline__ void load_four(To (&values)[4], u64 address) {
  constexpr int kBytes = abi::type_bytes(type);
  if constexpr (kBytes == 8) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const Words<4> words = ptx::ld_global<4>(address + static_cast<u64>(8 * i));
      values[i] = to<To>(bit_cast<double>(Words<2>{words.word[0], words.word[1]}));
      values[i + 1] = to<To>(bit_cast<double>(Words<2>{words.word[2], words.word[3]}));
    }
  } else {
    const Words<kBytes> words = ptx::ld_global<kBytes>(address);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      u32 bits = words.word[i * kBytes / 4] >> (8 * (i * kBytes % 4));
      if constexpr (kBytes < 4) bits &= (1u << 8 * kBytes) - 1;
      values[i] = value_of<To, type>(bits);
    }
  }
}

template <Type type, typename From>
__device__ __forceinline__ void store_four(u64 address, const From (&values)[4]) {
  constexpr int kBytes = abi::type_bytes(type);
  if constexpr (kBytes == 8) {
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      const Words<2> low = bit_cast<Words<2>>(static_cast<double>(values[i]));
      const Words<2> high = bit_cast<Words<2>>(static_cast<double>(values[i + 1]));
      ptx::st_global<4>(address + static_cast<u64>(8 * i),
                        Words<4>{low.word[0], low.word[1], high.word[0], high.word[1]});
    }
  } else {
    Words<kBytes> words{};
#pragma unroll
    for (int i = 0; i < 4; ++i)
      words.word[i * kBytes / 4] |= bits_of<type>(values[i]) << (8 * (i * kBytes % 4));
    ptx::st_global<kBytes>(address, words);
  }
}

/// Address of an element of an operand of `type`.
template <Type type>
__device__ __forceinline__ u64 address_of(const abi::Matrix& x, const Position& at) {
  const i64 offset = at.l * x.batch_stride + at.m * x.row_stride + at.n * x.column_stride;
  return x.address + static_cast<u64>(offset * abi::type_bytes(type));
}

template <typename Value>
__device__ __forceinline__ Value from_bits(u64 bits) {
  if constexpr (sizeof(Value) == 8) {
    return bit_cast<Value>(bits);
  } else if constexpr (sizeof(Value) == 4) {
    return bit_cast<Value>(static_cast<u32>(bits));
  } else {
    return bits != 0;
  }
}

/// The value of scalar `i`; parameters have the scalars as a list.
template <typename E, int i, typename Parameters>
__device__ __forceinline__ auto load_scalar(const Parameters& p) {
  constexpr ScalarSpec kSpec = E::kScalar[i];
  using Value = Held<kSpec.held>;
  if (p.scalar[i].address == 0) return from_bits<Value>(p.scalar[i].bits);
  return load_one<Value, kSpec.type>(p.scalar[i].address);
}

template <typename E, typename Parameters>
__device__ __forceinline__ ScalarValues<E> load_scalars(const Parameters& p) {
  ScalarValues<E> values;
  repeat<E::kScalars>([&](auto i) __attribute__((always_inline)) {
    of<i.value>(values) = load_scalar<E, i.value>(p);
  });
  return values;
}

}  // namespace estoc::epilogue
