// compile_all: every kernel is compiled, failures stay their own, and cancelling ends it.
#include "estoc/compile_all.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "fake_class.h"

namespace estoc {
namespace {

using testing::error_of;
using testing::make_class;
using testing::plain_space;
using testing::Registered;

std::vector<Kernel> all_of(const std::string& name) {
  std::vector<Kernel> kernels;
  for (const Kernel& kernel :
       get_kernels(KernelQuery{.filter = MetadataFilter::parse("class=" + name),
       .target = {},
       .portable = false,
       .providers = {}})) {
    kernels.push_back(kernel);
  }
  return kernels;
}

TEST(CompileAll, CompilesEveryKernelOnceInOrder) {
  auto fake = make_class("many", plain_space(40));
  const Registered registered(fake);
  const std::vector<Kernel> kernels = all_of("many");
  std::vector<std::size_t> seen;
  CompileAllOptions options;
  options.threads = 4;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, 40U);
    seen.push_back(done);
    return true;
  };
  const auto outcomes = compile_all(kernels, Target::cpu(), options);
  ASSERT_EQ(outcomes.size(), 40U);
  EXPECT_EQ(fake->compilations, 40);
  EXPECT_EQ(seen.size(), 40U);
  EXPECT_EQ(seen.back(), 40U);
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    EXPECT_EQ(outcomes[i].artifact->kernel(), kernels[i]);
}

TEST(CompileAll, AFailureStaysItsOwn) {
  auto fake = make_class("many", plain_space(8));
  std::atomic<int> calls = 0;
  fake->on_compile = [&] {
    if (calls++ % 2 == 0) throw Error(ErrorKind::compile, "no");
  };
  const Registered registered(fake);
  const auto outcomes = compile_all(all_of("many"), Target::cpu());
  std::size_t failed = 0;
  for (const CompileOutcome& outcome : outcomes) {
    if (outcome.artifact) continue;
    ++failed;
    EXPECT_EQ(outcome.error, "no");
    EXPECT_EQ(outcome.kind, ErrorKind::compile);
  }
  EXPECT_EQ(failed, 4U);
}

TEST(CompileAll, CancellingEndsIt) {
  auto fake = make_class("many", plain_space(200));
  const Registered registered(fake);
  CompileAllOptions options;
  options.threads = 2;
  options.progress = [](std::size_t done, std::size_t /*total*/) { return done < 5; };
  const Error error = error_of([&] { (void)compile_all(all_of("many"), Target::cpu(), options); });
  EXPECT_EQ(error.kind(), ErrorKind::cancelled);
  EXPECT_LT(fake->compilations, 10);
}

TEST(CompileAll, OfNothingIsNothing) {
  EXPECT_TRUE(compile_all({}, Target::cpu()).empty());
}

}  // namespace
}  // namespace estoc
