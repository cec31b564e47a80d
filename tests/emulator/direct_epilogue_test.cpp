// Epilogues of simt_gemm and sm80_gemm on the emulator: clean, and exact on small integers.
#include "epilogue_case.h"

#include <estoc/kernels/simt_gemm.cuh>
#include <estoc/kernels/sm80_gemm.cuh>

namespace estoc::epilogue_test {
namespace {

using abi::SimtGemmConfig;
using abi::SimtGemmParameters;
using abi::Sm80GemmConfig;
using abi::Sm80GemmParameters;
using abi::Vectors;

template <SimtGemmConfig config, typename E>
void simt_kernel(const SimtGemmParameters parameters, const typename E::Parameters epilogue) {
  simt_gemm<config>(parameters, epilogue::Fused<E>{epilogue});
}
template <Sm80GemmConfig config, typename E>
void sm80_kernel(const Sm80GemmParameters parameters, const typename E::Parameters epilogue) {
  sm80_gemm<config>(parameters, epilogue::Fused<E>{epilogue});
}

template <typename Parameters, typename Config, typename E>
Parameters gemm_parameters(Case<E>& c, const Config& config) {
  Parameters p{};
  p.a = c.a.at;
  p.b = c.b.at;
  p.m = c.e.m;
  p.n = c.e.n;
  p.k = c.e.k;
  p.l = c.e.l;
  p.tiles_m = static_cast<unsigned>((c.e.m + config.tile_m - 1) / config.tile_m);
  p.tiles_n = static_cast<unsigned>((c.e.n + config.tile_n - 1) / config.tile_n);
  p.group = 2;
  return p;
}

template <auto config, typename Parameters, typename E, typename Kernel>
void run(Case<E>& c, Kernel kernel, int warps_m, int warps_n, double tolerance) {
  auto p = gemm_parameters<Parameters>(c, config);
  auto epilogue = c.parameters(p.tiles_n * warps_n, p.tiles_m * warps_m,
                               p.tiles_m * p.tiles_n * warps_m * warps_n);
  void* arguments[] = {&p, &epilogue};
  const emulator::Report report = emulator::launch(
      kernel, {p.tiles_m * p.tiles_n, 1, 1}, static_cast<unsigned>(config.threads()),
      static_cast<unsigned>(config.shared_bytes()), arguments, c.options());
  EXPECT_TRUE(report.clean()) << report.text();
  c.expect_outputs(epilogue, tolerance);
}

template <SimtGemmConfig config, typename E>
void run_simt(Case<E> c, double tolerance = 0) {
  run<config, SimtGemmParameters>(c, emulator::entry<simt_kernel<config, E>>,
                                  config.warps() / config.warps_n(), config.warps_n(), tolerance);
}
template <Sm80GemmConfig config, typename E>
void run_sm80(Case<E> c, double tolerance = 0) {
  run<config, Sm80GemmParameters>(c, emulator::entry<sm80_kernel<config, E>>, config.warps_m,
                                  config.warps_n, tolerance);
}

constexpr SimtGemmConfig simt(Type type, Type accumulator, Type out, int tile) {
  const int thread = accumulator == Type::f64 || tile < 64 ? 4 : 8;
  return {type, type, accumulator, out, Vectors::last, Vectors::last,
          true, tile, tile,        16,  thread,        thread};
}
constexpr Sm80GemmConfig sm80(Type type, Type accumulator, Type out, int tile_k) {
  return {type, type, accumulator, out, false, true, 64, 64, tile_k, 2, 2, 3, 16, 16, true, true};
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
  EXPECT_TRUE(report.clean()) << report.text();
  c.expect_outputs(epilogue);
}

}  // namespace
}  // namespace estoc::epilogue_test
