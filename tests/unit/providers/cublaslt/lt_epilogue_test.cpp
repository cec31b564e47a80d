// Which epilogues are stated to cuBLASLt, and what it would be told; needs neither it nor a GPU.
#include "providers/cublaslt/lt_epilogue.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "estoc/design_space.hpp"
#include "estoc/discovery.hpp"
#include "estoc/epilogue.hpp"
#include "estoc/problem.hpp"
#include "providers/cublaslt/cublaslt_gemm.h"
#include "providers/cublaslt/lt_matmul.h"

namespace estoc::cublaslt {
namespace {

using testing::HasSubstr;

/// A problem of 64 x 48 x 32 with an epilogue, and what is made of it.
struct Told {
  explicit Told(const std::string& operands, const std::string& program,
                OutOrder out_order = OutOrder::column, const std::string& types = "a=bf16 out=bf16")
      : arguments(Problem::parse(fmt::format("gemm m=64 n=48 k=32 {} {} epi=\"D = {}\"", types,
                                             operands, program))
                      .arguments(Device::cuda(0))),
        status(LtMatmul::describe(static_cast<const GemmArguments&>(*arguments), out_order,
                                  &epilogue)) {}

  std::shared_ptr<const RuntimeArguments> arguments;
  LtEpilogue epilogue;
  Status status;
};

void expect_refused(const Told& told, const std::string& expected, const std::string& node) {
  EXPECT_FALSE(told.status.ok());
  EXPECT_EQ(told.status.reason(), Reason::epilogue);
  EXPECT_THAT(told.status.error(), HasSubstr("epilogue: expected " + expected));
  EXPECT_THAT(told.status.error(), HasSubstr(", got " + node));
}

TEST(LtEpilogue, PlainProductsAreScaledByOneAndZero) {
  const auto arguments = Problem::parse("gemm m=64 n=48 k=32 a=bf16").arguments(Device::cuda(0));
  LtEpilogue epilogue;
  ASSERT_TRUE(
      LtMatmul::describe(static_cast<const GemmArguments&>(*arguments), OutOrder::row, &epilogue));
  EXPECT_EQ(epilogue.mode, Mode::none);
  EXPECT_EQ(epilogue.alpha, 1);
  EXPECT_EQ(epilogue.beta, 0);
  EXPECT_FALSE(epilogue.c);
  EXPECT_FALSE(epilogue.bias);
}

TEST(LtEpilogue, AlphaAndBetaWhereverTheyStand) {
  for (const char* program :
       {"alpha * accum + beta * C", "beta * C + alpha * accum", "C * beta + accum * alpha"}) {
    const Told told("C=bf16:t alpha=0.5 beta=0.25", program);
    ASSERT_TRUE(told.status) << program << ": " << told.status.error();
    EXPECT_EQ(told.epilogue.mode, Mode::none);
    EXPECT_EQ(told.epilogue.alpha, 0.5);
    EXPECT_EQ(told.epilogue.beta, 0.25);
    ASSERT_TRUE(told.epilogue.c);
    EXPECT_EQ(told.epilogue.c->row_stride, 48);
    EXPECT_EQ(told.epilogue.c->dtype, Dtype::bf16);
  }
}

TEST(LtEpilogue, FactorsThatAreNotWrittenOrAreLiterals) {
  const Told added("C=bf16:t", "accum + C");
  ASSERT_TRUE(added.status);
  EXPECT_EQ(added.epilogue.alpha, 1);
  EXPECT_EQ(added.epilogue.beta, 1);
  const Told subtracted("C=bf16:t beta=3.0", "2.0 * accum - beta * C");
  ASSERT_TRUE(subtracted.status);
  EXPECT_EQ(subtracted.epilogue.alpha, 2);
  EXPECT_EQ(subtracted.epilogue.beta, -3);
  const Told from("C=bf16:t", "C - accum");
  ASSERT_TRUE(from.status);
  EXPECT_EQ(from.epilogue.alpha, -1);
  EXPECT_EQ(from.epilogue.beta, 1);
}

// A scalar is rounded to its own type, then to the one that is computed in.
TEST(LtEpilogue, ScalarsAreRoundedAsOurKernelsRoundThem) {
  EXPECT_EQ(Told("alpha=bf16:0.3", "alpha * accum").epilogue.alpha, 0.30078125);
  EXPECT_EQ(Told("alpha=0.3", "alpha * accum").epilogue.alpha, 0.3F);
}

// Row-major out is computed as its transpose, whose rows are our columns.
TEST(LtEpilogue, BiasLiesAlongTheRowsOfTheLibrarysD) {
  const Told along_n("bias=bf16:row", "accum + bias");
  ASSERT_TRUE(along_n.status) << along_n.status.error();
  EXPECT_EQ(along_n.epilogue.mode, Mode::bias);
  ASSERT_TRUE(along_n.epilogue.bias);
  EXPECT_EQ(along_n.epilogue.bias->dtype, Dtype::bf16);
  EXPECT_EQ(along_n.epilogue.bias->batch_stride, 0);
  expect_refused(Told("bias=bf16:column", "accum + bias"), "a bias along N", "t0 along M");
  expect_refused(Told("bias=bf16:row", "accum + bias", OutOrder::row), "a bias along M",
                 "t0 along N");
  EXPECT_TRUE(Told("bias=bf16:column", "accum + bias", OutOrder::row).status);
  const std::string by_columns = "a=bf16 out=bf16:n";
  EXPECT_TRUE(Told("bias=bf16:column", "accum + bias", OutOrder::column, by_columns).status);
  expect_refused(Told("bias=bf16:row", "accum + bias", OutOrder::column, by_columns),
                 "a bias along M", "t0 along N");
}

TEST(LtEpilogue, BiasOfABatch) {
  const Told told("bias=bf16:row[48,1]", "bias + accum", OutOrder::column, "l=3 a=bf16 out=bf16");
  ASSERT_TRUE(told.status) << told.status.error();
  EXPECT_EQ(told.epilogue.bias->batch_stride, 48);
}

TEST(LtEpilogue, RefusesWhatWouldBeComputedOtherwise) {
  expect_refused(Told("", "relu(accum)"), "no activation", "relu(accum) in f32");
  expect_refused(Told("", "gelu_tanh(accum)"), "no activation", "gelu_tanh(accum) in f32");
  expect_refused(Told("bias=bf16:row", "gelu_tanh(accum + bias)"), "no activation", "gelu_tanh(v");
  expect_refused(Told("", "gelu(accum)"), "alpha * accum", "gelu(accum) in f32");
  expect_refused(Told("C=bf16:t bias=bf16:row", "accum + bias + C"), "alpha * accum", "add(v");
  expect_refused(Told("C=bf16:t alpha=0.5", "fma(alpha, accum, C)"), "alpha * accum", "fma(");
  expect_refused(Told("aux=bf16:t", "gelu_tanh(accum); aux = accum"), "D alone",
                 "a store of accum");
  expect_refused(Told("amax=f32:scalar", "accum; amax = absmax(accum)"), "D alone",
                 "absmax(accum) of everything");
  expect_refused(Told("alpha=f64:0.5", "alpha * accum"), "numbers of the accumulator's type",
                 "s0 f64 in f64");
  expect_refused(Told("alpha=0.5", "alpha * accum", OutOrder::column, "a=i8"),
                 "a floating-point accumulator", "accum in i32");
}

// What is multiplied by 0 is not read, so that NaN there would be lost.
TEST(LtEpilogue, RefusesFactorsThatAreOrMayBeZero) {
  expect_refused(Told("C=bf16:t beta=0.0", "accum + beta * C"), "factors other than 0", "s0 = 0");
  expect_refused(Told("alpha=0.0", "alpha * accum"), "factors other than 0", "s0 = 0");
  expect_refused(Told("alpha=1e-60", "alpha * accum"), "factors other than 0", "s0 = 0");
}

// On memory of the host: nothing here is run.
TEST(LtEpilogue, OperandsInMemory) {
  std::vector<float> a(64);
  std::vector<float> out(64);
  float beta = 2;
  const TensorView matrix = TensorView::row_major(out.data(), Dtype::f32, {8, 8});
  auto describe = [&](const EpilogueArguments& epilogue, LtEpilogue* told) {
    const TensorView input = TensorView::row_major(a.data(), Dtype::f32, {8, 8});
    return LtMatmul::describe(GemmArguments(input, input, matrix, Dtype::f32, {}, epilogue),
                              OutOrder::column, told);
  };
  LtEpilogue told;
  ASSERT_TRUE(describe({"D = accum + C", {{"C", matrix}}}, &told));
  EXPECT_EQ(told.c->data, out.data());
  const Status status = describe({"D = accum + beta * a",
                                  {{"a", TensorView::row_major(a.data(), Dtype::f32, {8, 8})},
                                   {"beta", TensorView::row_major(&beta, Dtype::f32, {1})}}},
                                 &told);
  EXPECT_THAT(status.error(), HasSubstr("expected factors by value"));
  EXPECT_THAT(status.error(), HasSubstr("got s0 in memory"));
}

TEST(LtEpilogue, RefusesOperandsThatItHasNoFormFor) {
  expect_refused(Told("bias=bf16:row[2]", "accum + bias"), "a bias whose elements are neighbours",
                 "t0 of stride 2");
  expect_refused(Told("bias=f32:row", "accum + bias"), "a bias of the type", "t0 f32");
  expect_refused(Told("C=f32:t", "accum + C"), "a matrix of the type", "t0 f32");
  expect_refused(Told("C=bf16:n", "accum + C"), "a matrix that lies as out does",
                 "strides (1, 64)");
  expect_refused(Told("C=bf16:t", "accum + C", OutOrder::column, "a=bf16 out=bf16:n"),
                 "a matrix that lies as out does", "strides (48, 1)");
}

// The class says so before it needs a library.
TEST(LtEpilogue, TheClassNamesTheNode) {
  const auto lt = make_cublaslt_gemm();
  const auto graph = parse_epilogue_graph("acc f32; v1 = silu accum; store bf16 v1");
  const Status status = lt->supports_epilogue(lt->space()->at(0), *graph, Target::sm(90, true));
  EXPECT_THAT(status.error(), HasSubstr("got silu(accum) in f32"));
  KernelQuery query;
  query.target = Target::sm(90, true);
  query.providers = {"cublaslt"};
  const auto arguments =
      Problem::parse("gemm m=64 n=48 k=32 a=bf16 out=bf16 epi=\"D = silu(accum)\"")
          .arguments(Device::cuda(0));
  EXPECT_TRUE(get_kernels(*arguments, query).empty());
}

}  // namespace
}  // namespace estoc::cublaslt
