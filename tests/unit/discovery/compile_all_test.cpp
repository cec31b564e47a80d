// compile_all: every kernel is compiled, failures stay their own, and cancelling ends it.
#include "estoc/compile_all.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
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

TEST(CompileAll, WhateverAClassThrowsIsItsOwnFailure) {
  auto fake = make_class("many", plain_space(8));
  fake->on_compile = [] { throw 7; };  // NOLINT: what user code may do
  const Registered registered(fake);
  CompileAllOptions options;
  options.threads = 4;
  const auto outcomes = compile_all(all_of("many"), Target::cpu(), options);
  ASSERT_EQ(outcomes.size(), 8U);
  for (const CompileOutcome& outcome : outcomes) {
    EXPECT_FALSE(outcome.artifact);
    EXPECT_NE(outcome.error.find("no std::exception"), std::string::npos) << outcome.error;
  }
}

// Sanitizers take more memory than the limit.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST(CompileAll, GoesOnWithTheThreadsThatThereAre) {
  const auto fake = make_class("many", plain_space(64));
  const Registered registered(fake);
  const std::vector<Kernel> kernels = all_of("many");
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    // Threads of 1 GiB of stack each soon find no more room.
    const rlimit stack{rlim_t{1} << 30, RLIM_INFINITY};
    const rlimit memory{rlim_t{8} << 30, rlim_t{8} << 30};
    ::setrlimit(RLIMIT_STACK, &stack);
    ::setrlimit(RLIMIT_AS, &memory);
    CompileAllOptions options;
    options.threads = 64;
    fake->on_compile = [] { ::usleep(20'000); };
    const auto outcomes = compile_all(kernels, Target::cpu(), options);
    const auto done = std::count_if(outcomes.begin(), outcomes.end(),
                                    [](const auto& each) { return each.artifact.has_value(); });
    ::_exit(done == 64 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

#endif

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
