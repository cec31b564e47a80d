// The way a tensor in a file is written: FILE.npy, FILE.safetensors, FILE.safetensors:TENSOR.
#pragma once

#include <optional>
#include <string>

namespace estoc::io {

enum class FileFormat { npy, safetensors };

/// A path taken apart.
struct TensorPath {
  FileFormat format = FileFormat::npy;
  std::string file;
  std::optional<std::string> tensor;
};

/// Splits `path` at the first ".safetensors:"; without one, its suffix tells the format. Colons
/// elsewhere belong to the file's name. Throws Error{value} for another suffix and for an empty
/// tensor name.
TensorPath parse_tensor_path(const std::string& path);

}  // namespace estoc::io
