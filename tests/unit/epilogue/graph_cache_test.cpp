// The typed graphs of a program: found by every byte of the key, kept up to a number, safe to
// share.
#include "epilogue/graph_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace estoc::epilogue {
namespace {

GraphKey key_of(std::initializer_list<std::uint8_t> bytes) {
  GraphKey key;
  for (const std::uint8_t byte : bytes)
    key.add(byte);
  return key;
}

TypedProgram numbered(std::uint16_t number) {
  TypedProgram typed;
  typed.tensors = {number};
  return typed;
}

TEST(GraphKey, DiffersByBytesAndByLength) {
  EXPECT_EQ(key_of({1, 2}), key_of({1, 2}));
  EXPECT_FALSE(key_of({1, 2}) == key_of({1, 3}));
  EXPECT_FALSE(key_of({1}) == key_of({1, 0}));
}

TEST(GraphCache, GivesTheFirstEntryOfAKey) {
  GraphCache cache;
  EXPECT_EQ(cache.find(key_of({1})), nullptr);
  const TypedProgram* const first = cache.insert(key_of({1}), numbered(1));
  EXPECT_EQ(cache.insert(key_of({1}), numbered(2)), first);
  EXPECT_EQ(cache.find(key_of({1})), first);
  EXPECT_EQ(first->tensors.at(0), 1);
  EXPECT_EQ(cache.find(key_of({1, 0})), nullptr);
}

TEST(GraphCache, TakesNoMoreWhenItIsFullAndKeepsWhatItHas) {
  GraphCache cache;
  int kept = 0;
  for (int i = 0; i < 200; ++i) {
    const auto byte = static_cast<std::uint8_t>(i);
    if (cache.insert(key_of({byte}), numbered(byte)) != nullptr) ++kept;
  }
  EXPECT_GT(kept, 0);
  EXPECT_LT(kept, 200);
  EXPECT_NE(cache.find(key_of({0})), nullptr);
  EXPECT_NE(cache.insert(key_of({0}), numbered(0)), nullptr) << "a known key needs no room";
}

TEST(GraphCache, ACopyBeginsEmpty) {
  GraphCache cache;
  cache.insert(key_of({1}), numbered(1));
  const GraphCache copy(cache);  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.find(key_of({1})), nullptr);
}

TEST(GraphCache, ThreadsThatInsertOneKeyShareOneEntry) {
  GraphCache cache;
  std::vector<const TypedProgram*> found(4);
  {
    std::vector<std::jthread> threads;
    for (std::size_t t = 0; t < found.size(); ++t) {
      threads.emplace_back([&, t] {
        for (std::uint8_t i = 0; i < 50; ++i)
          cache.insert(key_of({i}), numbered(static_cast<std::uint16_t>(100 * t + i)));
        found[t] = cache.find(key_of({49}));
      });
    }
  }
  for (const TypedProgram* each : found)
    EXPECT_EQ(each, found[0]);
  EXPECT_NE(found[0], nullptr);
}

}  // namespace
}  // namespace estoc::epilogue
