// The order of names with numbers in them.
#include "core/natural_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace estoc::core {
namespace {

TEST(NaturalOrder, ComparesDigitsAsNumbers) {
  std::vector<std::string> names{"python3.9", "python3.12", "cuda",      "cuda-12.10", "cuda-12.9",
                                 "cuda-013",  "cuda-13",    "cuda-13.0", "cublas",     "cu13"};
  std::sort(names.begin(), names.end(), natural_less);
  EXPECT_EQ(names, (std::vector<std::string>{"cu13", "cublas", "cuda", "cuda-12.9", "cuda-12.10",
                                             "cuda-013", "cuda-13", "cuda-13.0", "python3.9",
                                             "python3.12"}));
}

TEST(NaturalOrder, IsOneForNamesOfAnyLength) {
  const std::string big(100, '9');
  EXPECT_TRUE(natural_less(big, "1" + big));
  EXPECT_FALSE(natural_less(big, big));
  EXPECT_TRUE(natural_less("", "a"));
  EXPECT_FALSE(natural_less("", ""));
}

}  // namespace
}  // namespace estoc::core
