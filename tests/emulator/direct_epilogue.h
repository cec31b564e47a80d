// Runs a problem with an epilogue by simt_gemm and sm80_gemm on the emulator.
#pragma once

#include "epilogue_case.h"

#include <estoc/kernels/simt_gemm.cuh>
#include <estoc/kernels/sm80_gemm.cuh>

namespace estoc::epilogue_test {

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
Outcome run_direct(Case<E>& c, Kernel kernel, int warps_m, int warps_n, double tolerance,
                   const emulator::Options& options) {
  auto p = gemm_parameters<Parameters>(c, config);
  auto epilogue = c.parameters(p.tiles_n * warps_n, p.tiles_m * warps_m,
                               p.tiles_m * p.tiles_n * warps_m * warps_n);
  void* arguments[] = {&p, &epilogue};
  return c.outcome(
      emulator::launch(kernel, {p.tiles_m * p.tiles_n, 1, 1},
                       static_cast<unsigned>(config.threads()),
                       static_cast<unsigned>(config.shared_bytes()), arguments, c.options(options)),
      tolerance, options);
}

template <SimtGemmConfig config, typename E>
Outcome simt_outcome(Case<E> c, double tolerance = 0, const emulator::Options& options = {}) {
  return run_direct<config, SimtGemmParameters>(c, emulator::entry<simt_kernel<config, E>>,
                                                config.warps() / config.warps_n(), config.warps_n(),
                                                tolerance, options);
}
template <Sm80GemmConfig config, typename E>
Outcome sm80_outcome(Case<E> c, double tolerance = 0, const emulator::Options& options = {}) {
  return run_direct<config, Sm80GemmParameters>(c, emulator::entry<sm80_kernel<config, E>>,
                                                config.warps_m, config.warps_n, tolerance, options);
}

constexpr SimtGemmConfig simt(Type type, Type accumulator, Type out, int tile) {
  const int thread = accumulator == Type::f64 || tile < 64 ? 4 : 8;
  return {type, type, accumulator, out, Vectors::last, Vectors::last,
          true, tile, tile,        16,  thread,        thread};
}
constexpr Sm80GemmConfig sm80(Type type, Type accumulator, Type out, int tile_k) {
  return {type, type, accumulator, out, false, true, 64, 64, tile_k, 2, 2, 3, 16, 16, true, true};
}

}  // namespace estoc::epilogue_test
