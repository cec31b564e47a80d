// Epilogues of simt_gemm and sm80_gemm on the emulator: clean, and exact on small integers.
#include <gtest/gtest.h>

#include "direct_epilogue.h"

namespace estoc::epilogue_test {
namespace {

void expect_right(const Outcome& outcome) {
  EXPECT_TRUE(outcome.report.clean()) << outcome.report.text();
  EXPECT_EQ(outcome.wrong, "");
}

template <SimtGemmConfig config, typename E>
void run_simt(Case<E> c, double tolerance = 0) {
  expect_right(simt_outcome<config>(std::move(c), tolerance));
}
template <Sm80GemmConfig config, typename E>
void run_sm80(Case<E> c, double tolerance = 0) {
  expect_right(sm80_outcome<config>(std::move(c), tolerance));
}

constexpr Extents kRagged{2, 71, 74, 24};
constexpr double kHalfUlpBf16 = 1.0 / 128;
// Of a sum of two operations, the worst of which is 8 ulp, near 1 or above.
constexpr double kSixteenUlp = 2e-6;

TEST(SimtEpilogue, IsCleanAndExact) {
  constexpr SimtGemmConfig kF32 = simt(Type::bf16, Type::f32, Type::bf16, 64);
  run_simt<kF32>(Case<golden::linear::Epilogue>(Type::bf16, kRagged, {Lay::columns}, linear));
  run_simt<kF32>(Case<golden::gelu_tanh::Epilogue>(Type::bf16, kRagged, {Lay::rows}, gelu_tanh),
                 kHalfUlpBf16);
  run_simt<kF32>(Case<golden::relu_aux::Epilogue>(Type::bf16, kRagged, {Lay::loose}, relu_aux));
  run_simt<simt(Type::f32, Type::f32, Type::e4m3, 32)>(
      Case<golden::row_absmax::Epilogue>(Type::f32, kRagged, {Lay::rows}, row_absmax));
  run_simt<simt(Type::f32, Type::f32, Type::f32, 32)>(Case<golden::mixed::Epilogue>(
      Type::f32, kRagged, {Lay::padded, Lay::columns, Lay::loose}, mixed));
  run_simt<simt(Type::f64, Type::f64, Type::f64, 64)>(Case<golden::mixed_f64::Epilogue>(
      Type::f64, kRagged, {Lay::padded, Lay::rows, Lay::padded}, mixed));
}

TEST(Sm80Epilogue, IsCleanAndExact) {
  constexpr Sm80GemmConfig kBf16 = sm80(Type::bf16, Type::f32, Type::bf16, 32);
  run_sm80<kBf16>(Case<golden::linear::Epilogue>(Type::bf16, kRagged, {Lay::padded}, linear));
  run_sm80<kBf16>(Case<golden::gelu_tanh::Epilogue>(Type::bf16, kRagged, {Lay::rows}, gelu_tanh),
                  kHalfUlpBf16);
  run_sm80<kBf16>(Case<golden::relu_aux::Epilogue>(Type::bf16, kRagged, {Lay::columns}, relu_aux));
  run_sm80<sm80(Type::bf16, Type::f32, Type::e4m3, 32)>(
      Case<golden::row_absmax::Epilogue>(Type::bf16, kRagged, {Lay::rows}, row_absmax));
  run_sm80<sm80(Type::bf16, Type::f32, Type::f32, 32)>(Case<golden::mixed::Epilogue>(
      Type::bf16, kRagged, {Lay::padded, Lay::columns, Lay::loose}, mixed));
  run_sm80<sm80(Type::f64, Type::f64, Type::f64, 16)>(Case<golden::mixed_f64::Epilogue>(
      Type::f64, kRagged, {Lay::padded, Lay::rows, Lay::padded}, mixed));
}

TEST(DirectEpilogue, EveryOperation) {
  using E = golden::every_op::Epilogue;
  constexpr Extents kSmall{2, 34, 37, 40};
  run_simt<simt(Type::f32, Type::f32, Type::f32, 32)>(
      Case<E>(Type::f32, kSmall, {Lay::padded, Lay::columns}, every_op), kSixteenUlp);
  run_sm80<sm80(Type::bf16, Type::f32, Type::f32, 32)>(
      Case<E>(Type::bf16, kSmall, {Lay::padded, Lay::columns}, every_op), kSixteenUlp);
}

// Each element of D takes the place of C's.
TEST(DirectEpilogue, OutputMayBeTheInput) {
  Case<golden::linear::Epilogue> c(Type::bf16, {1, 70, 40, 24}, {Lay::padded}, linear);
  constexpr Sm80GemmConfig kBf16 = sm80(Type::bf16, Type::f32, Type::bf16, 32);
  auto p = gemm_parameters<Sm80GemmParameters>(c, kBf16);
  auto epilogue = c.parameters(1, 1, 1);
  std::memcpy(c.stores[0].words.data(), c.tensors[0].words.data(), c.stores[0].bytes());
  epilogue.tensor[0].at = epilogue.store[0].at;
  void* arguments[] = {&p, &epilogue};
  const emulator::Report report =
      emulator::launch(emulator::entry<sm80_kernel<kBf16, golden::linear::Epilogue>>,
                       {p.tiles_m * p.tiles_n, 1, 1}, static_cast<unsigned>(kBf16.threads()),
                       static_cast<unsigned>(kBf16.shared_bytes()), arguments, c.options());
  expect_right(c.outcome(report, 0, {}));
}

}  // namespace
}  // namespace estoc::epilogue_test
