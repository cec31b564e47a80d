// Views of memory that the caller owns: TensorView, and ScaledTensor for quantised operands.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "estoc/dtype.hpp"

namespace estoc {

/// Largest number of modes a TensorView can have.
inline constexpr int kMaxRank = 6;

/// Where memory lives: the host, or the CUDA device of an index.
struct Device {
  enum class Kind : std::uint8_t { cpu, cuda };
  Kind kind = Kind::cpu;
  int index = 0;

  static constexpr Device cpu() { return {Kind::cpu, 0}; }
  static constexpr Device cuda(int index = 0) { return {Kind::cuda, index}; }
  bool is_cpu() const { return kind == Kind::cpu; }
  bool is_cuda() const { return kind == Kind::cuda; }

  /// "cpu" or "cuda:0".
  std::string name() const;

  bool operator==(const Device&) const = default;
};

/// Pointer, dtype, shape, strides and device of a tensor; owns nothing.
///
/// Strides are counted in elements and are not negative; 0 broadcasts. A view without data (null
/// pointer and `described()`) stands for a tensor that is not there yet: it is accepted by
/// discovery and compilation, refused by run. Such a view is taken to be aligned to 256 bytes
/// unless said otherwise.
class TensorView {
 public:
  /// An empty rank-0 view without data, of dtype f32.
  TensorView() = default;

  /// A view of memory at `data`.
  ///
  /// Throws Error{value}: more than kMaxRank modes, shape and strides of different length, a
  /// negative extent or stride, an extent in bytes past 2^63 - 1, a null pointer for a tensor
  /// that has elements, a pointer not aligned to the element (packed types: to a byte).
  /// `what` is the operand's name in messages.
  TensorView(void* data, Dtype dtype, std::span<const std::int64_t> shape,
             std::span<const std::int64_t> strides, Device device = Device::cpu(),
             const char* what = "tensor");
  TensorView(void* data, Dtype dtype, std::initializer_list<std::int64_t> shape,
             std::initializer_list<std::int64_t> strides, Device device = Device::cpu());

  /// A contiguous row-major view: the last mode has stride 1.
  static TensorView row_major(void* data, Dtype dtype, std::span<const std::int64_t> shape,
                              Device device = Device::cpu());
  static TensorView row_major(void* data, Dtype dtype, std::initializer_list<std::int64_t> shape,
                              Device device = Device::cpu());

  /// A contiguous view whose next-to-last mode has stride 1 (each matrix column-major).
  static TensorView column_major(void* data, Dtype dtype, std::span<const std::int64_t> shape,
                                 Device device = Device::cpu());
  static TensorView column_major(void* data, Dtype dtype, std::initializer_list<std::int64_t> shape,
                                 Device device = Device::cpu());

  /// A view without data, for discovery and compilation; `alignment` in bytes, a power of two from
  /// the size of an element to 256, is what its address would have. Throws Error{value}.
  static TensorView describe(Dtype dtype, std::span<const std::int64_t> shape,
                             std::span<const std::int64_t> strides, Device device = Device::cpu(),
                             std::int64_t alignment = 256, const char* what = "tensor");

  void* data() const { return data_; }
  Dtype dtype() const { return dtype_; }
  Device device() const { return device_; }
  int rank() const { return rank_; }
  std::int64_t shape(int mode) const { return shape_[static_cast<std::size_t>(mode)]; }
  std::int64_t stride(int mode) const { return strides_[static_cast<std::size_t>(mode)]; }
  std::span<const std::int64_t> shape() const {
    return {shape_.data(), static_cast<std::size_t>(rank_)};
  }
  std::span<const std::int64_t> strides() const {
    return {strides_.data(), static_cast<std::size_t>(rank_)};
  }

  /// True when the view has no data although it has elements.
  bool described() const { return described_; }

  /// Product of the extents; 1 for rank 0.
  std::int64_t elements() const;

  /// Bytes from the first to one past the last element; 0 when there are no elements.
  std::int64_t span_bytes() const { return span_bytes_; }

  /// The largest power of two, at most 256, that divides the address of the first element and the
  /// distance in bytes of every mode with more than one element and a stride other than 1.
  /// (Modes of stride 1 are the contiguous ones; their extent does not count.) At least 1, also for
  /// packed types whose rows start in the middle of a byte.
  int alignment() const { return alignment_; }

  /// A view of the same memory seen with another dtype of the same width (f32 as tf32). Throws
  /// Error{type} for another width.
  TensorView with_dtype(Dtype dtype) const;

  /// The same view of memory at `data`. Throws Error{value} as the constructor does of an address.
  TensorView moved(void* data, const char* what = "tensor") const;

  /// A view of the same memory with the last two modes exchanged. Throws Error{value} when there
  /// are fewer.
  TensorView transposed() const;

  /// "bf16 (128, 64) strides (64, 1) on cpu".
  std::string to_string() const;

 private:
  void assign(void* data, Dtype dtype, std::span<const std::int64_t> shape,
              std::span<const std::int64_t> strides, Device device, const char* what);
  void check_address(const char* what) const;

  void* data_ = nullptr;
  std::array<std::int64_t, kMaxRank> shape_{};
  std::array<std::int64_t, kMaxRank> strides_{};
  std::int64_t span_bytes_ = 0;
  std::int16_t alignment_ = 256;
  std::int8_t rank_ = 0;
  Dtype dtype_ = Dtype::f32;
  Device device_;
  bool described_ = false;
};

/// Which elements share one scale factor.
enum class ScaleMode : std::uint8_t {
  tensorwise,        ///< one scale, shape ()
  rowwise,           ///< one for each row of A or column of B
  blockwise_1x16,    ///< 16 along K (nvfp4, scale e4m3, never negative)
  blockwise_1x32,    ///< 32 along K (mxfp8, mxfp4, scale e8m0)
  blockwise_1x128,   ///< 128 along K (scale f32)
  blockwise_128x128  ///< 128 along K times 128 along the other mode (scale f32)
};

/// How the scale factors are arranged in memory.
enum class ScaleSwizzle : std::uint8_t {
  none,           ///< by the strides of the scale
  swizzle_32x4x4  ///< the blocked order of Blackwell's tensor cores (32 x 4 x 4 tiles)
};

std::string_view scale_mode_name(ScaleMode mode);
std::string_view scale_swizzle_name(ScaleSwizzle swizzle);

/// Quantised data with its scale factors: value = data * scale, or data * scale * tensor_scale.
///
/// The e4m3 scales of blockwise_1x16 have no sign: tensor cores that multiply by them read seven
/// bits. A negative one is not refused, since nothing on the host reads scales of a device, and
/// what comes of it depends on the kernel: those whose tensor cores take scales (sm100_scaled_gemm,
/// sm120_scaled_gemm) multiply by its magnitude, all others and check_output() by the number
/// itself. Outputs that are quantised get no negative scales.
///
/// The scale has the shape of the data with K, and for blockwise_128x128 the other mode, divided by
/// the block and rounded up; one element for tensorwise. swizzle_32x4x4 goes with blocks of 16 or
/// 32: the other mode is then filled up to a multiple of 128 and the scales along K to one of 4, in
/// contiguous memory, one batch after the other. Scale (o, k) of a batch is there at
/// (o / 128 * (K scales / 4) + k / 4) * 512 + o % 32 * 16 + o % 128 / 32 * 4 + k % 4.
struct ScaledTensor {
  TensorView data;
  TensorView scale;
  ScaleMode mode = ScaleMode::tensorwise;
  ScaleSwizzle swizzle = ScaleSwizzle::none;
  /// The second level of a mode of blocks: one f32 for the whole tensor.
  std::optional<TensorView> tensor_scale = std::nullopt;
  /// Of an output with f32 scales: they are rounded up to powers of two.
  bool powers_of_two = false;

  /// Whether the mode shares scales by blocks along K.
  bool has_blocks() const { return mode >= ScaleMode::blockwise_1x16; }

  /// Throws Error when dtype, shape or device of a scale does not fit `data` and `mode`.
  /// `k_mode` is the mode of `data` that is summed over (last for A, next to last for B).
  void validate(const char* what, int k_mode) const;
};

}  // namespace estoc
