// What the tensor-core classes refuse: operands whose copies would not be aligned, and sizes that
// 32-bit coordinates do not reach.
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

#include "core/architectures.h"
#include "estoc/discovery.hpp"
#include "estoc/problem.hpp"
#include "providers/cuda/sm80_space.h"

namespace estoc {
namespace {

KernelList tensor_core_kernels(const RuntimeArguments& arguments) {
  KernelQuery query;
  query.target = Target::sm(90, true);
  query.filter = MetadataFilter::parse("class=sm80_gemm,sm90_gemm");
  return get_kernels(arguments, query);
}

std::set<std::string> input_layouts(const KernelList& kernels) {
  std::set<std::string> layouts;
  for (const Kernel& kernel : kernels)
    layouts.insert(kernel.point().value(Role::layouts).text.substr(0, 2));
  return layouts;
}

// Of one element of K both letters fit both operands, but only in one of them are lines aligned.
TEST(TensorCoreClasses, AModeOfOneElementDoesNotHideUnalignedRows) {
  const auto arguments = Problem::parse("gemm m=368 n=272 k=1 a=bf16:n b=bf16:n out=bf16:t")
                             .arguments(Device::cuda(0));
  EXPECT_EQ(input_layouts(tensor_core_kernels(*arguments)), std::set<std::string>{"nt"});
}

TEST(TensorCoreClasses, RefuseBatchesThatAreNotAligned) {
  const Device device = Device::cuda(0);
  auto describe = [&](std::array<std::int64_t, 3> shape, std::array<std::int64_t, 3> strides) {
    return TensorView::describe(Dtype::bf16, shape, strides, device);
  };
  const TensorView b = describe({4, 1, 64}, {64, 64, 1});
  const TensorView out = describe({4, 64, 64}, {4096, 64, 1});
  const GemmArguments interleaved(describe({4, 64, 1}, {1, 8, 1}), b, out, Dtype::f32);
  EXPECT_TRUE(tensor_core_kernels(interleaved).empty());
  const GemmArguments apart(describe({4, 64, 1}, {512, 8, 1}), b, out, Dtype::f32);
  EXPECT_FALSE(tensor_core_kernels(apart).empty());
}

TEST(TensorCoreClasses, AreThereOnEveryArchitecture) {
  const auto arguments = Problem::parse("gemm m=512 n=512 k=512 a=bf16:t b=bf16:n out=bf16")
                             .arguments(Device::cuda(0));
  for (const Target target : cuda_targets()) {
    KernelQuery query;
    query.target = target;
    query.filter = MetadataFilter::parse("class=sm80_gemm");
    EXPECT_FALSE(get_kernels(*arguments, query).empty()) << target.name();
    if (target.arch_specific()) continue;
    query.target = Target::ptx(target.cc());
    EXPECT_FALSE(get_kernels(*arguments, query).empty()) << query.target->name();
    query.filter = MetadataFilter::parse("class=sm90_gemm");
    EXPECT_TRUE(get_kernels(*arguments, query).empty()) << query.target->name();
  }
}

TEST(TensorCoreClasses, RefuseExtentsBeyondTheirCoordinates) {
  const auto arguments =
      Problem::parse("gemm m=1073741824 n=1073741824 k=0 a=bf16:t b=bf16:n out=bf16:t")
          .arguments(Device::cuda(0));
  EXPECT_TRUE(tensor_core_kernels(*arguments).empty());
}

// `supports` does not look at shared memory where a target has as much.
TEST(TensorCoreClasses, NoSm80KernelNeedsMoreSharedMemoryThanAnH100Has) {
  const auto space = cuda::make_sm80_space();
  const int most = core::architecture(90).shared_bytes;
  for (std::uint64_t i = 0; i < space->size(); ++i) {
    const DesignPoint point = space->at(i);
    ASSERT_LE(cuda::sm80_config(point, cuda::alignments_of(point)).shared_bytes(), most) << i;
  }
}

}  // namespace
}  // namespace estoc
