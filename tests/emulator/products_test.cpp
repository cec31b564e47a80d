// Tensor core instructions against plain sums: every type, layout and source of operands.
#include <gtest/gtest.h>

#include <random>
#include <type_traits>
#include <vector>

#include "emulator/conversions.h"
#include "emulator/launch.h"
#include "emulator/tensor_map.h"

#include <estoc/ptx/barrier.cuh>
#include <estoc/ptx/fence.cuh>
#include <estoc/ptx/mbarrier.cuh>
#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/mma.cuh>
#include <estoc/ptx/special.cuh>
#include <estoc/ptx/tma.cuh>
#include <estoc/ptx/wgmma.cuh>

namespace estoc {
namespace {

using abi::Type;

constexpr bool is_integer(Type type) {
  return type == Type::i8 || type == Type::u8;
}

u64 encoded(Type type, int value) {
  const auto f = static_cast<float>(value);
  if (type == Type::f64) return std::bit_cast<std::uint64_t>(static_cast<double>(value));
  if (type == Type::bf16) return emulator::float_to_bfloat(f);
  if (type == Type::f16) return emulator::float_to_half(f);
  if (type == Type::e4m3) return emulator::float_to_e4m3(f);
  if (type == Type::e5m2) return emulator::float_to_e5m2(f);
  if (is_integer(type)) return static_cast<u32>(value) & 0xff;
  return std::bit_cast<u32>(f);
}

// A matrix of small integers, and the same encoded.
struct Matrix {
  int rows;
  int columns;
  std::vector<int> values;
  std::vector<std::byte> bytes;

  Matrix(Type type, int r, int c, unsigned seed) : rows(r), columns(c) {
    std::mt19937 random(seed);
    const auto size = static_cast<std::size_t>(abi::type_bytes(type));
    for (int i = 0; i < r * c; ++i) {
      values.push_back(static_cast<int>(random() % 6) - (type == Type::u8 ? 0 : 3));
      const u64 bits = encoded(type, values.back());
      const auto* from = reinterpret_cast<const std::byte*>(&bits);
      bytes.insert(bytes.end(), from, from + size);
    }
  }
  void set(Type type, int row, int column, int value) {
    const auto index = static_cast<std::size_t>(row * columns + column);
    const auto size = static_cast<std::size_t>(abi::type_bytes(type));
    const u64 bits = encoded(type, value);
    values[index] = value;
    std::memcpy(bytes.data() + index * size, &bits, size);
  }
  int at(int row, int column) const {
    return values[static_cast<std::size_t>(row * columns + column)];
  }
  u64 address() const { return reinterpret_cast<u64>(bytes.data()); }
};

struct Case {
  Type a;
  Type b;
  int swizzle;  // of the tensor maps: 1 to 3
  bool a_rows;  // A is stored K x 64, B as K x 32
  bool b_rows;
  bool from_registers;
  bool packed = false;  // sums of f16
};

template <Case c>
struct WgmmaKernel {
  static constexpr int kBytes = abi::type_bytes(c.a);
  static constexpr u32 kWidth = 16u << c.swizzle;
  // Transposed operands are as wide as the swizzle along M or N.
  static constexpr int kDepth = c.a_rows || c.b_rows ? 16 : static_cast<int>(kWidth) / kBytes;
  static constexpr int kColumns = 32;
  static constexpr u32 kABytes = 64 * kDepth * kBytes;

  static void run(const TensorMap a, const TensorMap b, u64 a_plain, u64 out) {
    const u32 base = ptx::smem_base();
    const u32 b_base = base + 8192;
    const u32 barrier = base + 16384;
    if (ptx::tid() == 0) {
      ptx::mbarrier_init(barrier, 1);
      ptx::fence_mbarrier_init();
      ptx::mbarrier_arrive_expect_tx(barrier, kABytes + kColumns * kDepth * kBytes);
      const int a_boxes = c.a_rows ? 64 * kBytes / static_cast<int>(kWidth) : 1;
      const int b_boxes = c.b_rows ? kColumns * kBytes / static_cast<int>(kWidth) : 1;
      for (int i = 0; i < a_boxes; ++i) {
        ptx::cp_async_bulk_tensor_load(base + static_cast<u32>(i) * kWidth * kDepth, a, barrier,
                                       {i * static_cast<int>(kWidth) / kBytes, 0});
      }
      for (int i = 0; i < b_boxes; ++i) {
        ptx::cp_async_bulk_tensor_load(b_base + static_cast<u32>(i) * kWidth * kDepth, b, barrier,
                                       {i * static_cast<int>(kWidth) / kBytes, 0});
      }
    }
    ptx::barrier_sync();
    ptx::mbarrier_wait(barrier, 0);
    using Wide = std::conditional_t<is_integer(c.a), i32, float>;
    std::conditional_t<c.packed, u32, Wide> acc[kColumns / (c.packed ? 4 : 2)];
    ptx::wgmma_fence();
    for (u32 k = 0; k < kDepth * kBytes / 32; ++k) {
      const u64 a_descriptor = descriptor(base + (c.a_rows ? 0 : k * 32), c.a_rows);
      const u64 b_descriptor = descriptor(b_base + (c.b_rows ? 0 : k * 32), c.b_rows);
      if constexpr (c.from_registers) {
        u32 words[4];
        const u32 t = ptx::tid();
        for (u32 w = 0; w < 4; ++w) {
          const u32 row = 16 * (t / 32) + t % 32 / 4 + 8 * (w % 2);
          const u64 offset = row * kDepth * kBytes + k * 32 + w / 2 * 16 + t % 4 * 4;
          words[w] = ptx::ld_global<1>(a_plain + offset).word[0];
        }
        ptx::wgmma_mma_async<c.a, c.b, c.b_rows>(acc, words, b_descriptor, k > 0);
      } else {
        ptx::wgmma_mma_async<c.a, c.b, c.a_rows, c.b_rows>(acc, a_descriptor, b_descriptor, k > 0);
      }
    }
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
    ptx::acc_use(acc);
    const u32 t = ptx::tid();
    for (u32 i = 0; i < kColumns / 2; ++i) {
      const u32 row = 16 * (t / 32) + t % 32 / 4 + i / 2 % 2 * 8;
      const u32 column = i / 4 * 8 + t % 4 * 2 + i % 2;
      const float value = sum(acc, i);
      ptx::st_global<1>(out + (row * kColumns + column) * 4, {{bit_cast<u32>(value)}});
    }
  }

  template <typename Value, std::size_t count>
  static float sum(const Value (&acc)[count], u32 i) {
    if constexpr (c.packed) return emulator::half_to_float(acc[i / 2] >> (16 * (i % 2)) & 0xffff);
    if constexpr (!c.packed) return static_cast<float>(acc[i]);
  }

  // Transposed, the leading offset leads to the next 16 << swizzle bytes of M or N.
  static u64 descriptor(u32 address, bool rows) {
    const u32 leading = rows ? kWidth * kDepth : 16;
    return (address >> 4) | u64{leading >> 4} << 16 | u64{(8 * kWidth) >> 4} << 32 |
           u64{4u - c.swizzle} << 62;
  }
};

template <Case c>
void kernel(const TensorMap a, const TensorMap b, u64 a_plain, u64 out) {
  WgmmaKernel<c>::run(a, b, a_plain, out);
}

int map_type(Type type) {
  const int bytes = abi::type_bytes(type);
  return bytes == 1 ? 0 : bytes == 2 ? 1 : 7;
}

TensorMap map_of(const Matrix& matrix, Type type, u32 columns, u32 rows, int swizzle) {
  TensorMap map{};
  const std::uint64_t extents[] = {static_cast<unsigned>(matrix.columns),
                                   static_cast<unsigned>(matrix.rows)};
  const std::uint64_t strides[] = {static_cast<unsigned>(matrix.columns * abi::type_bytes(type))};
  const std::uint32_t box[] = {columns, rows};
  const std::uint32_t ones[] = {1, 1};
  EXPECT_EQ(
      emulator::encode_tiled(&map, map_type(type), 2, const_cast<std::byte*>(matrix.bytes.data()),
                             extents, strides, box, ones, 0, swizzle, 0, 0),
      0)
      << emulator::encode_problem();
  return map;
}

template <Case c>
std::vector<float> run_wgmma(const Matrix& a, const Matrix& b,
                             const emulator::Options& options = {}) {
  using K = WgmmaKernel<c>;
  constexpr int kDepth = K::kDepth;
  const u32 wide = K::kWidth / static_cast<u32>(K::kBytes);
  TensorMap a_map = map_of(a, c.a, c.a_rows ? wide : kDepth, c.a_rows ? kDepth : 64, c.swizzle);
  TensorMap b_map = map_of(b, c.b, c.b_rows ? wide : kDepth, c.b_rows ? kDepth : 32, c.swizzle);
  std::vector<float> out(64 * 32);
  u64 a_plain = a.address();
  u64 out_address = reinterpret_cast<u64>(out.data());
  void* arguments[] = {&a_map, &b_map, &a_plain, &out_address};
  const emulator::Report report =
      emulator::launch(emulator::entry<kernel<c>>, {1, 1, 1}, 128, 16640, arguments, options);
  EXPECT_TRUE(report.clean()) << report.text();
  return out;
}

template <Case c>
void check_wgmma(const emulator::Options& options = {}) {
  constexpr int kDepth = WgmmaKernel<c>::kDepth;
  const Matrix a(c.a, c.a_rows ? kDepth : 64, c.a_rows ? 64 : kDepth, 1);
  const Matrix b(c.b, c.b_rows ? kDepth : 32, c.b_rows ? 32 : kDepth, 2);
  const std::vector<float> out = run_wgmma<c>(a, b, options);
  for (int i = 0; i < 64; ++i) {
    for (int j = 0; j < 32; ++j) {
      int sum = 0;
      for (int k = 0; k < kDepth; ++k)
        sum += (c.a_rows ? a.at(k, i) : a.at(i, k)) * (c.b_rows ? b.at(k, j) : b.at(j, k));
      ASSERT_EQ(out[static_cast<std::size_t>(i * 32 + j)], static_cast<float>(sum))
          << i << ", " << j;
    }
  }
}

TEST(Wgmma, Types) {
  check_wgmma<Case{Type::bf16, Type::bf16, 3, false, false, false}>();
  check_wgmma<Case{Type::f16, Type::f16, 3, false, false, false}>();
  check_wgmma<Case{Type::tf32, Type::tf32, 3, false, false, false}>();
  check_wgmma<Case{Type::e4m3, Type::e5m2, 3, false, false, false}>();
  check_wgmma<Case{Type::i8, Type::u8, 3, false, false, false}>();
  check_wgmma<Case{Type::u8, Type::i8, 2, false, false, false}>();
}

TEST(Wgmma, PackedSums) {
  check_wgmma<Case{Type::f16, Type::f16, 3, false, false, false, true}>();
  check_wgmma<Case{Type::f16, Type::f16, 2, true, true, false, true}>();
  check_wgmma<Case{Type::f16, Type::f16, 3, false, false, true, true}>();
  check_wgmma<Case{Type::e4m3, Type::e4m3, 3, false, false, false, true}>();
  check_wgmma<Case{Type::e5m2, Type::e4m3, 3, false, false, true, true}>();
}

// Each instruction rounds its sum to nearest even: 2048 + 1 is 2048, 2048 + 3 is 2052.
TEST(Wgmma, PackedSumsAreRoundedOnceAnInstruction) {
  constexpr Case kF16{Type::f16, Type::f16, 3, false, false, false, true};
  constexpr int kDepth = WgmmaKernel<kF16>::kDepth;
  Matrix a(Type::f16, 64, kDepth, 1);
  Matrix b(Type::f16, 32, kDepth, 2);
  for (int row = 0; row < 64; ++row) {
    for (int k = 0; k < kDepth; ++k) {
      const int added = k % 16 == 1 ? 2 * (row % 2) + 1 : 0;
      a.set(Type::f16, row, k, k == 0 ? 2048 : k < 32 ? added : 0);
      if (row < 32) b.set(Type::f16, row, k, 1);
    }
  }
  const std::vector<float> out = run_wgmma<kF16>(a, b);
  EXPECT_EQ(out[0], 2048);
  EXPECT_EQ(out[32], 2056);
}

// 14 bits: small integers are exact, ones next to a product of 2^17 are lost, sixteens are not.
TEST(Wgmma, NarrowSums) {
  constexpr Case kF8{Type::e4m3, Type::e4m3, 3, false, false, false};
  constexpr int kDepth = WgmmaKernel<kF8>::kDepth;
  emulator::Options narrow;
  narrow.narrow_fp8_sums = true;
  check_wgmma<kF8>(narrow);
  Matrix a(Type::e4m3, 64, kDepth, 1);
  Matrix b(Type::e4m3, 32, kDepth, 2);
  for (int row = 0; row < 64; ++row) {
    for (int k = 0; k < kDepth; ++k) {
      a.set(Type::e4m3, row, k, k == 0 ? 448 : row % 2 == 0 ? 1 : 16);
      if (row < 32) b.set(Type::e4m3, row, k, k == 0 ? 448 : 1);
    }
  }
  const std::vector<float> exact = run_wgmma<kF8>(a, b);
  const std::vector<float> cut = run_wgmma<kF8>(a, b, narrow);
  const float large = 448 * 448;
  EXPECT_EQ(exact[0], large + kDepth - 1);
  EXPECT_EQ(cut[0], large);
  EXPECT_EQ(cut[32], large + 16 * (kDepth - 1));
}

TEST(Wgmma, Swizzles) {
  check_wgmma<Case{Type::bf16, Type::bf16, 2, false, false, false}>();
  check_wgmma<Case{Type::bf16, Type::bf16, 1, false, false, false}>();
}

TEST(Wgmma, Transposed) {
  check_wgmma<Case{Type::bf16, Type::bf16, 2, true, true, false}>();
  check_wgmma<Case{Type::f16, Type::f16, 1, true, true, false}>();
}

TEST(Wgmma, FromRegisters) {
  check_wgmma<Case{Type::bf16, Type::bf16, 3, false, false, true}>();
  check_wgmma<Case{Type::tf32, Type::tf32, 3, false, false, true}>();
  check_wgmma<Case{Type::e4m3, Type::e4m3, 3, false, false, true}>();
  check_wgmma<Case{Type::i8, Type::i8, 3, false, false, true}>();
}

// One instruction by one warp: operands straight from row-major A and column-major B.
template <Type type, int m, int k>
struct MmaKernel {
  static constexpr int kBytes = abi::type_bytes(type);

  static u32 word(u64 base, u32 row, u32 byte) {
    return ptx::ld_global<1>(base + row * k * kBytes + byte).word[0];
  }
  static double number(u64 base, u32 row, u32 element) {
    return bit_cast<double>(ptx::ld_global<2>(base + (row * k + element) * 8));
  }

  static void run(u64 a, u64 b, u64 out) {
    const u32 g = ptx::laneid() / 4;
    const u32 q = ptx::laneid() % 4;
    double result[4] = {};
    if constexpr (type == Type::f64) {
      double x[k == 4 && m == 16 ? 2 : k / 2];
      double y[k / 4];
      for (u32 h = 0; h < k / 4; ++h) {
        for (u32 r = 0; r < m / 8; ++r)
          x[h * (m / 8) + r] = number(a, g + 8 * r, q + 4 * h);
        y[h] = number(b, g, q + 4 * h);
      }
      if constexpr (m == 8) {
        double acc[2] = {};
        ptx::mma_m8n8k4_f64(acc, x[0], y[0]);
        result[0] = acc[0];
        result[1] = acc[1];
      } else {
        ptx::mma_m16n8_f64<k>(result, x, y);
      }
    } else {
      u32 x[4];
      u32 y[2];
      for (u32 h = 0; h < 2; ++h) {
        for (u32 r = 0; r < 2; ++r)
          x[2 * h + r] = word(a, g + 8 * r, 16 * h + 4 * q);
        y[h] = word(b, g, 16 * h + 4 * q);
      }
      std::conditional_t<is_integer(type), i32, float> acc[4] = {};
      if constexpr (type == Type::tf32) {
        ptx::mma_m16n8k8_tf32(acc, x, y);
      } else if constexpr (kBytes == 2) {
        ptx::mma_m16n8k16<type>(acc, x, y);
      } else {
        ptx::mma_m16n8k32<type, type>(acc, x, y);
      }
      for (int i = 0; i < 4; ++i)
        result[i] = static_cast<double>(acc[i]);
    }
    for (u32 i = 0; i < m / 4; ++i) {
      const u64 place = (g + i / 2 * 8) * 8 + q * 2 + i % 2;
      ptx::st_global<2>(out + place * 8, bit_cast<Words<2>>(result[i]));
    }
  }
};

template <typename Kernel>
void mma_kernel(u64 a, u64 b, u64 out) {
  Kernel::run(a, b, out);
}

template <Type type, int m, int k>
void check_mma() {
  const Matrix a(type, m, k, 3);
  const Matrix b(type, 8, k, 4);
  std::vector<double> out(static_cast<std::size_t>(m * 8), 0.5);
  u64 addresses[] = {a.address(), b.address(), reinterpret_cast<u64>(out.data())};
  void* arguments[] = {&addresses[0], &addresses[1], &addresses[2]};
  const emulator::Report report = emulator::launch(
      emulator::entry<mma_kernel<MmaKernel<type, m, k>>>, {1, 1, 1}, 32, 0, arguments);
  EXPECT_TRUE(report.clean()) << report.text();
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < 8; ++j) {
      int sum = 0;
      for (int x = 0; x < k; ++x)
        sum += a.at(i, x) * b.at(j, x);
      ASSERT_EQ(out[static_cast<std::size_t>(i * 8 + j)], static_cast<double>(sum)) << i << j;
    }
  }
}

TEST(Mma, Types) {
  check_mma<Type::f16, 16, 16>();
  check_mma<Type::bf16, 16, 16>();
  check_mma<Type::tf32, 16, 8>();
  check_mma<Type::e4m3, 16, 32>();
  check_mma<Type::e5m2, 16, 32>();
  check_mma<Type::i8, 16, 32>();
  check_mma<Type::u8, 16, 32>();
}

TEST(Mma, Doubles) {
  check_mma<Type::f64, 8, 4>();
  check_mma<Type::f64, 16, 4>();
  check_mma<Type::f64, 16, 8>();
  check_mma<Type::f64, 16, 16>();
}

}  // namespace
}  // namespace estoc
