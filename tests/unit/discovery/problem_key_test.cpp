// Keys of remembered lists: equal for problems with one answer, different in whatever a class may
// see.
#include "discovery/problem_key.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "fake_class.h"

namespace estoc::discovery {
namespace {

using estoc::testing::at_most;
using estoc::testing::f32_gemm;
using estoc::testing::gemm;

std::optional<RankedListCache::Key> key_of(const RuntimeArguments& arguments,
                                           Target target = Target::cpu()) {
  return problem_key({arguments, Signature(arguments), target}, {});
}

TEST(ProblemKey, EqualProblemsHaveEqualKeys) {
  EXPECT_EQ(key_of(f32_gemm()), key_of(f32_gemm()));
  EXPECT_TRUE(key_of(f32_gemm()));
}

TEST(ProblemKey, EveryControlCounts) {
  std::map<RankedListCache::Key, std::string> keys;
  const auto add = [&](const char* name, const PerformanceControls& controls) {
    const auto [at, is_new] = keys.emplace(*key_of(f32_gemm(controls)), name);
    EXPECT_TRUE(is_new) << name << " has the key of " << at->second;
  };
  add("none", {});
  add("at most 0", at_most(0));
  add("at most 16", at_most(16));
  for (bool PerformanceControls::*control :
       {&PerformanceControls::allow_tf32, &PerformanceControls::fast_accumulation,
        &PerformanceControls::deterministic, &PerformanceControls::batch_invariant,
        &PerformanceControls::allow_bf16x6}) {
    PerformanceControls controls;
    controls.*control = !(controls.*control);
    add("one", controls);
  }
}

TEST(ProblemKey, TypesLayoutsAlignmentsAndTargetsCount) {
  std::map<RankedListCache::Key, int> keys;
  int added = 0;
  const auto add = [&](const RuntimeArguments& arguments, Target target = Target::cpu()) {
    keys.emplace(*key_of(arguments, target), ++added);
  };
  add(gemm());
  add(gemm({.a = Dtype::bf16, .b = Dtype::bf16}));
  add(gemm({.out = Dtype::f32}));
  add(gemm({.layouts = "tnt"}));
  add(gemm({.layouts = "ntt"}));
  add(gemm({.alignment = 8}));
  add(gemm({.accumulator_type = Dtype::f16}));
  add(gemm(), Target::sm(90));
  add(gemm(), Target::sm(90, true));
  add(gemm(), Target::sm(100, true));
  add(gemm({}, {}, EpilogueArguments("D = relu(accum)", {})));
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(added));
}

TEST(ProblemKey, OfAnAddressOnlyItsAlignmentCounts) {
  const auto at = [](std::uintptr_t address) {
    const std::array<std::int64_t, 2> shape{4, 4};
    const std::array<std::int64_t, 2> strides{4, 1};
    const auto view = [&](std::uintptr_t data) {
      return TensorView(reinterpret_cast<void*>(data), Dtype::f32, shape, strides);  // NOLINT
    };
    return *key_of(GemmArguments(view(address), view(0x20000), view(0x30000), Dtype::f32));
  };
  EXPECT_EQ(at(0x10000), at(0x40000));
  EXPECT_EQ(at(0x10000), at(0x10100)) << "beyond 256 bytes alignment is as good as any";
  EXPECT_NE(at(0x10000), at(0x10010));
  EXPECT_NE(at(0x10010), at(0x10008));
}

TEST(ProblemKey, ScalarsByValueAreNotRemembered) {
  const auto arguments = gemm({}, {}, EpilogueArguments("D = s * accum", {{"s", 0.5}}));
  EXPECT_EQ(key_of(arguments), std::nullopt);
}

}  // namespace
}  // namespace estoc::discovery
