// Kernel classes that are CUDA code: what a compiler says about a user's text, and ready-made code.
#include "estoc/cuda_kernel_class.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "discovery/builtin.h"
#include "estoc/bundle.hpp"
#include "estoc/discovery.hpp"
#include "estoc/status.hpp"
#include "jit/nvrtc.h"
#include "unit/core/temp_folder.h"

namespace estoc {
namespace {

/// A class of one kernel with the code that a test gives it.
class GivenCode final : public CudaKernelClass {
 public:
  explicit GivenCode(CudaCode code) : code_(std::move(code)) {}
  std::string_view name() const override { return "given"; }
  Operation operation() const override { return Operation::gemm; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }
  CudaCode code(const DesignPoint& /*point*/, Target /*target*/) const override { return code_; }
  void plan(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
            const RuntimeArguments& /*arguments*/, const Workspace& /*workspace*/,
            LaunchPlan& plan) const override {
    plan.kernel({});
  }

 private:
  CudaCode code_;
  std::shared_ptr<const DesignSpace> space_ =
      DesignSpace::Builder().dtypes(Role::a_dtype, {Dtype::f32}).build();
};

Kernel kernel_of(CudaCode code) {
  auto kernel_class = std::make_shared<GivenCode>(std::move(code));
  return {kernel_class, "mine", kernel_class->space()->at(0)};
}

CompileOptions uncached() {
  CompileOptions options;
  options.use_caches = false;
  return options;
}

CompileError error_of(const std::string& source) {
  try {
    (void)kernel_of({.source = source, .image = {}}).compile(Target::sm(80), uncached());
  } catch (const CompileError& error) {
    return error;
  }
  throw std::logic_error("it compiled");
}

class CudaKernelClassTest : public ::testing::Test {
 protected:
  static void need_nvrtc() {
    std::string problem;
    if (jit::nvrtc_info(&problem) == nullptr) GTEST_SKIP() << problem;
  }
};

TEST_F(CudaKernelClassTest, ASyntaxErrorHasTheUsersLineNumbers_needs_nvrtc) {
  need_nvrtc();
  if (IsSkipped()) return;
  const std::string source =
      "struct Pair { float x, y; };\n"
      "\n"
      "extern \"C\" __global__ void estoc_kernel(Pair* pairs) {\n"
      "  pairs[threadIdx.x].x = 1;\n"
      "  pairs[threadIdx.x].z = 2\n"
      "}\n";
  const CompileError error = error_of(source);
  EXPECT_EQ(error.kind(), ErrorKind::compile);
  EXPECT_NE(error.log().find("given-f32.cu(5)"), std::string::npos) << error.log();
  EXPECT_EQ(error.log().find("given-f32.cu(4)"), std::string::npos) << error.log();
  EXPECT_NE(std::string(error.what()).find("given-f32.cu(5)"), std::string::npos) << error.what();
  EXPECT_EQ(error.source(), source);
}

TEST_F(CudaKernelClassTest, AnErrorAfterOurHeadersHasTheUsersLineNumbers_needs_nvrtc) {
  need_nvrtc();
  if (IsSkipped()) return;
  const CompileError error = error_of(
      "#include \"estoc/abi/types.cuh\"\n"
      "extern \"C\" __global__ void estoc_kernel() {\n"
      "  no_such_function();\n"
      "}\n");
  EXPECT_NE(error.log().find("given-f32.cu(3)"), std::string::npos) << error.log();
}

TEST_F(CudaKernelClassTest, CompilesFromText_needs_nvrtc) {
  need_nvrtc();
  if (IsSkipped()) return;
  const Kernel kernel =
      kernel_of({.source = "extern \"C\" __global__ void estoc_kernel() {}", .image = {}});
  const Artifact artifact = kernel.compile(Target::sm(80), uncached());
  ASSERT_NE(artifact.code(), nullptr);
  EXPECT_EQ(artifact.code()->format, "cubin");
  EXPECT_EQ(kernel.emit(Emission::source, Target::sm(80)).substr(0, 10), "extern \"C\"");
}

TEST_F(CudaKernelClassTest, RefusesAnEntryThatTheCodeLacks_needs_nvrtc) {
  need_nvrtc();
  if (IsSkipped()) return;
  const std::string source =
      "extern \"C\" __global__ void right() {}\n"
      "extern \"C\" __device__ __noinline__ int helper(int x) { return x; }\n";
  const Kernel right = kernel_of({.source = source, .image = {}, .entries = {"right"}});
  const std::string cubin = right.compile(Target::sm(80), uncached()).code()->bytes;
  for (const char* name : {"wrong", "helper", "righ"}) {
    for (const bool ready_made : {false, true}) {
      const Kernel wrong = kernel_of({.source = ready_made ? "" : source,
                                      .image = ready_made ? cubin : "",
                                      .entries = {"right", name}});
      try {
        (void)wrong.compile(Target::sm(80), uncached());
        FAIL() << name;
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::not_found);
        EXPECT_EQ(std::string(error.what()),
                  "kernel given-f32: expected its code to have the entry '" + std::string(name) +
                      "', got 'right'");
      }
    }
  }
}

TEST(CudaProvider, IsBuiltInAndComesFirst) {
  const auto providers = builtin_providers();
  ASSERT_FALSE(providers.empty());
  EXPECT_EQ(providers.front()->name(), "cuda");
  for (const auto& kernel_class : providers.front()->classes()) {
    EXPECT_NE(dynamic_cast<const CudaKernelClass*>(kernel_class.get()), nullptr);
    EXPECT_FALSE(kernel_class->abi().empty()) << "saved files need one";
  }
}

TEST_F(CudaKernelClassTest, ReadyMadeCodeIsTakenAsItIs) {
  const std::string image = "//\n.version 8.0\n.target sm_80\n";
  const Kernel kernel = kernel_of({.source = {}, .image = image});
  const Artifact artifact = kernel.compile(Target::sm(80));
  ASSERT_NE(artifact.code(), nullptr);
  EXPECT_EQ(artifact.code()->format, "ptx");
  EXPECT_EQ(artifact.code()->bytes, image);
  EXPECT_THROW((void)kernel.emit(Emission::source, Target::sm(80)), Error);
}

std::string key_of(CudaCode code, Target target = Target::sm(80), bool lineinfo = false) {
  const Kernel kernel = kernel_of(std::move(code));
  return kernel.kernel_class().code_key({kernel.point(), target, {.lineinfo = lineinfo}});
}

TEST_F(CudaKernelClassTest, TheKeyOfCodeIsAllThatItIsMadeFrom) {
  const CudaCode text{.source = "extern \"C\" __global__ void estoc_kernel() {}", .image = {}};
  CudaCode other = text;
  other.source += ' ';
  EXPECT_EQ(key_of(text), key_of(text));
  EXPECT_NE(key_of(text), key_of(other));
  EXPECT_NE(key_of(text), key_of(text, Target::sm(90)));
  EXPECT_EQ(key_of(text), key_of(text, Target::sm(80), true)) << "files hold no options";
  EXPECT_NE(key_of({.source = {}, .image = "// one"}), key_of({.source = {}, .image = "// two"}));
}

TEST_F(CudaKernelClassTest, AFileWithCodeThatTheClassNoLongerGivesIsRefused) {
  const test::TempFolder folder;
  const std::string path = (folder / "mine.estoc").string();
  const auto give = [](std::string image) {
    register_kernel_class("mine", std::make_shared<GivenCode>(CudaCode{{}, std::move(image)}));
  };
  give("// one");
  save_bundle(path, std::vector{kernel_by_name("given-f32").compile(Target::sm(80))});
  EXPECT_EQ(Bundle::open(path).size(), 1U);
  unregister_kernel_class("given");
  give("// two");
  EXPECT_THROW((void)Bundle::open(path), Error);
  unregister_kernel_class("given");
}

TEST_F(CudaKernelClassTest, LoadsOnlyCodeOfTheStatedFormat) {
  const Kernel kernel = kernel_of({.source = {}, .image = "// ptx"});
  const KernelClass& kernel_class = kernel.kernel_class();
  CompiledCode code;
  code.format = "cubin";
  code.bytes = "// ptx";
  EXPECT_THROW((void)kernel_class.load({kernel.point(), Target::sm(80)}, code), Error);
  code.bytes.clear();
  EXPECT_THROW((void)kernel_class.load({kernel.point(), Target::sm(80)}, code), Error);
}

}  // namespace
}  // namespace estoc
