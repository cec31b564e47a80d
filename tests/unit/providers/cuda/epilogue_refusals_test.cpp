// What the classes of CUDA kernels say of an epilogue that a kernel cannot have: which node is to
// blame. No class is without a kernel for it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "estoc/design_space.hpp"
#include "estoc/discovery.hpp"
#include "estoc/epilogue.hpp"
#include "providers/cuda/simt_gemm.h"
#include "providers/cuda/sm80_gemm.h"
#include "providers/cuda/sm90_gemm.h"

namespace estoc::cuda {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

std::vector<std::shared_ptr<const KernelClass>> classes() {
  return {make_simt_gemm(), make_sm80_gemm(), make_sm90_gemm(), make_sm90_fast_gemm()};
}

/// As many matrices of f64 as fit in an epilogue, all needed at once.
std::string heavy_graph() {
  std::string graph = "acc f32";
  for (int i = 0; i < 16; ++i)
    graph += fmt::format("; t{} f64 lmn", i);
  graph += "; v17 = cast f64 accum";
  for (int i = 0; i < 16; ++i)
    graph += fmt::format("; v{} = div v{} t{}", 18 + i, 17 + i, i);
  for (int i = 0; i < 16; ++i)
    graph += fmt::format("; v{} = mul v33 t{}", 34 + i, i);
  graph += "; store f64 v33";
  for (int i = 0; i < 15; ++i)
    graph += fmt::format("; store f64 v{}", 34 + i);
  return graph;
}

TEST(EpilogueRefusals, NameTheNodeInEveryClass) {
  const auto graph = parse_epilogue_graph(heavy_graph());
  for (const auto& kernels : classes()) {
    const Target target = kernels->targets().back();
    const auto space = kernels->space();
    std::size_t refused = 0;
    for (std::uint64_t i = 0; i < space->size(); i += 1 + space->size() / 200) {
      const Status status = kernels->supports_epilogue(space->at(i), *graph, target);
      if (status.error().find("epilogue:") == std::string::npos) continue;
      ++refused;
      EXPECT_THAT(status.error(), ContainsRegex("(t[0-9]+ f64 lmn|[a-z0-9_]+\\(.*\\)) in f64"))
          << kernels->name();
    }
    EXPECT_GT(refused, 0U) << kernels->name();
  }
}

TEST(EpilogueRefusals, LongOnesAreNotForTilesBetweenMultiplesOf32Columns) {
  const auto graph = parse_epilogue_graph(
      "acc f32; v1 = gelu accum; v2 = gelu v1; v3 = gelu v2; v4 = gelu v3; store bf16 v4");
  const auto status_of = [&](int columns, int stages) {
    const Kernel kernel = kernel_by_name(
        fmt::format("sm90_gemm-bf16-bf16-f32-bf16-tnt-alignA16-alignB16-alignOut16-pingpong-"
                    "tile128x{}x64-cluster1x1-stages{}",
                    columns, stages));
    return kernel.kernel_class().supports_epilogue(kernel.point(), *graph, Target::sm(90, true));
  };
  EXPECT_TRUE(status_of(96, 6).ok());
  EXPECT_THAT(status_of(80, 7).error(), HasSubstr("expected a short one for tiles of 80 columns"));
}

TEST(EpilogueRefusals, SwappedKernelsThatStoreByTmaMoveSixteenBitElements) {
  const auto status_of = [&](std::string_view rest, std::string_view graph, int stages = 8) {
    const Kernel kernel = kernel_by_name(
        fmt::format("sm90_swapped_gemm-bf16-bf16-f32-bf16-tnt-alignA16-alignB16-{}-cluster1x1-"
                    "stages{}-orientation.swapped",
                    rest, stages));
    return kernel.kernel_class().supports_epilogue(kernel.point(), *parse_epilogue_graph(graph),
                                                   Target::sm(90, true));
  };
  constexpr std::string_view kWide = "alignOut16-single-tile144x64x64";
  constexpr std::string_view kResidual = "acc f32; t0 f32 mn; v2 = add accum t0; store bf16 v2";
  EXPECT_TRUE(status_of("alignOut1-single-tile64x64x64", kResidual, 14).ok());
  EXPECT_TRUE(status_of(kWide, "acc f32; v1 = relu accum; store bf16 v1").ok());
  EXPECT_TRUE(status_of(kWide, "acc f32; t0 f32 n; v2 = add accum t0; store bf16 v2").ok());
  const Status input = status_of(kWide, kResidual);
  EXPECT_EQ(input.reason(), Reason::epilogue);
  EXPECT_THAT(input.error(), HasSubstr("tiles of 144 rows, got t0 f32"));
  const Status output =
      status_of(kWide, "acc f32; v1 = relu accum; store bf16 v1; store e4m3 accum");
  EXPECT_EQ(output.reason(), Reason::epilogue);
  EXPECT_THAT(output.error(), HasSubstr("got accum in f32 stored as e4m3"));
  // Of few rows, the kernel whose threads store plain results takes epilogues.
  const Status few = status_of("alignOut16-single-tile64x64x64", "acc f32; store bf16 accum", 13);
  EXPECT_EQ(few.reason(), Reason::epilogue);
  EXPECT_THAT(few.error(), HasSubstr("tiles of 64 rows: the one with alignOut1"));
}

TEST(EpilogueRefusals, NameAReductionOfBatchesAlone) {
  const auto graph = parse_epilogue_graph("acc f32; store f32 accum; reduce sum mn f32 accum");
  for (const auto& kernels : classes()) {
    const Status status =
        kernels->supports_epilogue(kernels->space()->at(0), *graph, kernels->targets().back());
    EXPECT_THAT(status.error(), HasSubstr("got sum(accum) kept along mn")) << kernels->name();
  }
}

}  // namespace
}  // namespace estoc::cuda
