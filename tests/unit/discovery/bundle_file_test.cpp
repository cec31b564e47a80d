// The bytes of a bundle: what is encoded comes back, equal code stands once, and manifests that
// make no sense are refused.
#include "discovery/bundle_file.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/hash.h"
#include "fake_class.h"

namespace estoc {
namespace {

using testing::error_of;

discovery::StoredArtifact artifact(std::string kernel, std::string_view bytes) {
  return {.kernel = std::move(kernel),
          .target = "sm_90a",
          .abi = "abi 2",
          .code_key = "0123",
          .knobs = {.raster = Knobs::Raster::along_n,
                    .swizzle = 8,
                    .split = 3,
                    .split_tiles = 5,
                    .zigzag = true},
          .epilogue = "acc f32; store f32 accum",
          .code = {.format = "cubin",
                   .compiler = "nvrtc-13.0",
                   .bytes = {},
                   .resources = {.registers = 168,
                                 .shared_bytes = 1,
                                 .stack_bytes = 2,
                                 .spill_store_bytes = 3,
                                 .spill_load_bytes = 4,
                                 .barriers = 5},
                   .log = "not kept"},
          .bytes = bytes};
}

TEST(BundleFile, GivesBackWhatWasEncoded) {
  const std::string code("co\0de", 5);
  discovery::StoredBundle bundle{{artifact("first", code), artifact("second", "other")}, {}};
  bundle.rules.push_back({.problem = "gemm n=1", .m_low = 1, .m_high = 1LL << 40, .artifact = 1});
  const std::string bytes = discovery::encode(bundle);
  const discovery::StoredBundle back = discovery::decode(bytes);
  ASSERT_EQ(back.artifacts.size(), 2U);
  const discovery::StoredArtifact& first = back.artifacts[0];
  EXPECT_EQ(first.kernel, "first");
  EXPECT_EQ(first.target, "sm_90a");
  EXPECT_EQ(first.abi, "abi 2");
  EXPECT_EQ(first.code_key, "0123");
  EXPECT_EQ(first.knobs, bundle.artifacts[0].knobs);
  EXPECT_EQ(first.epilogue, bundle.artifacts[0].epilogue);
  EXPECT_EQ(first.code.format, "cubin");
  EXPECT_EQ(first.code.compiler, "nvrtc-13.0");
  EXPECT_EQ(first.code.resources, bundle.artifacts[0].code.resources);
  EXPECT_EQ(first.code.log, "");
  EXPECT_EQ(first.bytes, code);
  EXPECT_EQ(back.artifacts[1].bytes, "other");
  ASSERT_EQ(back.rules.size(), 1U);
  EXPECT_EQ(back.rules[0].problem, "gemm n=1");
  EXPECT_EQ(back.rules[0].m_high, 1LL << 40);
  EXPECT_EQ(back.rules[0].artifact, 1U);
}

TEST(BundleFile, EqualCodeStandsOnceAtAMultipleOf64) {
  const std::string code(1000, 'c');
  const std::string copy(1000, 'c');
  const std::string bytes =
      discovery::encode({{artifact("a", code), artifact("b", "x"), artifact("c", copy)}, {}});
  EXPECT_EQ(bytes.find(code), bytes.rfind(code));
  const discovery::StoredBundle back = discovery::decode(bytes);
  EXPECT_EQ(back.artifacts[0].bytes.data(), back.artifacts[2].bytes.data());
  for (const discovery::StoredArtifact& each : back.artifacts)
    EXPECT_EQ((each.bytes.data() - bytes.data()) % 64, 0) << each.kernel;
}

TEST(BundleFile, SaysWhatIsWrongWithAHeader) {
  const std::string bytes = discovery::encode({});
  const auto complaint = [](const std::string& damaged) {
    return std::string(error_of([&] { (void)discovery::decode(damaged); }).what());
  };
  EXPECT_EQ(complaint("ELF"),
            "artifact file: expected a file that 'estoc compile' wrote, got another");
  EXPECT_EQ(complaint(bytes.substr(0, 31)), "artifact file: it is truncated");
  std::string other = bytes;
  other[8] = 9;
  EXPECT_NE(complaint(other).find("expected schema 2, got 9"), std::string::npos);
  other = bytes;
  other.back() = static_cast<char>(other.back() ^ 1);
  EXPECT_EQ(complaint(other), "artifact file: it is damaged or truncated");
}

TEST(BundleFile, RefusesKnobsThatNoKernelHas) {
  for (const auto& [swizzle, split] : {std::pair(0, 1), std::pair(1, 0), std::pair(-3, 2)}) {
    discovery::StoredBundle bundle;
    bundle.artifacts.push_back({.kernel = "k",
                                .target = "cpu",
                                .abi = "",
                                .code_key = {},
                                .knobs = {},
                                .epilogue = {},
                                .code = {}});
    bundle.artifacts[0].knobs.swizzle = static_cast<std::int16_t>(swizzle);
    bundle.artifacts[0].knobs.split = static_cast<std::int16_t>(split);
    EXPECT_EQ(error_of([&] { (void)discovery::decode(discovery::encode(bundle)); }).kind(),
              ErrorKind::value);
  }
}

// A file with this manifest, its length and hash as they should be.
std::string file_with(const std::string& manifest) {
  std::string bytes = discovery::encode({}).substr(0, 32) + manifest;
  auto put = [&](std::size_t at, std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i)
      bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
  };
  put(12, manifest.size(), 4);
  const core::Hash128 hash = core::hash(std::string_view(bytes).substr(32));
  put(16, hash.high, 8);
  put(24, hash.low, 8);
  return bytes;
}

TEST(BundleFile, RefusesNamesOfMegabytes) {
  discovery::StoredBundle bundle;
  bundle.artifacts.push_back({.kernel = std::string(20 << 20, 'k'),
                              .target = "cpu",
                              .abi = "",
                              .code_key = {},
                              .knobs = {},
                              .epilogue = {},
                              .code = {}});
  const Error error = error_of([&] { (void)discovery::decode(discovery::encode(bundle)); });
  EXPECT_EQ(error.kind(), ErrorKind::value);
  EXPECT_LT(std::string(error.what()).size(), 200U);
}

TEST(BundleFile, RefusesManifestsThatAreNestedDeeply) {
  for (const std::string& manifest :
       {std::string(1 << 20, '['), R"({"artifacts":[],"rules":)" + std::string(1000, '[')}) {
    const Error error = error_of([&] { (void)discovery::decode(file_with(manifest)); });
    EXPECT_EQ(error.kind(), ErrorKind::value);
    EXPECT_NE(std::string(error.what()).find("deeply"), std::string::npos) << error.what();
  }
}

TEST(BundleFile, RefusesNumbersThatAreNone) {
  auto manifest = [](const std::string& number) {
    return R"({"artifacts":[{"kernel":"k","target":"cpu","abi":"","format":"","compiler":"",)"
           R"("epilogue":"","knobs":{"raster":"m","swizzle":1,"split":1},"offset":)" +
           number +
           R"(,"bytes":0,"resources":{"registers":0,"shared_bytes":0,"stack_bytes":0,)"
           R"("spill_store_bytes":0,"spill_load_bytes":0,"barriers":0}}],"rules":[]})";
  };
  EXPECT_EQ(discovery::decode(file_with(manifest("0"))).artifacts.size(), 1U);
  for (const char* wrong :
       {"-1", "0.5", "1e300", "true", "\"0\"", "null", "18446744073709551616"}) {
    EXPECT_EQ(error_of([&] { (void)discovery::decode(file_with(manifest(wrong))); }).kind(),
              ErrorKind::value)
        << wrong;
  }
}

TEST(BundleFile, RefusesOffsetsBeyondTheFile) {
  discovery::StoredBundle bundle;
  bundle.artifacts.push_back({.kernel = "k",
                              .target = "cpu",
                              .abi = "",
                              .code_key = {},
                              .knobs = {},
                              .epilogue = {},
                              .code = {}});
  bundle.rules.push_back({.problem = "gemm", .m_low = 0, .m_high = 1, .artifact = 9});
  EXPECT_EQ(error_of([&] { (void)discovery::decode(discovery::encode(bundle)); }).kind(),
            ErrorKind::value);
}

}  // namespace
}  // namespace estoc
