// What was found of the CUDA libraries, for reports to people.
#include <fmt/core.h>

#include <string>
#include <utility>

#include "core/env.h"
#include "estoc/device.hpp"
#include "jit/driver.h"
#include "jit/nvrtc.h"
#include "jit/shared_library.h"

namespace estoc {
namespace {

LibraryInfo driver_info() {
  const jit::DriverState state = jit::driver_state();
  if (state.table == nullptr) {
    return {.name = "CUDA driver", .path = {}, .version = {}, .problem = state.problem};
  }
  const int version = state.table->version;
  return {.name = "CUDA driver",
          .path = state.table->path,
          .version = fmt::format("{}.{}", version / 1000, version % 1000 / 10),
          .problem = cuda_devices().empty() ? "it finds no device" : ""};
}

LibraryInfo nvrtc_report() {
  std::string problem;
  const jit::NvrtcInfo* info = jit::nvrtc_info(&problem);
  if (info == nullptr) return {.name = "NVRTC", .path = {}, .version = {}, .problem = problem};
  return {.name = "NVRTC",
          .path = info->path,
          .version = fmt::format("{}.{}", info->major, info->minor),
          .problem = {}};
}

LibraryInfo no_cublaslt(std::string problem) {
  return {.name = "cuBLASLt", .path = {}, .version = {}, .problem = std::move(problem)};
}

LibraryInfo cublaslt_report() {
  if (core::env("ESTOC_CUBLASLT") == "off") return no_cublaslt("switched off: ESTOC_CUBLASLT=off");
  std::string problem;
  const auto library = jit::find_library(jit::cublaslt_spec(), problem);
  if (!library) return no_cublaslt(std::move(problem));
  std::size_t (*get_version)() = nullptr;
  if (!library->load(get_version, "cublasLtGetVersion")) {
    return no_cublaslt(library->path() + " lacks functions of cuBLASLt 12.0");
  }
  // Major * 10000 + minor * 100 + patch since version 12.
  const std::size_t version = get_version();
  return {.name = "cuBLASLt",
          .path = library->path(),
          .version = fmt::format("{}.{}.{}", version / 10000, version % 10000 / 100, version % 100),
          .problem = {}};
}

LibraryInfo nvml_report() {
  const auto library = jit::SharedLibrary::find({.what = "NVML",
                                                 .file_names = {"libnvidia-ml.so.1"},
                                                 .explicit_variable = {},
                                                 .pip_package = {},
                                                 .part_of_toolkit = false});
  int (*init)() = nullptr;
  int (*get_version)(char*, unsigned) = nullptr;
  char text[96] = "";
  if (library && library->load(init, "nvmlInit_v2") &&
      library->load(get_version, "nvmlSystemGetDriverVersion") && init() == 0 &&
      get_version(text, sizeof(text)) == 0) {
    return {.name = "NVML", .path = library->path(), .version = text, .problem = {}};
  }
  return {.name = "NVML",
          .path = {},
          .version = {},
          .problem = "NVML (libnvidia-ml.so.1) was not found; it comes with the CUDA driver"};
}

}  // namespace

std::vector<LibraryInfo> cuda_libraries() {
  return {driver_info(), nvrtc_report(), cublaslt_report(), nvml_report()};
}

}  // namespace estoc
