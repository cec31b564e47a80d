// What tests of kernels on the emulator share: a cache for each suite, and runs whose output is
// checked.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>

#include "emulator/run.h"
#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "support/problem_data.h"
#include "support/turns.h"

namespace estoc {

/// Tests whose kernels are compiled into an empty cache, which is removed behind the last of them.
class EmulatedKernels : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const char* suite = testing::UnitTest::GetInstance()->current_test_suite()->name();
    folder = testing::TempDir() + "estoc_" + suite + "_" + std::to_string(::getpid());
    ::setenv("ESTOC_CACHE_DIR", folder.c_str(), 1);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

 private:
  static inline std::string folder;
};

/// Whether it is the kernel's turn, as the file says that ESTOC_TEST_TURNS names; without that it
/// is, and in tests that changed. What a test runs in a loop has turns of its own.
inline bool is_due(const Kernel& kernel, Target target) {
  static const testing_support::Turns turns = testing_support::Turns::of_environment();
  static std::uint64_t number = 0;
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  if (turns.has_changed(test.file())) return true;
  const std::string name = std::string(test.test_suite_name()) + "." + test.name();
  return turns.is_due(kernel, target, std::hash<std::string>()(name) % 1000 + number++);
}

inline KernelList kernels_of(const RuntimeArguments& arguments, Target target,
                             const std::string& filter) {
  KernelQuery query;
  query.target = target;
  query.filter = MetadataFilter::parse(filter);
  return get_kernels(arguments, query);
}

/// Runs a kernel, and expects a clean report and an output within its bound.
inline CheckResult expect_right(const Kernel& kernel, Target target,
                                const RuntimeArguments& arguments) {
  const emulator::Report report = emulator::run(kernel, target, arguments);
  EXPECT_TRUE(report.clean()) << report.text();
  CheckResult result = check_output(arguments);
  EXPECT_TRUE(result.passed) << result.worst;
  return result;
}

/// The same of the first kernel that fits the problem, if it is due, on real numbers.
inline void expect_first_right(Target target, const std::string& filter,
                               const std::string& problem) {
  SCOPED_TRACE(filter + " " + problem);
  testing_support::ProblemData data(Problem::parse(problem), 3, testing_support::Values::reals);
  const KernelList found = kernels_of(data.arguments(), target, filter);
  ASSERT_FALSE(found.empty());
  if (!is_due(found.front(), target)) return;
  data.poison();
  expect_right(found.front(), target, data.arguments());
}

}  // namespace estoc
