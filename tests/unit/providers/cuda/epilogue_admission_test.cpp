// Every epilogue of up to eight inputs and outputs has a kernel on tensor cores, and a search finds
// just the kernels that take it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "support/operations.h"
#include "support/random_epilogue.h"

namespace estoc {
namespace {

constexpr const char* kProducts[] = {"a=bf16 out=bf16", "a=f16 out=f32", "a=tf32 out=f32",
                                     "a=i8 out=i8", "a=f64 out=f64"};

bool on_tensor_cores(const Problem& problem, Target target) {
  KernelQuery query;
  query.target = target;
  query.providers = {"cuda"};
  query.filter = MetadataFilter::parse("class=sm80_gemm,sm90_gemm");
  return !get_kernels(*problem.arguments(Device::cuda(0)), query).empty();
}

void expect_admitted(const Problem& problem) {
  for (const Target target : {Target::sm(80), Target::sm(90, true)})
    EXPECT_TRUE(on_tensor_cores(problem, target)) << problem.to_string() << " " << target.name();
}

TEST(EpilogueAdmission, WidestTypes) {
  for (const char* product : kProducts) {
    for (const char* form : {"t", "row", "column", "scalar"}) {
      for (const bool reductions : {false, true}) {
        // Seven sums of f64 for each column, beside sums of f64 and inputs of f64: simt_gemm has
        // it.
        if (reductions && std::string_view(product).starts_with("a=f64")) continue;
        expect_admitted(
            Problem::parse(fmt::format("gemm m=256 n=256 k=256 {} {}", product,
                                       testing_support::widest_epilogue(form, reductions))));
      }
    }
  }
}

TEST(EpilogueAdmission, RandomEpilogues) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    for (const char* product : kProducts) {
      expect_admitted(testing_support::with_random_epilogue(
          Problem::parse(fmt::format("gemm m=256 n=256 k=256 {}", product)), seed));
    }
  }
}

using Names = std::set<std::string>;

/// Names of the kernels that are found, without what they say of an epilogue.
Names found_for(const RuntimeArguments& arguments, Target target) {
  KernelQuery query;
  query.target = target;
  query.providers = {"cuda"};
  Names names;
  for (const Kernel& kernel : get_kernels(arguments, query))
    names.insert(kernel.metadata().kernel_class + kernel.point().space().suffix(kernel.point()));
  return names;
}

/// Those among the kernels for the product alone whose classes take the epilogue, each by itself.
Names admitted(const RuntimeArguments& plain, const EpilogueGraph& graph, Target target) {
  KernelQuery query;
  query.target = target;
  query.providers = {"cuda"};
  Names names;
  for (const Kernel& kernel : get_kernels(plain, query)) {
    if (kernel.kernel_class().supports_epilogue(kernel.point(), graph, target).ok())
      names.insert(kernel.metadata().kernel_class + kernel.point().space().suffix(kernel.point()));
  }
  return names;
}

TEST(EpilogueAdmission, EachKernelIsFoundThatTakesTheEpilogue) {
  for (const char* product :
       {"m=256 n=256 a=bf16 out=bf16", "m=1 n=512 a=bf16 b=bf16:n out=bf16",
        "m=256 n=256 a=f32 out=f32", "m=256 n=256 a=e4m3 b=e4m3:n out=bf16"}) {
    for (const char* form : {"t", "row"}) {
      const std::string text = fmt::format("gemm k=256 {} ", product);
      const auto fused =
          Problem::parse(text + testing_support::widest_epilogue(form, true)).arguments();
      const auto graph = static_cast<const GemmArguments&>(*fused).epilogue_graph();
      const auto plain = Problem::parse(text).arguments();
      for (const Target target :
           {Target::sm(80), Target::sm(90, true), Target::sm(100, true), Target::sm(120, true)}) {
        EXPECT_EQ(found_for(*fused, target), admitted(*plain, *graph, target))
            << text << form << " " << target.name();
      }
    }
  }
}

}  // namespace
}  // namespace estoc
