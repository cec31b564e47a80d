// The device sources that are built into the library, for NVRTC's includes.
#pragma once

#include <span>
#include <string_view>

#include "jit/include_graph.h"
#include "jit/nvrtc.h"

namespace estoc::jit {

/// The headers as a generated unit includes them ("estoc/kernels/simt_gemm.cuh"), and which of them
/// include which.
struct DeviceSources {
  std::span<const HeaderText> headers;
  IncludeGraph includes;
};

/// The sources of the library, or of the folder ESTOC_DEVICE_DIR (read once) where that is set.
/// Throws Error{io} when that folder cannot be read.
const DeviceSources& device_sources();

/// The text of one of them; throws Error{not_found}.
std::string_view device_source(std::string_view name);

}  // namespace estoc::jit
