// Epilogues of sm90_gemm on the emulator: clean in every schedule, and exact on small integers.
#include <gtest/gtest.h>

#include "tile_epilogue.h"

namespace estoc::epilogue_test {
namespace {

template <Sm90GemmConfig config, typename E>
void run(Case<E> c, unsigned clusters, double tolerance = 0, bool use_maps = true,
         const emulator::Options& options = {}, bool in_place = false) {
  const Outcome outcome =
      run_tile<config>(std::move(c), clusters, tolerance, use_maps, options, in_place);
  EXPECT_TRUE(outcome.report.clean()) << outcome.report.text();
  EXPECT_EQ(outcome.wrong, "");
}

constexpr Extents kRagged{2, 200, 137, 72};
constexpr Sm90GemmConfig kCooperative =
    sm90(Type::bf16, Type::bf16, 128, 64, Schedule::cooperative);
constexpr Sm90GemmConfig kPingpong = sm90(Type::bf16, Type::bf16, 64, 64, Schedule::pingpong);
constexpr Sm90GemmConfig kSingle = sm90(Type::bf16, Type::f32, 64, 32, Schedule::single);
constexpr double kHalfUlpBf16 = 1.0 / 128;

using Linear = golden::linear::Epilogue;
using Gelu = golden::gelu_tanh::Epilogue;
using ReluAux = golden::relu_aux::Epilogue;
using RowAbsmax = golden::row_absmax::Epilogue;
using Mixed = golden::mixed::Epilogue;

template <typename E>
Case<E> problem(Lay lay, typename Case<E>::Oracle oracle, const Extents& extents = kRagged) {
  return Case<E>(Type::bf16, extents, {lay}, oracle);
}

TEST(Sm90Epilogue, LoadsMatricesByTmaOrByItself) {
  for (const bool maps : {true, false}) {
    run<with<Linear>(kCooperative, 64, 2, 2)>(problem<Linear>(Lay::padded, linear), 2, 0, maps);
    run<with<Linear>(kPingpong, 32, 1, 1)>(problem<Linear>(Lay::padded, linear), 2, 0, maps);
  }
  run<with<Linear>(sm90(Type::bf16, Type::bf16, 128, 64, Schedule::pingpong), 32, 3, 2, true)>(
      problem<Linear>(Lay::padded, linear), 2);
  run<with<Linear>(kCooperative, 32, 3, 2)>(problem<Linear>(Lay::columns, linear), 2);
}

// Boxes of C are loaded ahead, those of D stored over them.
TEST(Sm90Epilogue, OutputMayBeTheInput) {
  for (const bool maps : {true, false}) {
    run<with<Linear>(kCooperative, 32, 3, 2)>(
        problem<Linear>(Lay::padded, linear, {1, 264, 136, 72}), 2, 0, maps, {}, true);
  }
}

TEST(Sm90Epilogue, LoadsVectorsOnceATile) {
  run<with<Gelu>(kCooperative, 64, 1, 2)>(problem<Gelu>(Lay::rows, gelu_tanh), 2, kHalfUlpBf16);
  run<with<Gelu>(kPingpong, 64, 1, 2)>(problem<Gelu>(Lay::rows, gelu_tanh), 1, kHalfUlpBf16);
}

TEST(Sm90Epilogue, StoresSeveralOutputs) {
  run<with<ReluAux>(kCooperative, 64, 1, 2)>(problem<ReluAux>(Lay::padded, relu_aux), 2);
  run<with<ReluAux>(kPingpong, 32, 1, 1)>(problem<ReluAux>(Lay::loose, relu_aux), 2);
}

TEST(Sm90Epilogue, Reduces) {
  run<with<RowAbsmax>(sm90(Type::bf16, Type::e4m3, 128, 64, Schedule::cooperative), 64, 1, 2)>(
      problem<RowAbsmax>(Lay::padded, row_absmax), 2);
}

TEST(Sm90Epilogue, OfManyKindsAtOnce) {
  run<with<Mixed>(kSingle, 16, 2, 1, true)>(problem<Mixed>(Lay::padded, mixed, {2, 72, 72, 72}), 2);
  run<with<Mixed>(sm90(Type::bf16, Type::f32, 128, 32, Schedule::cooperative, 2), 32, 1, 1)>(
      Case<Mixed>(Type::bf16, {2, 264, 72, 72}, {Lay::columns, Lay::padded}, mixed), 1);
}

TEST(Sm90Epilogue, EveryOperation) {
  using E = golden::every_op::Epilogue;
  for (const bool maps : {true, false}) {
    run<with<E>(kSingle, 16, 1, 1, true)>(
        Case<E>(Type::bf16, {2, 72, 40, 40}, {Lay::padded}, every_op), 2, 2e-6, maps);
  }
}

TEST(Sm90Epilogue, EveryOrderOfEventsIsClean) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    emulator::Options options;
    options.schedule = seed == 0 ? emulator::Schedule::eager : emulator::Schedule::random;
    options.seed = seed;
    run<with<Linear>(kCooperative, 32, 2, 2)>(
        problem<Linear>(Lay::padded, linear, {1, 136, 72, 136}), 1, 0, true, options);
    run<with<ReluAux>(kPingpong, 32, 1, 1)>(
        problem<ReluAux>(Lay::padded, relu_aux, {1, 136, 72, 72}), 1, 0, true, options);
  }
}

}  // namespace
}  // namespace estoc::epilogue_test
