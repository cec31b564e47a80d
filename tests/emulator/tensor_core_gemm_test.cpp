// sm90_gemm and sm80_gemm under the emulator: clean in every schedule, exact on small integers.
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "emulator/conversions.h"
#include "emulator/launch.h"
#include "emulator/tensor_map.h"

#include <estoc/kernels/sm80_gemm.cuh>
#include <estoc/kernels/sm90_gemm.cuh>

namespace estoc {
namespace {

using abi::Schedule;
using abi::Sm80GemmConfig;
using abi::Sm80GemmParameters;
using abi::Sm90GemmConfig;
using abi::Sm90GemmParameters;
using abi::Type;

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

/// A matrix of small integers in memory, `inner` contiguous along its rows or columns.
struct Operand {
  Operand(Type type, int rows, int columns, bool rows_inner, unsigned seed)
      : type_(type),
        rows_(rows),
        columns_(columns),
        rows_inner_(rows_inner),
        values(static_cast<std::size_t>(rows * columns)),
        bytes(values.size() * static_cast<std::size_t>(abi::type_bytes(type)), std::byte{0xa5}) {
    std::mt19937 random(seed);
    for (double& value : values)
      value = static_cast<int>(random() % 7) - 3;
    for (int i = 0; seed != 0 && i < rows; ++i) {
      for (int j = 0; j < columns; ++j)
        put(type, at(i, j), value(i, j));
    }
  }

  double value(int i, int j) const { return values[static_cast<std::size_t>(i * columns_ + j)]; }
  std::byte* at(int i, int j) {
    const int index = rows_inner_ ? j * rows_ + i : i * columns_ + j;
    return bytes.data() + static_cast<std::size_t>(index * abi::type_bytes(type_));
  }
  abi::Matrix matrix() const {
    return {reinterpret_cast<u64>(bytes.data()), rows_inner_ ? 1 : columns_,
            rows_inner_ ? rows_ : 1, 0};
  }

  abi::TensorMap map(int box_inner, int box_outer, int swizzle_bytes) {
    const auto size = static_cast<std::uint64_t>(abi::type_bytes(type_));
    const auto inner = static_cast<std::uint64_t>(rows_inner_ ? rows_ : columns_);
    const auto outer = static_cast<std::uint64_t>(rows_inner_ ? columns_ : rows_);
    const std::uint64_t extents[] = {inner, outer, 1};
    const std::uint64_t strides[] = {inner * size, inner * outer * size};
    const std::uint32_t box[] = {static_cast<std::uint32_t>(box_inner),
                                 static_cast<std::uint32_t>(box_outer), 1};
    const std::uint32_t ones[] = {1, 1, 1};
    const int driver_type = type_ == Type::bf16  ? 9
                            : type_ == Type::f16 ? 6
                            : type_ == Type::f32 ? 7
                            : type_ == Type::i32 ? 3
                                                 : 0;
    const int swizzle = swizzle_bytes == 128 ? 3 : swizzle_bytes == 64 ? 2 : 1;
    alignas(64) std::array<std::byte, sizeof(abi::TensorMap)> encoded{};
    EXPECT_EQ(emulator::encode_tiled(encoded.data(), driver_type, 3, bytes.data(), extents, strides,
                                     box, ones, 0, swizzle, 3, 0),
              0)
        << emulator::encode_problem();
    return std::bit_cast<abi::TensorMap>(encoded);
  }

  Type type_;
  int rows_;
  int columns_;
  bool rows_inner_;
  std::vector<double> values;
  std::vector<std::byte> bytes;
};

struct Problem {
  int m, n, k;
};

void expect_product(const Operand& a, const Operand& b, Operand& out, const Problem& problem) {
  std::vector<std::byte> expected(static_cast<std::size_t>(abi::type_bytes(out.type_)));
  for (int i = 0; i < problem.m; ++i) {
    for (int j = 0; j < problem.n; ++j) {
      double sum = 0;
      for (int x = 0; x < problem.k; ++x)
        sum += a.value(i, x) * b.value(x, j);
      put(out.type_, expected.data(), sum);
      ASSERT_EQ(std::memcmp(out.at(i, j), expected.data(), expected.size()), 0)
          << "out(" << i << ", " << j << ") is not " << sum;
    }
  }
}

template <Sm90GemmConfig config>
void sm90_kernel(const Sm90GemmParameters parameters) {
  sm90_gemm<config>(parameters, epilogue::Identity{});
}

template <Sm80GemmConfig config>
void sm80_kernel(const Sm80GemmParameters parameters) {
  sm80_gemm<config>(parameters, epilogue::Identity{});
}

emulator::Options with_memory(emulator::Options options, Operand& a, Operand& b, Operand& out) {
  options.memory = {{a.bytes.data(), a.bytes.size(), "A", false},
                    {b.bytes.data(), b.bytes.size(), "B", false},
                    {out.bytes.data(), out.bytes.size(), "out", true, false}};
  return options;
}

/// Runs one problem on `clusters` clusters and compares every element.
template <Sm90GemmConfig config>
emulator::Report run_sm90(const Problem& problem, unsigned clusters,
                          const emulator::Options& options = {}) {
  const auto [m, n, k] = problem;
  Operand a(config.a, m, k, config.a_m_major, 7);
  Operand b(config.b, k, n, !config.b_n_major, 8);
  Operand out(config.out, m, n, false, 0);
  const int inner = 128 / abi::type_bytes(config.a);
  Sm90GemmParameters p{};
  p.a = a.map(inner, config.a_m_major ? config.tile_k() : config.tile_m / config.cluster_n, 128);
  p.b = b.map(inner, config.b_n_major ? config.tile_k() : config.tile_n / config.cluster_m, 128);
  if (config.tma_store) p.out = out.map(config.store_columns(), 64, config.store_row_bytes());
  p.out_raw = out.matrix();
  p.m = m;
  p.n = n;
  p.k = k;
  p.l = 1;
  const int high = config.tile_m * config.cluster_m;
  const int wide = config.tile_n * config.cluster_n;
  p.tiles_m = (m + high - 1) / high;
  p.tiles_n = (n + wide - 1) / wide;
  p.group = 2 < p.tiles_m ? 2 : p.tiles_m;
  void* arguments[] = {&p};
  const auto size = static_cast<unsigned>(config.cluster_size());
  emulator::Options used = with_memory(options, a, b, out);
  used.cluster = {size, 1, 1};
  emulator::Report report =
      emulator::launch(emulator::entry<sm90_kernel<config>>, {clusters * size, 1, 1},
                       static_cast<unsigned>(config.threads()),
                       static_cast<unsigned>(config.shared_bytes()), arguments, used);
  expect_product(a, b, out, problem);
  return report;
}

template <Sm80GemmConfig config>
emulator::Report run_sm80(const Problem& problem, const emulator::Options& options = {}) {
  const auto [m, n, k] = problem;
  Operand a(config.a, m, k, config.a_m_major, 7);
  Operand b(config.b, k, n, !config.b_n_major, 8);
  Operand out(config.out, m, n, false, 0);
  Sm80GemmParameters p{};
  p.a = a.matrix();
  p.b = b.matrix();
  p.out = out.matrix();
  p.m = m;
  p.n = n;
  p.k = k;
  p.l = 1;
  p.tiles_m = static_cast<unsigned>((m + config.tile_m - 1) / config.tile_m);
  p.tiles_n = static_cast<unsigned>((n + config.tile_n - 1) / config.tile_n);
  p.group = 2;
  void* arguments[] = {&p};
  emulator::Report report = emulator::launch(
      emulator::entry<sm80_kernel<config>>, {p.tiles_m * p.tiles_n, 1, 1},
      static_cast<unsigned>(config.threads()), static_cast<unsigned>(config.shared_bytes()),
      arguments, with_memory(options, a, b, out));
  expect_product(a, b, out, problem);
  return report;
}

constexpr Sm90GemmConfig sm90_config(Type type, Type out, bool a_m_major, bool b_n_major,
                                     int tile_m, int tile_n, int cluster_m, int cluster_n,
                                     Schedule schedule, bool tma_store = true) {
  const Type accumulator = type == Type::i8 ? Type::i32 : Type::f32;
  return {type,   type, accumulator, out,       a_m_major, b_n_major, tile_m,
          tile_n, 3,    cluster_m,   cluster_n, schedule,  false,     tma_store};
}

constexpr Sm80GemmConfig sm80_config(Type type, Type accumulator, Type out, bool a_m_major,
                                     bool b_n_major, int tile_k, int copy) {
  return {type,   type, accumulator, out, a_m_major, b_n_major, 64,  64,
          tile_k, 2,    2,           3,   copy,      copy,      true};
}

void clean(const emulator::Report& report) {
  EXPECT_TRUE(report.clean()) << report.text();
}

constexpr Sm90GemmConfig kCooperative =
    sm90_config(Type::bf16, Type::bf16, false, false, 128, 64, 1, 1, Schedule::cooperative);
constexpr Sm90GemmConfig kPingpong =
    sm90_config(Type::bf16, Type::f32, false, true, 64, 64, 1, 1, Schedule::pingpong);
constexpr Sm90GemmConfig kCluster =
    sm90_config(Type::f16, Type::f16, true, true, 128, 128, 2, 1, Schedule::cooperative);

TEST(Sm90Gemm, EveryScheduleAndLayoutIsCleanAndExact) {
  clean(run_sm90<kCooperative>({200, 136, 200}, 2));
  clean(run_sm90<kPingpong>({136, 136, 136}, 2));
  clean(run_sm90<kCluster>({264, 200, 136}, 1));
  clean(
      run_sm90<sm90_config(Type::f16, Type::f32, false, false, 128, 64, 1, 2, Schedule::pingpong)>(
          {136, 200, 136}, 1));
  clean(run_sm90<sm90_config(Type::i8, Type::i32, false, false, 64, 32, 1, 1, Schedule::single)>(
      {72, 80, 272}, 2));
  clean(run_sm90<sm90_config(Type::bf16, Type::bf16, false, false, 64, 64, 1, 1, Schedule::single,
                             false)>({72, 77, 136}, 2));
}

TEST(Sm90Gemm, OfNoKIsZero) {
  Problem nothing{72, 64, 0};
  Operand out(Type::bf16, nothing.m, nothing.n, false, 0);
  Sm90GemmParameters p{};
  p.out = out.map(kCooperative.store_columns(), 64, kCooperative.store_row_bytes());
  p.m = nothing.m;
  p.n = nothing.n;
  p.l = 1;
  p.tiles_m = p.tiles_n = p.group = 1;
  void* arguments[] = {&p};
  emulator::Options options;
  options.memory = {{out.bytes.data(), out.bytes.size(), "out", true, false}};
  clean(emulator::launch(emulator::entry<sm90_kernel<kCooperative>>, {1, 1, 1},
                         static_cast<unsigned>(kCooperative.threads()),
                         static_cast<unsigned>(kCooperative.shared_bytes()), arguments, options));
  for (const std::byte byte : out.bytes)
    ASSERT_EQ(byte, std::byte{0});
}

TEST(Sm90Gemm, EveryOrderOfEventsIsClean) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    emulator::Options options;
    options.schedule = seed == 0 ? emulator::Schedule::eager : emulator::Schedule::random;
    options.seed = seed;
    clean(run_sm90<kCooperative>({136, 72, 264}, 1, options));
    clean(run_sm90<kPingpong>({136, 72, 136}, 1, options));
    clean(run_sm90<kCluster>({136, 136, 136}, 1, options));
  }
}

TEST(Sm80Gemm, EveryKindOfOperandIsCleanAndExact) {
  clean(run_sm80<sm80_config(Type::bf16, Type::f32, Type::bf16, false, false, 32, 16)>(
      {72, 72, 104}));
  clean(run_sm80<sm80_config(Type::f16, Type::f32, Type::f32, true, true, 64, 8)>({68, 68, 69}));
  clean(run_sm80<sm80_config(Type::i8, Type::i32, Type::i32, true, true, 64, 4)>({68, 68, 69}));
  clean(
      run_sm80<sm80_config(Type::i8, Type::i32, Type::i32, false, false, 128, 16)>({72, 80, 144}));
  clean(run_sm80<sm80_config(Type::f64, Type::f64, Type::f64, false, true, 16, 16)>({66, 66, 34}));
}

TEST(Sm80Gemm, EveryOrderOfEventsIsClean) {
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    emulator::Options options;
    options.schedule = seed == 0 ? emulator::Schedule::eager : emulator::Schedule::random;
    options.seed = seed;
    clean(run_sm80<sm80_config(Type::bf16, Type::f32, Type::bf16, false, false, 32, 16)>(
        {72, 72, 104}, options));
  }
}

}  // namespace
}  // namespace estoc
