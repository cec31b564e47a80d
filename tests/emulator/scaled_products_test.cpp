// The products of a warp that came with sm_120a, against plain sums: every type, byte of the scales
// and place of an element.
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "emulator/conversions.h"
#include "emulator/launch.h"

#include <estoc/ptx/memory.cuh>
#include <estoc/ptx/mma_scaled.cuh>
#include <estoc/ptx/special.cuh>

namespace estoc {
namespace {

using abi::Type;

constexpr int kRows = 16;
constexpr int kColumns = 8;

enum class Scales { none, mx, nv };

// Codes of e2m1 are the numbers of these, and 8 more with a sign.
constexpr std::array<float, 8> kE2m1{0, 0.5F, 1, 1.5F, 2, 3, 4, 6};

struct Element {
  u32 code;
  double value;
};

Element draw_element(Type type, std::mt19937& random) {
  if (type == Type::e2m1) {
    const u32 code = random() % 16;
    const auto magnitude = static_cast<double>(kE2m1[code % 8]);
    return {code, code < 8 ? magnitude : -magnitude};
  }
  const auto value = static_cast<float>(static_cast<int>(random() % 9) - 4);
  const u32 code =
      type == Type::e4m3 ? emulator::float_to_e4m3(value) : emulator::float_to_e5m2(value);
  return {code, static_cast<double>(value)};
}

Element draw_scale(Type type, std::mt19937& random) {
  const int exponent = static_cast<int>(random() % 5) - 2;
  const float value = std::ldexp(1.0F, exponent);
  const u32 code =
      type == Type::e4m3 ? emulator::float_to_e4m3(value) : static_cast<u32>(exponent + 127);
  return {code, static_cast<double>(value)};
}

/// Rows of elements along K, and a word of four scales for each row.
struct Rows {
  int k;
  std::vector<std::uint8_t> codes;  ///< as they lie in memory
  std::vector<double> values;
  std::vector<u32> scales;
  std::vector<double> scale_values;

  Rows(Type type, int count, int depth, Type scale, unsigned seed) : k(depth) {
    std::mt19937 random(seed);
    const int bits = abi::type_bits(type);
    codes.resize(static_cast<std::size_t>(count * depth * bits / 8));
    for (int i = 0; i < count * depth; ++i) {
      const Element element = draw_element(type, random);
      codes[static_cast<std::size_t>(i * bits / 8)] |= element.code << (i * bits % 8);
      values.push_back(element.value);
    }
    scales.resize(static_cast<std::size_t>(count));
    for (int i = 0; i < 4 * count; ++i) {
      const Element element = draw_scale(scale, random);
      scales[static_cast<std::size_t>(i / 4)] |= element.code << (i % 4 * 8);
      scale_values.push_back(element.value);
    }
  }
  double scale(int row, int byte) const {
    const int index = 4 * row + byte;
    return scale_values[static_cast<std::size_t>(index)];
  }
  double at(int row, int element) const {
    const int index = row * k + element;
    return values[static_cast<std::size_t>(index)];
  }
  u64 address() const { return reinterpret_cast<u64>(codes.data()); }
  u64 scale_address() const { return reinterpret_cast<u64>(scales.data()); }
};

template <Type a_type, Type b_type, Scales kind, int first>
struct Product {
  static constexpr int kDepth = a_type == Type::e2m1 ? 64 : 32;
  static constexpr Type kScale = kind == Scales::nv ? Type::e4m3 : Type::e8m0;

  static u32 word(u64 base, u32 index) { return ptx::ld_global<1>(base + 4 * index).word[0]; }

  static void run(u64 a, u64 b, u64 a_scales, u64 b_scales, u64 out) {
    const u32 g = ptx::laneid() / 4;
    const u32 q = ptx::laneid() % 4;
    u32 x[4];
    u32 y[2];
    for (u32 h = 0; h < 2; ++h) {
      for (u32 r = 0; r < 2; ++r)
        x[2 * h + r] = word(a, (g + 8 * r) * 8 + 4 * h + q);
      y[h] = word(b, g * 8 + 4 * h + q);
    }
    // Of the others nothing is read.
    const u32 of_a = q < 2 ? word(a_scales, g + 8 * q) : 0xffffffff;
    const u32 of_b = q == 0 ? word(b_scales, g) : 0xffffffff;
    float acc[4] = {1, 2, 3, 4};
    if constexpr (kind == Scales::none) {
      ptx::mma_f8f6f4<a_type, b_type>(acc, x, y);
    } else if constexpr (kind == Scales::nv) {
      ptx::mma_nvf4(acc, x, y, of_a, of_b);
    } else if constexpr (a_type == Type::e2m1) {
      ptx::mma_mxf4<first>(acc, x, y, of_a, of_b);
    } else {
      ptx::mma_mxf8f6f4<a_type, b_type, first>(acc, x, y, of_a, of_b);
    }
    for (u32 i = 0; i < 4; ++i) {
      const u64 place = (g + i / 2 * 8) * kColumns + q * 2 + i % 2;
      ptx::st_global<1>(out + place * 4, {bit_cast<u32>(acc[i])});
    }
  }
};

template <typename Kernel>
void product_kernel(u64 a, u64 b, u64 a_scales, u64 b_scales, u64 out) {
  Kernel::run(a, b, a_scales, b_scales, out);
}

template <typename Kernel>
emulator::Report run_product(const Rows& a, const Rows& b, std::vector<float>& out) {
  std::array<u64, 5> addresses{a.address(), b.address(), a.scale_address(), b.scale_address(),
                               reinterpret_cast<u64>(out.data())};
  std::array<void*, 5> arguments{};
  for (std::size_t i = 0; i < arguments.size(); ++i)
    arguments[i] = &addresses[i];
  return emulator::launch(emulator::entry<product_kernel<Kernel>>, {1, 1, 1}, 32, 0,
                          arguments.data());
}

template <Type a_type, Type b_type, Scales kind, int first = 0>
void check_product() {
  using Kernel = Product<a_type, b_type, kind, first>;
  const Rows a(a_type, kRows, Kernel::kDepth, Kernel::kScale, 3);
  const Rows b(b_type, kColumns, Kernel::kDepth, Kernel::kScale, 4);
  std::vector<float> out(kRows * kColumns);
  const emulator::Report report = run_product<Kernel>(a, b, out);
  EXPECT_TRUE(report.clean()) << report.text();
  const int block = kind == Scales::nv ? 16 : 32;
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      const int first_sum = i / 8 * 2 + j % 2 + 1;
      double sum = first_sum;
      for (int k = 0; k < Kernel::kDepth; ++k) {
        const int byte = first + k / block;
        const double scale = kind == Scales::none ? 1 : a.scale(i, byte) * b.scale(j, byte);
        sum += a.at(i, k) * b.at(j, k) * scale;
      }
      ASSERT_EQ(static_cast<double>(out[static_cast<std::size_t>(i * kColumns + j)]), sum)
          << i << " " << j;
    }
  }
}

TEST(ScaledProducts, PlainFloats) {
  check_product<Type::e4m3, Type::e4m3, Scales::none>();
  check_product<Type::e4m3, Type::e5m2, Scales::none>();
  check_product<Type::e5m2, Type::e4m3, Scales::none>();
  check_product<Type::e5m2, Type::e5m2, Scales::none>();
}

TEST(ScaledProducts, OneScaleOf32) {
  check_product<Type::e4m3, Type::e4m3, Scales::mx, 0>();
  check_product<Type::e4m3, Type::e5m2, Scales::mx, 1>();
  check_product<Type::e5m2, Type::e4m3, Scales::mx, 2>();
  check_product<Type::e5m2, Type::e5m2, Scales::mx, 3>();
}

TEST(ScaledProducts, TwoScalesOf64) {
  check_product<Type::e2m1, Type::e2m1, Scales::mx, 0>();
  check_product<Type::e2m1, Type::e2m1, Scales::mx, 2>();
}

TEST(ScaledProducts, FourScalesOf64) {
  check_product<Type::e2m1, Type::e2m1, Scales::nv>();
}

TEST(ScaledProducts, ScalesThatAreNoNumber) {
  using Kernel = Product<Type::e4m3, Type::e4m3, Scales::mx, 1>;
  Rows a(Type::e4m3, kRows, Kernel::kDepth, Kernel::kScale, 3);
  const Rows b(Type::e4m3, kColumns, Kernel::kDepth, Kernel::kScale, 4);
  a.scales[5] |= 0xff00;
  std::vector<float> out(kRows * kColumns);
  EXPECT_TRUE(run_product<Kernel>(a, b, out).clean());
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j)
      EXPECT_EQ(std::isnan(out[static_cast<std::size_t>(i * kColumns + j)]), i == 5);
  }
}

TEST(ScaledProducts, NegativeScalesAreReported) {
  using Kernel = Product<Type::e2m1, Type::e2m1, Scales::nv, 0>;
  const Rows a(Type::e2m1, kRows, Kernel::kDepth, Kernel::kScale, 3);
  Rows b(Type::e2m1, kColumns, Kernel::kDepth, Kernel::kScale, 4);
  b.scales[7] |= 0x800000;
  std::vector<float> out(kRows * kColumns);
  const emulator::Report report = run_product<Kernel>(a, b, out);
  EXPECT_TRUE(report.has(emulator::Fault::bad_descriptor)) << report.text();
}

}  // namespace
}  // namespace estoc
