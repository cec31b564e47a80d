// What the kernel classes of Estoc's own device sources share.
#include "providers/cuda/built_in_class.h"

#include <fmt/core.h>

#include <utility>

#include "jit/device_sources.h"
#include "providers/cuda/epilogue_launch.h"

namespace estoc::cuda {

CudaCode BuiltInClass::code(const DesignPoint& point, Target /*target*/) const {
  return with_sums(source(point, nullptr), nullptr);
}

CudaCode BuiltInClass::fused_code(const DesignPoint& point, Target /*target*/,
                                  const EpilogueGraph& epilogue) const {
  if (epilogue.reduced.empty()) return with_sums(source(point, &epilogue), &epilogue);
  CudaCode made{.source = source(point, &epilogue), .image = {}};
  made.source += reduction_source(epilogue);
  made.entries.emplace_back("estoc_reduce_partials");
  return made;
}

CudaCode BuiltInClass::with_sums(std::string text, const EpilogueGraph* epilogue) const {
  CudaCode made{.source = std::move(text), .image = {}};
  const std::string sums = sums_source(epilogue);
  if (sums.empty()) return made;
  made.source += sums;
  made.entries.emplace_back("estoc_sum_parts");
  return made;
}

std::string BuiltInClass::abi() const {
  return jit::device_sources()
      .includes.hash(fmt::format("#include <estoc/abi/{}.cuh>\n", device_name_))
      .hex();
}

}  // namespace estoc::cuda
