// What tests of kernels on the emulator share: a cache for each suite, and runs whose output is
// checked.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "emulator/run.h"
#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "support/problem_data.h"

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

/// The same of the first kernel that fits the problem, on real numbers.
inline void expect_first_right(Target target, const std::string& filter,
                               const std::string& problem) {
  SCOPED_TRACE(filter + " " + problem);
  testing_support::ProblemData data(Problem::parse(problem), 3, testing_support::Values::reals);
  data.poison();
  const KernelList found = kernels_of(data.arguments(), target, filter);
  ASSERT_FALSE(found.empty());
  expect_right(found.front(), target, data.arguments());
}

}  // namespace estoc
