// A twin of NVRTC's interface: its cubins are the text, which the virtual driver builds.
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

#include "core/architectures.h"
#include "image.h"

#define ESTOC_NVRTC_CALL extern "C" __attribute__((visibility("default"))) int

namespace estoc::virtual_gpu {

struct Program {
  Image image;
  std::string cubin;  ///< empty for a virtual architecture
  std::string ptx;
};

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidOption = 5;

int copy(std::string_view text, char* to) {
  std::memcpy(to, text.data(), text.size());
  return kSuccess;
}

}  // namespace

// No version of NVIDIA's: what the two compile must not meet in a cache.
ESTOC_NVRTC_CALL nvrtcVersion(int* major, int* minor) {
  *major = 0;
  *minor = 1;
  return kSuccess;
}

extern "C" __attribute__((visibility("default"))) const char* nvrtcGetErrorString(int code) {
  return code == kInvalidOption ? "NVRTC_ERROR_INVALID_OPTION" : "NVRTC_ERROR";
}

ESTOC_NVRTC_CALL nvrtcGetNumSupportedArchs(int* count) {
  *count = static_cast<int>(core::kArchitectures.size());
  return kSuccess;
}

ESTOC_NVRTC_CALL nvrtcGetSupportedArchs(int* all) {
  for (const core::Architecture& each : core::kArchitectures)
    *all++ = each.cc;
  return kSuccess;
}

// The headers are the ones that the emulator has itself.
ESTOC_NVRTC_CALL nvrtcCreateProgram(Program** program, const char* source, const char* name,
                                    int /*headers*/, const char* const* /*texts*/,
                                    const char* const* /*names*/) {
  *program = new Program;
  (*program)->image.source = source;
  std::string_view stem(name);
  if (stem.ends_with(".cu")) stem.remove_suffix(3);
  (*program)->image.name = stem;
  return kSuccess;
}

ESTOC_NVRTC_CALL nvrtcDestroyProgram(Program** program) {
  delete *program;
  *program = nullptr;
  return kSuccess;
}

ESTOC_NVRTC_CALL nvrtcCompileProgram(Program* program, int count, const char* const* options) {
  constexpr std::string_view kArchitecture = "--gpu-architecture=";
  for (int i = 0; i < count; ++i) {
    const std::string_view option(options[i]);
    if (!option.starts_with(kArchitecture)) continue;
    const auto target = Target::parse(option.substr(kArchitecture.size()));
    if (!target) return kInvalidOption;
    program->image.target = *target;
  }
  const bool ptx = program->image.target.is_ptx();
  (ptx ? program->ptx : program->cubin) = write_image(program->image);
  if (!ptx) program->ptx = program->image.source;
  return kSuccess;
}

ESTOC_NVRTC_CALL nvrtcGetProgramLogSize(Program* /*program*/, std::size_t* bytes) {
  *bytes = 1;
  return kSuccess;
}

ESTOC_NVRTC_CALL nvrtcGetProgramLog(Program* /*program*/, char* log) {
  *log = '\0';
  return kSuccess;
}

ESTOC_NVRTC_CALL nvrtcGetCUBINSize(Program* program, std::size_t* bytes) {
  *bytes = program->cubin.size();
  return kSuccess;
}

ESTOC_NVRTC_CALL nvrtcGetCUBIN(Program* program, char* cubin) {
  return copy(program->cubin, cubin);
}

ESTOC_NVRTC_CALL nvrtcGetPTXSize(Program* program, std::size_t* bytes) {
  *bytes = program->ptx.size() + 1;
  return kSuccess;
}

ESTOC_NVRTC_CALL nvrtcGetPTX(Program* program, char* ptx) {
  return copy({program->ptx.c_str(), program->ptx.size() + 1}, ptx);
}

}  // namespace estoc::virtual_gpu
