// The scales that lie beside quantised weights in a .safetensors file, found by their names.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "estoc/tensor_file.hpp"

namespace estoc::cli {

/// The scales of an operand as a ScaledTensor has them.
struct FileScale {
  std::string path;
  FileTensor file;
  std::shared_ptr<const std::vector<float>> widened;  ///< of scales that are f16 or bf16
  TensorView view;
  ScaleMode mode = ScaleMode::tensorwise;
};

/// The scales of tensor `path`, FILE.safetensors:NAME, which is `data` once its last two modes are
/// exchanged where `exchanged`. They are NAME_scale_inv (DeepSeek; multiplied, in spite of the
/// name), NAME_scale (compressed-tensors), or for NAME = STEM_qdata STEM_scale (torchao); the mode
/// follows from dtype and shape, K being the last mode of A and the last but one of B. Nullopt for
/// data of more than 8 bits, and where there is no such tensor. Throws Failure where its shape fits
/// no mode.
std::optional<FileScale> find_scale(const std::string& operand, const std::string& path,
                                    const TensorView& data, bool exchanged);

}  // namespace estoc::cli
