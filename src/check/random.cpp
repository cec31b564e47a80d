// Reproducible random data: every element is a function of the seed and its place in the tensor.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "check/mix.h"
#include "estoc/check.hpp"
#include "estoc/numeric.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace {

using check::mix;

/// The values -1, -1 + step, ..., 1 - step.
std::vector<double> grid(double step) {
  std::vector<double> values;
  for (double value = -1; value < 1; value += step)
    values.push_back(value);
  return values;
}

std::vector<double> integers(int first, int last) {
  std::vector<double> values;
  for (int value = first; value <= last; ++value)
    values.push_back(value);
  return values;
}

/// What the elements of a dtype are drawn from; empty for f64 and f32, whose grids are too fine to
/// be listed.
std::vector<double> choices(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
    case Dtype::f32:
      return {};
    case Dtype::e2m1:
      return grid(0.5);
    case Dtype::e8m0:
      return {0.5, 0.25, 0.125, 0.0625};
    case Dtype::i32:
    case Dtype::i8:
      return integers(-127, 127);
    case Dtype::u8:
      return integers(0, 127);
    case Dtype::i4:
      return integers(-8, 7);
    case Dtype::u4:
      return integers(0, 15);
    case Dtype::boolean:
      return integers(0, 1);
    default:
      return grid(epsilon(dtype) / 2);
  }
}

/// Stores the value for random bits; one class a kind of element.
class F64Store {
 public:
  explicit F64Store(void* data) : data_(static_cast<double*>(data)) {}
  void operator()(std::int64_t at, std::uint64_t bits) const {
    data_[at] = static_cast<double>(static_cast<std::int64_t>(bits) >> 10) * 0x1p-53;
  }

 private:
  double* data_;
};

class F32Store {
 public:
  explicit F32Store(void* data) : data_(static_cast<float*>(data)) {}
  void operator()(std::int64_t at, std::uint64_t bits) const {
    data_[at] = static_cast<float>(static_cast<std::int32_t>(bits >> 32) >> 7) * 0x1p-24F;
  }

 private:
  float* data_;
};

/// Draws from a list of stored elements, each as wide as Code.
template <class Code>
class TableStore {
 public:
  TableStore(void* data, Dtype dtype, const std::vector<double>& values)
      : data_(static_cast<Code*>(data)), codes_(values.size()) {
    for (std::size_t i = 0; i < values.size(); ++i)
      store_element(dtype, &codes_[i], 0, values[i]);
  }
  void operator()(std::int64_t at, std::uint64_t bits) const {
    data_[at] = codes_[((bits >> 32) * codes_.size()) >> 32];
  }

 private:
  Code* data_;
  std::vector<Code> codes_;
};

class PackedStore {
 public:
  PackedStore(void* data, Dtype dtype, std::vector<double> values)
      : data_(data), values_(std::move(values)), dtype_(dtype) {}
  void operator()(std::int64_t at, std::uint64_t bits) const {
    store_element(dtype_, data_, at, values_[((bits >> 32) * values_.size()) >> 32]);
  }

 private:
  void* data_;
  std::vector<double> values_;
  Dtype dtype_;
};

/// One mode of the walk over a tensor; `step` is its stride in the row-major numbering.
struct Mode {
  std::int64_t extent = 1;
  std::int64_t stride = 0;
  std::int64_t step = 0;
};

/// The tensor's modes, largest stride first, so that memory is walked in order. A mode that
/// repeats its elements is walked once.
std::vector<Mode> walk_order(const TensorView& tensor) {
  std::vector<Mode> modes;
  std::int64_t step = 1;
  for (int i = tensor.rank() - 1; i >= 0; --i) {
    const std::int64_t extent = tensor.stride(i) == 0 ? 1 : tensor.shape(i);
    modes.push_back({extent, tensor.stride(i), step});
    step *= tensor.shape(i);
  }
  std::ranges::stable_sort(modes, std::ranges::greater{}, &Mode::stride);
  if (modes.empty()) modes.emplace_back();
  return modes;
}

/// Calls store(place, bits) for every element.
template <class Store>
void fill(const TensorView& tensor, std::uint64_t seed, const Store& store) {
  const std::vector<Mode> modes = walk_order(tensor);
  const Mode inner = modes.back();
  std::int64_t runs = 1;
  for (const Mode& mode : modes)
    runs *= mode.extent;
  runs /= inner.extent;
  for (std::int64_t run = 0; run < runs; ++run) {
    std::int64_t place = 0;
    std::int64_t index = 0;
    std::int64_t rest = run;
    for (std::size_t i = modes.size() - 1; i-- > 0;) {
      const std::int64_t position = rest % modes[i].extent;
      rest /= modes[i].extent;
      place += position * modes[i].stride;
      index += position * modes[i].step;
    }
    for (std::int64_t i = 0; i < inner.extent; ++i) {
      const auto number = static_cast<std::uint64_t>(index + i * inner.step);
      store(place + i * inner.stride, mix(seed, number));
    }
  }
}

void clear_signs(const TensorView& bytes, int mode, std::int64_t place) {
  constexpr std::uint8_t kMagnitude = 0x7f;
  if (mode == bytes.rank()) {
    static_cast<std::uint8_t*>(bytes.data())[place] &= kMagnitude;
    return;
  }
  for (std::int64_t i = 0; i < bytes.shape(mode); ++i)
    clear_signs(bytes, mode + 1, place + i * bytes.stride(mode));
}

}  // namespace

void clear_scale_signs(const ScaledTensor& scaled) {
  if (scaled.scale.dtype() == Dtype::e4m3) clear_signs(scaled.scale, 0, 0);
}

void fill_random(const TensorView& tensor, std::uint64_t seed) {
  if (tensor.elements() == 0) return;
  if (!tensor.device().is_cpu() || tensor.described()) {
    throw Error(ErrorKind::value, "fill_random: expected a tensor with data in host memory, got " +
                                      tensor.to_string());
  }
  // Two seeds that differ in one bit must not give sequences that are shifts of each other.
  const std::uint64_t sequence = mix(seed, 0);
  void* const data = tensor.data();
  const Dtype dtype = tensor.dtype();
  if (dtype == Dtype::f64) return fill(tensor, sequence, F64Store(data));
  if (dtype == Dtype::f32) return fill(tensor, sequence, F32Store(data));
  std::vector<double> values = choices(dtype);
  if (is_packed(dtype)) return fill(tensor, sequence, PackedStore(data, dtype, std::move(values)));
  switch (dtype_bits(dtype)) {
    case 8:
      return fill(tensor, sequence, TableStore<std::uint8_t>(data, dtype, values));
    case 16:
      return fill(tensor, sequence, TableStore<std::uint16_t>(data, dtype, values));
    default:
      return fill(tensor, sequence, TableStore<std::uint32_t>(data, dtype, values));
  }
}

}  // namespace estoc
