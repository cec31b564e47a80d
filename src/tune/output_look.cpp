// Prepares what outputs are compared with on the device, and compares.
#include "tune/output_look.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <vector>

#include "check/blocks.h"
#include "check/parallel.h"
#include "estoc/numeric.hpp"

namespace estoc::tuning {
namespace {

using check::Expectation;
using check::Judge;

constexpr std::int64_t kPartElements = std::int64_t{1} << 21;

/// Stored as its operands are: tf32 is read without rounding.
Dtype stored_type(Dtype dtype) {
  return dtype == Dtype::tf32 ? Dtype::f32 : dtype;
}

/// What passes for some rows, as the device gets it.
struct Part {
  std::vector<std::byte> low, high;
  std::vector<double> references;
};

/// Writes what passes for one element; where a range cannot say, one that nothing passes.
void write(const Judge& judge, Dtype dtype, const Expectation& expectation, std::size_t at,
           Part& part) {
  const double largest = max_finite(dtype);
  const check::Range nothing{largest, round_to(dtype, -largest)};
  const check::Range range = judge.passing(expectation).value_or(nothing);
  store_element(dtype, part.low.data(), static_cast<std::int64_t>(at), range.low);
  store_element(dtype, part.high.data(), static_cast<std::int64_t>(at), range.high);
  part.references[at] = std::isfinite(judge.target(expectation))
                            ? judge.reference(expectation)
                            : std::numeric_limits<double>::quiet_NaN();
}

/// The power of two that brings `largest` near 1, within what a double can hold.
double scale_for(double largest) {
  if (largest == 0) return 1;
  return std::ldexp(1.0, std::clamp(-std::ilogb(largest), -1000, 1000));
}

double largest_of(const std::vector<double>& references, std::size_t count) {
  double largest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(references[i])) largest = std::max(largest, std::abs(references[i]));
  }
  return largest;
}

}  // namespace

OutputLook::OutputLook(const GemmArguments& on_device, const check::ExpectedRows& expected,
                       const CheckKernels& kernels, const CheckOptions& options) {
  const std::vector<std::int64_t> rows = check::rows_from(expected.rows, 0, expected.rows.count());
  const Dtype dtype = stored_type(on_device.out_matrix().dtype);
  const std::size_t elements = rows.size() * static_cast<std::size_t>(expected.columns);
  const auto bytes =
      static_cast<std::size_t>(storage_bytes(dtype, static_cast<std::int64_t>(elements)));
  const Device device = kernels.device();
  rows_ = uploaded(std::span(rows), device);
  low_ = DeviceMemory(bytes, device);
  high_ = DeviceMemory(bytes, device);
  references_ = DeviceMemory(elements * sizeof(double), device);
  tallies_ = DeviceMemory(CheckKernels::look_ctas(expected.rows.count()) * sizeof(abi::CheckTally),
                          device);
  output_ = {.out = matrix_of(on_device.out_matrix()),
             .m = on_device.extents().m,
             .n = expected.columns,
             .rows = address_of(rows_),
             .count = expected.rows.count(),
             .low = address_of(low_),
             .high = address_of(high_),
             .references = address_of(references_),
             .tallies = address_of(tallies_),
             .scale = 1,
             .type = static_cast<abi::Type>(dtype)};
  fill(on_device, expected, options);
}

void OutputLook::fill(const GemmArguments& on_device, const check::ExpectedRows& expected,
                      const CheckOptions& options) {
  const auto columns = static_cast<std::size_t>(expected.columns);
  if (columns == 0) return;
  const Dtype dtype = stored_type(on_device.out_matrix().dtype);
  const auto width = static_cast<std::size_t>(dtype_bits(dtype) / 8);
  const std::size_t rows = expected.elements.size();
  const std::size_t height = std::min(
      rows, static_cast<std::size_t>(std::max<std::int64_t>(kPartElements / expected.columns, 1)));
  Part part{std::vector<std::byte>(height * columns * width),
            std::vector<std::byte>(height * columns * width),
            std::vector<double>(height * columns)};
  Judge total(on_device.out_matrix().dtype, Dtype::f64);
  double largest = 0;
  std::mutex mutex;
  for (std::size_t first = 0; first < rows; first += height) {
    const std::size_t count = std::min(height, rows - first);
    const auto tasks = static_cast<std::int64_t>(count);
    check::run_tasks(tasks, options.threads, {}, [&](check::TaskSource& source) {
      Judge judge(on_device.out_matrix().dtype, Dtype::f64);
      while (const std::optional<std::int64_t> task = source.next()) {
        const std::size_t row = first + static_cast<std::size_t>(*task);
        for (std::size_t column = 0; column < columns; ++column) {
          const Expectation& expectation = expected.elements[row][column];
          const check::Place place{static_cast<std::int64_t>(row),
                                   static_cast<std::int64_t>(column)};
          judge.see(place, judge.target(expectation), expectation);
          write(judge, dtype, expectation, (row - first) * columns + column, part);
        }
      }
      const std::lock_guard lock(mutex);
      total.merge(judge);
    });
    low_.upload(part.low.data(), count * columns * width, first * columns * width);
    high_.upload(part.high.data(), count * columns * width, first * columns * width);
    references_.upload(part.references.data(), count * columns * sizeof(double),
                       first * columns * sizeof(double));
    largest = std::max(largest, largest_of(part.references, count * columns));
  }
  perfect_ = total.tally();
  output_.scale = scale_for(largest);
}

std::optional<check::Tally> OutputLook::look(const CheckKernels& kernels) const {
  kernels.look(output_);
  std::vector<abi::CheckTally> tallies(CheckKernels::look_ctas(output_.count));
  tallies_.download(tallies.data(), tallies_.bytes());
  long double error = 0;
  for (const abi::CheckTally& tally : tallies) {
    if (tally.failed != 0) return std::nullopt;
    error += tally.error;
  }
  check::Tally seen = perfect_;
  const long double scale = output_.scale;
  seen.error = error / (scale * scale);
  return seen;
}

}  // namespace estoc::tuning
