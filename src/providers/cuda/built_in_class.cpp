// What the kernel classes of Estoc's own device sources share.
#include "providers/cuda/built_in_class.h"

#include <fmt/core.h>

#include "jit/device_sources.h"
#include "providers/cuda/epilogue_launch.h"

namespace estoc::cuda {

CudaCode BuiltInClass::code(const DesignPoint& point, Target /*target*/) const {
  return {.source = source(point, nullptr), .image = {}};
}

CudaCode BuiltInClass::fused_code(const DesignPoint& point, Target /*target*/,
                                  const EpilogueGraph& epilogue) const {
  CudaCode made{.source = source(point, &epilogue), .image = {}};
  if (epilogue.reduced.empty()) return made;
  made.source += reduction_source(epilogue);
  made.entries.emplace_back("estoc_reduce_partials");
  return made;
}

std::string BuiltInClass::abi() const {
  return jit::device_sources()
      .includes.hash(fmt::format("#include <estoc/abi/{}.cuh>\n", device_name_))
      .hex();
}

}  // namespace estoc::cuda
