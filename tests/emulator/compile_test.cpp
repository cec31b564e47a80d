// The wrappers and the test kernels compile with NVRTC for their targets, without a warning, and
// the wrappers to the instructions that they are for.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "jit/device_sources.h"
#include "jit/nvrtc.h"

namespace estoc {
namespace {

std::string read(const std::string& name) {
  std::ifstream file(fmt::format("{}/tests/emulator/{}", ESTOC_SOURCE_DIR, name));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// What compiling says; everything but ptxas's figures is a failure.
void expect_compiles(const std::string& source, const std::string& target,
                     std::vector<std::string> options = {}) {
  options.insert(options.end(),
                 {"--gpu-architecture=" + target, "--std=c++20", "--ptxas-options=-v"});
  std::string log;
  try {
    log = jit::nvrtc_compile({.file_name = "test.cu",
                              .source = source,
                              .headers = jit::device_sources().headers,
                              .options = options})
              .log;
  } catch (const CompileError& error) {
    FAIL() << target << "\n" << error.log();
  }
  for (const char* bad : {"warning", "error", "C75"}) {
    EXPECT_EQ(log.find(bad), std::string::npos) << target << "\n" << log;
  }
}

// The instructions that wrappers put into the PTX, each once, without the numbers of registers.
std::set<std::string> instructions_of(const std::string& source, const std::string& target) {
  const std::string ptx =
      jit::nvrtc_compile({.file_name = "test.cu",
                          .source = source,
                          .headers = jit::device_sources().headers,
                          .options = {"--gpu-architecture=" + target, "--std=c++20"},
                          .want_ptx = true})
          .ptx;
  const std::regex registers("%[a-z]+[0-9]+");
  std::set<std::string> all;
  std::istringstream lines(ptx);
  std::string instruction;
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(" \t"));
    if (line.starts_with("// end inline asm")) {
      inside = false;
      if (!instruction.empty()) all.insert(std::regex_replace(instruction, registers, "%"));
    } else if (inside && !line.empty()) {
      instruction += (instruction.empty() ? "" : " ") + line;
    } else if (line.starts_with("// begin inline asm")) {
      inside = true;
      instruction.clear();
    }
  }
  return all;
}

class Compile : public testing::Test {
 protected:
  void SetUp() override {
    std::string problem;
    if (jit::nvrtc_info(&problem) == nullptr) GTEST_SKIP() << problem;
  }
};

TEST_F(Compile, WrappersOfSm80) {
  for (const char* target : {"sm_80", "sm_90a", "sm_120"})
    expect_compiles(read("ptx/sm80.cu"), target);
}

TEST_F(Compile, WrappersOfSm89) {
  expect_compiles(read("ptx/sm89.cu"), "sm_89");
}

TEST_F(Compile, WrappersOfSm90a) {
  expect_compiles(read("ptx/sm90a.cu"), "sm_90a");
}

// Each .cta_group by itself, as ptxas refuses both in one function; sm_103a has no integers.
TEST_F(Compile, WrappersOfSm100a) {
  for (const char* group : {"-DGROUP=1", "-DGROUP=2"}) {
    expect_compiles(read("ptx/sm100a.cu"), "sm_100a", {group, "-DINTEGERS"});
    expect_compiles(read("ptx/sm100a.cu"), "sm_103a", {group});
  }
}

TEST_F(Compile, WrappersOfSm120a) {
  for (const char* target : {"sm_120a", "sm_121a"})
    expect_compiles(read("ptx/sm120a.cu"), target);
}

TEST_F(Compile, WrappersOfLaunchControl) {
  for (const char* target : {"sm_100a", "sm_103a", "sm_120a"})
    expect_compiles(read("ptx/launch_control.cu"), target);
}

// The emulator has twins of the wrappers and never reads them. ESTOC_WRITE_GOLDEN=1 in the
// environment writes the file anew, for a change that is meant.
TEST_F(Compile, WrappersAreTheInstructionsOfTheGoldenText) {
  const std::string name = "ptx/golden.txt";
  std::string got;
  for (const auto& [file, target] :
       {std::pair{"sm80", "sm_80"}, std::pair{"sm89", "sm_89"}, std::pair{"sm90a", "sm_90a"},
        std::pair{"sm100a", "sm_100a"}, std::pair{"launch_control", "sm_100a"},
        std::pair{"sm120a", "sm_120a"}}) {
    got += fmt::format("# {}.cu for {}\n", file, target);
    for (const std::string& line : instructions_of(read(fmt::format("ptx/{}.cu", file)), target))
      got += line + "\n";
  }
  if (std::getenv("ESTOC_WRITE_GOLDEN") != nullptr) {
    std::ofstream(fmt::format("{}/tests/emulator/{}", ESTOC_SOURCE_DIR, name)) << got;
  }
  EXPECT_EQ(got, read(name));
}

struct Pair {
  const char* first;
  const char* second;
  bool packed = false;
};

std::string name_of(const Pair& pair) {
  return fmt::format("{}_{}{}", pair.first, pair.second, pair.packed ? "_packed" : "");
}

void PrintTo(const Pair& pair, std::ostream* to) {  // NOLINT: the name that GoogleTest looks for
  *to << name_of(pair);
}

class CompileWgmma : public testing::TestWithParam<Pair> {};

TEST_P(CompileWgmma, EveryWidth) {
  if (jit::nvrtc_info() == nullptr) GTEST_SKIP();
  std::vector<std::string> options{fmt::format("-DFIRST={}", GetParam().first),
                                   fmt::format("-DSECOND={}", GetParam().second)};
  if (GetParam().packed) options.emplace_back("-DPACKED");
  expect_compiles(read("ptx/wgmma.cu"), "sm_90a", options);
}

INSTANTIATE_TEST_SUITE_P(Types, CompileWgmma,
                         testing::Values(Pair{"f16", "f16"}, Pair{"bf16", "bf16"},
                                         Pair{"tf32", "tf32"}, Pair{"e4m3", "e4m3"},
                                         Pair{"e4m3", "e5m2"}, Pair{"e5m2", "e4m3"},
                                         Pair{"e5m2", "e5m2"}, Pair{"i8", "i8"}, Pair{"i8", "u8"},
                                         Pair{"u8", "i8"}, Pair{"u8", "u8"},
                                         Pair{"f16", "f16", true}, Pair{"e4m3", "e4m3", true},
                                         Pair{"e4m3", "e5m2", true}, Pair{"e5m2", "e4m3", true},
                                         Pair{"e5m2", "e5m2", true}),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace estoc
