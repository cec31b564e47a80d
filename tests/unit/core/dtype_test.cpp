// Names, sizes and classes of element types, and names of targets.
#include "estoc/dtype.hpp"

#include <gtest/gtest.h>

#include <compare>
#include <set>
#include <string>

#include "estoc/target.hpp"

namespace estoc {
namespace {

TEST(Dtype, NamesAreUniqueAndParseBack) {
  std::set<std::string_view> names;
  for (const Dtype dtype : all_dtypes()) {
    names.insert(dtype_name(dtype));
    EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  }
  EXPECT_EQ(names.size(), std::size_t{kDtypeCount});
}

TEST(Dtype, OtherNamesAreRefused) {
  for (const char* name : {"", "F16", "fp16", "f1", "f166", " f16", "boolean", "float"}) {
    EXPECT_EQ(parse_dtype(name), std::nullopt) << name;
  }
}

TEST(Dtype, ListFollowsTheEnumeration) {
  ASSERT_EQ(all_dtypes().size(), std::size_t{kDtypeCount});
  for (int i = 0; i < kDtypeCount; ++i) {
    EXPECT_EQ(static_cast<int>(all_dtypes()[static_cast<std::size_t>(i)]), i);
  }
  EXPECT_EQ(dtype_name(Dtype::boolean), "bool");
}

TEST(Dtype, PackedTypesTakeHalfABytePerElement) {
  EXPECT_EQ(storage_bytes(Dtype::e2m1, 0), 0);
  EXPECT_EQ(storage_bytes(Dtype::e2m1, 1), 1);
  EXPECT_EQ(storage_bytes(Dtype::i4, 8), 4);
  EXPECT_EQ(storage_bytes(Dtype::u4, 9), 5);
  EXPECT_EQ(storage_bytes(Dtype::tf32, 3), 12);
  EXPECT_EQ(storage_bytes(Dtype::boolean, 3), 3);
}

TEST(Dtype, EveryTypeButBooleanIsFloatOrInteger) {
  for (const Dtype dtype : all_dtypes()) {
    EXPECT_EQ(is_float(dtype) != is_integer(dtype), dtype != Dtype::boolean) << dtype_name(dtype);
  }
}

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
