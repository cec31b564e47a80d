// Which elements a launch has to write, and which of them no kernel wrote.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "emulator/launch.h"
#include "estoc/arguments.hpp"
#include "estoc/epilogue_graph.hpp"

namespace estoc::emulator {

/// The elements of one output.
struct OutputElements {
  std::string name;
  const void* data;
  Dtype dtype;
  std::vector<std::int64_t> extents;
  std::vector<std::int64_t> strides;  ///< in elements

  std::size_t span_bytes() const;
};

/// Bytes from the first to the last of the elements; 0 where there are none.
std::size_t span_bytes(const std::vector<std::int64_t>& extents,
                       const std::vector<std::int64_t>& strides, Dtype dtype);

/// The extents of what an epilogue is applied to: m, n and l of the output.
GemmExtents epilogue_extents(const RuntimeArguments& arguments);

/// Those of the operation and, of an epilogue, the others; less what is in no group and stays as it
/// is.
std::vector<OutputElements> outputs_of(const RuntimeArguments& arguments);

/// Adds a finding for each output that has elements which are not in `written`.
void report_unwritten(const std::vector<OutputElements>& outputs, const WrittenBytes& written,
                      const std::string& kernel_name, Report& report);

}  // namespace estoc::emulator
