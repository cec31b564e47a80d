// The memory of ranked answers: found again, bounded, the one used longest ago forgotten first.
#include "discovery/ranked_list_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using discovery::RankedListCache;
using Key = RankedListCache::Key;

RankedListCache::List make_answer(std::size_t kernels) {
  const auto fake = make_class("fake", plain_space());
  const Kernel kernel(fake, "fake", fake->design_space->at(0));
  return std::make_shared<const std::vector<Kernel>>(kernels, kernel);
}

void insert(RankedListCache& cache, const Key& key, const RankedListCache::List& answer) {
  cache.insert(key, answer, cache.generation());
}

TEST(RankedListCache, GivesBackWhatCameFirst) {
  RankedListCache cache;
  EXPECT_EQ(cache.find({1, 2}), nullptr);
  const auto first = make_answer(3);
  insert(cache, {1, 2}, first);
  insert(cache, {1, 2}, make_answer(3));
  EXPECT_EQ(cache.find({1, 2}), first);
  EXPECT_EQ(cache.find({2, 1}), nullptr);
  EXPECT_EQ(cache.find({1, 2, 0}), nullptr);
  EXPECT_EQ(cache.find({1}), nullptr);
  cache.clear();
  EXPECT_EQ(cache.find({1, 2}), nullptr);
}

TEST(RankedListCache, ForgetsTheAnswerUsedLongestAgo) {
  RankedListCache cache;
  const auto answer = make_answer(1);
  for (std::uint64_t key = 0; key < RankedListCache::kMaxLists; ++key)
    insert(cache, {key}, answer);
  EXPECT_NE(cache.find({0}), nullptr);
  insert(cache, {1000}, answer);
  EXPECT_NE(cache.find({0}), nullptr);
  EXPECT_EQ(cache.find({1}), nullptr);
  EXPECT_NE(cache.find({2}), nullptr);
  EXPECT_NE(cache.find({1000}), nullptr);
}

TEST(RankedListCache, EmptyAnswersAreBoundedToo) {
  RankedListCache cache;
  for (std::uint64_t key = 0; key < 2 * RankedListCache::kMaxLists; ++key)
    insert(cache, {key}, make_answer(0));
  std::size_t remembered = 0;
  for (std::uint64_t key = 0; key < 2 * RankedListCache::kMaxLists; ++key)
    remembered += cache.find({key}) != nullptr ? 1U : 0U;
  EXPECT_EQ(remembered, RankedListCache::kMaxLists);
}

TEST(RankedListCache, BoundsTheKernelsItHolds) {
  RankedListCache cache;
  const auto half = make_answer(RankedListCache::kMaxKernels / 2);
  for (std::uint64_t key = 0; key < 10; ++key)
    insert(cache, {key}, half);
  EXPECT_EQ(cache.find({7}), nullptr);
  EXPECT_NE(cache.find({8}), nullptr);
  EXPECT_NE(cache.find({9}), nullptr);
  EXPECT_EQ(half.use_count(), 3);
}

TEST(RankedListCache, DoesNotRememberAnAnswerThatIsTooLong) {
  RankedListCache cache;
  insert(cache, {1}, make_answer(1));
  insert(cache, {2}, make_answer(RankedListCache::kMaxKernels + 1));
  EXPECT_EQ(cache.find({2}), nullptr);
  EXPECT_NE(cache.find({1}), nullptr);
}

TEST(RankedListCache, DoesNotRememberWhatWasSoughtBeforeItWasCleared) {
  RankedListCache cache;
  const std::uint64_t before = cache.generation();
  cache.clear();
  cache.insert({1}, make_answer(1), before);
  EXPECT_EQ(cache.find({1}), nullptr);
  insert(cache, {1}, make_answer(1));
  EXPECT_NE(cache.find({1}), nullptr);
}

TEST(RankedListCache, KeepsTheGraphWhoseAddressIsPartOfTheKey) {
  RankedListCache cache;
  auto graph = std::make_shared<const EpilogueGraph>();
  const std::weak_ptr<const EpilogueGraph> watch = graph;
  cache.insert({1}, make_answer(0), cache.generation(), std::move(graph));
  EXPECT_FALSE(watch.expired());
  cache.clear();
  EXPECT_TRUE(watch.expired());
}

/// A class that uses the cache it is in while it is destroyed, which a lock would not survive.
TEST(RankedListCache, WhatItDropsIsDestroyedOutsideItsLock) {
  RankedListCache cache;
  const auto remembered_by = [&cache] {
    const auto lookup = [&cache](FakeClass* fake) {
      EXPECT_EQ(cache.find({1}), nullptr);
      delete fake;
    };
    const std::shared_ptr<FakeClass> fake(new FakeClass("fake", plain_space()), lookup);
    return std::make_shared<const std::vector<Kernel>>(
        1, Kernel(fake, "fake", fake->design_space->at(0)));
  };
  insert(cache, {1}, remembered_by());
  cache.clear();
  insert(cache, {1}, remembered_by());
  for (std::uint64_t key = 2; key < 2 + RankedListCache::kMaxLists; ++key)
    insert(cache, {key}, make_answer(0));
}

TEST(RankedListCache, IsSharedByThreads) {
  RankedListCache cache;
  const auto one = make_answer(1);
  const auto two = make_answer(2);
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 4; ++worker) {
    threads.emplace_back([&] {
      for (std::uint64_t round = 0; round < 2000; ++round) {
        const Key key{round % (RankedListCache::kMaxLists + 50)};
        const auto& mine = key[0] % 2 == 0 ? one : two;
        const auto found = cache.find(key);
        if (found != nullptr && found != mine) ++wrong;
        if (found == nullptr) insert(cache, key, mine);
        if (round % 500 == 499) cache.clear();
      }
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace estoc::testing
