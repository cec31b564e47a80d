// simt_elementwise under the emulator against the kernels of the cpu provider, bit for bit.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulated.h"
#include "estoc/numeric.hpp"

namespace estoc::elementwise_test {
namespace {

using Integers = std::vector<std::int64_t>;

constexpr Target kTarget = Target::sm(90, true);

class EmulatedElementwise : public EmulatedKernels {};

struct alignas(64) Line {
  std::byte bytes[64];
};

/// A tensor and its bytes, of which those that no element covers are to stay.
struct Operand {
  Dtype dtype;
  Integers shape;
  Integers strides;
  std::vector<Line> lines = std::vector<Line>(256);

  TensorView view() { return {lines.data(), dtype, shape, strides}; }
  std::byte* begin() { return lines.front().bytes; }
  std::byte* end() { return begin() + 64 * lines.size(); }
  void clear() { std::fill(begin(), end(), std::byte{0xa5}); }

  /// Numbers of which the other types can hold some, and some not.
  Operand filled(unsigned seed) && {
    std::mt19937 random(seed);
    const TensorView all = view();
    const std::int64_t count = all.span_bytes() * 8 / dtype_bits(dtype);
    for (std::int64_t i = 0; i < count; ++i)
      store_element(dtype, all.data(), i, static_cast<int>(random() % 81) * 0.25 - 10);
    return std::move(*this);
  }
};

Operand row_major(Dtype dtype, const Integers& shape) {
  Integers strides(shape.size());
  std::int64_t step = 1;
  for (std::size_t i = shape.size(); i-- > 0; step *= shape[i])
    strides[i] = step;
  return {dtype, shape, strides};
}

/// Every kernel of the class that takes the operands gives what the cpu provider gives. Returns how
/// they access memory: "flat single".
std::string compare(const ElementwiseArguments& problem, Operand& out, std::size_t most = 3) {
  out.clear();
  get_kernels(problem).front().run(problem);
  const std::vector<std::byte> expected(out.begin(), out.end());
  KernelQuery query;
  query.target = kTarget;
  std::vector<std::string> accesses;
  for (const Kernel& kernel : get_kernels(problem, query)) {
    if (accesses.size() == most) break;
    const std::string& name = kernel.name();
    out.clear();
    const emulator::Report report = emulator::run(kernel, kTarget, problem);
    EXPECT_TRUE(report.clean()) << name << "\n" << report.text();
    const std::byte* const at = std::mismatch(out.begin(), out.end(), expected.begin()).first;
    EXPECT_TRUE(at == out.end()) << name << ": byte " << at - out.begin() << " of "
                                 << Problem::of(problem).to_string();
    accesses.push_back(name.substr(name.rfind('.') + 1));
  }
  std::sort(accesses.begin(), accesses.end());
  std::string all;
  for (const std::string& access : accesses)
    all += (all.empty() ? "" : " ") + access;
  return all;
}

std::string compare(ElementwiseOp op, Operand& a, Operand& b, Operand& out, std::size_t most = 3) {
  const ElementwiseArguments problem =
      is_binary(op) ? ElementwiseArguments(op, a.view(), b.view(), out.view())
                    : ElementwiseArguments(op, a.view(), out.view());
  return compare(problem, out, most);
}

std::string convert(Operand a, Operand out) {
  return compare(ElementwiseOp::identity, a, a, out, 1);
}

constexpr Dtype kNarrow[] = {Dtype::e8m0, Dtype::e2m1, Dtype::i4, Dtype::u4};

// bf16 and f16 are left out: their NaN has other bits on the device.
TEST_F(EmulatedElementwise, EveryCodeOfANarrowTypeConverts) {
  for (const Dtype from : kNarrow) {
    for (const Dtype to : {Dtype::f64, Dtype::f32, Dtype::e8m0, Dtype::e2m1, Dtype::i32, Dtype::i8,
                           Dtype::i4, Dtype::u4, Dtype::boolean}) {
      Operand a = row_major(from, {512});
      // Pairs of a packed type, too.
      for (std::size_t i = 0; i < 512; ++i)
        a.begin()[i] = static_cast<std::byte>(i);
      EXPECT_EQ(convert(a, row_major(to, {512})), "flat");
    }
  }
}

// Ties, their neighbours, what is beyond the range, and no numbers.
std::vector<double> hard_values() {
  std::vector<double> values{0, std::numeric_limits<double>::quiet_NaN(),
                             std::numeric_limits<double>::infinity()};
  for (double value = 0; value <= 18; value += 0.25)
    values.push_back(value);
  for (const int exponent :
       {-1074, -200, -149, -130, -128, -127, -126, -125, 0, 126, 127, 128, 300}) {
    values.push_back(std::ldexp(1.0, exponent));
    values.push_back(std::ldexp(1.5, exponent));
    values.push_back(std::ldexp(1.75, exponent));
  }
  const std::size_t count = values.size();
  for (std::size_t i = 0; i < count; ++i) {
    values.push_back(std::nextafter(values[i], 0.0));
    values.push_back(std::nextafter(static_cast<float>(values[i]), 0.0F));
    values.push_back(std::nextafter(static_cast<float>(values[i]), 1e9F));
  }
  for (std::size_t i = 0, all = values.size(); i < all; ++i)
    values.push_back(-values[i]);
  return values;
}

TEST_F(EmulatedElementwise, WideValuesRoundToNarrowTypes) {
  const std::vector<double> values = hard_values();
  const auto count = static_cast<std::int64_t>(values.size());
  ASSERT_EQ(count % 16, 8) << "to end with a vector that is not whole";
  for (const Dtype from : {Dtype::f64, Dtype::f32, Dtype::i32}) {
    Operand a = row_major(from, {count});
    for (std::int64_t i = 0; i < count; ++i)
      store_element(from, a.begin(), i, values[static_cast<std::size_t>(i)]);
    for (const Dtype to : kNarrow)
      EXPECT_EQ(convert(a, row_major(to, {count})), "flat");
  }
}

TEST_F(EmulatedElementwise, NarrowTypesNextToWideOnes) {
  for (const Dtype narrow : kNarrow) {
    for (const Dtype wide : {Dtype::f64, Dtype::i8}) {
      Operand a = row_major(narrow, {5, 3, 32}).filled(1);
      Operand row = row_major(wide, {32}).filled(2);
      Operand column = row_major(wide, {5, 3, 1}).filled(3);
      Operand out = row_major(narrow, {5, 3, 32});
      Operand wide_out = row_major(wide, {5, 3, 32});
      EXPECT_EQ(compare(ElementwiseOp::add, a, row, out), "single vector");
      EXPECT_EQ(compare(ElementwiseOp::sub, column, a, out), "single vector");
      EXPECT_EQ(compare(ElementwiseOp::maximum, row, a, wide_out), "single vector");
    }
  }
}

TEST_F(EmulatedElementwise, PackedTypesRepeat) {
  for (const Dtype narrow : kNarrow) {
    Operand a = row_major(Dtype::f16, {5, 3, 32}).filled(1);
    // Every other element is the high half of a byte.
    Operand column = Operand{narrow, {5, 3, 1}, {9, 3, 2}}.filled(2);
    Operand out = row_major(narrow, {5, 3, 32});
    EXPECT_EQ(compare(ElementwiseOp::add, a, column, out), "single vector");
  }
}

TEST_F(EmulatedElementwise, PackedTypesOfAnyStrides) {
  for (const Dtype narrow : {Dtype::e2m1, Dtype::i4, Dtype::u4}) {
    const Integers shape{5, 7, 6};
    // Odd rows, no contiguous mode, and another order of the modes than out's.
    Operand odd = Operand{narrow, shape, {71, 7, 1}}.filled(1);
    Operand apart = Operand{narrow, shape, {127, 17, 3}}.filled(2);
    Operand turned = Operand{Dtype::f32, shape, {1, 5, 35}}.filled(3);
    for (const Integers& strides : {Integers{42, 6, 1}, Integers{6, 32, 1}, Integers{100, 14, 2}}) {
      Operand out{narrow, shape, strides};
      EXPECT_EQ(compare(ElementwiseOp::add, odd, apart, out), "single");
      EXPECT_EQ(compare(ElementwiseOp::mul, turned, odd, out), "single");
    }
  }
}

TEST_F(EmulatedElementwise, ASinglePackedElement) {
  Operand a = row_major(Dtype::i4, {}).filled(1);
  Operand out = row_major(Dtype::i4, {});
  EXPECT_EQ(compare(ElementwiseOp::neg, a, a, out), "flat single vector");
}

TEST_F(EmulatedElementwise, InPlace) {
  for (const Dtype narrow : kNarrow) {
    const Operand before = row_major(narrow, {37, 6}).filled(1);
    Operand a = before;
    const ElementwiseArguments on_host(ElementwiseOp::add, a.view(), a.view(), a.view());
    get_kernels(on_host).front().run(on_host);
    Operand b = before;
    const ElementwiseArguments emulated(ElementwiseOp::add, b.view(), b.view(), b.view());
    KernelQuery query;
    query.target = kTarget;
    for (const Kernel& kernel : get_kernels(emulated, query)) {
      b.lines = before.lines;
      EXPECT_TRUE(emulator::run(kernel, kTarget, emulated).clean());
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << kernel.name();
    }
  }
}

TEST_F(EmulatedElementwise, ProgramsOfTensorsAndScalars) {
  Operand a = row_major(Dtype::f16, {5, 3, 32}).filled(1);
  Operand row = row_major(Dtype::f32, {32}).filled(2);
  Operand column = row_major(Dtype::i8, {3, 1}).filled(3);
  Operand scale = row_major(Dtype::f32, {}).filled(4);
  Operand out = row_major(Dtype::bf16, {5, 3, 32});
  const ElementwiseArguments problem(
      a.view(), out.view(),
      {"D = select(accum > row, relu(accum * scale), column - low)",
       {{"row", row.view()}, {"column", column.view()}, {"scale", scale.view()}, {"low", 0.5}}});
  EXPECT_EQ(compare(problem, out), "single vector");
}

TEST_F(EmulatedElementwise, ProgramsOfOneRunWithAnEnd) {
  Operand a = row_major(Dtype::i32, {1003}).filled(1);
  Operand b = row_major(Dtype::boolean, {1003}).filled(2);
  Operand out = row_major(Dtype::i8, {1003});
  const ElementwiseArguments problem(a.view(), out.view(),
                                     {"D = select(b, accum * 3, -accum)", {{"b", b.view()}}});
  EXPECT_EQ(compare(problem, out), "flat single vector");
}

TEST_F(EmulatedElementwise, RowsThatShareAByteAreRefused) {
  Operand a = row_major(Dtype::f32, {4, 6});
  Operand out{Dtype::u4, {4, 6}, {7, 1}};
  const ElementwiseArguments arguments(ElementwiseOp::relu, a.view(), out.view());
  const Kernel kernel = kernel_by_name("simt_elementwise-relu-f32-f32-u4-access.single");
  const Status status = kernel.supports(arguments, kTarget);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.error().find("out.strides: expected 1 and even ones"), std::string::npos)
      << status.error();
}

}  // namespace
}  // namespace estoc::elementwise_test
