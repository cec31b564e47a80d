// Opens the files of operands, and says what to do about those that cannot be used.
#pragma once

#include <string>

#include "estoc/tensor_file.hpp"

namespace estoc::cli {

/// The tensor that FILE.npy or FILE.safetensors:TENSOR names. Throws Failure{file}.
FileTensor open_operand_file(const std::string& path);

}  // namespace estoc::cli
