// Builds and checks TensorView.
#include "estoc/tensor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

#include "model/checked.h"
#include "model/fail.h"

namespace estoc {
namespace {

using model::fail;
using model::fail_value;

constexpr std::uint64_t kMaxAlignment = 256;
constexpr std::int64_t kMaxInt64 = std::numeric_limits<std::int64_t>::max();

std::string in_parentheses(std::span<const std::int64_t> values) {
  return fmt::format("({})", fmt::join(values, ", "));
}

/// The largest power of two that divides `bits`, at least 1 and at most kMaxAlignment.
int largest_alignment(std::uint64_t bits) {
  const std::uint64_t limited = bits | kMaxAlignment;
  return static_cast<int>(limited & (~limited + 1));
}

[[noreturn, gnu::cold]] void fail_ranks(std::size_t shape, std::size_t strides, const char* what) {
  if (shape > kMaxRank) {
    fail_value("{}.shape: expected at most {} modes, got {}", what, kMaxRank, shape);
  }
  fail_value("{}.strides: expected {} strides (one for each mode), got {}", what, shape, strides);
}

[[noreturn, gnu::cold]] void fail_negative(std::span<const std::int64_t> shape,
                                           std::span<const std::int64_t> strides,
                                           const char* what) {
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      fail_value("{}.shape: expected extents of 0 or more, got {}", what, in_parentheses(shape));
    }
  }
  fail_value("{}.strides: expected strides of 0 or more, got {}", what, in_parentheses(strides));
}

[[noreturn, gnu::cold]] void fail_size(std::span<const std::int64_t> shape,
                                       std::span<const std::int64_t> strides, const char* what) {
  fail_value("{}.shape: expected at most 2^63 - 1 bytes, got extents {} with strides {}", what,
             in_parentheses(shape), in_parentheses(strides));
}

/// Binary logarithm of the bytes of an element; 0 for packed types.
int element_shift(Dtype dtype) {
  return is_packed(dtype) ? 0 : std::countr_zero(static_cast<unsigned>(dtype_bits(dtype))) - 3;
}

/// Whether TensorView::alignment counts the stride of a mode.
bool counts_for_alignment(std::int64_t extent, std::int64_t stride) {
  return extent > 1 && stride != 1;
}

/// What one pass over the modes gives; all in elements.
struct Measure {
  std::int64_t last = 0;      ///< position of the last element
  std::int64_t elements = 1;  ///< product of the extents
  std::int64_t signs = 0;     ///< negative when an extent or stride is
  std::uint64_t strides = 0;  ///< the strides that TensorView::alignment counts, or-ed together
  bool empty = false;
  bool overflow = false;
};

Measure measure(std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
  Measure found;
  for (std::size_t mode = 0; mode < shape.size(); ++mode) {
    const std::int64_t extent = shape[mode];
    const std::int64_t stride = strides[mode];
    std::int64_t steps = 0;
    std::int64_t distance = 0;
    found.signs |= extent | stride;
    found.empty |= extent == 0;
    found.overflow |= __builtin_sub_overflow(extent, std::int64_t{1}, &steps);
    found.overflow |= __builtin_mul_overflow(steps, stride, &distance);
    found.overflow |= __builtin_add_overflow(found.last, distance, &found.last);
    found.overflow |= __builtin_mul_overflow(found.elements, extent, &found.elements);
    if (counts_for_alignment(extent, stride)) found.strides |= static_cast<std::uint64_t>(stride);
  }
  return found;
}

/// Bytes up to the end of the last element; -1 when they pass 2^63 - 1.
std::int64_t span_of(const Measure& measured, Dtype dtype) {
  if (measured.empty) return 0;
  if (measured.overflow || measured.last >= kMaxInt64 >> element_shift(dtype)) return -1;
  return storage_bytes(dtype, measured.last + 1);
}

/// The distances in bytes; an odd stride of a packed type counts as one byte.
std::uint64_t stride_bytes(std::uint64_t strides, Dtype dtype) {
  return is_packed(dtype) ? strides >> 1 | (strides & 1) : strides << element_shift(dtype);
}

using Strides = std::array<std::int64_t, kMaxRank>;
using StrideRule = bool (*)(std::span<const std::int64_t>, std::span<std::int64_t>);

TensorView contiguous(void* data, Dtype dtype, std::span<const std::int64_t> shape, Device device,
                      StrideRule rule) {
  Strides strides{};
  if (shape.size() > kMaxRank) fail_ranks(shape.size(), shape.size(), "tensor");
  const std::span used(strides.data(), shape.size());
  for (const std::int64_t extent : shape) {
    if (extent < 0) fail_negative(shape, used, "tensor");
  }
  if (!rule(shape, used)) {
    fail_value("tensor.shape: expected at most 2^63 - 1 elements, got extents {}",
               in_parentheses(shape));
  }
  return {data, dtype, shape, used, device};
}

std::span<const std::int64_t> as_span(std::initializer_list<std::int64_t> values) {
  return {values.begin(), values.size()};
}

}  // namespace

namespace model {

bool row_major_strides(std::span<const std::int64_t> shape, std::span<std::int64_t> strides) {
  std::int64_t stride = 1;
  for (std::size_t mode = shape.size(); mode-- > 0;) {
    strides[mode] = stride;
    if (mode > 0 && !multiply_by(stride, std::max<std::int64_t>(shape[mode], 1))) return false;
  }
  return true;
}

bool column_major_strides(std::span<const std::int64_t> shape, std::span<std::int64_t> strides) {
  if (!row_major_strides(shape, strides)) return false;
  const std::size_t rank = shape.size();
  if (rank < 2) return true;
  strides[rank - 2] = 1;
  strides[rank - 1] = std::max<std::int64_t>(shape[rank - 2], 1);
  return true;
}

}  // namespace model

std::string Device::name() const {
  return is_cpu() ? std::string("cpu") : fmt::format("cuda:{}", index);
}

void TensorView::assign(void* data, Dtype dtype, std::span<const std::int64_t> shape,
                        std::span<const std::int64_t> strides, Device device, const char* what) {
  if (shape.size() > kMaxRank || strides.size() != shape.size()) {
    fail_ranks(shape.size(), strides.size(), what);
  }
  const Measure measured = measure(shape, strides);
  if (measured.signs < 0) fail_negative(shape, strides, what);
  span_bytes_ = span_of(measured, dtype);
  if (span_bytes_ < 0) fail_size(shape, strides, what);
  std::ranges::copy(shape, shape_.begin());
  std::ranges::copy(strides, strides_.begin());
  data_ = data;
  dtype_ = dtype;
  device_ = device;
  rank_ = static_cast<std::int8_t>(shape.size());
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  alignment_ =
      static_cast<std::int16_t>(largest_alignment(address | stride_bytes(measured.strides, dtype)));
}

TensorView::TensorView(void* data, Dtype dtype, std::span<const std::int64_t> shape,
                       std::span<const std::int64_t> strides, Device device, const char* what) {
  assign(data, dtype, shape, strides, device, what);
  check_address(what);
}

void TensorView::check_address(const char* what) const {
  if (data_ == nullptr && span_bytes_ > 0) {
    fail_value("{}.data: expected memory for {} elements, got a null pointer", what, elements());
  }
  const auto address = reinterpret_cast<std::uintptr_t>(data_);
  const auto element_bytes = static_cast<std::uintptr_t>(storage_bytes(dtype_, 1));
  if ((address & (element_bytes - 1)) != 0) {
    fail_value("{}.data: expected an address that is a multiple of {} bytes ({}), got {:#x}", what,
               element_bytes, dtype_name(dtype_), address);
  }
  if (address + static_cast<std::uintptr_t>(span_bytes_) < address) {
    fail_value("{}.shape: expected at most {} bytes after the address {:#x}, got {}", what,
               ~address, address, span_bytes_);
  }
}

TensorView::TensorView(void* data, Dtype dtype, std::initializer_list<std::int64_t> shape,
                       std::initializer_list<std::int64_t> strides, Device device)
    : TensorView(data, dtype, as_span(shape), as_span(strides), device) {}

TensorView TensorView::row_major(void* data, Dtype dtype, std::span<const std::int64_t> shape,
                                 Device device) {
  return contiguous(data, dtype, shape, device, model::row_major_strides);
}

TensorView TensorView::row_major(void* data, Dtype dtype, std::initializer_list<std::int64_t> shape,
                                 Device device) {
  return row_major(data, dtype, as_span(shape), device);
}

TensorView TensorView::column_major(void* data, Dtype dtype, std::span<const std::int64_t> shape,
                                    Device device) {
  return contiguous(data, dtype, shape, device, model::column_major_strides);
}

TensorView TensorView::column_major(void* data, Dtype dtype,
                                    std::initializer_list<std::int64_t> shape, Device device) {
  return column_major(data, dtype, as_span(shape), device);
}

TensorView TensorView::describe(Dtype dtype, std::span<const std::int64_t> shape,
                                std::span<const std::int64_t> strides, Device device,
                                std::int64_t alignment, const char* what) {
  const std::int64_t smallest = storage_bytes(dtype, 1);
  if (alignment < smallest || alignment > static_cast<std::int64_t>(kMaxAlignment) ||
      !std::has_single_bit(static_cast<std::uint64_t>(alignment))) {
    fail_value("{}.alignment: expected a power of two from {} ({}) to {} bytes, got {}", what,
               smallest, dtype_name(dtype), kMaxAlignment, alignment);
  }
  TensorView view;
  view.assign(nullptr, dtype, shape, strides, device, what);
  view.alignment_ = std::min(view.alignment_, static_cast<std::int16_t>(alignment));
  view.described_ = view.span_bytes_ > 0;
  return view;
}

std::int64_t TensorView::elements() const {
  if (span_bytes_ == 0) return rank_ == 0 ? 1 : 0;
  std::int64_t product = 1;
  for (const std::int64_t extent : shape())
    product *= extent;
  return product;
}

TensorView TensorView::with_dtype(Dtype dtype) const {
  if (dtype_bits(dtype) != dtype_bits(dtype_)) {
    fail(ErrorKind::type, "tensor.dtype: expected a type of {} bits like {}, got {}",
         dtype_bits(dtype_), dtype_name(dtype_), dtype_name(dtype));
  }
  TensorView view = *this;
  view.dtype_ = dtype;
  return view;
}

TensorView TensorView::moved(void* data, const char* what) const {
  TensorView view = *this;
  view.data_ = data;
  view.described_ = false;
  view.check_address(what);
  std::uint64_t counted = 0;
  for (int mode = 0; mode < rank_; ++mode) {
    if (counts_for_alignment(shape(mode), stride(mode))) {
      counted |= static_cast<std::uint64_t>(stride(mode));
    }
  }
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  view.alignment_ =
      static_cast<std::int16_t>(largest_alignment(address | stride_bytes(counted, dtype_)));
  return view;
}

TensorView TensorView::transposed() const {
  if (rank_ < 2) fail_value("tensor.shape: expected at least 2 modes, got {}", rank());
  TensorView view = *this;
  const auto last = static_cast<std::size_t>(rank_) - 1;
  std::swap(view.shape_[last], view.shape_[last - 1]);
  std::swap(view.strides_[last], view.strides_[last - 1]);
  return view;
}

std::string TensorView::to_string() const {
  return fmt::format("{} {} strides {} on {}", dtype_name(dtype_), in_parentheses(shape()),
                     in_parentheses(strides()), device_.name());
}

}  // namespace estoc
