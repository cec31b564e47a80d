// Cuts the workspace of an expert layer.
#include "moe/layout.h"

#include "moe/steps.h"

namespace estoc::experts {
namespace {

constexpr std::int64_t kSection = 256;

std::int64_t rounded_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

Layout Layout::of(const MoeExtents& extents, Dtype dtype, bool has_gate) {
  Layout layout;
  const std::int64_t element = dtype_bits(dtype) / 8;
  const std::int64_t unit = abi::kMoeVectorBytes / element;
  layout.hidden_stride = rounded_up(extents.hidden, unit);
  layout.product_stride = rounded_up(has_gate ? 2 * extents.inner : 0, unit);
  layout.inner_stride = rounded_up(extents.inner, unit);
  const std::int64_t slots = extents.slots();
  const RouteCut cut = RouteCut::of(slots);
  std::int64_t end = 0;
  const auto section = [&](std::int64_t size) {
    const std::int64_t begin = end;
    end += rounded_up(size, kSection);
    return static_cast<std::size_t>(begin);
  };
  layout.ends = section(4 * extents.experts);
  layout.rows = section(4 * slots);
  layout.counts = section(cut.ctas > 1 ? 4 * cut.ctas * extents.experts : 0);
  layout.gathered = section(slots * layout.hidden_stride * element);
  layout.product = section(slots * layout.product_stride * element);
  layout.inner = section(slots * layout.inner_stride * element);
  layout.kernels = static_cast<std::size_t>(end);
  layout.bytes = layout.kernels;
  return layout;
}

}  // namespace estoc::experts
