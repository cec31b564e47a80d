// Boosted trees find steps that were planted in samples.
#include "boost.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>
#include <vector>

namespace estoc::ranking {
namespace {

constexpr int kSamples = 4000;

std::vector<cost::Features> random_features() {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(0, 1);
  std::vector<cost::Features> all(kSamples);
  for (cost::Features& features : all) {
    for (float& feature : features)
      feature = uniform(random);
  }
  return all;
}

/// A step that neither feature shows by itself.
double step(const cost::Features& features) {
  return (features[4] > 0.5F) == (features[9] > 0.25F) ? 0.3 : -0.3;
}

std::vector<BoostSample> stepped(const std::vector<cost::Features>& all) {
  std::vector<BoostSample> samples;
  for (const cost::Features& features : all)
    samples.push_back({&features, step(features)});
  return samples;
}

double mean_error(const FittedTrees& trees, const std::vector<cost::Features>& all) {
  double sum = 0;
  for (const cost::Features& features : all)
    sum += std::abs(evaluate(trees.view(), features) - step(features));
  return sum / static_cast<double>(all.size());
}

TEST(Boost, FindsStepsOfTwoFeaturesTogether) {
  const auto all = random_features();
  const FittedTrees trees = boost(stepped(all), {.features = 1});
  const std::size_t count = BoostOptions{}.trees;
  ASSERT_EQ(trees.units.size(), count);
  EXPECT_EQ(trees.leaves.size(), (count << trees.depth) / 2);
  // What 0.9^400 leaves is nothing; thresholds are 1/64 of the samples apart at most.
  EXPECT_LT(mean_error(trees, all), 0.02);
}

TEST(Boost, ATreeComparesItsShareOfTheFeatures) {
  // What is wanted is random, so that no feature is better than another.
  const auto all = random_features();
  std::vector<BoostSample> samples;
  std::mt19937 random(5);
  for (const cost::Features& features : all)
    samples.push_back({&features, static_cast<double>(random() % 1000)});
  const FittedTrees trees = boost(samples, {.trees = 40, .features = 0.1});
  const auto depth = static_cast<std::size_t>(trees.depth);
  std::set<std::uint8_t> of_all;
  for (std::size_t first = 0; first < trees.features.size(); first += depth) {
    const auto at = trees.features.begin() + static_cast<std::ptrdiff_t>(first);
    const std::set<std::uint8_t> of_tree(at, at + trees.depth);
    EXPECT_LE(of_tree.size(), cost::kFeatures / 10);
    of_all.insert(of_tree.begin(), of_tree.end());
  }
  // Trees draw features of their own.
  EXPECT_GT(of_all.size(), cost::kFeatures / 2);
}

TEST(Boost, SamplesWithoutWeightAreNotSeen) {
  const auto all = random_features();
  std::vector<BoostSample> samples = stepped(all);
  const FittedTrees before = boost(samples, {.trees = 5});
  for (std::size_t i = 0; i < samples.size(); i += 10)
    samples[i].weight = 0;
  const FittedTrees without = boost(samples, {.trees = 5});
  for (std::size_t i = 0; i < samples.size(); i += 10)
    samples[i].wanted = 100;
  const FittedTrees changed = boost(samples, {.trees = 5});
  EXPECT_EQ(without.leaves, changed.leaves);
  EXPECT_EQ(without.units, changed.units);
  EXPECT_NE(without.units, before.units);
}

TEST(Boost, IsTheSameEachTime) {
  const auto all = random_features();
  const FittedTrees first = boost(stepped(all), {.trees = 3});
  const FittedTrees second = boost(stepped(all), {.trees = 3});
  EXPECT_EQ(first.features, second.features);
  EXPECT_EQ(first.thresholds, second.thresholds);
  EXPECT_EQ(first.leaves, second.leaves);
}

TEST(Boost, ConstantFeaturesDivideNothing) {
  std::vector<cost::Features> all(100);
  std::vector<BoostSample> samples;
  for (const cost::Features& features : all)
    samples.push_back({&features, 0.5});
  const FittedTrees trees = boost(samples, {.trees = 50, .ridge = 0});
  EXPECT_NEAR(evaluate(trees.view(), all[0]), 0.5, 0.01);
}

TEST(Boost, NoSamplesGiveNoTrees) {
  EXPECT_TRUE(boost({}, {}).view().empty());
}

}  // namespace
}  // namespace estoc::ranking
