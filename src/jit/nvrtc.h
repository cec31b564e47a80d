// NVRTC, opened at run time: CUDA C++ text in, cubin and PTX out.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/status.hpp"
#include "estoc/target.hpp"

namespace estoc::jit {

/// A header a source may include by `name`, from memory.
struct HeaderText {
  std::string_view name;
  std::string_view text;
};

/// Of the file names of NVRTC's versions, "libnvrtc.so.12", those whose code a driver loads that is
/// for CUDA `driver_version` (1000 * major + 10 * minor; 0 where there is none, and any will do): a
/// driver is certain to load the code of its own major version and of older ones.
std::vector<std::string> nvrtc_suited_to(int driver_version, std::vector<std::string> file_names);

/// The input of NVRTC.
struct NvrtcJob {
  std::string_view file_name;  ///< in diagnostics
  std::string_view source;
  std::span<const HeaderText> headers;
  std::vector<std::string> options;
  bool want_ptx = false;
};

/// What it gave.
struct NvrtcResult {
  std::string cubin;
  std::string ptx;
  std::string log;
};

/// Where NVRTC is and what it is.
struct NvrtcInfo {
  std::string path;
  int major = 0;
  int minor = 0;
};

/// The library, or nullptr with one sentence in `problem`. Opened at the first call.
const NvrtcInfo* nvrtc_info(std::string* problem = nullptr);

/// Compiles. Throws CompileError with the log, Error{not_found} where there is no NVRTC,
/// Error{memory}.
NvrtcResult nvrtc_compile(const NvrtcJob& job);

/// True when this NVRTC compiles for `target`.
bool nvrtc_knows(Target target);

}  // namespace estoc::jit
