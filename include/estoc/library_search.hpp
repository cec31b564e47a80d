// Where NVIDIA's libraries are looked for, told by a program that knows better than the
// environment.
#pragma once

#include <string>
#include <vector>

namespace estoc {

/// Names folders that hold packages of pip, such as .../site-packages. NVRTC and cuBLASLt in the
/// nvidia packages of these folders come before those of any other Python, in the order given.
/// Replaces the folders named before. A library that is open already stays the one in use: call it
/// before anything else. Any thread may call it.
void set_package_folders(std::vector<std::string> folders);

}  // namespace estoc
