// Reductions of an epilogue: parts of them in each tile, put together by a second kernel, always in
// the same order.
#pragma once

#include <estoc/epilogue/values.cuh>
#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/griddepcontrol.cuh>

namespace estoc::epilogue {

/// The initial value of a reduction.
template <Reduction reduction, typename Value>
__device__ __forceinline__ Value neutral() {
  if constexpr (reduction == Reduction::max || reduction == Reduction::min) {
    if constexpr (sizeof(Value) == 8) {
      return bit_cast<Value>(reduction == Reduction::max ? 0xfffull << 52 : 0x7ffull << 52);
    } else if constexpr (Value(0.5f) != Value(0)) {
      return bit_cast<Value>(reduction == Reduction::max ? 0xff800000u : 0x7f800000u);
    } else {
      return bit_cast<Value>(reduction == Reduction::max ? 0x80000000u : 0x7fffffffu);
    }
  }
  return Value(0);
}

/// The term of one element.
template <Reduction reduction, typename Value>
__device__ __forceinline__ Value term(Value value) {
  if constexpr (reduction == Reduction::absmax) return abs(value);
  if constexpr (reduction == Reduction::sum_of_squares) return mul(value, value);
  return value;
}

/// Combines two partial results; maxima and minima are NaN when either is.
template <Reduction reduction, typename Value>
__device__ __forceinline__ Value join(Value x, Value y) {
  if constexpr (reduction == Reduction::max || reduction == Reduction::absmax) {
    return maximum(x, y);
  } else if constexpr (reduction == Reduction::min) {
    return minimum(x, y);
  } else {
    return add(x, y);
  }
}

template <typename E, int width>
__device__ __forceinline__ void set_neutral(ReducedValues<E, width>& values) {
  repeat<E::kReductions>([&](auto i) __attribute__((always_inline)) {
    auto& value = of<i.value>(values);
    using Value = Held<E::kReduced[i.value].held>;
    for (Value& each : value)
      each = neutral<E::kReduced[i.value].reduction, Value>();
  });
}

/// The value of lane ^ mask.
template <typename Value>
__device__ __forceinline__ Value exchange(Value value, u32 mask) {
  if constexpr (sizeof(Value) == 8) {
    Words<2> words = bit_cast<Words<2>>(value);
    words.word[0] = ptx::shfl_sync_bfly(words.word[0], mask);
    words.word[1] = ptx::shfl_sync_bfly(words.word[1], mask);
    return bit_cast<Value>(words);
  } else {
    return bit_cast<Value>(ptx::shfl_sync_bfly(bit_cast<u32>(value), mask));
  }
}

/// Joins the values of lanes that differ in the bits from `low` to `high` / 2 of their numbers.
template <Reduction reduction, u32 low, u32 high, typename Value>
__device__ __forceinline__ Value join_lanes(Value value) {
#pragma unroll
  for (u32 mask = low; mask < high; mask *= 2)
    value = join<reduction>(value, exchange(value, mask));
  return value;
}

/// The numbers of a tile's first partial results among those of all tiles: of rows, of columns, of
/// everything.
struct Parts {
  i64 row;
  i64 column;
  i64 all;
};

/// Stores one partial result of row or column `x` of `extent`.
template <typename E, int i, typename Value>
__device__ __forceinline__ void store_partial(const abi::EpiloguePartials& to, i64 part, i64 l,
                                              i64 x, i64 extent, Value value) {
  constexpr bool kBatch = E::kReduced[i].l;
  const i64 index =
      ((kBatch ? 0 : l * to.parts) + part) * to.results + (kBatch ? l * extent : 0) + x;
  const u64 address = to.address + static_cast<u64>(index) * sizeof(Value);
  ptx::st_global<sizeof(Value) / 4>(address, bit_cast<Words<sizeof(Value) / 4>>(value));
}

inline constexpr int kFinishThreads = 256;
inline constexpr int kFinishShared = 8 * kFinishThreads;

namespace detail {

template <typename Value>
__device__ __forceinline__ Value shared_value(u32 address) {
  return bit_cast<Value>(ptx::ld_shared<sizeof(Value) / 4>(address));
}

/// The parts of one result that lane `lane` of `lanes` takes, joined in their order.
template <ReducedSpec spec, typename Value>
__device__ __forceinline__ Value join_parts(const abi::EpiloguePartials& from, i64 result, u32 lane,
                                            u32 lanes) {
  constexpr int kAtOnce = 8;
  Value value = neutral<spec.reduction, Value>();
  for (i64 first = lane; first < from.parts; first += kAtOnce * lanes) {
    Value part[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const i64 index = first + i * lanes;
      part[i] = neutral<spec.reduction, Value>();
      if (index >= from.parts) continue;
      const i64 at = index * from.results + result;
      part[i] = bit_cast<Value>(
          ptx::ld_global<sizeof(Value) / 4>(from.address + static_cast<u64>(at) * sizeof(Value)));
    }
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i)
      value = join<spec.reduction>(value, part[i]);
  }
  return value;
}

/// `lanes` neighbouring groups of threads share each result: thread t has every lanes-th part. What
/// needs no part is computed while the parts are still made.
template <ReducedSpec spec>
__device__ __forceinline__ void finish_one(const abi::EpilogueResult& r) {
  using Value = Held<spec.held>;
  constexpr u32 kSize = sizeof(Value);
  const u32 lanes = static_cast<u32>(r.lanes);
  const u32 width = kFinishThreads / lanes;
  const u32 lane = ptx::tid() / width;
  const u32 place = ptx::smem_base() + ptx::tid() * kSize;
  const i64 step = static_cast<i64>(ptx::nctaid_x()) * width;
  i64 result = static_cast<i64>(ptx::ctaid_x()) * width + ptx::tid() % width;
  auto address = [&] {
    const i64 offset = result / r.inner * r.to.batch_stride + result % r.inner * r.to.row_stride;
    return r.to.address + static_cast<u64>(offset * abi::type_bytes(spec.type));
  };
  u64 to = address();
  ptx::griddepcontrol_wait();
  for (i64 left = r.from.results - static_cast<i64>(ptx::ctaid_x()) * width; left > 0;
       left -= step) {
    const bool inside = result < r.from.results;
    Value value = neutral<spec.reduction, Value>();
    if (inside) value = join_parts<spec, Value>(r.from, result, lane, lanes);
    if (lanes > 1) {
      ptx::st_shared<kSize / 4>(place, bit_cast<Words<kSize / 4>>(value));
      for (u32 half = lanes / 2; half > 0; half /= 2) {
        ptx::barrier_sync();
        if (lane >= half) continue;
        value = join<spec.reduction>(value, shared_value<Value>(place + half * width * kSize));
        ptx::st_shared<kSize / 4>(place, bit_cast<Words<kSize / 4>>(value));
      }
    }
    if (lane == 0 && inside) store_one<spec.type>(to, value);
    result += step;
    to = address();
    if (lanes > 1) ptx::barrier_sync();
  }
}

}  // namespace detail

/// The second kernel: CTAs (x, i) put the parts of reduction i together.
template <typename E>
__device__ __forceinline__ void finish(const abi::EpilogueResults<E::kReductions>& p) {
  repeat<E::kReductions>([&](auto i) __attribute__((always_inline)) {
    if (ptx::ctaid_y() == i.value) detail::finish_one<E::kReduced[i.value]>(p.result[i.value]);
  });
}

}  // namespace estoc::epilogue
