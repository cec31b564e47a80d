// cpu_elementwise gives op(A, B) for every operation, dtype, stride and shape.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cmath>
#include <limits>

#include "support.h"

namespace estoc::cpu::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<ElementwiseOp> all_ops() {
  std::vector<ElementwiseOp> ops;
  for (int op = 0; op <= static_cast<int>(ElementwiseOp::tanh); ++op) {
    ops.push_back(static_cast<ElementwiseOp>(op));
  }
  return ops;
}

ElementwiseArguments arguments_of(ElementwiseOp op, const Tensor& a, const Tensor& b,
                                  const Tensor& out) {
  if (is_binary(op)) return {op, a.view(), b.view(), out.view()};
  return {op, a.view(), out.view()};
}

void expect_elementwise(ElementwiseOp op, const Tensor& a, const Tensor& b, const Tensor& out,
                        int threads = 2) {
  const ElementwiseArguments arguments = arguments_of(op, a, b, out);
  run(arguments, threads);
  expect_right(arguments);
  EXPECT_TRUE(out.gaps_are_untouched()) << Problem::of(arguments).to_string();
}

/// op of single elements.
double one(ElementwiseOp op, Dtype in, double x, double y, Dtype out) {
  const Tensor a = Tensor(in, {2}, {1}).set(0, x);
  const Tensor b = Tensor(in, {2}, {1}).set(0, y);
  const Tensor result(out, {2}, {1});
  run(arguments_of(op, a, b, result));
  return result.at(0);
}

TEST(CpuElementwise, DescribesEveryOperationAndType) {
  KernelQuery query;
  query.filter = MetadataFilter::parse("class=cpu_elementwise op=add,exp");
  EXPECT_EQ(get_kernels(query).size(), 15U * 15U * 15U + 15U * 15U);
}

TEST(CpuElementwise, EveryOperationOnEveryPairOfTypes) {
  std::uint64_t seed = 0;
  for (const ElementwiseOp op : all_ops()) {
    for (const Dtype a : all_dtypes()) {
      for (const Dtype out : all_dtypes()) {
        const Tensor left = Tensor(a, {3, 22}, {22, 1}).fill(++seed);
        const Tensor right = Tensor(a, {3, 22}, {22, 1}).fill(++seed);
        expect_elementwise(op, left, right, Tensor(out, {3, 22}, {22, 1}));
      }
    }
  }
}

TEST(CpuElementwise, MixedTypes) {
  std::uint64_t seed = 0;
  for (const ElementwiseOp op : {ElementwiseOp::add, ElementwiseOp::mul, ElementwiseOp::maximum}) {
    for (const Dtype a : all_dtypes()) {
      for (const Dtype b : all_dtypes()) {
        const Dtype out = all_dtypes()[seed % kDtypeCount];
        const Tensor left = Tensor(a, {4, 10}, {10, 1}).fill(++seed);
        const Tensor right = Tensor(b, {4, 10}, {10, 1}).fill(++seed);
        expect_elementwise(op, left, right, Tensor(out, {4, 10}, {10, 1}));
      }
    }
  }
}

TEST(CpuElementwise, EveryVariant) {
  for (const ProductTable* variant : usable_products()) {
    const ForcedVariant forced(variant->name);
    for (const Dtype a : all_dtypes()) {
      for (const Dtype out : all_dtypes()) {
        const Tensor left = Tensor(a, {250}, {1}).fill(7);
        expect_elementwise(ElementwiseOp::identity, left, left, Tensor(out, {250}, {1}));
      }
    }
  }
}

TEST(CpuElementwise, EveryCodeOfTheNarrowTypesIsReadAndWritten) {
  for (const ProductTable* variant : usable_products()) {
    const ForcedVariant forced(variant->name);
    for (const Dtype dtype :
         {Dtype::f16, Dtype::bf16, Dtype::e4m3, Dtype::e5m2, Dtype::e8m0, Dtype::i8, Dtype::u8}) {
      const std::int64_t codes = dtype_bits(dtype) == 16 ? 65536 : 256;
      std::vector<std::uint16_t> memory(65536);
      for (std::int64_t code = 0; code < codes; ++code) {
        if (codes == 256) {
          reinterpret_cast<std::uint8_t*>(memory.data())[code] = static_cast<std::uint8_t>(code);
        } else {
          memory[static_cast<std::size_t>(code)] = static_cast<std::uint16_t>(code);
        }
      }
      std::vector<float> wide(static_cast<std::size_t>(codes));
      std::vector<std::uint16_t> again(65536);
      const auto narrow_view = TensorView::row_major(memory.data(), dtype, {codes});
      const auto wide_view = TensorView::row_major(wide.data(), Dtype::f32, {codes});
      const auto again_view = TensorView::row_major(again.data(), dtype, {codes});
      run(ElementwiseArguments(ElementwiseOp::identity, narrow_view, wide_view));
      run(ElementwiseArguments(ElementwiseOp::identity, wide_view, again_view));
      for (std::int64_t code = 0; code < codes; ++code) {
        const double value = load_element(dtype, memory.data(), code);
        const double read = wide[static_cast<std::size_t>(code)];
        const double written = load_element(dtype, again.data(), code);
        if (std::isnan(value)) {
          EXPECT_TRUE(std::isnan(read) && std::isnan(written)) << dtype_name(dtype) << " " << code;
        } else {
          EXPECT_EQ(value, read) << dtype_name(dtype) << " " << code;
          EXPECT_EQ(value, written) << dtype_name(dtype) << " " << code;
        }
      }
    }
  }
}

TEST(CpuElementwise, ConversionsRoundAndSaturateAsStoreElementDoes) {
  std::vector<double> values = {
      0.5,           1.5,        2.5,        -0.5,    -1.5,         447,          464,
      465,           480,        1e10,       -1e10,   1e39,         -1e39,        127.5,
      -128.5,        255.5,      300,        -1,      2147483647.0, 2147483648.0, -2147483648.0,
      -2147483904.0, 3e9,        0x1p-149,   0x1p-24, 0x1p-25,      0x1.8p-24,    0x1p-10,
      0x1.8p-10,     kInfinity,  -kInfinity, kNan,    65504,        65519,        65520,
      1 + 0x1p-11,   1 + 0x1p-8, 1 + 0x1p-4};
  const auto count = static_cast<std::int64_t>(values.size());
  for (const ProductTable* variant : usable_products()) {
    const ForcedVariant forced(variant->name);
    for (const Dtype in : {Dtype::f32, Dtype::f64}) {
      const Tensor a = Tensor(in, {count}, {1}).fill([&](std::int64_t i) {
        return values[static_cast<std::size_t>(i)];
      });
      for (const Dtype to : all_dtypes()) {
        const Tensor out(to, {count}, {1});
        run(ElementwiseArguments(ElementwiseOp::identity, a.view(), out.view()));
        for (std::int64_t i = 0; i < count; ++i) {
          const double expected = round_to(to, a.at(i));
          const double got = out.at(i);
          EXPECT_TRUE(expected == got || (std::isnan(expected) && std::isnan(got)))
              << a.at(i) << " to " << dtype_name(to) << ": expected " << expected << ", got "
              << got;
        }
      }
    }
  }
}

TEST(CpuElementwise, IntegersWrapAroundThenSaturate) {
  constexpr double kMax = 2147483647.0;
  EXPECT_EQ(one(ElementwiseOp::add, Dtype::i32, kMax, 1, Dtype::i32), -kMax - 1);
  EXPECT_EQ(one(ElementwiseOp::mul, Dtype::i32, 65536, 65537, Dtype::i32), 65536);
  EXPECT_EQ(one(ElementwiseOp::neg, Dtype::i32, -kMax - 1, 0, Dtype::i32), -kMax - 1);
  EXPECT_EQ(one(ElementwiseOp::abs, Dtype::i32, -kMax - 1, 0, Dtype::i32), -kMax - 1);
  EXPECT_EQ(one(ElementwiseOp::add, Dtype::i8, 100, 100, Dtype::i8), 127);
  EXPECT_EQ(one(ElementwiseOp::add, Dtype::i8, 100, 100, Dtype::i32), 200);
  EXPECT_EQ(one(ElementwiseOp::sub, Dtype::u8, 1, 2, Dtype::u8), 0);
  EXPECT_EQ(one(ElementwiseOp::abs, Dtype::i8, -128, 0, Dtype::i8), 127);
  EXPECT_EQ(one(ElementwiseOp::mul, Dtype::i4, 7, 7, Dtype::i4), 7);
  EXPECT_EQ(one(ElementwiseOp::div, Dtype::i8, 7, 2, Dtype::i8), 4);
  EXPECT_EQ(one(ElementwiseOp::add, Dtype::i32, 16777217, 16777217, Dtype::i32), 33554434);
  EXPECT_EQ(one(ElementwiseOp::mul, Dtype::i32, 256, 256, Dtype::boolean), 1);
}

TEST(CpuElementwise, NansStayNans) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64, Dtype::f16}) {
    for (const ElementwiseOp op : all_ops()) {
      EXPECT_TRUE(std::isnan(one(op, dtype, kNan, 1, dtype))) << elementwise_op_name(op);
      if (is_binary(op)) {
        EXPECT_TRUE(std::isnan(one(op, dtype, 1, kNan, dtype))) << elementwise_op_name(op);
      }
    }
  }
}

TEST(CpuElementwise, EndsOfTheRange) {
  for (const Dtype dtype : {Dtype::f32, Dtype::f64}) {
    EXPECT_EQ(one(ElementwiseOp::div, dtype, 1, 0, dtype), kInfinity);
    EXPECT_EQ(one(ElementwiseOp::log, dtype, 0, 0, dtype), -kInfinity);
    EXPECT_EQ(one(ElementwiseOp::exp, dtype, 1000, 0, dtype), kInfinity);
    EXPECT_EQ(one(ElementwiseOp::sigmoid, dtype, -1000, 0, dtype), 0);
    EXPECT_EQ(one(ElementwiseOp::sigmoid, dtype, 1000, 0, dtype), 1);
    EXPECT_EQ(one(ElementwiseOp::silu, dtype, 1000, 0, dtype), 1000);
    EXPECT_EQ(one(ElementwiseOp::gelu, dtype, 1000, 0, dtype), 1000);
    EXPECT_EQ(one(ElementwiseOp::gelu, dtype, -1000, 0, dtype), 0);
    EXPECT_EQ(one(ElementwiseOp::tanh, dtype, -1000, 0, dtype), -1);
    EXPECT_TRUE(std::isnan(one(ElementwiseOp::sqrt, dtype, -1, 0, dtype)));
  }
}

TEST(CpuElementwise, LayoutsAndBroadcasts) {
  const Tensor row = Tensor(Dtype::f32, {70}, {1}).fill(1);
  const Tensor column = Tensor(Dtype::bf16, {90, 1}, {1, 1}).fill(2);
  const Tensor scalar = Tensor(Dtype::f32, {}, {}).fill(3);
  const Tensor normal = Tensor(Dtype::f32, {90, 70}, {70, 1}).fill(4);
  const Tensor turned = Tensor(Dtype::f16, {90, 70}, {1, 95}).fill(5);
  const Tensor sparse = Tensor(Dtype::f32, {90, 70}, {3, 301}).fill(6);
  for (const std::vector<std::int64_t>& strides :
       {std::vector<std::int64_t>{70, 1}, {1, 90}, {2, 200}, {150, 2}, {80, 1}}) {
    const Tensor* const operands[] = {&row, &column, &scalar, &normal, &turned, &sparse};
    for (const Tensor* a : operands) {
      for (const Tensor* b : operands) {
        expect_elementwise(ElementwiseOp::sub, *a, *b, Tensor(Dtype::f32, {90, 70}, strides));
      }
    }
  }
}

TEST(CpuElementwise, EmptyAndScalarTensors) {
  const Tensor none = Tensor(Dtype::f32, {0, 5}, {5, 1});
  expect_elementwise(ElementwiseOp::add, none, none, Tensor(Dtype::f16, {0, 5}, {5, 1}));
  const Tensor scalar = Tensor(Dtype::f32, {}, {}).fill(3);
  expect_elementwise(ElementwiseOp::add, scalar, scalar, Tensor(Dtype::f16, {}, {}));
}

TEST(CpuElementwise, InPlace) {
  for (const std::vector<std::int64_t>& strides :
       {std::vector<std::int64_t>{300, 1}, {1, 200}, {700, 2}}) {
    Tensor a = Tensor(Dtype::f16, {200, 300}, strides).fill(1);
    const Tensor b = Tensor(Dtype::f32, {200, 300}, {1, 200}).fill(2);
    const std::vector<double> before = a.values();
    const std::vector<double> added = b.values();
    run(ElementwiseArguments(ElementwiseOp::add, a.view(), b.view(), a.view()), 3);
    const std::vector<double> after = a.values();
    for (std::size_t i = 0; i < before.size(); ++i) {
      const auto sum =
          static_cast<double>(static_cast<float>(before[i]) + static_cast<float>(added[i]));
      ASSERT_EQ(after[i], round_to(Dtype::f16, sum)) << i;
    }
    EXPECT_TRUE(a.gaps_are_untouched());
  }
}

TEST(CpuElementwise, PackedNeighboursSurviveThreads) {
  const Tensor a = Tensor(Dtype::i4, {400, 1000}, {1000, 1}).fill(1);
  const Tensor b = Tensor(Dtype::u4, {400, 1000}, {1, 400}).fill(2);
  expect_elementwise(ElementwiseOp::add, a, b, Tensor(Dtype::i4, {400, 1000}, {1000, 1}), 4);
}

TEST(CpuElementwise, LargeOnSeveralThreads) {
  const Tensor a = Tensor(Dtype::f32, {3, 300, 257}, {300 * 257, 1, 300}).fill(1);
  const Tensor b = Tensor(Dtype::bf16, {3, 300, 257}, {300 * 257, 257, 1}).fill(2);
  expect_elementwise(ElementwiseOp::mul, a, b,
                     Tensor(Dtype::f32, {3, 300, 257}, {300 * 260, 260, 1}), 3);
  expect_elementwise(ElementwiseOp::silu, a, a,
                     Tensor(Dtype::f64, {3, 300, 257}, {257, 3 * 257, 1}), 3);
}

TEST(CpuElementwise, AnyShapeIsRight) {
  EXPECT_TRUE(rc::check([&] {
    const int rank = *rc::gen::inRange(0, kMaxRank + 1);
    const ElementwiseOp op = *rc::gen::elementOf(all_ops());
    std::vector<std::int64_t> shape;
    for (int mode = 0; mode < rank; ++mode) {
      shape.push_back(*rc::gen::inRange<std::int64_t>(1, rank > 3 ? 5 : 40));
    }
    const auto tensor = [&](bool is_input) {
      const Dtype dtypes[] = {Dtype::f32, Dtype::f16, Dtype::i8, Dtype::f64, Dtype::boolean};
      std::vector<std::int64_t> strides(shape.size());
      std::int64_t next = 1;
      std::vector<std::size_t> order(shape.size());
      for (std::size_t mode = 0; mode < order.size(); ++mode)
        order[mode] = mode;
      for (std::size_t mode = order.size(); mode > 1; --mode) {
        std::swap(order[mode - 1], order[*rc::gen::inRange<std::size_t>(0, mode)]);
      }
      for (const std::size_t mode : order) {
        strides[mode] = next;
        next = next * shape[mode] + *rc::gen::inRange(0, 3);
        if (is_input && *rc::gen::inRange(0, 5) == 0) strides[mode] = 0;
      }
      return Tensor(dtypes[*rc::gen::inRange<std::size_t>(0, 5)], shape, strides);
    };
    const Tensor a = tensor(true).fill(1);
    const Tensor b = tensor(true).fill(2);
    expect_elementwise(op, a, b, tensor(false));
    RC_ASSERT(!::testing::Test::HasFailure());
  }));
}

}  // namespace
}  // namespace estoc::cpu::testing
