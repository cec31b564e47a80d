// What the virtual NVRTC makes and the virtual driver takes in place of a cubin: the text itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/target.hpp"

namespace estoc::virtual_gpu {

struct Image {
  std::string name;
  Target target = Target::cpu();
  std::string source;
};

std::string write_image(const Image& image);

/// nullopt when `bytes` begin as no such image does.
std::optional<Image> read_image(const char* bytes);

/// Names of the kernels in a text that are functions of C.
std::vector<std::string> entries_in(std::string_view source);

/// Whether code for `target` runs on a device of `device`.
bool runs_on(Target target, Target device);

}  // namespace estoc::virtual_gpu
