// The memory of which kernels fit a signature: found again, bounded, the oldest forgotten first.
#include "discovery/candidate_cache.h"

#include <gtest/gtest.h>

#include "fake_class.h"

namespace estoc::testing {
namespace {

using discovery::CandidateCache;
using discovery::Candidates;
using discovery::KernelGroup;

/// A list that stands for `kernels` kernels.
Candidates make_list(std::size_t kernels) {
  static const auto info = discovery::describe_class(make_class("plain", plain_space()), "fake");
  return std::make_shared<const KernelGroup>(info,
                                             std::vector<DesignPoint>(kernels, info->space->at(0)));
}

/// One of many signatures.
discovery::CandidateKey key_of(std::uint64_t number) {
  return discovery::CandidateKey(discovery::SignatureKey(number));
}

TEST(CandidateCache, GivesBackWhatCameFirst) {
  CandidateCache cache;
  EXPECT_EQ(cache.find(key_of(1)), nullptr);
  const Candidates first = make_list(3);
  EXPECT_EQ(cache.insert(key_of(1), first), first);
  EXPECT_EQ(cache.insert(key_of(1), make_list(3)), first);
  EXPECT_EQ(cache.find(key_of(1)), first);
  cache.clear();
  EXPECT_EQ(cache.find(key_of(1)), nullptr);
}

TEST(CandidateCache, ForgetsTheSignatureUsedLongestAgo) {
  CandidateCache cache;
  for (std::uint64_t key = 0; key < CandidateCache::kMaxSignatures; ++key) {
    cache.insert(key_of(key), make_list(1));
  }
  EXPECT_NE(cache.find(key_of(0)), nullptr);
  cache.insert(key_of(1000), make_list(1));
  EXPECT_NE(cache.find(key_of(0)), nullptr);
  EXPECT_EQ(cache.find(key_of(1)), nullptr);
  EXPECT_NE(cache.find(key_of(1000)), nullptr);
}

TEST(CandidateCache, BoundsTheKernelsItHolds) {
  CandidateCache cache;
  constexpr std::size_t kHalf = CandidateCache::kMaxKernels / 2;
  for (std::uint64_t key = 0; key < 10; ++key)
    cache.insert(key_of(key), make_list(kHalf));
  EXPECT_EQ(cache.find(key_of(7)), nullptr);
  EXPECT_NE(cache.find(key_of(8)), nullptr);
  EXPECT_NE(cache.find(key_of(9)), nullptr);
}

TEST(CandidateCache, DoesNotRememberAListThatIsTooLong) {
  CandidateCache cache;
  cache.insert(key_of(1), make_list(1));
  const Candidates huge = make_list(CandidateCache::kMaxKernels + 1);
  EXPECT_EQ(cache.insert(key_of(2), huge), huge);
  EXPECT_EQ(cache.find(key_of(2)), nullptr);
  EXPECT_NE(cache.find(key_of(1)), nullptr);
}

}  // namespace
}  // namespace estoc::testing
