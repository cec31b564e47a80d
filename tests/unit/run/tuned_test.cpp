// Plans and matmul go by the records of tuning, also for problems that they have met before.
#include "estoc/tuned.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "operands.h"
#include "two_kernels.h"

namespace estoc::run_test {
namespace {

void store(const GemmArguments& arguments, int variant) {
  TunedKernel record = tuned_record(arguments, TwoKernels::kernel(variant), 1e-6);
  store_tuned(std::span(&record, 1), true);
}

TEST(TunedPlans, AreOfTheTunedKernel) {
  const TwoKernels two;
  Operands each(1);
  EXPECT_EQ(plan(each.arguments()).kernel().name(), "two_gemm-f32-v0");
  store(each.arguments(), 1);
  EXPECT_EQ(plan(each.arguments()).kernel().name(), "two_gemm-f32-v1");
  EXPECT_EQ(plan(each.arguments()).kernel().tuned_seconds(), 1e-6);
}

TEST(TunedPlans, MatmulForgetsPlansWhenARecordIsStored) {
  const TwoKernels two;
  Operands each(1);
  const auto multiply = [&] { return matmul(each.a_view(), each.b_view(), each.out_view()); };
  multiply();
  multiply();  // the first one reads the records, whereupon plans are forgotten
  EXPECT_FALSE(multiply());
  EXPECT_EQ(two.launched(), 0);
  store(each.arguments(), 1);
  EXPECT_TRUE(multiply()) << "the plan is forgotten";
  EXPECT_EQ(two.launched(), 1);
  each.expect();
  multiply();
  EXPECT_FALSE(multiply());
  forget_all_tuned();
  EXPECT_TRUE(multiply());
  EXPECT_EQ(two.launched(), 0);
}

TEST(TunedPlans, RecordsOfAnotherProcessAreSeenAtTheNextNewProblem) {
  const TwoKernels two;
  Operands each(1), other(1, kM + 1);
  const auto multiply = [](Operands& of) { matmul(of.a_view(), of.b_view(), of.out_view()); };
  multiply(each);
  const pid_t child = ::fork();
  if (child == 0) {
    store(each.arguments(), 1);
    ::_exit(0);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  ASSERT_EQ(status, 0);
  multiply(each);
  EXPECT_EQ(two.launched(), 0) << "of a known problem nothing is read";
  multiply(other);
  multiply(each);
  EXPECT_EQ(two.launched(), 1);
}

}  // namespace
}  // namespace estoc::run_test
