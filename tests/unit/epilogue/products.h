// Products of f16, i8 or f64 with an epilogue, described: what becomes of its text and operands.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/epilogue.hpp"
#include "estoc/status.hpp"

namespace estoc::epilogue_test {

using Operands = std::vector<EpilogueOperand>;

inline constexpr std::int64_t kL = 2, kM = 6, kN = 5, kK = 4;

inline TensorView described(Dtype dtype, std::vector<std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = step;
    step *= shape[i];
  }
  return TensorView::describe(dtype, shape, strides);
}

inline GemmArguments gemm(const char* text, Operands operands, Dtype accumulator = Dtype::f32,
                          Dtype out = Dtype::bf16, const PerformanceControls& controls = {}) {
  const Dtype input = accumulator == Dtype::i32   ? Dtype::i8
                      : accumulator == Dtype::f64 ? Dtype::f64
                                                  : Dtype::f16;
  return {described(input, {kL, kM, kK}),
          described(input, {kL, kK, kN}),
          described(out, {kL, kM, kN}),
          accumulator,
          controls,
          EpilogueArguments(text, std::move(operands))};
}

inline std::string canonical(const char* text, Operands operands, Dtype accumulator = Dtype::f32) {
  const GemmArguments arguments = gemm(text, std::move(operands), accumulator);
  const auto graph = arguments.epilogue_graph();
  if (graph == nullptr) return "plain";
  EXPECT_EQ(parse_epilogue_graph(graph->canonical), graph) << graph->canonical;
  return graph->canonical;
}

inline std::string complaint(const char* text, Operands operands, Dtype accumulator = Dtype::f32) {
  try {
    (void)gemm(text, std::move(operands), accumulator);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace estoc::epilogue_test
