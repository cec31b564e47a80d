// The number of an element beyond 2^32, which epilogues draw random numbers by: one tile of an
// output that claims to be wider than any memory.
#pragma once

#include "direct_epilogue.h"

namespace estoc::epilogue_test {

/// D = the element's number / 2^20.
struct NumberOfElement {
  using Accumulator = float;
  static constexpr bool kTransposed = false;
  static constexpr bool kIndexed = true;
  static constexpr bool kPairs = false;
  static constexpr int kWidth = 4;
  static constexpr int kTensors = 0;
  static constexpr int kScalars = 0;
  static constexpr int kStores = 1;
  static constexpr int kReductions = 0;
  using Parameters = abi::EpilogueParameters<0, 0, 1, 0>;
  static constexpr epilogue::TensorSpec kTensor[1] = {};
  static constexpr epilogue::ScalarSpec kScalar[1] = {};
  static constexpr epilogue::StoreSpec kStore[] = {{Type::f32, Type::f32}};
  static constexpr epilogue::ReducedSpec kReduced[1] = {};

  template <typename In, typename Out>
  __device__ __forceinline__ static void element(Accumulator, const In& in, Out& out) {
    out.template store<0>(static_cast<float>(in.index() >> 20));
  }
};

inline Outcome far_index(const emulator::Options& options) {
  constexpr SimtGemmConfig kConfig = simt(Type::bf16, Type::f32, Type::f32, 32);
  constexpr i32 kColumns = 1 << 28;
  Case<NumberOfElement> c(Type::bf16, {1, kConfig.tile_m, kConfig.tile_n, 8}, {Lay::padded},
                          [](Element&) {});
  auto p = gemm_parameters<SimtGemmParameters>(c, kConfig);
  p.n = kColumns;
  auto parameters = c.parameters(1, 1, 1);
  void* arguments[] = {&p, &parameters};
  Outcome outcome;
  // Of B there is no more than the tile's columns.
  outcome.report = emulator::launch(emulator::entry<simt_kernel<kConfig, NumberOfElement>>,
                                    {1, 1, 1}, static_cast<unsigned>(kConfig.threads()),
                                    static_cast<unsigned>(kConfig.shared_bytes()), arguments,
                                    c.options(options));
  for (int m = 0; m < c.e.m; ++m) {
    const double expected = static_cast<double>((i64{m} * kColumns) >> 20);
    if (get(Type::f32, c.stores[0].where(0, m, 0)) != expected) outcome.wrong = "number of a row";
  }
  return outcome;
}

}  // namespace estoc::epilogue_test
