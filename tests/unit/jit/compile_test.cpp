// Reading ptxas' report, and compiling where NVRTC is installed.
#include "jit/compile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "jit/device_sources.h"
#include "unit/core/temp_folder.h"

namespace estoc::jit {
namespace {

constexpr const char* kLog =
    "ptxas info    : 76 bytes gmem\n"
    "ptxas info    : Compiling entry function 'estoc_kernel' for 'sm_90a'\n"
    "ptxas info    : Function properties for estoc_kernel\n"
    "ptxas         .     624 bytes stack frame, 1232 bytes spill stores, 1188 bytes spill loads\n"
    "ptxas info    : Used 255 registers, used 1 barriers, 624 bytes cumulative stack size, 4096 "
    "bytes smem\n"
    "ptxas warning : Potential Performance Loss: wgmma.mma_async instructions are serialized due "
    "to (C7510) in function\n";

TEST(ParseResources, ReadsEveryFigure) {
  const KernelResources resources = parse_resources(kLog);
  EXPECT_EQ(resources.registers, 255);
  EXPECT_EQ(resources.stack_bytes, 624);
  EXPECT_EQ(resources.spill_store_bytes, 1232);
  EXPECT_EQ(resources.spill_load_bytes, 1188);
  EXPECT_EQ(resources.barriers, 1);
  EXPECT_EQ(resources.shared_bytes, 4096);
}

TEST(ParseResources, OfAnEmptyLogIsNothing) {
  EXPECT_EQ(parse_resources(""), KernelResources{});
}

TEST(PerformanceWarnings, AreTheLinesOfTheSeventyFiveHundreds) {
  EXPECT_EQ(performance_warnings(kLog).size(), 1u);
  EXPECT_TRUE(performance_warnings("ptxas info : Used 3 registers").empty());
}

TEST(DeviceSources, AreBuiltIn) {
  EXPECT_NE(device_source("estoc/abi/types.cuh").find("namespace estoc::abi"),
            std::string_view::npos);
  EXPECT_THROW((void)device_source("estoc/none.cuh"), Error);
}

class Nvrtc : public testing::Test {
 protected:
  void SetUp() override {
    std::string problem;
    if (nvrtc_info(&problem) == nullptr) GTEST_SKIP() << problem;
  }

  static UnitRequest request(const std::string& body) {
    return {.name = "test",
            .source = "extern \"C\" __global__ void estoc_kernel(float* x) { " + body + " }",
            .target = Target::sm(80)};
  }
  static constexpr CompilePolicy kMemoryOnly{.use_memory = true, .use_disk = false};
};

TEST_F(Nvrtc, CompilesAndRemembers) {
  clear_unit_memory();
  UnitOrigin origin{};
  const auto first = compile_unit(request("x[0] = 1;"), kMemoryOnly, &origin);
  EXPECT_EQ(origin, UnitOrigin::compiler);
  EXPECT_EQ(first->code.bytes.substr(0, 4),
            "\x7f"
            "ELF");
  EXPECT_GT(first->code.resources.registers, 0);
  EXPECT_EQ(compile_unit(request("x[0] = 1;"), kMemoryOnly, &origin), first);
  EXPECT_EQ(origin, UnitOrigin::memory);
}

TEST_F(Nvrtc, GivesTheSameBytesAgain) {
  const CompilePolicy anew{.use_memory = false, .use_disk = false};
  EXPECT_EQ(compile_unit(request("x[1] = 2;"), anew)->code.bytes,
            compile_unit(request("x[1] = 2;"), anew)->code.bytes);
}

TEST_F(Nvrtc, AnErrorCarriesLogAndSource) {
  try {
    (void)compile_unit(request("x[0] = undefined_name;"), kMemoryOnly);
    FAIL() << "compiled";
  } catch (const CompileError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::compile);
    EXPECT_NE(error.log().find("undefined_name"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("test.cu(1)"), std::string::npos) << error.what();
    EXPECT_NE(error.source().find("estoc_kernel"), std::string::npos);
  }
}

TEST_F(Nvrtc, FilesOfTheWorkingFolderAreNotIncluded) {
  const test::TempFolder folder;
  test::write_text(folder / "helper.cuh", "#define VALUE 1\n");
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.path());
  UnitRequest including = request("x[0] = VALUE;");
  including.source.insert(0, "#include \"helper.cuh\"\n");
  EXPECT_THROW((void)compile_unit(including, kMemoryOnly), CompileError);
  std::filesystem::current_path(before);
}

TEST_F(Nvrtc, AFailureIsNotRemembered) {
  EXPECT_THROW((void)compile_unit(request("nonsense"), kMemoryOnly), CompileError);
  EXPECT_THROW((void)compile_unit(request("nonsense"), kMemoryOnly), CompileError);
}

TEST_F(Nvrtc, ThreadsThatAskForOneUnitShareIt) {
  clear_unit_memory();
  std::vector<std::shared_ptr<const Unit>> units(8);
  std::atomic<int> compiled{0};
  {
    std::vector<std::jthread> threads;
    for (auto& unit : units) {
      threads.emplace_back([&] {
        UnitOrigin origin{};
        unit = compile_unit(request("x[7] = 7;"), kMemoryOnly, &origin);
        if (origin == UnitOrigin::compiler) ++compiled;
      });
    }
  }
  EXPECT_EQ(compiled, 1);
  for (const auto& unit : units)
    EXPECT_EQ(unit, units[0]);
}

TEST_F(Nvrtc, AnUnknownArchitectureIsASentence) {
  UnitRequest old = request("x[0] = 1;");
  old.target = Target::sm(35);
  try {
    (void)compile_unit(old, kMemoryOnly);
    FAIL() << "compiled";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    EXPECT_NE(std::string(error.what()).find("sm_35"), std::string::npos);
  }
}

}  // namespace
}  // namespace estoc::jit
