// Bundles: what is saved comes back, the table chooses, and damaged files are refused.
#include "estoc/bundle.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <random>
#include <utility>

#include "discovery/bundle_file.h"
#include "fake_class.h"

namespace estoc {
namespace {

using testing::error_of;
using testing::f32_gemm;
using testing::make_class;
using testing::plain_space;
using testing::Registered;

/// A class whose compiled code is its kernel's suffix.
class CodeClass final : public KernelClass {
 public:
  struct Code final : CompiledObject {
    CompiledCode held;
    const CompiledCode* code() const override { return &held; }
  };

  explicit CodeClass(std::string abi = "one", std::string code_key = "", int variants = 4)
      : abi_(std::move(abi)), code_key_(std::move(code_key)), space_(plain_space(variants)) {}
  std::string_view name() const override { return "coded"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kTargets; }
  bool needs_device() const override { return false; }
  std::string abi() const override { return abi_; }
  std::string code_key(const CompileRequest& /*request*/) const override { return code_key_; }
  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target /*target*/) const override {
    return on_supports ? on_supports(point, arguments) : Status::success();
  }

  std::shared_ptr<const CompiledObject> compile(const CompileRequest& request) const override {
    CompiledCode code;
    code.format = "text";
    code.compiler = "none";
    code.bytes = "code of " + request.point.space().suffix(request.point);
    code.resources.registers = 7;
    return make(std::move(code));
  }
  std::shared_ptr<const CompiledObject> load(const CompileRequest& /*request*/,
                                             CompiledCode code) const override {
    return make(std::move(code));
  }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    return nullptr;
  }

  std::function<Status(const DesignPoint&, const RuntimeArguments&)> on_supports;

 private:
  static constexpr std::array kTargets{Target::cpu(), Target::sm(90, true)};
  static std::shared_ptr<const CompiledObject> make(CompiledCode code) {
    auto made = std::make_shared<Code>();
    made->held = std::move(code);
    return made;
  }

  std::string abi_;
  std::string code_key_;
  std::shared_ptr<const DesignSpace> space_;
};

class BundleTest : public ::testing::Test {
 protected:
  BundleTest()
      : path_((std::filesystem::temp_directory_path() /
               ("estoc-bundle-" + std::to_string(::getpid()) + ".estoc"))
                  .string()) {}
  ~BundleTest() override { std::filesystem::remove(path_); }

  static Kernel kernel(int variant) {
    return kernel_by_name("coded-f32-v" + std::to_string(variant));
  }
  static Artifact artifact(int variant, Target target = Target::cpu()) {
    return kernel(variant).compile(target);
  }
  static Problem problem() { return Problem::of(f32_gemm()); }

  std::string read() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }

  std::string path_;
};

TEST_F(BundleTest, GivesBackWhatWasSaved) {
  const Registered registered(std::make_shared<CodeClass>());
  const Knobs knobs{.raster = Knobs::Raster::along_n, .swizzle = 4, .split = 3, .zigzag = true};
  const Kernel tuned = kernel(2).with_knobs(knobs);
  save_bundle(path_, std::vector{artifact(0), tuned.compile(Target::sm(90, true))});
  const Bundle bundle = Bundle::open(path_);
  ASSERT_EQ(bundle.size(), 2U);
  EXPECT_EQ(bundle.artifact(0).kernel().name(), "coded-f32-v0");
  EXPECT_EQ(bundle.artifact(0).code()->bytes, "code of -f32-v0");
  EXPECT_EQ(bundle.artifact(0).code()->resources.registers, 7);
  EXPECT_EQ(bundle.artifact(1).kernel(), tuned);
  EXPECT_EQ(bundle.artifact(1).target(), Target::sm(90, true));
}

TEST_F(BundleTest, IsTheSameBytesForTheSameKernels) {
  const Registered registered(std::make_shared<CodeClass>());
  save_bundle(path_, std::vector{artifact(0), artifact(1)});
  const std::string first = read();
  clear_discovery_cache();
  save_bundle(path_, std::vector{artifact(0), artifact(1)});
  EXPECT_EQ(read(), first);
}

TEST_F(BundleTest, RulesChooseByM) {
  const Registered registered(std::make_shared<CodeClass>());
  save_bundle(path_, std::vector{artifact(0), artifact(1), artifact(2, Target::sm(90, true))},
              std::vector<DispatchRule>{
                  {problem(), 1, 100, 2}, {problem(), 1, 100, 0}, {problem(), 101, 200, 1}});
  const Bundle bundle = Bundle::open(path_);
  EXPECT_EQ(bundle.find(f32_gemm()).kernel().name(), "coded-f32-v1") << "m is 128";
  const Dispatch dispatch = bundle.dispatch(f32_gemm());
  EXPECT_EQ(dispatch.select(1)->kernel().name(), "coded-f32-v0");
  EXPECT_EQ(dispatch.select(100)->kernel().name(), "coded-f32-v0");
  EXPECT_EQ(dispatch.select(101)->kernel().name(), "coded-f32-v1");
  EXPECT_EQ(dispatch.select(0), nullptr);
  EXPECT_EQ(dispatch.select(201), nullptr);
  EXPECT_EQ(bundle.dispatch(f32_gemm(), Target::sm(90, true)).select(5)->kernel().name(),
            "coded-f32-v2");
}

TEST_F(BundleTest, RulesOfGroupsHoldForAnySizes) {
  const Registered registered(std::make_shared<CodeClass>());
  Problem given = Problem::parse("grouped_gemm sizes=1,2,3 n=8 k=8 a=f32");
  given.complete();
  save_bundle(path_, std::vector{artifact(0)}, std::vector<DispatchRule>{{given, 1, 100, 0}});
  const Bundle bundle = Bundle::open(path_);
  const auto others = Problem::parse("grouped_gemm sizes=9,0,9 n=8 k=8 a=f32").arguments();
  ASSERT_NE(bundle.dispatch(*others).select(18), nullptr);
  EXPECT_EQ(bundle.dispatch(*others).select(18)->kernel().name(), "coded-f32-v0");
}

TEST_F(BundleTest, WithoutARuleTheFirstThatSupportsIsUsed) {
  const Registered registered(std::make_shared<CodeClass>());
  save_bundle(path_, std::vector{artifact(3, Target::sm(90, true)), artifact(1)});
  const Bundle bundle = Bundle::open(path_);
  EXPECT_EQ(bundle.find(f32_gemm()).kernel().name(), "coded-f32-v1");
  const Error error = error_of([&] { (void)bundle.find(testing::gemm()); });
  EXPECT_EQ(error.kind(), ErrorKind::not_found);
  EXPECT_NE(std::string(error.what()).find("a=f16"), std::string::npos) << error.what();
}

GemmArguments f32_gemm_of(std::int64_t m) {
  return {testing::describe(Dtype::f32, m, 32, 't'), testing::describe(Dtype::f32, 32, 64, 't'),
          testing::describe(Dtype::f32, m, 64, 't'), Dtype::f32};
}

TEST_F(BundleTest, AnArtifactThatDoesNotSupportTheArgumentsIsPassedOver) {
  const auto kernel_class = std::make_shared<CodeClass>();
  kernel_class->on_supports = [](const DesignPoint& point, const RuntimeArguments& arguments) {
    const bool odd = static_cast<const GemmArguments&>(arguments).extents().m % 2 != 0;
    return point.index(1) == 0 && odd ? Status::fail(Reason::shape, "m: expected an even one")
                                      : Status::success();
  };
  const Registered registered(kernel_class);
  const std::vector artifacts{artifact(0), artifact(1), artifact(2)};
  save_bundle(path_, artifacts, std::vector<DispatchRule>{{problem(), 1, 200, 0}});
  EXPECT_EQ(Bundle::open(path_).find(f32_gemm_of(64)).kernel(), artifacts[0].kernel());
  EXPECT_EQ(Bundle::open(path_).find(f32_gemm_of(65)).kernel(), artifacts[1].kernel());
  save_bundle(path_, artifacts,
              std::vector<DispatchRule>{{problem(), 1, 200, 0}, {problem(), 1, 200, 2}});
  EXPECT_EQ(Bundle::open(path_).find(f32_gemm_of(65)).kernel(), artifacts[2].kernel());
}

TEST_F(BundleTest, AnArtifactForAnotherArchitectureIsNotFound) {
  const Registered registered(std::make_shared<CodeClass>());
  save_bundle(path_, std::vector{artifact(0, Target::sm(90, true))},
              std::vector<DispatchRule>{{problem(), 1, 1000, 0}});
  const Bundle bundle = Bundle::open(path_);
  EXPECT_EQ(bundle.find(f32_gemm(), Target::sm(90, true)).target(), Target::sm(90, true));
  for (const Target other : {Target::cpu(), Target::sm(80), Target::sm(90)}) {
    const Error error = error_of([&] { (void)bundle.find(f32_gemm(), other); });
    EXPECT_EQ(error.kind(), ErrorKind::not_found);
    EXPECT_NE(std::string(error.what()).find(other.name()), std::string::npos) << error.what();
    EXPECT_TRUE(bundle.dispatch(f32_gemm(), other).empty());
  }
}

TEST_F(BundleTest, RefusesATargetThatTheKernelIsNotFor) {
  const Registered registered(std::make_shared<CodeClass>());
  for (const char* target : {"sm_80", "sm_35", "gpu", ""}) {
    discovery::StoredBundle bundle;
    bundle.artifacts.push_back({.kernel = "coded-f32-v0",
                                .target = target,
                                .abi = "one",
                                .code_key = {},
                                .knobs = {},
                                .epilogue = {},
                                .code = {}});
    write(discovery::encode(bundle));
    EXPECT_EQ(error_of([&] { (void)Bundle::open(path_); }).kind(), ErrorKind::value) << target;
  }
}

TEST_F(BundleTest, RefusesAnotherAbi) {
  {
    const Registered registered(std::make_shared<CodeClass>("one"));
    save_bundle(path_, std::vector{artifact(0)});
  }
  const Registered registered(std::make_shared<CodeClass>("two"));
  const Error error = error_of([&] { (void)Bundle::open(path_); });
  EXPECT_EQ(error.kind(), ErrorKind::value);
  EXPECT_NE(std::string(error.what()).find("another version"), std::string::npos) << error.what();
}

TEST_F(BundleTest, RefusesCodeThatTheClassWouldNotCompileNow) {
  {
    const Registered registered(std::make_shared<CodeClass>("one", "text 1"));
    save_bundle(path_, std::vector{artifact(0)});
    EXPECT_EQ(Bundle::open(path_).size(), 1U);
  }
  const Registered registered(std::make_shared<CodeClass>("one", "text 2"));
  const Error error = error_of([&] { (void)Bundle::open(path_); });
  EXPECT_EQ(error.kind(), ErrorKind::value);
  EXPECT_NE(std::string(error.what()).find("expected code 'text 2', got 'text 1'"),
            std::string::npos)
      << error.what();
}

TEST_F(BundleTest, ArtifactsOfOneKernelShareTheirCode) {
  const Registered registered(std::make_shared<CodeClass>());
  const Knobs knobs{.swizzle = 4};
  const Kernel other = kernel(0).with_knobs(knobs);
  save_bundle(path_, std::vector{artifact(0), other.compile(Target::cpu()), artifact(1)});
  const Bundle bundle = Bundle::open(path_);
  EXPECT_EQ(bundle.artifact(0).code(), bundle.artifact(1).code());
  EXPECT_EQ(bundle.artifact(1).kernel().knobs(), knobs);
  EXPECT_NE(bundle.artifact(0).code(), bundle.artifact(2).code());
}

TEST_F(BundleTest, RefusesFilesThatWouldTakeFarMoreMemoryThanTheyAreLong) {
  const Registered registered(std::make_shared<CodeClass>("one", "", 64));
  const std::string code(16 << 20, 'c');
  discovery::StoredBundle bundle;
  for (int i = 0; i < 64; ++i) {
    bundle.artifacts.push_back({.kernel = "coded-f32-v" + std::to_string(i),
                                .target = "cpu",
                                .abi = "one",
                                .code_key = {},
                                .knobs = {},
                                .epilogue = {},
                                .code = {},
                                .bytes = code});
  }
  write(discovery::encode(bundle));
  EXPECT_LT(std::filesystem::file_size(path_), 17U << 20);
  const Error error = error_of([&] { (void)Bundle::open(path_); });
  EXPECT_EQ(error.kind(), ErrorKind::value);
  EXPECT_NE(std::string(error.what()).find("share more code"), std::string::npos) << error.what();
}

TEST_F(BundleTest, AFileThatIsCutAfterItWasOpenedStaysWhole) {
  const Registered registered(std::make_shared<CodeClass>());
  save_bundle(path_, std::vector{artifact(0)});
  const Bundle bundle = Bundle::open(path_);
  std::filesystem::resize_file(path_, 0);
  EXPECT_EQ(bundle.artifact(0).code()->bytes, "code of -f32-v0");
}

TEST_F(BundleTest, RefusesAKernelWhoseClassIsNotThere) {
  {
    const Registered registered(std::make_shared<CodeClass>());
    save_bundle(path_, std::vector{artifact(0)});
  }
  EXPECT_EQ(error_of([&] { (void)Bundle::open(path_); }).kind(), ErrorKind::not_found);
}

TEST_F(BundleTest, RefusesToSaveWhatExistsOnlyBesideItsDevice) {
  auto fake = make_class("fake", plain_space());
  fake->only_with_device = true;
  const Kernel kernel(fake, "fake", fake->design_space->at(0));
  const std::vector artifacts{Artifact(kernel, Target::cpu(), nullptr)};
  EXPECT_EQ(error_of([&] { save_bundle(path_, artifacts); }).kind(), ErrorKind::unsupported);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(BundleTest, RefusesARuleOfNoArtifact) {
  const Registered registered(std::make_shared<CodeClass>());
  const std::vector<DispatchRule> rules{{problem(), 1, 2, 1}};
  EXPECT_EQ(error_of([&] { save_bundle(path_, std::vector{artifact(0)}, rules); }).kind(),
            ErrorKind::value);
}

TEST_F(BundleTest, EveryTruncationIsRefused) {
  const Registered registered(std::make_shared<CodeClass>());
  save_bundle(path_, std::vector{artifact(0), artifact(1)});
  const std::string whole = read();
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    write(whole.substr(0, length));
    EXPECT_EQ(error_of([&] { (void)Bundle::open(path_); }).kind(), ErrorKind::value) << length;
  }
}

TEST_F(BundleTest, EveryFlippedBitIsRefused) {
  const Registered registered(std::make_shared<CodeClass>());
  save_bundle(path_, std::vector{artifact(0), artifact(1)});
  const std::string whole = read();
  std::mt19937 random(1);  // NOLINT: the same bits in every run
  for (int i = 0; i < 300; ++i) {
    std::string damaged = whole;
    const std::size_t at = random() % whole.size();
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    // The header's length of the manifest is not under the hash; a wrong one breaks the JSON.
    write(damaged);
    EXPECT_EQ(error_of([&] { (void)Bundle::open(path_); }).kind(), ErrorKind::value) << at;
  }
}

}  // namespace
}  // namespace estoc
