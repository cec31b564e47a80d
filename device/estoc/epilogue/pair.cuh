// Evaluates an epilogue for two elements at once, so that they can share costly operations.
#pragma once

#include <estoc/epilogue/ops.cuh>

namespace estoc::epilogue {

/// Passes on the inputs of an element.
template <typename Inputs>
struct Forwarded {
  const Inputs& in;

  template <int i>
  __device__ __forceinline__ auto tensor() const {
    return in.template tensor<i>();
  }
  template <int i>
  __device__ __forceinline__ auto scalar() const {
    return in.template scalar<i>();
  }
  __device__ __forceinline__ u64 index() const { return in.index(); }
};

/// The inputs of an element in the first pass, which gives the argument of its gelu_tanh.
template <typename Inputs>
struct PutOff : Forwarded<Inputs> {
  float& argument;

  __device__ __forceinline__ float gelu_tanh(float x) const { return argument = x; }
};

/// The inputs of an element in the second pass, in which its gelu_tanh is known.
template <typename Inputs>
struct Known : Forwarded<Inputs> {
  float value;

  __device__ __forceinline__ float gelu_tanh(float /*x*/) const { return value; }
};

/// Discards results; the compiler then removes the code that computes them.
struct Nowhere {
  template <int i, typename Value>
  __device__ __forceinline__ void store(Value /*value*/) {}
  template <int i, typename Value>
  __device__ __forceinline__ void reduce(Value /*value*/) {}
};

/// Elements 0 and 1: inputs and outputs of number e are given by in(e) and out(e).
template <typename E, typename Accumulator, typename In, typename Out>
__device__ __forceinline__ void evaluate_pair(const Accumulator* acc, const In& in,
                                              const Out& out) {
  if constexpr (E::kPairs) {
    float x[2];
    Nowhere nowhere;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const auto inputs = in(e);
      E::element(acc[e], PutOff<decltype(in(0))>{{inputs}, x[e]}, nowhere);
    }
    gelu_tanh(x);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const auto inputs = in(e);
      auto outputs = out(e);
      E::element(acc[e], Known<decltype(in(0))>{{inputs}, x[e]}, outputs);
    }
  } else {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      auto outputs = out(e);
      E::element(acc[e], in(e), outputs);
    }
  }
}

}  // namespace estoc::epilogue
