// Tests of the options of check_output: sampled rows, threads, progress, cancellation, refusals.
#include <gmock/gmock.h>

#include <thread>

#include "tensors.h"

namespace estoc::test {
namespace {

using ::testing::HasSubstr;

CheckOptions limited(std::int64_t max_products, std::uint64_t seed = 0) {
  CheckOptions options;
  options.max_products = max_products;
  options.seed = seed;
  return options;
}

TEST(Sampling, as_many_rows_are_checked_as_the_limit_allows) {
  Problem2d problem(100, 20, 30, Dtype::bf16, Dtype::bf16, Dtype::f32, Dtype::f32);
  problem.compute();
  EXPECT_EQ(problem.check(limited(100 * 20 * 30)).rows_checked, 100);
  EXPECT_EQ(problem.check(limited(100 * 20 * 30 - 1)).rows_checked, 99);
  EXPECT_EQ(problem.check(limited(7 * 20 * 30)).rows_checked, 7);
  EXPECT_EQ(problem.check(limited(1)).rows_checked, 1);
  EXPECT_EQ(problem.check(limited(0)).rows_checked, 1);
  EXPECT_EQ(problem.check(limited(1)).rows_total, 100);
  EXPECT_TRUE(problem.check(limited(7 * 20 * 30)).passed);
}

TEST(Sampling, only_sampled_rows_count_and_edges_are_always_sampled) {
  Problem2d problem(1000, 4, 16, Dtype::i8, Dtype::i8, Dtype::i32, Dtype::i32);
  problem.compute();
  for (const std::int64_t row : {0, 999}) {
    const double right = problem.out.get(row, 3);
    problem.out.set(row, 3, 1e6);
    EXPECT_FALSE(problem.check(limited(2 * 64)).passed) << row;
    problem.out.set(row, 3, right);
  }
  // Five wrong rows in the middle are found or not, by the seed.
  for (std::int64_t row = 500; row < 505; ++row)
    problem.out.set(row, 3, 1e6);
  int found = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed)
    found += problem.check(limited(100 * 64, seed)).passed ? 0 : 1;
  EXPECT_GT(found, 5);
  EXPECT_LT(found, 45);
  EXPECT_EQ(problem.check(limited(100 * 64, 7)).passed, problem.check(limited(100 * 64, 7)).passed);
}

TEST(Sampling, batches_are_sampled_with_their_own_matrices) {
  Tensor a(Dtype::f16, {50, 3, 8});
  Tensor b(Dtype::f16, {50, 8, 4});
  const Tensor out(Dtype::f16, {50, 3, 4});
  a.randomise(1);
  b.randomise(2);
  const GemmArguments arguments(a.view(), b.view(), out.view(), Dtype::f32);
  PlainGemm{plain_step(Dtype::f32)}.run(arguments);
  const CheckResult result = check_output(arguments, limited(40 * 4 * 16));
  EXPECT_TRUE(result.passed) << to_string(result);
  EXPECT_EQ(result.rows_checked, 40);
  EXPECT_EQ(result.rows_total, 150);
}

TEST(Threads, any_number_gives_the_same_verdict) {
  Problem2d problem(150, 300, 20, Dtype::bf16, Dtype::bf16, Dtype::bf16, Dtype::f32);
  problem.compute();
  problem.out.set(77, 288, 100);
  problem.out.set(3, 5, 99);
  CheckOptions options;
  options.threads = 1;
  const CheckResult alone = problem.check(options);
  for (const int threads : {0, 2, 7, 64}) {
    options.threads = threads;
    const CheckResult result = problem.check(options);
    EXPECT_FALSE(result.passed);
    EXPECT_EQ(result.worst, alone.worst);
    EXPECT_DOUBLE_EQ(result.error, alone.error);
    EXPECT_DOUBLE_EQ(result.bound, alone.bound);
  }
}

TEST(Progress, is_reported_in_order_on_the_calling_thread) {
  Problem2d problem(500, 500, 4, Dtype::bf16, Dtype::bf16, Dtype::f32, Dtype::f32);
  problem.compute();
  const auto caller = std::this_thread::get_id();
  double last = 0;
  int calls = 0;
  CheckOptions options;
  options.progress = [&](double done) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_GE(done, last);
    EXPECT_LE(done, 1);
    last = done;
    ++calls;
    return true;
  };
  EXPECT_TRUE(problem.check(options).passed);
  EXPECT_GT(calls, 3);
}

TEST(Progress, may_cancel_or_throw) {
  Problem2d problem(500, 500, 4, Dtype::bf16, Dtype::bf16, Dtype::f32, Dtype::f32);
  CheckOptions options;
  options.progress = [](double) { return false; };
  try {
    static_cast<void>(problem.check(options));
    FAIL() << "not cancelled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  }
  options.progress = [](double) -> bool { throw std::range_error("from the callback"); };
  EXPECT_THROW(static_cast<void>(problem.check(options)), std::range_error);
}

TEST(Refusals, what_cannot_be_checked_is_an_error) {
  const auto failure = [](const RuntimeArguments& arguments) {
    try {
      static_cast<void>(check_output(arguments));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  const std::array<std::int64_t, 2> shape{4, 4};
  const std::array<std::int64_t, 2> strides{4, 1};
  const auto nothing = TensorView::describe(Dtype::f32, shape, strides);
  EXPECT_THAT(failure(GemmArguments(nothing, nothing, nothing, Dtype::f32)),
              HasSubstr("expected operands with data"));
  const auto remote = TensorView::describe(Dtype::f32, shape, strides, Device::cuda(1));
  EXPECT_THAT(failure(GemmArguments(remote, remote, remote, Dtype::f32)), HasSubstr("cuda:1"));

  Problem2d floats(4, 4, 4, Dtype::f32, Dtype::f32, Dtype::f32, Dtype::f32);
  EXPECT_THAT(failure(GemmArguments(floats.a.view(), floats.b.view(), floats.out.view(), Dtype::f32,
                                    {}, {"D = accum + C", {{"C", floats.out.view()}}})),
              HasSubstr("in place"));
  EXPECT_THAT(
      failure(GemmArguments(floats.a.view(), floats.b.view(), floats.out.view(), Dtype::i32)),
      HasSubstr("i32 accumulator of floating-point"));
}

}  // namespace
}  // namespace estoc::test
