// What the kernel classes of Estoc's own device sources share.
#include "providers/cuda/built_in_class.h"

#include "core/hash.h"
#include "jit/device_sources.h"

namespace estoc::cuda {

CudaCode BuiltInClass::code(const DesignPoint& point, Target /*target*/) const {
  return {.source = source(point), .image = {}};
}

std::string BuiltInClass::abi() const {
  static const std::string name = core::hash(jit::device_source("estoc/abi.cuh")).hex();
  return name;
}

}  // namespace estoc::cuda
