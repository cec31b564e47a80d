// The search for the fastest kernel, on kernels of the CPU whose speed and mistakes a test sets.
#include "estoc/tune.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/run/two_kernels.h"

namespace estoc {
namespace {

using run_test::TwoKernels;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr const char* kFirst = "two_gemm-f32-v0";
constexpr const char* kSecond = "two_gemm-f32-v1";
// Microseconds, so far apart that other programs' use of the processors is little beside them.
constexpr int kShort = 200;
constexpr int kLong = 30'000;

Problem small_problem() {
  return Problem::parse("gemm m=8 n=8 k=8 a=f32");
}

/// Ends after its rounds, long before the budget is spent on the busiest machine.
TuneOptions quick() {
  TuneOptions options;
  options.budget_seconds = 100;
  options.rounds = 6;
  return options;
}

TuneResult search(const TuneOptions& options = quick()) {
  return TuneSession(Device::cpu()).tune(small_problem(), options);
}

std::string first_kernel() {
  return get_kernels(*small_problem().arguments()).front().name();
}

template <typename Action>
std::string message_of(ErrorKind kind, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  return {};
}

TEST(Tune, FindsTheFastestAndStoresIt) {
  TwoKernels two;
  two.sleep(kLong, kShort);
  EXPECT_EQ(first_kernel(), kFirst);
  const TuneResult result = search();
  EXPECT_EQ(result.record.kernel, kSecond);
  EXPECT_EQ(result.record.runner_up, kFirst);
  EXPECT_GT(result.record.runner_up_seconds, 2 * result.record.seconds);
  EXPECT_GE(result.record.seconds, 200e-6);
  EXPECT_GT(result.record.noise, 0);
  EXPECT_EQ(result.record.candidates, 2);
  EXPECT_EQ(result.record.rounds, 6);
  EXPECT_EQ(result.record.predicted_seconds, 2e-9);
  EXPECT_FALSE(result.was_known);
  EXPECT_FALSE(result.kept_first);
  ASSERT_THAT(result.candidates, SizeIs(2));
  EXPECT_EQ(result.candidates[0].kernel, kSecond);
  EXPECT_EQ(result.candidates[0].provider, "two");
  EXPECT_EQ(first_kernel(), kSecond);
  EXPECT_THAT(tuned_kernels(), SizeIs(1));
}

TEST(Tune, OfArgumentsIsOfTheirProblem) {
  TwoKernels two;
  two.sleep(kLong, kShort);
  const auto arguments = small_problem().arguments();
  EXPECT_EQ(tune(*arguments, quick()).record.kernel, kSecond);
  EXPECT_TRUE(find_tuned(*arguments));
}

TEST(Tune, KeepsTheFirstWhereNoneIsFaster) {
  TwoKernels two;
  two.sleep(kShort, kLong);
  const TuneResult result = search();
  EXPECT_EQ(result.record.kernel, kFirst);
  EXPECT_TRUE(result.kept_first);
}

TEST(Tune, OtherKnobsOfTheBestAreTried) {
  TwoKernels two;
  two.sleep(5000, 10'000);
  const Knobs ranked{.swizzle = 8, .split = 2};
  Knobs fast = ranked;
  fast.split = 8;  // two steps away
  two.choose(ranked, fast);
  TuneOptions options = quick();
  const TuneResult result = search(options);
  EXPECT_EQ(result.record.knobs, fast);
  EXPECT_FALSE(result.kept_first);
  EXPECT_EQ(get_kernels(*small_problem().arguments()).front().knobs(), fast);

  Problem ordered = small_problem();
  ordered.controls.deterministic = true;
  const TuneResult of_ordered = TuneSession(Device::cpu()).tune(ordered, options);
  EXPECT_THAT(of_ordered.candidates, SizeIs(2)) << "the ranking's knobs alone";
  EXPECT_EQ(of_ordered.record.knobs, ranked);
}

TEST(Tune, AFilterDoesNotTakeTheFirstAway) {
  TwoKernels two;
  two.sleep(kShort, kLong);
  TuneOptions options = quick();
  options.query.filter = MetadataFilter::parse(std::string("name=") + kSecond);
  options.query.target = Target::sm(80);  // the device's own counts
  const TuneResult result = search(options);
  EXPECT_EQ(result.record.kernel, kFirst);
  EXPECT_EQ(result.record.candidates, 2);
  two.sleep(kLong, kShort);
  options.force = true;
  EXPECT_EQ(search(options).record.kernel, kSecond);
}

TEST(Tune, AKernelThatIsWrongDoesNotWin) {
  TwoKernels two;
  two.sleep(kLong, kShort);
  two.spoil(1);
  const TuneResult result = search();
  EXPECT_EQ(result.record.kernel, kFirst);
  ASSERT_THAT(result.candidates, SizeIs(2));
  EXPECT_THAT(result.candidates[1].problem, HasSubstr("expected"));
}

TEST(Tune, WithoutARightKernelNothingIsStored) {
  TwoKernels two;
  unregister_kernel_class("two_gemm");
  EXPECT_THAT(message_of(ErrorKind::unsupported, [] { search(); }),
              HasSubstr("no kernel supports the arguments"));
  EXPECT_THAT(tuned_kernels(), IsEmpty());
}

TEST(Tune, IsNotDoneAgainUnlessForced) {
  TwoKernels two;
  two.sleep(kLong, kShort);
  search();
  two.sleep(kShort, kLong);
  const TuneResult known = search();
  EXPECT_TRUE(known.was_known);
  EXPECT_EQ(known.record.kernel, kSecond);
  TuneOptions again = quick();
  again.force = true;
  EXPECT_EQ(search(again).record.kernel, kFirst);
  EXPECT_EQ(first_kernel(), kFirst);

  // A record whose kernel is gone does not prevent a search.
  TunedKernel lost = tuned_kernels().front();
  lost.kernel = "gone_gemm-f32";
  store_tuned(std::span(&lost, 1), true);
  EXPECT_FALSE(search().was_known);
}

TEST(Tune, StoresNothingWhereItIsNotToOrIsCancelled) {
  TwoKernels two;
  TuneOptions options = quick();
  options.store = false;
  EXPECT_FALSE(search(options).was_known);
  EXPECT_THAT(tuned_kernels(), IsEmpty());
  for (const TuneStage stage : {TuneStage::compiling, TuneStage::timing, TuneStage::checking}) {
    options = quick();
    options.progress = [&](TuneStage now, double fraction) {
      EXPECT_TRUE(fraction >= 0 && fraction <= 1) << fraction;
      return now != stage;
    };
    EXPECT_NE(message_of(ErrorKind::cancelled, [&] { search(options); }), "")
        << tune_stage_name(stage);
  }
  EXPECT_THAT(tuned_kernels(), IsEmpty());
}

TEST(Tune, FindsOutFirstThatNothingCanBeStored) {
  TwoKernels two;
  ::setenv("ESTOC_TUNED", "/proc/none/tuned.db", 1);
  EXPECT_THAT(message_of(ErrorKind::io, [] { search(); }), HasSubstr("/proc/none/tuned.db"));
  EXPECT_EQ(two.launched(), -1);
}

}  // namespace
}  // namespace estoc
