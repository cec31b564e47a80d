// Problems on the CPU that one kernel takes, checked with integers and reals.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "estoc/problem.hpp"
#include "support.h"
#include "support/problem_data.h"

namespace estoc::cpu::testing {

inline void expect_problem(const std::string& text, const std::string& kernel_class) {
  SCOPED_TRACE(text);
  const estoc::Problem problem = estoc::Problem::parse(text);
  for (const auto values : {testing_support::Values::integers, testing_support::Values::reals}) {
    testing_support::ProblemData data(problem, 7, values);
    data.poison();
    KernelQuery query;
    query.providers = {"cpu"};
    const KernelList kernels = get_kernels(data.arguments(), query);
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_EQ(kernels.front().metadata().kernel_class, kernel_class);
    kernels.front().run(data.arguments(), {.threads = 2});
    const CheckResult result = check_output(data.arguments());
    EXPECT_TRUE(result.passed) << result.worst << ", error " << result.error << ", bound "
                               << result.bound;
  }
}

}  // namespace estoc::cpu::testing
