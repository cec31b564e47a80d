// Memory of operands, and the numbers that they hold.
#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "draw.h"
#include "estoc/numeric.hpp"

namespace estoc::cover {
namespace {

// Views are taken to be aligned as their address is.
constexpr std::size_t kAlignment = 256;

// Inputs of tf32 have low bits that rounding to the nearest takes away, and cutting off does not.
void put_at(Dtype dtype, void* data, std::int64_t offset, double value) {
  if (dtype == Dtype::tf32) {
    store_element(Dtype::f32, data, offset, value * (1 - 0x1p-13));
  } else {
    store_element(dtype, data, offset, value);
  }
}

// Whether the tensor holds one matrix for all batches.
bool is_shared(const TensorView& view) {
  return view.rank() == 2 || view.stride(0) == 0;
}

/// Numbers that an operand holds, and their bytes: converting each element takes longer.
struct Palette {
  std::vector<double> numbers;
  std::vector<std::array<std::byte, 8>> codes;
};

/// Those of fp8 are halves and, where `positive`, make sums that need more bits than a tensor core
/// keeps.
Palette palette_of(Dtype dtype, bool positive) {
  const bool narrow = dtype == Dtype::e4m3 || dtype == Dtype::e5m2;
  const int lowest = positive || dtype == Dtype::u8 || dtype == Dtype::boolean ? 0 : -3;
  // e2m1 has no 5.
  const int count = dtype == Dtype::boolean ? 2 : dtype == Dtype::e2m1 && lowest == 0 ? 5 : 7;
  Palette palette;
  for (int i = 0; i < count; ++i) {
    palette.numbers.push_back(narrow ? (lowest + i) / 2.0 : lowest + i);
    put_at(dtype, palette.codes.emplace_back().data(), 0, palette.numbers.back());
  }
  return palette;
}

}  // namespace

std::int64_t draw_number(Random& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

bool one_in(Random& random, int n) {
  return draw_number(random, 1, n) == 1;
}

HostTensor host_tensor(Dtype dtype, const std::vector<std::int64_t>& shape,
                       const std::vector<std::int64_t>& strides) {
  HostTensor tensor;
  std::int64_t elements = 1;
  for (std::size_t i = 0; i < shape.size(); ++i)
    elements += std::max<std::int64_t>(shape[i] - 1, 0) * strides[i];
  const auto bytes = static_cast<std::size_t>(elements * dtype_bits(dtype) / 8) + 1;
  tensor.storage.assign(bytes + kAlignment, std::byte{0xa5});
  const auto address = reinterpret_cast<std::uintptr_t>(tensor.storage.data());
  std::byte* data = tensor.storage.data() + (kAlignment - address % kAlignment) % kAlignment;
  tensor.view = TensorView(data, dtype, shape, strides);
  return tensor;
}

HostTensor draw_operand(const Plane& plane, std::int64_t batches, Random& random) {
  const bool row_major = plane.letter == 'x' ? one_in(random, 2) : plane.letter == 't';
  const int bits = dtype_bits(plane.dtype);
  const std::int64_t step = std::max<std::int64_t>(plane.alignment * 8 / bits, bits < 8 ? 2 : 1);
  const std::int64_t inner = row_major ? plane.columns : plane.rows;
  const std::int64_t outer = row_major ? plane.rows : plane.columns;
  const std::int64_t extra = one_in(random, 3) ? step : 0;
  const std::int64_t line = std::max<std::int64_t>((inner + step - 1) / step * step + extra, 1);
  std::vector<std::int64_t> shape{plane.rows, plane.columns};
  std::vector<std::int64_t> strides{row_major ? line : 1, row_major ? 1 : line};
  // An input may serve the whole batch: by a stride of 0, or without the mode.
  const bool shared = plane.input && one_in(random, 3);
  if (batches > 1 && (!shared || one_in(random, 2))) {
    shape.insert(shape.begin(), batches);
    strides.insert(strides.begin(), shared ? 0 : line * std::max<std::int64_t>(outer, 1));
  }
  return host_tensor(plane.dtype, shape, strides);
}

void put(const TensorView& view, std::int64_t l, std::int64_t i, std::int64_t j, double value) {
  const auto strides = view.strides();
  const std::size_t first = strides.size() - 2;
  std::int64_t offset = i * strides[first] + j * strides[first + 1];
  if (first == 1) offset += l * strides[0];
  put_at(view.dtype(), view.data(), offset, value);
}

std::vector<double> fill(const HostTensor& tensor, std::int64_t batches, std::int64_t rows,
                         std::int64_t columns, bool positive, Random& random) {
  std::mt19937_64 own(random());
  if (!random.data) return {};
  const TensorView& view = tensor.view;
  const Palette palette = palette_of(view.dtype(), positive);
  const bool packed = is_packed(view.dtype());
  const auto bytes = static_cast<std::size_t>(dtype_bits(view.dtype()) / 8);
  const std::size_t first = view.strides().size() - 2;
  const std::int64_t down = view.stride(static_cast<int>(first));
  const std::int64_t along = view.stride(static_cast<int>(first) + 1);
  auto* const data = static_cast<std::byte*>(const_cast<void*>(view.data()));
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(batches * rows * columns));
  for (std::int64_t l = 0; l < (is_shared(view) ? 1 : batches); ++l) {
    for (std::int64_t i = 0; i < rows; ++i) {
      std::int64_t offset = i * down + (first == 1 ? l * view.stride(0) : 0);
      for (std::int64_t j = 0; j < columns; ++j, offset += along) {
        const std::size_t number = own() % palette.numbers.size();
        values.push_back(palette.numbers[number]);
        if (packed) {
          put_at(view.dtype(), data, offset, values.back());
        } else {
          std::memcpy(data + offset * static_cast<std::int64_t>(bytes),
                      palette.codes[number].data(), bytes);
        }
      }
    }
  }
  const std::size_t one = values.size();
  while (values.size() < static_cast<std::size_t>(batches * rows * columns))
    values.push_back(values[values.size() - one]);
  return values;
}

}  // namespace estoc::cover
