// Packs: a kernel that one holds is not compiled; what cannot be used is ignored, and reported.
#include "estoc/kernel_pack.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "discovery/pack_places.h"
#include "estoc/bundle.hpp"
#include "estoc/discovery.hpp"
#include "estoc/library_search.hpp"
#include "estoc/log.hpp"
#include "fake_class.h"
#include "fake_devices.h"

namespace estoc {
namespace {

namespace fs = std::filesystem;
using testing::fake_devices;
using testing::plain_space;
using testing::Registered;

const Target kPackTarget = Target::sm(90, true);

/// A class that counts its compilations, for code that says by which it was made.
class PackableClass final : public KernelClass {
 public:
  struct Code final : CompiledObject {
    CompiledCode held;
    const CompiledCode* code() const override { return &held; }
  };

  explicit PackableClass(std::string text = "text 1") : text_(std::move(text)) {}
  std::string_view name() const override { return "packable"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  std::span<const Target> targets() const override { return kTargets; }
  bool needs_device() const override { return false; }
  std::string abi() const override { return parameters; }
  std::string code_key(const CompileRequest& request) const override {
    return text_ + request.point.space().suffix(request.point) + request.target.name();
  }
  std::shared_ptr<const CompiledObject> compile(const CompileRequest& request) const override {
    ++compilations;
    CompiledCode code;
    code.format = "text";
    code.compiler = compiler;
    code.bytes = "code" + request.point.space().suffix(request.point);
    return make(std::move(code));
  }
  std::shared_ptr<const CompiledObject> load(const CompileRequest& /*request*/,
                                             CompiledCode code) const override {
    if (refuses) throw Error(ErrorKind::value, "it is no code");
    return make(std::move(code));
  }
  std::unique_ptr<Launch> bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                               const RuntimeArguments& /*arguments*/,
                               std::shared_ptr<const CompiledObject> /*object*/,
                               const BindOptions& /*options*/) const override {
    return nullptr;
  }

  std::string compiler = "nvrtc-12.8-0";
  std::string parameters = "one";
  bool refuses = false;
  mutable int compilations = 0;

 private:
  static constexpr std::array kTargets{Target::sm(80), Target::sm(90, true)};
  static std::shared_ptr<const CompiledObject> make(CompiledCode code) {
    auto made = std::make_shared<Code>();
    made->held = std::move(code);
    return made;
  }

  std::string text_;
  std::shared_ptr<const DesignSpace> space_ = plain_space(4);
};

class KernelPackTest : public ::testing::Test {
 protected:
  KernelPackTest() {
    std::string pattern = (fs::temp_directory_path() / "estoc-packs-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    use(std::nullopt);
    set_log_callback([this](LogLevel level, std::string_view message) {
      if (level <= LogLevel::warning) log_ += std::string(message) + "\n";
    });
  }
  ~KernelPackTest() override {
    set_log_callback({});
    set_package_folders({});
    fake_devices().clear();
    use(std::nullopt);
    fs::remove_all(folder_);
  }

  /// Sets ESTOC_KERNEL_PACK, or takes it away.
  static void use(const std::optional<std::string>& value) {
    value ? ::setenv("ESTOC_KERNEL_PACK", value->c_str(), 1) : ::unsetenv("ESTOC_KERNEL_PACK");
    clear_discovery_cache();
  }

  static Kernel kernel(int variant) {
    return kernel_by_name("packable-f32-v" + std::to_string(variant));
  }

  /// Writes a pack of variants 0 and 1 by a class that compiles `text`.
  std::string pack(const std::string& name, Target target = kPackTarget,
                   const std::string& text = "text 1",
                   const std::string& compiler = "nvrtc-12.8-0") const {
    const auto kernel_class = std::make_shared<PackableClass>(text);
    kernel_class->compiler = compiler;
    const Registered registered(kernel_class);
    std::string path = folder_ / name;
    fs::create_directories(fs::path(path).parent_path());
    const CompileOptions anew{.use_caches = false};
    save_bundle(path,
                std::vector{kernel(0).compile(target, anew), kernel(1).compile(target, anew)});
    return path;
  }

  /// How many of the variants 0, 1 and 2 are compiled, not taken from a pack.
  static int compiled(const std::shared_ptr<PackableClass>& kernel_class,
                      Target target = kPackTarget) {
    const Registered registered(kernel_class);
    clear_discovery_cache();
    kernel_class->compilations = 0;
    for (int variant = 0; variant < 3; ++variant) {
      const Artifact artifact = kernel(variant).compile(target);
      EXPECT_EQ(artifact.code()->bytes, "code-f32-v" + std::to_string(variant));
    }
    return kernel_class->compilations;
  }
  static int compiled(const std::string& text = "text 1") {
    return compiled(std::make_shared<PackableClass>(text));
  }

  fs::path folder_;
  std::string log_;
};

TEST_F(KernelPackTest, AKernelThatAPackHoldsIsNotCompiled) {
  const std::string path = pack("some.estoc");
  EXPECT_EQ(compiled(), 3);
  use(path);
  EXPECT_EQ(compiled(), 1) << "variant 2 is not in it";
  use(folder_);
  EXPECT_EQ(compiled(), 3) << "a folder's packs are named after targets";
  fs::rename(path, folder_ / "sm_90a.estoc");
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(compiled(std::make_shared<PackableClass>(), Target::sm(80)), 3);
  use("off");
  EXPECT_EQ(compiled(), 3);
  EXPECT_EQ(log_, "");
}

TEST_F(KernelPackTest, OtherOptionsThanTheUsualAlwaysCompile) {
  use(pack("some.estoc"));
  const auto kernel_class = std::make_shared<PackableClass>();
  const Registered registered(kernel_class);
  (void)kernel(0).compile(kPackTarget, {.lineinfo = true});
  (void)kernel(0).compile(kPackTarget, {.use_caches = false});
  EXPECT_EQ(kernel_class->compilations, 2);
}

TEST_F(KernelPackTest, FoldersOfPackagesAreSearchedInOrder) {
  pack("old/estoc_kernels/sm_90a.estoc", kPackTarget, "text 0");
  pack("new/estoc_kernels/sm_90a.estoc");
  set_package_folders({folder_ / "none", folder_ / "old", folder_ / "new"});
  EXPECT_EQ(compiled(), 1);
  EXPECT_EQ(compiled("text 0"), 1);
  const Registered registered(std::make_shared<PackableClass>());
  const std::vector<KernelPack> packs = kernel_packs();
  ASSERT_EQ(packs.size(), 2U);
  EXPECT_EQ(packs[0].path, folder_ / "old/estoc_kernels/sm_90a.estoc");
  EXPECT_EQ(packs[0].outdated, 2U);
  EXPECT_EQ(packs[1].outdated, 0U);
}

TEST_F(KernelPackTest, APackIsFoundBesideTheLibrary) {
  const fs::path program = fs::canonical("/proc/self/exe");
  const fs::path own = program.parent_path();
  // Tests that run meanwhile would find the pack too: a copy of this program finds it, alone.
  if (own.filename().string().rfind("alone-", 0) != 0) {
    std::string alone = (own / "alone-XXXXXX").string();
    ASSERT_NE(::mkdtemp(alone.data()), nullptr);
    fs::copy_file(program, fs::path(alone) / "program");
    const std::string command =
        "'" + alone + "/program' --gtest_filter=KernelPackTest.APackIsFoundBesideTheLibrary";
    const int status = std::system(command.c_str());
    fs::remove_all(alone);
    EXPECT_EQ(status, 0);
    return;
  }
  fs::create_directory(own / "estoc_kernels");
  fs::copy_file(pack("some.estoc"), own / "estoc_kernels/sm_90a.estoc");
  EXPECT_EQ(compiled(), 1);
  fs::remove_all(own / "estoc_kernels");
  EXPECT_EQ(compiled(), 3);
}

TEST_F(KernelPackTest, AnOutdatedKernelIsCompiledAndReported) {
  use(pack("some.estoc"));
  EXPECT_EQ(compiled("text 2"), 3);
  EXPECT_NE(log_.find("another version of Estoc"), std::string::npos) << log_;
  EXPECT_EQ(log_.find('\n'), log_.size() - 1) << "said once";
  const Registered registered(std::make_shared<PackableClass>("text 2"));
  const std::vector<KernelPack> packs = kernel_packs();
  ASSERT_EQ(packs.size(), 1U);
  EXPECT_EQ(packs[0].kernels, 2U);
  EXPECT_EQ(packs[0].outdated, 2U);
  EXPECT_NE(packs[0].problem.find("2 of its 2 kernels"), std::string::npos) << packs[0].problem;
}

TEST_F(KernelPackTest, AKernelOfOtherParametersIsOutdated) {
  use(pack("some.estoc"));
  const auto kernel_class = std::make_shared<PackableClass>();
  kernel_class->parameters = "two";
  EXPECT_EQ(compiled(kernel_class), 3);
  const Registered registered(kernel_class);
  ASSERT_EQ(kernel_packs().size(), 1U);
  EXPECT_EQ(kernel_packs()[0].outdated, 2U);
}

TEST_F(KernelPackTest, AReportSaysWhatIsInAPack) {
  const std::string path = pack("some.estoc");
  use(path);
  const Registered registered(std::make_shared<PackableClass>());
  const std::vector<KernelPack> packs = kernel_packs();
  ASSERT_EQ(packs.size(), 1U);
  EXPECT_EQ(packs[0].path, path);
  EXPECT_EQ(packs[0].bytes, static_cast<std::int64_t>(fs::file_size(path)));
  EXPECT_EQ(packs[0].targets, std::vector<std::string>{"sm_90a"});
  EXPECT_EQ(packs[0].outdated, 0U);
  EXPECT_EQ(packs[0].problem, "");
}

TEST_F(KernelPackTest, APackForAnotherArchitectureIsReported) {
  pack("sm_90a.estoc", Target::sm(80));
  use(folder_);
  EXPECT_EQ(compiled(), 3);
  const Registered registered(std::make_shared<PackableClass>());
  ASSERT_EQ(kernel_packs().size(), 1U);
  EXPECT_NE(kernel_packs()[0].problem.find("no kernel for sm_90a"), std::string::npos);
}

TEST_F(KernelPackTest, WhatIsNoPackIsIgnoredAndReported) {
  const std::string path = pack("some.estoc");
  std::ifstream file(path, std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(file), {}};
  use(path);
  std::mt19937 random(1);  // NOLINT: the same bits in every run
  std::vector<std::string> broken{"", "estoc", whole.substr(0, whole.size() - 1)};
  for (int i = 0; i < 20; ++i) {
    broken.push_back(whole);
    char& byte = broken.back()[random() % whole.size()];
    byte = static_cast<char>(byte ^ 4);
  }
  for (const std::string& bytes : broken) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
    log_.clear();
    EXPECT_EQ(compiled(), 3);
    EXPECT_NE(log_.find(path), std::string::npos);
    ASSERT_EQ(kernel_packs().size(), 1U);
    EXPECT_NE(kernel_packs()[0].problem, "");
  }
  use(folder_ / "none");
  EXPECT_EQ(compiled(), 3);
  EXPECT_NE(kernel_packs()[0].problem.find("none"), std::string::npos);
}

TEST_F(KernelPackTest, APackThatChangesWhileItIsInUseIsIgnored) {
  const std::string path = pack("some.estoc");
  use(path);
  const auto kernel_class = std::make_shared<PackableClass>();
  const Registered registered(kernel_class);
  EXPECT_EQ(kernel(0).compile(kPackTarget).code()->bytes, "code-f32-v0");
  EXPECT_EQ(kernel_class->compilations, 0);
  fs::resize_file(path, 8);
  EXPECT_EQ(kernel(1).compile(kPackTarget).code()->bytes, "code-f32-v1");
  EXPECT_EQ(kernel_class->compilations, 1);
  EXPECT_NE(log_.find("changed since"), std::string::npos) << log_;
}

TEST_F(KernelPackTest, CodeThatTheClassRefusesIsCompiled) {
  use(pack("some.estoc"));
  const auto kernel_class = std::make_shared<PackableClass>();
  kernel_class->refuses = true;
  EXPECT_EQ(compiled(kernel_class), 3);
  EXPECT_NE(log_.find("it is no code"), std::string::npos) << log_;
}

TEST_F(KernelPackTest, CodeOfACompilerThatIsNewerThanTheDriverIsNotUsed) {
  use(pack("some.estoc", kPackTarget, "text 1", "nvrtc-13.2-0"));
  const testing::OneDevice device(kPackTarget);
  fake_devices().back().driver = "12.9";
  EXPECT_EQ(compiled(), 3);
  {
    const Registered registered(std::make_shared<PackableClass>());
    EXPECT_NE(kernel_packs()[0].problem.find("newer than the driver"), std::string::npos);
  }
  fake_devices().back().driver = "13.0";
  EXPECT_EQ(compiled(), 1);
}

TEST_F(KernelPackTest, AFoundPackThatOthersCanWriteToIsNotUsed) {
  const std::string path = pack("packages/estoc_kernels/sm_90a.estoc");
  set_package_folders({folder_ / "packages"});
  EXPECT_EQ(compiled(), 1);
  for (const fs::path& writable : {fs::path(path), fs::path(path).parent_path()}) {
    fs::permissions(writable, fs::perms::others_write, fs::perm_options::add);
    EXPECT_EQ(compiled(), 3) << writable;
    ASSERT_EQ(kernel_packs().size(), 1U);
    EXPECT_NE(kernel_packs()[0].problem.find("can write"), std::string::npos);
    fs::permissions(writable, fs::perms::others_write, fs::perm_options::remove);
  }
  if (::geteuid() != 0) return;
  ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(compiled(), 3);
  use(path);
  EXPECT_EQ(compiled(), 1) << "who names a file answers for it";
}

}  // namespace
}  // namespace estoc
