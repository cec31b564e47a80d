// The configurations of the GEMM kernels that card and emulator both run.
#include "gemm_case.h"

#include <fmt/core.h>

#include <estoc/kernels/simt_gemm.cuh>
#include <estoc/kernels/sm80_gemm.cuh>
#include <estoc/kernels/sm90_gemm.cuh>

namespace conformance {
namespace {

using namespace estoc;       // NOLINT(google-build-using-namespace): configurations are texts
using namespace estoc::abi;  // NOLINT(google-build-using-namespace)
using harness::Problem;

template <SimtGemmConfig config>
void simt_kernel(const SimtGemmParameters p) {
  simt_gemm<config>(p, epilogue::Identity{});
}

template <Sm80GemmConfig config>
void sm80_kernel(const Sm80GemmParameters p) {
  sm80_gemm<config>(p, epilogue::Identity{});
}

template <Sm90GemmConfig config>
void sm90_kernel(const Sm90GemmParameters p) {
  sm90_gemm<config>(p, epilogue::Identity{});
}

std::string source_of(const char* function, const char* type, const char* config) {
  return fmt::format(R"(#include <estoc/kernels/{0}.cuh>

using namespace estoc::abi;
constexpr {1}Config kConfig{{{2}}};

extern "C" __global__ void __launch_bounds__(kConfig.threads(), 1)
estoc_kernel(const __grid_constant__ {1}Parameters parameters) {{
  estoc::{0}<kConfig>(parameters, estoc::epilogue::Identity{{}});
}}
)",
                     function, type, config);
}

#define ESTOC_GEMM(kernel, type, ...)                                                 \
  GemmKernel {                                                                        \
#kernel "_gemm " #__VA_ARGS__, source_of(#kernel "_gemm", #type, #__VA_ARGS__),   \
        type##Config{__VA_ARGS__ },                                                   \
                     emulator::entry < kernel##_kernel < type##Config{__VA_ARGS__ }>> \
  }
#define ESTOC_SIMT(...) ESTOC_GEMM(simt, SimtGemm, __VA_ARGS__)
#define ESTOC_SM80(...) ESTOC_GEMM(sm80, Sm80Gemm, __VA_ARGS__)
#define ESTOC_SM90(...) ESTOC_GEMM(sm90, Sm90Gemm, __VA_ARGS__)

}  // namespace

std::vector<GemmKernel> gemm_kernels() {
  return {
      ESTOC_SM90(Type::bf16, Type::bf16, Type::f32, Type::bf16, false, false, 128, 128, 4, 1, 1,
                 Schedule::cooperative, false, true),
      ESTOC_SM90(Type::bf16, Type::bf16, Type::f32, Type::f32, false, true, 64, 128, 4, 1, 1,
                 Schedule::pingpong, false, true),
      ESTOC_SM90(Type::bf16, Type::bf16, Type::f32, Type::bf16, true, false, 128, 96, 3, 1, 1,
                 Schedule::cooperative, false, true),
      ESTOC_SM90(Type::f16, Type::f16, Type::f32, Type::f16, true, true, 128, 128, 3, 2, 1,
                 Schedule::cooperative, false, true),
      ESTOC_SM90(Type::f16, Type::f16, Type::f32, Type::f32, false, false, 64, 64, 4, 1, 2,
                 Schedule::pingpong, false, true),
      ESTOC_SM90(Type::f16, Type::f16, Type::f32, Type::f16, false, true, 128, 256, 3, 2, 1,
                 Schedule::cooperative, false, true),
      ESTOC_SM90(Type::f16, Type::f16, Type::f32, Type::f16, true, false, 64, 32, 4, 1, 1,
                 Schedule::single, false, false),
      ESTOC_SM90(Type::tf32, Type::tf32, Type::f32, Type::f32, false, false, 128, 64, 4, 1, 1,
                 Schedule::cooperative, false, true),
      ESTOC_SM90(Type::tf32, Type::tf32, Type::f32, Type::f32, false, false, 64, 64, 4, 2, 1,
                 Schedule::pingpong, false, false),
      ESTOC_SM90(Type::e4m3, Type::e4m3, Type::f32, Type::bf16, false, false, 128, 128, 4, 1, 1,
                 Schedule::cooperative, true, true),
      ESTOC_SM90(Type::e5m2, Type::e4m3, Type::f32, Type::f32, false, false, 64, 64, 4, 1, 2,
                 Schedule::single, true, true),
      ESTOC_SM90(Type::e4m3, Type::e5m2, Type::f32, Type::f16, false, false, 64, 128, 3, 1, 1,
                 Schedule::pingpong, true, false),
      ESTOC_SM90(Type::i8, Type::i8, Type::i32, Type::i32, false, false, 128, 64, 4, 1, 1,
                 Schedule::cooperative, false, true),
      ESTOC_SM90(Type::u8, Type::i8, Type::i32, Type::i32, false, false, 64, 128, 4, 2, 1,
                 Schedule::pingpong, false, true),
      ESTOC_SM80(Type::bf16, Type::bf16, Type::f32, Type::bf16, false, false, 128, 128, 32, 2, 2, 4,
                 16, 16, true),
      ESTOC_SM80(Type::f16, Type::f16, Type::f32, Type::f32, true, true, 64, 64, 64, 2, 2, 3, 8, 8,
                 true),
      ESTOC_SM80(Type::f16, Type::f16, Type::f32, Type::f16, false, true, 64, 128, 32, 2, 2, 3, 4,
                 16, false),
      ESTOC_SM80(Type::tf32, Type::tf32, Type::f32, Type::f32, true, false, 64, 64, 32, 2, 2, 3, 16,
                 16, true),
      ESTOC_SM80(Type::e4m3, Type::e4m3, Type::f32, Type::f32, false, true, 64, 64, 64, 2, 2, 3, 4,
                 4, false),
      ESTOC_SM80(Type::e5m2, Type::e5m2, Type::f32, Type::bf16, true, false, 64, 64, 64, 2, 2, 3,
                 16, 8, true),
      ESTOC_SM80(Type::i8, Type::i8, Type::i32, Type::i32, true, true, 64, 64, 64, 2, 2, 3, 4, 4,
                 true),
      ESTOC_SM80(Type::u8, Type::u8, Type::i32, Type::i32, false, false, 64, 64, 128, 2, 2, 3, 16,
                 16, true),
      ESTOC_SM80(Type::f64, Type::f64, Type::f64, Type::f64, false, true, 64, 64, 16, 2, 2, 3, 16,
                 16, true),
      ESTOC_SIMT(Type::bf16, Type::bf16, Type::f32, Type::bf16, Vectors::last, Vectors::last, true,
                 64, 64, 16, 8, 8),
      ESTOC_SIMT(Type::f32, Type::f32, Type::f32, Type::f32, Vectors::none, Vectors::none, false,
                 32, 32, 16, 4, 4),
      ESTOC_SIMT(Type::f64, Type::f64, Type::f64, Type::f64, Vectors::next_to_last, Vectors::last,
                 true, 32, 32, 16, 4, 4),
      ESTOC_SIMT(Type::i8, Type::i8, Type::i32, Type::i32, Vectors::last, Vectors::next_to_last,
                 true, 64, 64, 16, 8, 8),
  };
}

std::vector<Problem> gemm_problems(const GemmKernel& kernel) {
  std::vector<Problem> problems{{136, 136, 136},          {200, 264, 72, 1, 2},       {8, 8, 400},
                                {72, 77, 65, 1, 1, true}, {65, 320, 200, 1, 3},       {1, 1, 1},
                                {64, 72, 40, 3},          {130, 66, 128, 2, 2, true}, {40, 24, 0}};
  const auto* sm90 = std::get_if<Sm90GemmConfig>(&kernel.config);
  if (sm90 == nullptr || !sm90->tma_store) return problems;
  // TMA stores rows of whole chunks of 16 bytes.
  const int chunk = 16 / type_bytes(sm90->out);
  for (Problem& problem : problems)
    problem.n = (problem.n + chunk - 1) / chunk * chunk;
  return problems;
}

}  // namespace conformance
