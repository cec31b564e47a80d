// Tensors in files: .npy and .safetensors, read by memory map, written atomically.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/tensor.hpp"

namespace estoc {

/// A tensor in a mapped file. The view is read-only in effect (the map is private) and lives as
/// long as any copy of this object.
class FileTensor {
 public:
  /// Opens `FILE.npy` or `FILE.safetensors:TENSOR` (the tensor's name may be left out where the
  /// file holds one). Reads nothing but the header, unless the file does not align the data to
  /// their element size: then they are copied.
  ///
  /// .npy: versions 1 to 3, little-endian, C or Fortran order, f2 f4 f8 i1 u1 i4 b1.
  /// .safetensors: F64 F32 F16 BF16 F8_E4M3 F8_E5M2 F8_E8M0 I32 I8 U8 BOOL.
  /// Throws Error{io | value | not_found} naming the file: not a regular file, a truncated or
  /// inconsistent header, a length past the end of the file, an overflowing shape, a dtype Estoc
  /// does not have, a duplicate name, data that overlaps, a tensor that is not there.
  static FileTensor open(const std::string& path);

  const TensorView& view() const { return view_; }

 private:
  std::shared_ptr<const void> mapping_;
  TensorView view_;
};

/// Names of the tensors in a .safetensors file, in file order.
std::vector<std::string> safetensors_names(const std::string& path);

/// Writes `tensor` to `path`: `.npy`, or `.safetensors` (`FILE.safetensors:NAME`, the name
/// defaults to "out"), in row-major order whatever its strides. A dtype that .npy does not know
/// (bf16, fp8) is an Error{type} that suggests .safetensors. Written to a temporary and renamed: on
/// any failure nothing is left. Throws Error{io}.
void save_tensor(const std::string& path, const TensorView& tensor);

/// Throws what save_tensor would throw for the destination and dtype, before any work is done: the
/// suffix, the dtype, a folder that does not exist or cannot be written.
void check_save(const std::string& path, Dtype dtype);

}  // namespace estoc
