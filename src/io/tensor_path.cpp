// Implements the syntax of paths to tensors.
#include "io/tensor_path.h"

#include <fmt/format.h>

#include <string_view>

#include "estoc/status.hpp"

namespace estoc::io {

TensorPath parse_tensor_path(const std::string& path) {
  constexpr std::string_view kSuffix = ".safetensors";
  const std::size_t split = path.find(".safetensors:");
  if (split != std::string::npos) {
    std::string tensor = path.substr(split + kSuffix.size() + 1);
    if (tensor.empty()) {
      throw Error(ErrorKind::value, fmt::format("'{}': expected a tensor's name after ':'", path));
    }
    return {FileFormat::safetensors, path.substr(0, split + kSuffix.size()), std::move(tensor)};
  }
  if (path.ends_with(kSuffix)) return {FileFormat::safetensors, path, std::nullopt};
  if (path.ends_with(".npy")) return {FileFormat::npy, path, std::nullopt};
  throw Error(ErrorKind::value,
              fmt::format("'{}': expected FILE.npy or FILE.safetensors:TENSOR", path));
}

}  // namespace estoc::io
