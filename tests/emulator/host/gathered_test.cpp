// Kernels whose rows of A an index chooses give what a copy of these rows gives, bit by bit, and
// read nothing outside A, whatever the index holds.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "emulated.h"
#include "estoc/numeric.hpp"

namespace estoc::gathered_test {
namespace {

using Numbers = std::vector<std::int32_t>;

/// The operands that a text describes, filled with small numbers.
class Gathered {
 public:
  Gathered(const Problem& problem, const Numbers& index) {
    const auto described = problem.arguments();
    for (const NamedOperand& operand : described->operands()) {
      const TensorView view = place(*operand.tensor);
      operands_.emplace_back(view);
      if (operand.role == OperandRole::index) problem.fill_index(view, operand.name);
      if (operand.role == OperandRole::index && operand.name == std::string_view("rows"))
        std::copy(index.begin(), index.end(), static_cast<std::int32_t*>(view.data()));
      if (operand.role != OperandRole::input) continue;
      const std::int64_t elements = view.span_bytes() * 8 / dtype_bits(view.dtype());
      for (std::int64_t i = 0; i < elements; ++i) {
        const auto factor = static_cast<std::int64_t>(3 + 4 * memory_.size());
        store_element(view.dtype(), view.data(), i, static_cast<double>(i * factor % 5));
      }
    }
    arguments_ = described->with_operands(operands_);
  }

  const GroupedGemmArguments& arguments() const {
    return static_cast<const GroupedGemmArguments&>(*arguments_);
  }
  const TensorView& out() const { return arguments().out(); }

  /// Product of a copy of the rows in memory of its own, row-major; it outlives this.
  GroupedGemmArguments copied() {
    const GroupedGemmArguments& given = arguments();
    const TensorView& a = given.a().tensor();
    const TensorView& rows = *given.rows();
    const TensorView copy = place(TensorView::describe(
        a.dtype(), std::array{rows.shape(0), a.shape(1)}, std::array{a.shape(1), std::int64_t{1}}));
    for (std::int64_t i = 0; i < rows.shape(0); ++i) {
      const std::int64_t row = static_cast<const std::int32_t*>(rows.data())[i];
      const bool is_there = row >= 0 && row < a.shape(0);
      for (std::int64_t k = 0; k < a.shape(1); ++k) {
        const std::int64_t from = row * a.stride(0) + k * a.stride(1);
        store_element(a.dtype(), copy.data(), i * a.shape(1) + k,
                      is_there ? load_element(a.dtype(), a.data(), from) : 0);
      }
    }
    return {
        copy,
        given.b(),
        place(given.out()),
        given.accumulator_type(),
        {.offsets = *given.offsets(), .zero_rest = given.zero_rest(), .layout = given.layout()}};
  }

 private:
  /// Memory that is aligned and filled with the same bytes each time.
  TensorView place(const TensorView& like) {
    auto& memory =
        memory_.emplace_back(static_cast<std::size_t>(like.span_bytes()) + 512, std::byte{0xa5});
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return {memory.data() + (256 - address % 256) % 256, like.dtype(), like.shape(),
            like.strides()};
  }

  std::vector<std::vector<std::byte>> memory_;
  std::vector<Operand> operands_;
  std::unique_ptr<RuntimeArguments> arguments_;
};

class GatheredRows : public EmulatedKernels {
 protected:
  static void run(const Kernel& kernel, Target target, const RuntimeArguments& arguments) {
    const emulator::Report report = emulator::run(kernel, target, arguments);
    EXPECT_TRUE(report.clean()) << report.text();
  }

  /// By the class of so many letters and by that of groups, whose tile and layouts are the same.
  static void expect(const std::string& family, const std::string& text, const std::string& filter,
                     const Numbers& index = {}) {
    SCOPED_TRACE(family + " " + filter + " " + text);
    const Target target = family == "sm90" ? Target::sm(90, true) : Target::sm(80);
    Gathered gathered(Problem::parse("grouped_gemm " + text), index);
    const GroupedGemmArguments copied = gathered.copied();
    const KernelList gathering =
        kernels_of(gathered.arguments(), target, "class=" + family + "_gathered_gemm " + filter);
    const KernelList plain =
        kernels_of(copied, target, "class=" + family + "_grouped_gemm " + filter);
    ASSERT_FALSE(gathering.empty()) << gathering.why_empty();
    ASSERT_FALSE(plain.empty()) << plain.why_empty();
    if (!is_due(gathering.front(), target)) return;
    run(gathering.front(), target, gathered.arguments());
    run(plain.front(), target, copied);
    const CheckResult result = check_output(gathered.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
    EXPECT_EQ(std::memcmp(gathered.out().data(), copied.out().data(),
                          static_cast<std::size_t>(gathered.out().span_bytes())),
              0);
  }
};

TEST_F(GatheredRows, SimtEveryLayout) {
  for (const char* layouts : {"ttt", "tnt", "ttn", "tnn"}) {
    const std::string letters(layouts);
    const std::string operands =
        std::string("a=f32:t b=f32:") + letters[1] + " out=f32:" + letters[2];
    expect("simt", "m=150 n=40 k=24 rows=37 sizes=66,0,1,50 " + operands,
           "tile=32x32x16 layouts=" + letters);
    expect("simt", "m=90 n=41 k=25 rows=200 g=7 zero_rest=1 " + operands,
           "tile=64x64x16 layouts=xxx");
  }
  expect("simt", "m=90 n=40 k=25 rows=20 g=3 a=f32:n b=f32", "tile=32x32x16 layouts=xxx");
}

TEST_F(GatheredRows, SimtDtypes) {
  for (const char* types : {"a=f64", "a=i8 b=u8", "a=f16 b=bf16 out=e4m3", "a=e4m3 b=e5m2 out=f16"})
    expect("simt", std::string("m=70 n=20 k=17 rows=50 g=3 ") + types, "tile=32x32x16 layouts=xxx");
}

TEST_F(GatheredRows, Mma) {
  for (const char* layouts : {"ttt", "tnt"}) {
    const std::string operands = std::string("a=bf16:t b=bf16:") + layouts[1] + " out=f32";
    for (const char* layout : {"ends", "prefix", "ranges"})
      expect("sm80",
             "m=300 n=72 k=88 rows=37 sizes=133,0,1,140 layout=" + std::string(layout) + " " +
                 operands,
             std::string("tile=64x64x32 layouts=") + layouts);
    expect("sm80", "m=300 n=136 k=72 rows=1000 g=5 zero_rest=1 " + operands,
           std::string("tile=128x128x64 layouts=") + layouts);
  }
  expect("sm80", "m=160 n=144 k=80 g=2 rows=30 a=e4m3 b=e4m3:n out=bf16", "stages=4");
  expect("sm80", "m=64 n=64 k=64 sizes=40,3 rows=9 a=i8 b=u8:n", "");
  expect("sm80", "m=64 n=36 k=64 g=2 rows=9 a=tf32 b=tf32:n", "");
}

TEST_F(GatheredRows, Wgmma) {
  for (const char* layouts : {"ttt", "tnt"}) {
    const std::string operands = std::string("a=bf16:t b=bf16:") + layouts[1] + " out=f32";
    for (const char* design :
         {"tile=64x64x64 schedule=single cluster=1x1", "tile=128x128x64 schedule=pingpong",
          "tile=128x128x64 schedule=cooperative cluster=2x1", "tile=256x128x64"}) {
      expect("sm90", "m=500 n=136 k=200 rows=37 sizes=133,0,1,340 " + operands,
             std::string(design) + " layouts=" + layouts);
    }
    expect("sm90", "m=300 n=72 k=88 rows=1000 g=5 zero_rest=1 layout=ranges " + operands,
           std::string("tile=64x128x64 layouts=") + layouts);
  }
  expect("sm90", "m=160 n=144 k=208 g=2 rows=30 a=e4m3 b=e4m3:n out=bf16", "tile=64x64x128");
  expect("sm90", "m=64 n=64 k=64 sizes=40,3 rows=9 a=i8 b=u8:n", "");
  expect("sm90", "m=64 n=36 k=64 g=2 rows=9 a=tf32 b=tf32:n", "");
}

TEST_F(GatheredRows, WhateverTheIndexHolds) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  const Numbers index{0, -1, 3, 2, 4, kMost, -kMost - 1, 1, 3, 5, -7, 2};
  for (const char* family : {"simt", "sm80", "sm90"}) {
    expect(family, "m=12 n=8 k=16 rows=4 sizes=5,6 a=bf16 b=bf16:n out=f32", "", index);
    expect(family, "m=12 n=8 k=16 rows=0 sizes=5,6 a=bf16 b=bf16:n out=f32", "", index);
    expect(family, "m=12 n=8 k=16 rows=1 sizes=5,6 zero_rest=1 a=bf16 b=bf16:n out=f32", "", index);
    expect(family, "m=0 n=8 k=16 rows=4 g=2 a=bf16 b=bf16:n out=f32", "");
  }
}

TEST_F(GatheredRows, OtherClassesDoNotTakeThem) {
  const auto arguments =
      Problem::parse("grouped_gemm m=64 n=64 k=64 g=2 rows=8 a=bf16 b=bf16:n out=bf16").arguments();
  KernelQuery query;
  query.target = Target::sm(90, true);
  const KernelList found = get_kernels(*arguments, query);
  ASSERT_FALSE(found.empty());
  for (const Kernel& kernel : found) {
    const std::string& name = kernel.metadata().kernel_class;
    EXPECT_TRUE(name.ends_with("_gathered_gemm")) << name;
  }
}

}  // namespace
}  // namespace estoc::gathered_test
