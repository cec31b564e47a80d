// simt_grouped_gemm under the emulator: every mode, whatever offsets hold, against the kernels of
// the cpu provider byte for byte.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "emulator/run.h"
#include "estoc/check.hpp"
#include "estoc/discovery.hpp"
#include "estoc/numeric.hpp"
#include "estoc/problem.hpp"

namespace estoc {
namespace {

using Ends = std::vector<std::int32_t>;

/// Memory that a tensor lies in; what no element covers stays as it was.
struct Memory {
  std::vector<std::byte> bytes;
  TensorView view;

  Memory() = default;
  Memory(const TensorView& like, std::byte value)
      : bytes(static_cast<std::size_t>(like.span_bytes()) + 512, value),
        view(aligned(), like.dtype(), like.shape(), like.strides()) {}

 private:
  void* aligned() {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (256 - address % 256) % 256;
  }
};

void fill_small(Memory& memory, std::uint64_t step) {
  const std::int64_t elements = memory.view.span_bytes() * 8 / dtype_bits(memory.view.dtype());
  for (std::int64_t i = 0; i < elements; ++i) {
    const auto number = static_cast<std::uint64_t>(i) * step % 5;
    store_element(memory.view.dtype(), memory.view.data(), i, static_cast<double>(number));
  }
}

/// The operands that a text describes, filled with small whole numbers, but for the offsets.
class Data {
 public:
  Data(const Problem& problem, const std::optional<Ends>& offsets)
      : described_(problem.arguments()) {
    for (const NamedOperand& operand : described_->operands()) {
      Memory& memory = operands_.emplace_back(*operand.tensor, std::byte{0xa5});
      if (operand.role == OperandRole::input) fill_small(memory, 3 + 4 * operands_.size());
      if (operand.role != OperandRole::index) continue;
      problem.fill_index(memory.view);
      if (!offsets) continue;
      std::copy(offsets->begin(), offsets->end(), static_cast<std::int32_t*>(memory.view.data()));
    }
    for (const EpilogueOperand& operand : described_->epilogue().operands()) {
      if (operand.tensor() == nullptr) continue;
      fill_small(epilogue_.emplace_back(*operand.tensor(), std::byte{0xa5}), 7);
    }
    std::vector<Operand> operands;
    for (const Memory& memory : operands_)
      operands.emplace_back(memory.view);
    std::vector<EpilogueOperand> epilogue;
    std::size_t next = 0;
    for (const EpilogueOperand& operand : described_->epilogue().operands()) {
      if (operand.tensor() == nullptr) {
        epilogue.push_back(operand);
      } else {
        epilogue.emplace_back(operand.name, epilogue_[next++].view);
      }
    }
    arguments_ = described_->with_operands(operands, std::move(epilogue));
  }

  const RuntimeArguments& arguments() const { return *arguments_; }
  const Memory& out() const { return operands_[2]; }

 private:
  std::unique_ptr<RuntimeArguments> described_;
  std::vector<Memory> operands_;
  std::vector<Memory> epilogue_;
  std::unique_ptr<RuntimeArguments> arguments_;
};

class Grouped : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder = testing::TempDir() + "estoc_grouped_" + std::to_string(::getpid());
    ::setenv("ESTOC_CACHE_DIR", folder.c_str(), 1);
  }
  static void TearDownTestSuite() { std::filesystem::remove_all(folder); }

  static void expect(const std::string& text, const std::string& filter,
                     const std::optional<Ends>& offsets = std::nullopt) {
    SCOPED_TRACE(filter + " " + text);
    const Problem problem = Problem::parse("grouped_gemm " + text);
    const Data emulated(problem, offsets);
    const Data computed(problem, offsets);
    KernelQuery query;
    query.target = Target::sm(80);
    query.filter = MetadataFilter::parse("class=simt_grouped_gemm " + filter);
    const KernelList found = get_kernels(emulated.arguments(), query);
    ASSERT_FALSE(found.empty()) << found.why_empty();
    const emulator::Report report =
        emulator::run(found.front(), Target::sm(80), emulated.arguments());
    EXPECT_TRUE(report.clean()) << report.text();
    const CheckResult result = check_output(emulated.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
    get_kernels(computed.arguments()).front().run(computed.arguments());
    const auto bytes = static_cast<std::size_t>(emulated.out().view.span_bytes());
    EXPECT_EQ(std::memcmp(emulated.out().view.data(), computed.out().view.data(), bytes), 0);
  }

  static std::string folder;
};

std::string Grouped::folder;

TEST_F(Grouped, EveryModeWithVectorsAndWithout) {
  const std::string small = "tile=32x32x16 layouts=";
  expect("m=90 n=40 k=21 sizes=33,0,1,40 a=f32:t b=f32:t", small + "xxx");
  expect("m=96 n=40 k=24 sizes=33,0,1,40 a=f32:t b=f32:n", small + "tnt");
  expect("m=96 n=40 k=24 sizes=33,0,1,40 a=f32:t b=f32:t", small + "ttt");
  expect("along=n m=40 n=90 k=24 sizes=33,0,1,40 a=f32:n b=f32:n", small + "xxx");
  expect("along=n m=40 n=96 k=24 sizes=33,0,1,40 a=f32:n b=f32:n out=f32:n", small + "nnn");
  expect("along=k m=40 n=40 k=90 sizes=33,0,1,40 a=f32:t b=f32:n", small + "xxx");
  expect("along=k m=40 n=40 k=90 sizes=33,0,1,40 a=f32:n b=f32:t", small + "ntt");
  expect("along=l g=3 m=40 n=40 k=24 a=f32:t b=f32:t", small + "ttt");
}

TEST_F(Grouped, OtherTilesAndDtypes) {
  expect("m=300 n=70 k=40 sizes=130,1,129 a=bf16 out=bf16", "tile=64x64x16");
  expect("m=100 n=70 k=40 sizes=65,1,20 a=f64", "tile=64x64x16");
  expect("along=k m=30 n=70 k=80 sizes=30,40 a=i8 b=u8", "tile=64x64x16");
  expect("along=n m=30 n=170 k=20 sizes=130,40 a=f16 b=bf16", "tile=64x64x16");
}

TEST_F(Grouped, WhateverOffsetsHold) {
  const Ends cases[] = {{0, 0, 0},
                        {70, 70, 70},
                        {90, 90, 90},
                        {9, 3, 40},
                        {-1, -7, 50},
                        {70, 0, 70},
                        {2147483647, -2147483647 - 1, 4},
                        {0, 1, 2}};
  for (const Ends& offsets : cases) {
    for (const char* rest : {"", " zero_rest=1"}) {
      expect("g=3 m=70 n=33 k=20 a=f32" + std::string(rest), "tile=32x32x16 layouts=xxx", offsets);
      expect("g=3 along=n m=33 n=70 k=20 a=f32" + std::string(rest), "tile=32x32x16 layouts=xxx",
             offsets);
    }
    expect("g=3 along=k m=33 n=35 k=70 a=f32", "tile=32x32x16 layouts=xxx", offsets);
  }
}

TEST_F(Grouped, ManyGroupsAndNone) {
  const std::string any = "tile=32x32x16 layouts=xxx";
  expect("g=100 m=130 n=9 k=5 a=f32", any);
  expect("g=100 along=k m=9 n=9 k=150 a=f32", any);
  expect("g=33 along=n m=9 n=400 k=5 a=f32", any);
  expect("g=0 m=40 n=9 k=5 a=f32", any);
  expect("g=0 m=40 n=9 k=5 a=f32 zero_rest=1", any);
  expect("g=3 m=40 n=9 k=0 a=f32", any);
}

TEST_F(Grouped, EpiloguesSeeTheWholeOfOut) {
  const std::string any = "tile=32x32x16";
  const std::string fused =
      " v=f32:column w=f32:row C=f32:t epi=\"D = dropout(accum + v * w, 0.5, 7, 3) + C\"";
  expect("sizes=33,0,40 m=90 n=38 k=20 a=f32" + fused, any);
  expect("sizes=33,0,40 m=90 n=38 k=20 a=f32 zero_rest=1" + fused, any);
  expect("along=n sizes=33,0,40 m=38 n=90 k=20 a=f32" + fused, any);
  expect("along=k sizes=33,0,40 m=38 n=34 k=90 a=f32:n" + fused, any);
  expect("along=l g=2 m=38 n=34 k=20 a=f32" + fused, any);
}

TEST_F(Grouped, RefusesWhatItCannotDo) {
  const auto reason = [](const std::string& text, const std::string& layouts) {
    const auto arguments = Problem::parse("grouped_gemm " + text).arguments();
    const Kernel kernel =
        kernel_by_name("simt_grouped_gemm-f32-f32-f32-f32-" + layouts + "-tile32x32x16");
    return kernel.with_epilogue(arguments->epilogue_graph())
        .supports(*arguments, Target::sm(80))
        .error();
  };
  EXPECT_EQ(reason("g=2 m=64 n=32 k=16 a=f32:n b=f32", "ntt-alignA16-alignB16-alignOut16"),
            "A.layout: expected a kernel of any strides (x) where the contiguous mode is divided, "
            "got one of n");
  EXPECT_EQ(
      reason("g=2 along=k m=64 n=32 k=16 a=f32:n b=f32:n", "nnt-alignA16-alignB16-alignOut16"),
      "B.layout: expected a kernel of any strides (x) where the contiguous mode is divided, "
      "got one of n");
  EXPECT_EQ(reason("g=2 m=64 n=32 k=16 a=f32 s=f32:scalar epi=\"D = accum; s = sum(accum)\"",
                   "ttt-alignA16-alignB16-alignOut16"),
            "epilogue: expected no reduction where groups divide out, got one");
}

}  // namespace
}  // namespace estoc
