// Fuzzes filters: any text is read or refused with an Error{value} that names a column; what is
// read gives every kernel the same answer twice, and the one without terms accepts all.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "estoc/metadata.hpp"
#include "estoc/status.hpp"
#include "expect.h"

namespace {

using estoc::Dtype;
using estoc::KernelMetadata;
using estoc::LayoutConstraint;
using estoc::MetadataFilter;
using estoc::Target;
using estoc::fuzz::expect;

KernelMetadata product() {
  KernelMetadata kernel;
  kernel.name = "some_gemm-bf16-bf16-f32-bf16-tnt";
  kernel.kernel_class = "some_gemm";
  kernel.provider = "cuda";
  kernel.min_cc = 90;
  kernel.targets = {Target::sm(90), Target::sm(90, true)};
  const estoc::TensorAttributes a{Dtype::bf16, LayoutConstraint::t, 16};
  const estoc::TensorAttributes b{Dtype::bf16, LayoutConstraint::n, 8};
  kernel.operands = estoc::GemmOperandsMetadata{a, b, a, Dtype::f32};
  kernel.design.tile = estoc::Shape3{128, 256, 64};
  kernel.design.cluster = {2, 1, 1};
  kernel.design.instruction = estoc::Shape3{64, 256, 16};
  kernel.design.stages = 4;
  kernel.design.schedule = "pingpong";
  kernel.epilogue = "acc f32; v1 = relu accum; store bf16 v1";
  return kernel;
}

KernelMetadata on_the_host() {
  KernelMetadata kernel;
  kernel.name = kernel.kernel_class = "some_copy";
  kernel.provider = "cpu";
  kernel.operation = estoc::Operation::elementwise;
  kernel.targets = {Target::cpu()};
  kernel.operands = estoc::ElementwiseOperandsMetadata{};
  return kernel;
}

std::optional<MetadataFilter> parse(std::string_view text) {
  try {
    return MetadataFilter::parse(text);
  } catch (const estoc::Error& error) {
    expect(error.kind() == estoc::ErrorKind::value);
    expect(std::string_view(error.what()).starts_with("filter, column "));
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::array<KernelMetadata, 2> kKernels{product(), on_the_host()};
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::optional<MetadataFilter> filter = parse(text);
  if (!filter) return 0;
  const std::optional<MetadataFilter> again = parse(text);
  expect(again.has_value());
  for (const KernelMetadata& kernel : kKernels) {
    const bool accepted = (*filter)(kernel);
    expect((*again)(kernel) == accepted);
    if (filter->accepts_all()) expect(accepted);
  }
  return 0;
}
