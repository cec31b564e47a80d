// Names of targets, and which target covers which.
#include "estoc/target.hpp"

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <set>
#include <string>

namespace estoc {
namespace {

TEST(Target, NamesAreUniqueAndParseBack) {
  std::set<std::string> names;
  for (const Target& target : known_targets()) {
    names.insert(target.name());
    EXPECT_EQ(Target::parse(target.name()), target);
  }
  EXPECT_EQ(names.size(), known_targets().size());
}

TEST(Target, OtherNamesAreRefused) {
  for (const char* name : {"", "CPU", "sm_70", "sm90", "sm_90b", "sm_090", "sm_80a", "sm_90 ",
                           "compute_70", "compute_90a", "compute_110", "compute_0"}) {
    EXPECT_EQ(Target::parse(name), std::nullopt) << name;
  }
}

TEST(Target, CpuComesFirstThenArchitecturesInOrder) {
  ASSERT_FALSE(known_targets().empty());
  EXPECT_TRUE(known_targets().front().is_cpu());
  for (std::size_t i = 1; i < known_targets().size(); ++i) {
    EXPECT_TRUE(std::is_lt(known_targets()[i - 1] <=> known_targets()[i]));
    EXPECT_TRUE(known_targets()[i].is_cuda());
  }
  EXPECT_EQ(Target::sm(90, true).name(), "sm_90a");
  EXPECT_EQ(Target::sm(90, true).cc(), 90);
}

TEST(Target, EveryArchitectureOfNvrtc13IsKnown) {
  for (const char* name :
       {"sm_80", "sm_86", "sm_87", "sm_88", "sm_89", "sm_90", "sm_90a", "sm_100", "sm_100a",
        "sm_103", "sm_103a", "sm_110a", "sm_120", "sm_120a", "sm_121", "sm_121a"}) {
    EXPECT_NE(Target::parse(name), std::nullopt) << name;
  }
  EXPECT_EQ(cuda_targets().size(), known_targets().size() - 1);
}

TEST(Target, PtxIsOfAnArchitectureWithoutAnA) {
  const auto ptx = Target::parse("compute_120");
  ASSERT_EQ(ptx, Target::ptx(120));
  EXPECT_EQ(ptx->name(), "compute_120");
  EXPECT_TRUE(ptx->is_cuda() && ptx->is_ptx());
  EXPECT_TRUE(covers(cuda_targets(), *ptx));
  constexpr std::array kOwn{Target::sm(90, true)};
  EXPECT_FALSE(covers(kOwn, Target::ptx(90)));
  EXPECT_FALSE(covers(cuda_targets(), Target::sm(130)));
}

}  // namespace
}  // namespace estoc
