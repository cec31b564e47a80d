// What the kernel classes of Estoc's own device sources share.
#include "providers/cuda/built_in_class.h"

#include <fmt/core.h>

#include "jit/device_sources.h"
#include "providers/cuda/epilogue_launch.h"

namespace estoc::cuda {

CudaCode BuiltInClass::code(const DesignPoint& point, Target /*target*/) const {
  CudaCode made{.source = source(point, nullptr), .image = {}};
  add_entries(point, nullptr, made);
  return made;
}

CudaCode BuiltInClass::fused_code(const DesignPoint& point, Target /*target*/,
                                  const EpilogueGraph& epilogue) const {
  CudaCode made{.source = source(point, &epilogue), .image = {}};
  if (!epilogue.reduced.empty()) {
    made.source += reduction_source(epilogue);
    made.entries.emplace_back("estoc_reduce_partials");
  }
  add_entries(point, &epilogue, made);
  return made;
}

std::string BuiltInClass::abi() const {
  std::string text;
  for (const std::string& header : shared_headers())
    text += fmt::format("#include <estoc/abi/{}.cuh>\n", header);
  return jit::device_sources().includes.hash(text).hex();
}

}  // namespace estoc::cuda
