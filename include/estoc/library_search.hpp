// Where NVIDIA's libraries are looked for, told by a program that knows better than the
// environment.
#pragma once

#include <string>
#include <vector>

namespace estoc {

/// Names folders that hold packages of pip, such as .../site-packages. NVRTC and cuBLASLt in the
/// nvidia packages of these folders come before those of any other Python, in the order given; so
/// do packs of kernels in their folders estoc_kernels (kernel_pack.hpp).
/// Replaces the folders named before. A library that is open already stays the one in use: call it
/// before anything else. Any thread may call it.
void set_package_folders(std::vector<std::string> folders);

/// The folders named last.
std::vector<std::string> package_folders();

}  // namespace estoc
