// simt_gemm under the emulator: clean, and exact on small integers.
#include <gtest/gtest.h>

#include <bit>
#include <random>
#include <type_traits>
#include <vector>

#include "emulator/conversions.h"
#include "emulator/launch.h"

#include <estoc/kernels/simt_gemm.cuh>

namespace estoc {
namespace {

using abi::SimtGemmConfig;
using abi::SimtGemmParameters;
using abi::Type;
using abi::Vectors;

template <SimtGemmConfig config>
void kernel(const SimtGemmParameters parameters) {
  simt_gemm<config>(parameters, epilogue::Identity{});
}

void put(Type type, std::byte* to, double value) {
  const auto f = static_cast<float>(value);
  u32 bits = std::bit_cast<u32>(f);
  if (type == Type::f64) {
    std::memcpy(to, &value, 8);
    return;
  }
  if (type == Type::bf16) bits = emulator::float_to_bfloat(f);
  if (type == Type::f16) bits = emulator::float_to_half(f);
  if (type == Type::i8 || type == Type::i32) bits = static_cast<u32>(static_cast<int>(value));
  std::memcpy(to, &bits, static_cast<std::size_t>(abi::type_bytes(type)));
}

struct Problem {
  int m, n, k;
};

// Runs one problem with row-major operands and compares every element.
template <SimtGemmConfig config>
emulator::Report run(Problem problem, emulator::Options options = {}) {
  const auto [m, n, k] = problem;
  const auto size = [](Type type) { return static_cast<std::size_t>(abi::type_bytes(type)); };
  std::mt19937 random(7);
  std::vector<double> a(static_cast<std::size_t>(m * k));
  std::vector<double> b(static_cast<std::size_t>(k * n));
  for (double& x : a)
    x = static_cast<int>(random() % 7) - 3;
  for (double& x : b)
    x = static_cast<int>(random() % 7) - 3;
  std::vector<std::byte> a_bytes(a.size() * size(config.a));
  std::vector<std::byte> b_bytes(b.size() * size(config.b));
  std::vector<std::byte> out(static_cast<std::size_t>(m * n) * size(config.out), std::byte{0xa5});
  for (std::size_t i = 0; i < a.size(); ++i)
    put(config.a, a_bytes.data() + i * size(config.a), a[i]);
  for (std::size_t i = 0; i < b.size(); ++i)
    put(config.b, b_bytes.data() + i * size(config.b), b[i]);
  const auto matrix = [](std::vector<std::byte>& bytes, int columns) {
    return abi::Matrix{reinterpret_cast<u64>(bytes.data()), columns, 1, 0};
  };
  SimtGemmParameters parameters{};
  parameters.a = matrix(a_bytes, k);
  parameters.b = matrix(b_bytes, n);
  parameters.out = matrix(out, n);
  parameters.m = m;
  parameters.n = n;
  parameters.k = k;
  parameters.l = 1;
  parameters.tiles_m = static_cast<unsigned>((m + config.tile_m - 1) / config.tile_m);
  parameters.tiles_n = static_cast<unsigned>((n + config.tile_n - 1) / config.tile_n);
  parameters.group = 8;
  options.memory = {{a_bytes.data(), a_bytes.size(), "A", false},
                    {b_bytes.data(), b_bytes.size(), "B", false},
                    {out.data(), out.size(), "out", true, false}};
  void* arguments[] = {&parameters};
  emulator::Report report = emulator::launch(
      emulator::entry<kernel<config>>, {parameters.tiles_m * parameters.tiles_n, 1, 1},
      static_cast<unsigned>(config.threads()), static_cast<unsigned>(config.shared_bytes()),
      arguments, options);
  std::vector<std::byte> expected(size(config.out));
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int x = 0; x < k; ++x)
        sum += a[static_cast<std::size_t>(i * k + x)] * b[static_cast<std::size_t>(x * n + j)];
      put(config.out, expected.data(), sum);
      const std::byte* got = out.data() + static_cast<std::size_t>(i * n + j) * size(config.out);
      if (std::memcmp(got, expected.data(), expected.size()) != 0) {
        ADD_FAILURE() << "out(" << i << ", " << j << ") is not " << sum;
        return report;
      }
    }
  }
  return report;
}

constexpr SimtGemmConfig config_for(Type type, Type accumulator, Type out, int tile, bool vectors) {
  const Vectors v = vectors ? Vectors::last : Vectors::none;
  const int thread = accumulator == Type::f64 || tile < 64 ? 4 : 8;
  return {type, type, accumulator, out, v, v, vectors, tile, tile, 16, thread, thread};
}

constexpr SimtGemmConfig kBf16 = config_for(Type::bf16, Type::f32, Type::bf16, 64, true);

TEST(SimtGemm, RunsCleanAndExact) {
  const auto clean = [](const emulator::Report& report) {
    EXPECT_TRUE(report.clean()) << report.text();
  };
  clean(run<kBf16>({128, 64, 64}));
  clean(run<config_for(Type::f32, Type::f32, Type::f32, 32, true)>({36, 40, 20}));
  clean(run<config_for(Type::f64, Type::f64, Type::f64, 32, true)>({34, 32, 18}));
  clean(run<config_for(Type::i8, Type::i32, Type::i32, 64, true)>({64, 80, 48}));
  clean(run<config_for(Type::f16, Type::f32, Type::f32, 128, false)>({130, 33, 17}));
}

TEST(SimtGemm, EveryScheduleIsClean) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    emulator::Options options;
    options.schedule = seed == 0 ? emulator::Schedule::eager : emulator::Schedule::random;
    options.seed = seed;
    const emulator::Report report = run<kBf16>({64, 64, 48}, options);
    EXPECT_TRUE(report.clean()) << "seed " << seed << "\n" << report.text();
  }
}

// The problem says that A has one row more than there is.
TEST(SimtGemm, OutOfBoundsIsReported) {
  SimtGemmParameters parameters{};
  std::vector<float> a(32 * 16);
  std::vector<float> b(16 * 32);
  std::vector<float> out(33 * 32);
  parameters.a = {reinterpret_cast<u64>(a.data()), 16, 1, 0};
  parameters.b = {reinterpret_cast<u64>(b.data()), 32, 1, 0};
  parameters.out = {reinterpret_cast<u64>(out.data()), 32, 1, 0};
  parameters.m = 33;
  parameters.n = 32;
  parameters.k = 16;
  parameters.l = 1;
  parameters.tiles_m = 2;
  parameters.tiles_n = 1;
  parameters.group = 8;
  constexpr SimtGemmConfig kConfig = config_for(Type::f32, Type::f32, Type::f32, 32, true);
  emulator::Options options;
  options.memory = {{a.data(), a.size() * 4, "A", false},
                    {b.data(), b.size() * 4, "B", false},
                    {out.data(), out.size() * 4, "out"}};
  void* arguments[] = {&parameters};
  const emulator::Report report =
      emulator::launch(emulator::entry<kernel<kConfig>>, {2, 1, 1}, kConfig.threads(),
                       kConfig.shared_bytes(), arguments, options);
  EXPECT_TRUE(report.has(emulator::Fault::out_of_bounds)) << report.text();
  EXPECT_NE(report.text().find("simt_gemm.cuh"), std::string::npos) << report.text();
  EXPECT_NE(report.text().find("after the start of A"), std::string::npos) << report.text();
}

}  // namespace
}  // namespace estoc
