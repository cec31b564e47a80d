// Tuning beside a program's own work, on kernels of the CPU whose speed a test sets.
#include "estoc/background_tuner.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "estoc/problem.hpp"
#include "estoc/tuned.hpp"
#include "unit/run/operands.h"
#include "unit/run/two_kernels.h"

namespace estoc::run_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

BackgroundTuning quick() {
  return {.budget_seconds = 0.2};
}

bool multiply(Operands& of, BackgroundTuner* tuner) {
  return matmul(of.a_view(), of.b_view(), of.out_view(), {.tuner = tuner});
}

TEST(BackgroundTuner, TunesWhatMatmulMeets) {
  TwoKernels two;
  two.sleep(30'000, 200);
  Operands each(1);
  BackgroundTuner tuner(quick());
  multiply(each, &tuner);
  EXPECT_EQ(two.launched(), 0);
  tuner.wait();
  EXPECT_EQ(tuner.progress().tuned, 1);
  EXPECT_EQ(tuner.progress().failed, 0) << tuner.progress().last_failure;
  multiply(each, &tuner);
  EXPECT_EQ(two.launched(), 1) << "the faster one is first now";
  each.expect();
  tuner.wait();
  EXPECT_EQ(tuner.progress().tuned, 1) << "a problem is tuned once";
  EXPECT_THAT(tuned_kernels(), SizeIs(1));
}

TEST(BackgroundTuner, MatmulLeavesProblemsAloneWithoutOne) {
  const TwoKernels two;
  Operands each(1);
  const BackgroundTuner tuner(quick());
  multiply(each, nullptr);
  tuner.wait();
  EXPECT_EQ(tuner.progress().tuned, 0);
}

TEST(BackgroundTuner, MeetsSoManyProblems) {
  const TwoKernels two;
  BackgroundTuning few = quick();
  few.limit = 2;
  BackgroundTuner tuner(few);
  for (int i = 0; i < 4; ++i)
    tuner.add(Operands(1, kM + i).arguments());
  tuner.wait();
  EXPECT_EQ(tuner.progress().tuned, 2);
}

TEST(BackgroundTuner, FailuresAreNotedAndTheNextProblemIsTuned) {
  const TwoKernels two;
  BackgroundTuner tuner(quick());
  tuner.add(*Problem::parse("gemm m=8 n=8 k=8 a=f64").arguments());
  tuner.add(Operands(1).arguments());
  tuner.wait();
  const BackgroundProgress progress = tuner.progress();
  EXPECT_EQ(progress.waiting, 0);
  EXPECT_EQ(progress.tuned, 1);
  EXPECT_EQ(progress.failed, 1);
  EXPECT_THAT(progress.last_failure, HasSubstr("a=f64"));
}

TEST(BackgroundTuner, EndsInTheMiddleOfASearch) {
  TwoKernels two;
  two.sleep(500'000, 500'000);  // a search takes many launches
  const auto start = std::chrono::steady_clock::now();
  {
    BackgroundTuner tuner({.budget_seconds = 1000});
    tuner.add(Operands(1).arguments());
    tuner.add(Operands(1, kM + 1).arguments());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    EXPECT_EQ(tuner.progress().waiting, 2);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
  EXPECT_THAT(tuned_kernels(), SizeIs(0)) << "nothing of a search that was given up";
}

TEST(BackgroundTuner, DoesNothingInAForkedChild) {
  TwoKernels two;
  two.sleep(500, 500);
  auto tuner = std::make_unique<BackgroundTuner>(quick());
  tuner->add(Operands(1).arguments());
  const pid_t child = ::fork();
  if (child == 0) {
    tuner->add(Operands(1, kM + 1).arguments());
    tuner->wait();
    const bool is_empty = tuner->progress().waiting == 0;
    tuner.reset();
    ::_exit(is_empty ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  tuner->wait();
  EXPECT_EQ(tuner->progress().tuned, 1);
}

TEST(BackgroundTuner, RefusesOptionsThatMakeNoSense) {
  const TwoKernels two;
  try {
    BackgroundTuner tuner({.budget_seconds = 0});
    ADD_FAILURE() << "it takes no seconds";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::value);
    EXPECT_THAT(error.what(), HasSubstr("budget_seconds: expected more than 0, got 0"));
  }
}

TEST(BackgroundTuner, WantsAFileForRecords) {
  const TwoKernels two;
  ::setenv("ESTOC_TUNED", "off", 1);
  try {
    BackgroundTuner tuner;
    ADD_FAILURE() << "records cannot be stored";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::io);
  }
}

}  // namespace
}  // namespace estoc::run_test
