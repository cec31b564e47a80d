// Epilogues for kernels that store one element at a time, such as those of custom kernel classes.
#pragma once

#include <estoc/epilogue/values.cuh>

namespace estoc::epilogue {

/// A generated epilogue `E` without reductions, for an output of rows x columns elements a batch.
template <typename E>
class Elements {
 public:
  using Accumulator = typename E::Accumulator;
  using Parameters = typename E::Parameters;
  static_assert(E::kReductions == 0 && !E::kTransposed);

  /// Loads the scalars.
  __device__ __forceinline__ Elements(const Parameters& parameters, i64 rows, i64 columns)
      : parameters_(parameters),
        rows_(rows),
        columns_(columns),
        scalars_(load_scalars<E>(parameters)) {}

  /// Evaluates the epilogue for the accumulator of one element, and stores the outputs.
  __device__ __forceinline__ void operator()(Accumulator accum, const Position& at) const {
    const Inputs in{*this, at};
    Outputs out{parameters_, at};
    E::element(accum, in, out);
  }

 private:
  struct Inputs {
    const Elements& all;
    const Position& at;

    template <int i>
    __device__ __forceinline__ auto tensor() const {
      constexpr TensorSpec kSpec = E::kTensor[i];
      return load_one<Held<kSpec.held>, kSpec.type>(
          address_of<kSpec.type>(all.parameters_.tensor[i].at, at));
    }
    template <int i>
    __device__ __forceinline__ auto scalar() const {
      return of<i>(all.scalars_);
    }
    __device__ __forceinline__ u64 index() const {
      return static_cast<u64>((at.l * all.rows_ + at.m) * all.columns_ + at.n);
    }
    __device__ __forceinline__ float gelu_tanh(float x) const { return epilogue::gelu_tanh(x); }
  };

  struct Outputs {
    const Parameters& parameters;
    const Position& at;

    template <int i, typename Value>
    __device__ __forceinline__ void store(Value value) {
      constexpr StoreSpec kSpec = E::kStore[i];
      store_one<kSpec.type>(address_of<kSpec.type>(parameters.store[i].at, at),
                            to<Held<kSpec.held>>(value));
    }
  };

  const Parameters& parameters_;
  i64 rows_;
  i64 columns_;
  ScalarValues<E> scalars_;
};

}  // namespace estoc::epilogue
