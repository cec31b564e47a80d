// Names, sizes and classes of element types.
#include "estoc/dtype.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

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

}  // namespace
}  // namespace estoc
