// Opens NVTX's library, whose ranges profilers show.
#include "jit/nvtx.h"

#include <fmt/format.h>

#include <optional>
#include <string>

#include "core/env.h"
#include "core/log.h"
#include "core/ranges.h"
#include "estoc/profiling.hpp"
#include "estoc/status.hpp"
#include "jit/shared_library.h"

namespace estoc {
namespace {

constexpr const char* kVariable = "ESTOC_NVTX";

bool names_a_file(const std::optional<std::string>& value) {
  return value && *value != "on" && *value != "off";
}

/// Loaded once: profilers expect one library for a process, and it is never unloaded.
const core::RangeFunctions* load_functions() {
  const bool explicit_file = names_a_file(core::env(kVariable));
  std::string problem;
  const auto library =
      jit::find_library({.what = "NVTX",
                         .file_names = {"libnvtx3interop.so.1", "libnvToolsExt.so.1"},
                         .explicit_variable = explicit_file ? kVariable : "",
                         .pip_package = "nvidia-nvtx",
                         .part_of_toolkit = true},
                        problem);
  if (!library) throw Error(explicit_file ? ErrorKind::io : ErrorKind::not_found, problem);
  core::RangeFunctions functions{};
  if (!library->load(functions.begin, "nvtxRangePushA") ||
      !library->load(functions.end, "nvtxRangePop")) {
    throw Error(ErrorKind::not_found,
                fmt::format("NVTX: {} lacks nvtxRangePushA or nvtxRangePop", library->path()));
  }
  return new core::RangeFunctions(functions);
}

const core::RangeFunctions* nvtx_functions() {
  static const core::RangeFunctions* const functions = load_functions();
  return functions;
}

}  // namespace

void set_nvtx_ranges(bool on) {
  core::range_functions().store(on ? nvtx_functions() : nullptr, std::memory_order_release);
}

namespace jit {

void apply_nvtx_variable() {
  const auto value = core::env(kVariable);
  if (!value || *value == "off") return;
  try {
    set_nvtx_ranges(true);
  } catch (const Error& error) {
    core::log(LogLevel::warning, "{}={}: {}; there are no ranges", kVariable, *value, error.what());
  }
}

}  // namespace jit
}  // namespace estoc
