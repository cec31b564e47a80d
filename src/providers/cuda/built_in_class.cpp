// What the kernel classes of Estoc's own device sources share.
#include "providers/cuda/built_in_class.h"

#include "core/hash.h"
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
  made.source += finish_source(epilogue);
  made.entries.emplace_back("estoc_finish");
  return made;
}

std::string BuiltInClass::abi() const {
  // Never destroyed: threads may still ask while the process ends.
  static const auto& name =
      *new const std::string(core::hash(jit::device_source("estoc/abi.cuh")).hex());
  return name;
}

}  // namespace estoc::cuda
