// Known answers of the 128-bit hash, and that pieces hash as the whole does.
#include "core/hash.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <vector>

namespace estoc::core {
namespace {

std::string pattern(std::size_t size, unsigned step) {
  std::string text;
  for (std::size_t i = 0; i < size; ++i)
    text.push_back(static_cast<char>(i * step % 256));
  return text;
}

TEST(Hash, GivesTheAnswersOfXxhsum) {
  EXPECT_EQ(hash(std::string_view()).hex(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash("estoc").hex(), "318862de8690f8c6aa2d92d4e174f965");
  EXPECT_EQ(hash(pattern(256, 1)).hex(), "f1f8a93f50849ac39408a4433b952d71");
  EXPECT_EQ(hash(pattern(1000, 7)).hex(), "abee229cdadad76d10ad30264426c830");
}

TEST(Hash, HexHasAllLeadingZeros) {
  EXPECT_EQ((Hash128{0, 0x1F}).hex(), "0000000000000000000000000000001f");
}

TEST(Hasher, PiecesHashAsTheWhole) {
  EXPECT_TRUE(rc::check("pieces", [](const std::vector<std::string>& pieces) {
    Hasher hasher;
    std::string whole;
    for (const std::string& piece : pieces) {
      hasher.update(piece);
      whole += piece;
      RC_ASSERT(hasher.digest() == hash(whole));
    }
  }));
  Hasher long_hasher;
  for (int i = 0; i < 1000; ++i)
    long_hasher.update(pattern(1000, 7).substr(0, 999));
  std::string whole;
  for (int i = 0; i < 1000; ++i)
    whole += pattern(1000, 7).substr(0, 999);
  EXPECT_EQ(long_hasher.digest(), hash(whole));
}

TEST(Hasher, FieldsCannotRunIntoEachOther) {
  EXPECT_NE(Hasher().field("ab").field("c").digest(), Hasher().field("a").field("bc").digest());
  EXPECT_NE(Hasher().field("").field("a").digest(), Hasher().field("a").digest());
  EXPECT_EQ(Hasher().field("a b c").digest().hex(), "71f3989865b956ca4785372c69373973");
}

TEST(Hasher, MovesWithItsState) {
  Hasher first;
  first.update("es");
  Hasher second = std::move(first);
  second.update("toc");
  EXPECT_EQ(second.digest(), hash("estoc"));
}

}  // namespace
}  // namespace estoc::core
