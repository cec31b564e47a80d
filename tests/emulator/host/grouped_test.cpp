// Kernels of grouped products under the emulator: every mode, whatever offsets hold, against the
// kernels of the cpu provider byte for byte.
#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "emulated.h"
#include "estoc/numeric.hpp"

namespace estoc::grouped_test {
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
  const Memory& operand(std::size_t i) const { return operands_[i]; }

 private:
  std::unique_ptr<RuntimeArguments> described_;
  std::vector<Memory> operands_;
  std::vector<Memory> epilogue_;
  std::unique_ptr<RuntimeArguments> arguments_;
};

class Grouped : public EmulatedKernels {
 protected:
  static void expect(const std::string& text, const std::string& filter,
                     const std::optional<Ends>& offsets = std::nullopt) {
    expect_of("simt_grouped_gemm", Target::sm(80), text, filter, offsets);
  }
  static void expect_wgmma(const std::string& text, const std::string& filter,
                           const std::optional<Ends>& offsets = std::nullopt) {
    expect_of("sm90_grouped_gemm", Target::sm(90, true), text, filter, offsets);
  }
  static void expect_swapped(const std::string& text, const std::string& filter,
                             const std::optional<Ends>& offsets = std::nullopt) {
    expect_of("sm90_swapped_grouped_gemm", Target::sm(90, true), text, filter, offsets);
  }
  /// By single CTAs and by pairs.
  static void expect_tcgen05(const std::string& text, const std::string& filter,
                             const std::optional<Ends>& offsets = std::nullopt) {
    for (const char* cluster : {" cluster=1x1", " cluster!=1x1"})
      expect_of("sm100_grouped_gemm", Target::sm(100, true), text, filter + cluster, offsets);
  }

  static void expect_mma(const std::string& text, const std::string& filter,
                         const std::optional<Ends>& offsets = std::nullopt) {
    expect_of("sm80_grouped_gemm", Target::sm(80), text, filter, offsets);
  }

  static void expect_of(const std::string& kernel_class, Target target, const std::string& text,
                        const std::string& filter, const std::optional<Ends>& offsets) {
    SCOPED_TRACE(kernel_class + " " + filter + " " + text);
    const Problem problem = Problem::parse("grouped_gemm " + text);
    const Data emulated(problem, offsets);
    const Data computed(problem, offsets);
    KernelQuery query;
    query.target = target;
    query.filter = MetadataFilter::parse("class=" + kernel_class + " " + filter);
    const KernelList found = get_kernels(emulated.arguments(), query);
    ASSERT_FALSE(found.empty()) << found.why_empty();
    if (!is_due(found.front(), target)) return;
    const emulator::Report report = emulator::run(found.front(), target, emulated.arguments());
    EXPECT_TRUE(report.clean()) << report.text();
    const CheckResult result = check_output(emulated.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
    get_kernels(computed.arguments()).front().run(computed.arguments());
    const auto bytes = static_cast<std::size_t>(emulated.out().view.span_bytes());
    EXPECT_EQ(std::memcmp(emulated.out().view.data(), computed.out().view.data(), bytes), 0);
  }
};

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

const std::string kRagged = "sizes=33,0,133,1,90 ";

TEST_F(Grouped, WgmmaEveryModeAndLayout) {
  const std::string rows = "m=270 n=136 k=72 " + kRagged;
  expect_wgmma(rows + "a=bf16:t b=bf16:n out=bf16", "tile=128x128x64 cluster=1x1");
  expect_wgmma(rows + "a=bf16:t b=bf16:t out=bf16 zero_rest=1", "tile=128x128x64 cluster=2x1");
  expect_wgmma(rows + "a=f16:t b=f16:n out=f32", "tile=128x64x64 cluster=1x2");
  expect_wgmma(rows + "a=bf16:t b=bf16:n out=bf16:n zero_rest=1", "tile=128x64x64 cluster=1x1");
  const std::string columns = "along=n m=136 n=270 k=72 " + kRagged;
  expect_wgmma(columns + "a=bf16:t b=bf16:n out=bf16", "tile=128x64x64 cluster=1x1");
  expect_wgmma(columns + "a=bf16:n b=bf16:n out=bf16 zero_rest=1", "tile=128x64x64 cluster=1x2");
  expect_wgmma(columns + "a=bf16:t b=bf16:n out=bf16:n", "tile=64x128x64 cluster=1x1");
  const std::string reduction = "along=k m=136 n=72 k=304 " + kRagged;
  expect_wgmma(reduction + "a=bf16:n b=bf16:t out=bf16", "tile=128x64x64 cluster=1x1");
  expect_wgmma(reduction + "a=bf16:t b=bf16:n out=f32", "tile=128x64x64 cluster=2x1");
  expect_wgmma(reduction + "a=f16:t b=f16:t out=f16", "tile=128x64x64 cluster=1x2");
  expect_wgmma(reduction + "a=f16:n b=f16:n out=f16:n", "tile=64x64x64 cluster=1x1");
  expect_wgmma("along=l g=3 m=40 n=72 k=72 a=bf16:t b=bf16:n out=bf16", "tile=64x64x64");
}

TEST_F(Grouped, Tcgen05EveryModeAndLayout) {
  const std::string rows = "m=370 n=136 k=72 " + kRagged;
  expect_tcgen05(rows + "a=bf16:t b=bf16:n out=bf16", "tile=128x64x64");
  expect_tcgen05(rows + "a=bf16:t b=bf16:t out=bf16 zero_rest=1", "tile=128x128x64");
  expect_tcgen05(rows + "a=bf16:t b=bf16:n out=bf16:n zero_rest=1", "tile=64x128x64");
  const std::string columns = "along=n m=136 n=370 k=72 " + kRagged;
  expect_tcgen05(columns + "a=bf16:n b=bf16:n out=f32 zero_rest=1", "tile=128x64x64");
  expect_tcgen05(columns + "a=f16:t b=f16:n out=f16:n", "tile=64x128x64");
  const std::string reduction = "along=k m=264 n=136 k=304 " + kRagged;
  for (const char* letters : {"a=bf16:n b=bf16:t", "a=bf16:t b=bf16:n", "a=bf16:t b=bf16:t"})
    expect_tcgen05(reduction + letters, "tile=128x128x64");
  expect_tcgen05(reduction + "a=e4m3:t b=e5m2:n out=bf16", "tile=128x64x128");
  expect_tcgen05(reduction + "a=tf32:t b=tf32:n", "tile=128x64x32");
  expect_tcgen05("along=l g=3 m=136 n=72 k=72 a=bf16:t b=bf16:n out=bf16", "tile=128x64x64");
}

TEST_F(Grouped, WgmmaSchedulesAndDtypes) {
  for (const char* schedule : {"cooperative", "pingpong", "single"}) {
    const std::string tile = schedule[0] == 's' ? "tile=64x64x64" : "tile=128x64x64";
    const std::string filter = tile + " cluster=1x1 schedule=" + schedule;
    expect_wgmma("m=400 n=200 k=136 zero_rest=1 g=7 a=bf16:t b=bf16:n out=bf16", filter);
    expect_wgmma("along=k m=136 n=200 k=400 g=7 a=bf16:n b=bf16:t out=f32", filter);
    expect_wgmma("along=k m=136 n=200 k=400 g=7 a=bf16:t b=bf16:n out=f32", filter);
  }
  expect_wgmma("along=k m=136 n=72 k=304 a=e4m3:t b=e5m2:n out=bf16 " + kRagged, "cluster=1x1");
  expect_wgmma("along=k m=136 n=72 k=304 a=i8:t b=u8:n " + kRagged, "cluster=1x1");
  expect_wgmma("along=k m=136 n=72 k=304 a=tf32:t b=tf32:n " + kRagged, "cluster=1x1");
  expect_wgmma("m=270 n=136 k=80 a=e4m3:t b=e4m3:n out=bf16 " + kRagged, "tile=128x64x128");
}

TEST_F(Grouped, WgmmaWhateverOffsetsHold) {
  const Ends cases[] = {{0, 0, 0},
                        {70, 70, 70},
                        {90, 90, 90},
                        {9, 3, 40},
                        {-1, -7, 50},
                        {70, 0, 70},
                        {2147483647, -2147483647 - 1, 4}};
  for (const Ends& offsets : cases) {
    for (const char* rest : {"", " zero_rest=1"}) {
      const std::string each = std::string(" k=72 a=bf16:t b=bf16:n out=bf16") + rest;
      expect_wgmma("g=3 m=70 n=72" + each, "tile=64x64x64 cluster=1x1", offsets);
      expect_wgmma("g=3 along=n m=72 n=70" + each, "tile=64x64x64 cluster=1x1", offsets);
      expect_swapped("g=3 m=70 n=72" + each, "tile=16x64x64", offsets);
      expect_tcgen05("g=3 m=70 n=72" + each, "tile=128x64x64", offsets);
    }
    expect_tcgen05("g=3 along=k m=72 n=72 k=72 a=bf16:t b=bf16:n", "tile=128x64x64", offsets);
    expect_wgmma("g=3 along=k m=72 n=72 k=72 a=bf16:n b=bf16:t", "tile=64x64x64 cluster=1x1",
                 offsets);
    expect_wgmma("g=3 along=k m=72 n=72 k=72 a=bf16:t b=bf16:n", "tile=64x64x64 cluster=1x1",
                 offsets);
  }
}

TEST_F(Grouped, WgmmaManyGroupsAndNone) {
  const std::string each = " a=bf16:t b=bf16:n out=bf16";
  const std::string any = "tile=64x64x64 cluster=1x1";
  expect_wgmma("g=100 m=330 n=72 k=16" + each, any);
  expect_wgmma("g=512 m=600 n=8 k=8" + each, any);
  expect_wgmma("g=33 along=k m=8 n=8 k=160" + each, any);
  expect_wgmma("g=0 m=40 n=72 k=16" + each, any);
  expect_wgmma("g=0 m=40 n=72 k=16 zero_rest=1" + each, any);
  expect_tcgen05("g=100 m=330 n=72 k=16" + each, "tile=128x64x64");
  expect_tcgen05("g=0 m=40 n=72 k=16 zero_rest=1" + each, "tile=128x64x64");
  expect_swapped("g=100 m=130 n=136 k=72" + each, "tile=16x128x64");
  expect_of("sm100_swapped_grouped_gemm", Target::sm(103, true), "g=100 m=130 n=136 k=72" + each,
            "tile=16x128x64", std::nullopt);
  expect_swapped("m=130 n=136 k=72 sizes=40,1,16,17,0,9" + each, "tile=16x64x64");
}

TEST_F(Grouped, WgmmaEpiloguesSeeTheWholeOfOut) {
  const std::string fused =
      " a=bf16:t b=bf16:n out=f32 v=f32:column w=f32:row C=bf16 X=bf16:t"
      " epi=\"D = dropout(accum + v * w, 0.5, 7, 3) + C; X = accum\"";
  for (const char* rest : {"", "zero_rest=1"}) {
    std::string each = kRagged;
    each.append(rest).append(fused);
    expect_wgmma("m=270 n=136 k=24 " + each, "tile=128x64x64 cluster=1x1");
    expect_wgmma("along=n m=72 n=272 k=24 " + each, "tile=64x64x64 cluster=1x1");
    expect_swapped("m=270 n=136 k=24 " + each, "tile=32x64x64");
    expect_tcgen05("m=270 n=136 k=24 " + each, "tile=128x64x64");
  }
  expect_tcgen05("along=k m=72 n=136 k=272 " + kRagged + fused, "tile=128x64x64");
  expect_wgmma("along=k m=72 n=136 k=272 " + kRagged + fused, "tile=64x64x64 cluster=1x1");
  expect_wgmma("along=k m=72 n=136 k=272 " + kRagged +
                   "a=bf16:n b=bf16:t s=f32:scalar epi=\"D = accum; s = sum(accum)\"",
               "tile=64x64x64 cluster=1x1");
  expect_wgmma("along=l g=2 m=72 n=136 k=24" + fused, "tile=64x64x64 cluster=1x1");
}

TEST_F(Grouped, MmaEveryMode) {
  const std::string rows = "m=270 n=136 k=72 " + kRagged;
  expect_mma(rows + "a=bf16:t b=bf16:n out=bf16", "tile=128x128x32");
  expect_mma(rows + "a=f16:t b=f16:t out=f32 zero_rest=1", "tile=64x64x32");
  expect_mma("m=270 n=136 k=80 a=i8:t b=i8:n " + kRagged, "tile=64x128x64");
  expect_mma("along=n m=136 n=270 k=72 zero_rest=1 a=bf16:t b=bf16:n out=bf16 " + kRagged,
             "tile=64x64x32");
  expect_mma("along=k m=136 n=72 k=304 a=bf16:n b=bf16:t out=bf16 " + kRagged, "tile=64x64x32");
  expect_mma("along=l g=3 m=40 n=72 k=72 a=bf16:t b=bf16:n out=bf16", "tile=64x64x32");
  const std::string fused =
      " a=bf16:t b=bf16:n out=f32 v=f32:column w=f32:row C=bf16"
      " epi=\"D = dropout(accum + v * w, 0.5, 7, 3) + C\"";
  expect_mma("m=270 n=136 k=24 zero_rest=1 " + kRagged + fused, "tile=64x64x32");
  expect_mma("along=n m=72 n=270 k=24 zero_rest=1 " + kRagged + fused, "tile=64x64x32");
  for (const Ends& offsets : {Ends{9, 3, 40}, Ends{-1, -7, 50}, Ends{2147483647, -5, 4}}) {
    expect_mma("g=3 m=70 n=72 k=24 a=bf16:t b=bf16:n", "tile=64x64x32", offsets);
    expect_mma("g=3 along=k m=72 n=72 k=70 a=bf16:n b=bf16:t", "tile=64x64x32", offsets);
  }
  expect_mma("g=100 m=330 n=72 k=16 a=bf16:t b=bf16:n", "tile=64x64x32");
}

/// What lies behind a group along K is multiplied by nothing, whatever it is.
TEST_F(Grouped, TensorCoresSumNoInfinitiesOfOtherGroups) {
  struct Case {
    const char* layouts;
    const char* kernels;
    int cc;
  };
  for (const auto& [layouts, kernels, cc] :
       {Case{"a=bf16:n b=bf16:t", "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1", 90},
        Case{"a=bf16:t b=bf16:n", "class=sm90_grouped_gemm tile=64x64x64 cluster=1x1", 90},
        Case{"a=bf16:n b=bf16:t", "class=sm100_grouped_gemm tile=128x128x64 cluster=2x1", 100},
        Case{"a=bf16:t b=bf16:n", "class=sm100_grouped_gemm tile=128x64x64 cluster=1x1", 100}}) {
    const Target target = Target::sm(cc, true);
    const Problem problem =
        Problem::parse(std::string("grouped_gemm along=k m=64 n=64 k=72 g=3 ") + layouts);
    const Ends offsets{13, 45, 45};
    const Data data(problem, offsets);
    const auto infinite = [&](const TensorView& view, int mode, std::int64_t first) {
      for (std::int64_t k = first; k < 72; ++k) {
        for (std::int64_t i = 0; i < 64; ++i) {
          const std::int64_t at = k * view.stride(mode) + i * view.stride(1 - mode);
          store_element(Dtype::bf16, view.data(), at, std::numeric_limits<double>::infinity());
        }
      }
    };
    infinite(data.operand(0).view, 1, 45);
    infinite(data.operand(1).view, 0, 45);
    KernelQuery query;
    query.target = target;
    query.filter = MetadataFilter::parse(kernels);
    const KernelList found = get_kernels(data.arguments(), query);
    ASSERT_FALSE(found.empty()) << found.why_empty();
    if (!is_due(found.front(), target)) continue;
    const emulator::Report report = emulator::run(found.front(), target, data.arguments());
    EXPECT_TRUE(report.clean()) << report.text();
    const CheckResult result = check_output(data.arguments());
    EXPECT_TRUE(result.passed) << result.worst;
  }
}

TEST_F(Grouped, TensorCoresOfRandomGroups) {
  std::mt19937 random(7);
  const auto number = [&](int low, int high) {
    return std::uniform_int_distribution(low, high)(random);
  };
  for (int i = 0; i < 6; ++i) {
    const std::int32_t extent = 8 * number(1, 60);
    Ends ends(static_cast<std::size_t>(number(1, 9)));
    for (std::int32_t& end : ends)
      end = number(0, 9) == 0 ? number(-extent, 2 * extent) : number(0, extent);
    if (number(0, 2) > 0) std::sort(ends.begin(), ends.end());
    const std::string rows =
        fmt::format("g={} m={} n={} k={} a=bf16:t b=bf16:n out=bf16 zero_rest={}", ends.size(),
                    extent, 8 * number(1, 30), 8 * number(1, 20), number(0, 1));
    expect_wgmma(rows, "tile=64x64x64 cluster=1x1 schedule=pingpong", ends);
    expect_wgmma(rows, "tile=128x64x64 cluster=2x1", ends);
    expect_swapped(rows, "tile=32x64x64", ends);
    expect_tcgen05(rows, "tile=128x64x64", ends);
    expect_mma(rows, "tile=64x64x32", ends);
    const std::string sums = fmt::format("g={} along=k m={} n={} k={} out=bf16 ", ends.size(),
                                         8 * number(1, 20), 8 * number(1, 20), extent);
    expect_wgmma(sums + "a=bf16:t b=bf16:n", "tile=64x64x64 cluster=1x1 schedule=pingpong", ends);
    expect_wgmma(sums + "a=bf16:n b=bf16:t", "tile=128x64x64 cluster=1x1", ends);
    expect_tcgen05(sums + "a=bf16:t b=bf16:n", "tile=128x64x64", ends);
  }
}

/// What each layout states, within a mode of 70, and what no layout may.
struct Stated {
  const char* layout;
  const char* rows;  ///< m of three groups
  Ends offsets;
};

const std::vector<Stated>& stated() {
  static const std::vector<Stated> all{
      {"prefix", "m=70", {0, 33, 33, 70}},
      {"prefix", "m=70", {5, 20, 40, 61}},
      {"prefix", "m=70", {-9, 50, 20, 90}},
      {"masked", "m=40", {33, 0, 40}},
      {"masked", "m=40", {1, 17, 0}},
      {"masked", "m=40", {-2147483647 - 1, 2147483647, 39}},
      {"ranges", "m=70", {0, 33, 33, 33, 40, 70}},
      {"ranges", "m=70", {5, 9, 20, 60, 61, 70}},
      {"ranges", "m=70", {30, 20, -7, 44, 10, 2147483647}},
  };
  return all;
}

TEST_F(Grouped, OffsetsOfEveryLayout) {
  const std::string each = " n=40 k=24 g=3 layout=";
  for (const Stated& given : stated()) {
    for (const char* rest : {"", " zero_rest=1"}) {
      const std::string text = given.rows + each + given.layout + rest;
      expect(text + " a=f32", "tile=32x32x16 layouts=xxx", given.offsets);
      const std::string halves = " a=bf16:t b=bf16:n out=bf16";
      expect_mma(text + halves, "tile=64x64x32", given.offsets);
      expect_wgmma(text + halves, "tile=64x64x64 cluster=1x1", given.offsets);
      expect_swapped(text + halves, "tile=16x64x64", given.offsets);
      expect_tcgen05(text + halves, "tile=128x64x64", given.offsets);
    }
  }
}

TEST_F(Grouped, OffsetsOfEveryLayoutAlongOtherModes) {
  for (const Stated& given : stated()) {
    if (given.layout == std::string("masked")) continue;
    const std::string each = std::string(" g=3 layout=") + given.layout;
    for (const char* rest : {"", " zero_rest=1"}) {
      const std::string columns = "along=n m=40 n=72 k=24" + each + rest;
      expect(columns + " a=f32", "tile=32x32x16 layouts=xxx", given.offsets);
      const std::string halves = " a=bf16:t b=bf16:n out=bf16";
      expect_mma(columns + halves, "tile=64x64x32", given.offsets);
      expect_wgmma(columns + halves, "tile=64x64x64 cluster=1x1", given.offsets);
      expect_wgmma(columns + halves + ":n", "tile=64x64x64 cluster=1x1", given.offsets);
    }
    const std::string sums = "along=k m=40 n=72 k=72" + each;
    expect(sums + " a=f32", "tile=32x32x16 layouts=xxx", given.offsets);
    expect_mma(sums + " a=bf16:n b=bf16:t", "tile=64x64x32", given.offsets);
    expect_wgmma(sums + " a=bf16:n b=bf16:t", "tile=64x64x64 cluster=1x1", given.offsets);
    expect_wgmma(sums + " a=bf16:t b=bf16:n", "tile=64x64x64 cluster=1x1", given.offsets);
    expect_tcgen05(sums + " a=bf16:t b=bf16:n", "tile=128x64x64", given.offsets);
  }
}

TEST_F(Grouped, EpiloguesAndSchedulesOfEveryLayout) {
  const std::string fused =
      " a=bf16:t b=bf16:n out=f32 v=f32:column w=f32:row C=bf16 X=bf16:t"
      " epi=\"D = dropout(accum + v * w, 0.5, 7, 3) + C; X = accum\"";
  for (const Stated& given : stated()) {
    for (const char* rest : {"", " zero_rest=1"}) {
      const std::string text =
          std::string(given.rows) + " n=136 k=72 g=3 layout=" + given.layout + rest;
      expect_wgmma(text + fused, "tile=64x64x64 cluster=1x1", given.offsets);
      expect_swapped(text + fused, "tile=32x64x64", given.offsets);
      expect_mma(text + fused, "tile=64x64x32", given.offsets);
      const std::string halves = text + " a=bf16:t b=bf16:n out=bf16";
      expect_wgmma(halves, "tile=128x64x64 cluster=2x1", given.offsets);
      expect_wgmma(halves, "tile=128x64x64 cluster=1x1 schedule=pingpong", given.offsets);
    }
  }
}

TEST_F(Grouped, ManyMaskedGroups) {
  const std::string each = " n=72 k=16 layout=masked a=bf16:t b=bf16:n out=bf16";
  expect_wgmma("g=100 m=3" + each, "tile=64x64x64 cluster=1x1");
  expect_wgmma("g=256 m=2" + each, "tile=64x64x64 cluster=1x1");
  expect_mma("g=100 m=3" + each, "tile=64x64x32");
  expect("g=50 m=3 n=9 k=5 layout=masked a=f32", "tile=32x32x16 layouts=xxx");
  expect_wgmma("g=0 m=3" + each, "tile=64x64x64 cluster=1x1");
}

/// Of more parts than 512 the offsets are read again.
TEST_F(Grouped, MoreGroupsThanTheTableHas) {
  const std::string each = " a=bf16:t b=bf16:n out=bf16";
  const std::string any = "tile=64x64x64 cluster=1x1";
  std::mt19937 random(5);
  const auto ends_of = [&](std::size_t groups, std::int32_t extent) {
    Ends ends(groups);
    for (std::int32_t& end : ends)
      end = std::uniform_int_distribution(-9, extent + 9)(random);
    std::sort(ends.begin(), ends.end());
    std::swap(ends[groups / 3], ends[groups / 2]);
    return ends;
  };
  for (const char* rest : {"", " zero_rest=1"}) {
    expect_wgmma(std::string("g=513 m=300 n=72 k=16") + rest + each, any, ends_of(513, 290));
    expect_tcgen05(std::string("g=513 m=300 n=72 k=16") + rest + each, "tile=128x64x64",
                   ends_of(513, 290));
    expect_swapped(std::string("g=1300 m=400 n=72 k=16") + rest + each, "tile=16x64x64",
                   ends_of(1300, 380));
    expect_wgmma(std::string("g=600 along=n m=72 n=304 k=16") + rest + each, any,
                 ends_of(600, 300));
    expect_wgmma(std::string("g=300 m=2 n=72 k=16 layout=masked") + rest + each,
                 "tile=128x64x64 cluster=2x1");
    expect_wgmma(std::string("g=600 m=304 n=72 k=16 layout=prefix") + rest + each,
                 "tile=128x64x64 cluster=1x1 schedule=pingpong", ends_of(601, 300));
  }
  expect_wgmma("g=520 along=k m=8 n=8 k=304 a=bf16:n b=bf16:t", any, ends_of(520, 300));
  expect_wgmma("g=300 along=k m=8 n=8 k=304 layout=ranges a=bf16:t b=bf16:n", any,
               ends_of(600, 300));
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
  const auto wgmma = [](const std::string& text) {
    const auto arguments = Problem::parse("grouped_gemm " + text).arguments();
    KernelQuery query;
    query.target = Target::sm(90, true);
    query.filter = MetadataFilter::parse("class=sm90_grouped_gemm");
    return get_kernels(*arguments, query).why_empty();
  };
  EXPECT_NE(
      wgmma("g=2 m=64 n=64 k=64 a=bf16:n b=bf16:n")
          .find("sm90_grouped_gemm: offsets: expected a mode that is contiguous in no operand "
                "that they divide, got one that is"),
      std::string::npos);
  EXPECT_NE(wgmma("g=65537 m=64 n=64 k=64 a=bf16:t b=bf16:n")
                .find("sm90_grouped_gemm: offsets.shape: expected at most 65536 groups and gaps "
                      "between them, got 65537"),
            std::string::npos);
}

}  // namespace
}  // namespace estoc::grouped_test
