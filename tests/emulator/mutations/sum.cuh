// The program that simt_elementwise runs in tests of faults: D = accum + t0.
#pragma once

#include <estoc/epilogue/values.cuh>

namespace estoc::mutations {

struct Sum {
  using Accumulator = float;
  static constexpr int kTensors = 1;
  static constexpr int kScalars = 0;
  static constexpr int kStores = 1;
  static constexpr int kReductions = 0;
  static constexpr epilogue::TensorSpec kTensor[] = {{Type::f16, Type::f32, true, true}};
  static constexpr epilogue::ScalarSpec kScalar[1] = {};
  static constexpr epilogue::StoreSpec kStore[] = {{Type::f16, Type::f32}};

  template <typename In, typename Out>
  __device__ __forceinline__ static void element(Accumulator accum, const In& in, Out& out) {
    out.template store<0>(accum + in.template tensor<0>());
  }
};

}  // namespace estoc::mutations
