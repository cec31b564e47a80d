// What kernels that begin early do before they touch what the launch before has written.
#include <gtest/gtest.h>

#include <string>

#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "jit/nvrtc.h"

namespace estoc {
namespace {

// Plain stores and TMA see memory in different ways, which only a proxy fence brings together.
TEST(ProgrammaticLaunch, TmaReadsBehindAProxyFence_needs_nvrtc) {
  std::string problem;
  if (jit::nvrtc_info(&problem) == nullptr) GTEST_SKIP() << problem;
  KernelQuery query;
  query.target = Target::sm(90, true);
  query.filter = MetadataFilter::parse("class=sm90_gemm");
  for (const char* const text :
       {"gemm m=512 n=512 k=512 a=bf16:t b=bf16:n out=bf16",
        "gemm m=512 n=512 k=512 a=bf16:t b=bf16:n out=bf16 c=bf16:t epi=\"D = accum + c\""}) {
    const auto arguments = Problem::parse(text).arguments(Device::cuda(0));
    const KernelList kernels = get_kernels(*arguments, query);
    ASSERT_FALSE(kernels.empty()) << text;
    const std::string ptx = kernels[0].emit(Emission::ptx, *query.target);
    const std::size_t wait = ptx.find("griddepcontrol.wait");
    ASSERT_NE(wait, std::string::npos) << text;
    const std::size_t fence = ptx.find("fence.proxy.async.global", wait);
    const std::size_t load = ptx.find("cp.async.bulk.tensor", wait);
    EXPECT_LT(fence, load) << text;
    EXPECT_NE(load, std::string::npos) << text;
  }
}

}  // namespace
}  // namespace estoc
