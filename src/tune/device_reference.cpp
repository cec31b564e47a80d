// Computes reference products on a device, panel by panel.
#include "tune/device_reference.h"

#include <algorithm>
#include <vector>

#include "check/blocks.h"
#include "check/parallel.h"
#include "check/reference.h"
#include "check/rounding.h"
#include "estoc/status.hpp"
#include "jit/abi_type.h"

namespace estoc::tuning {
namespace {

using check::VectorFacts;

constexpr std::int64_t kPanelElements = std::int64_t{1} << 21;

std::vector<abi::CheckTile> tiles_of(const GemmArguments& arguments,
                                     std::span<const std::int64_t> rows) {
  std::vector<abi::CheckTile> tiles;
  std::int64_t first = 0;
  check::for_each_b(arguments, rows, [&](std::span<const std::int64_t> group) {
    const std::int64_t count = std::ssize(group);
    for (std::int64_t i = 0; i < count; i += abi::kCheckTile)
      tiles.push_back({first + i, std::min<std::int64_t>(abi::kCheckTile, count - i)});
    first += count;
  });
  return tiles;
}

VectorFacts facts_of(int lowest) {
  VectorFacts facts;
  facts.finite = lowest != abi::kCheckNotFinite;
  if (facts.finite) facts.lowest_bit = lowest;
  return facts;
}

/// The rows of one panel, and what the device says of them.
class Panel {
 public:
  Panel(const GemmArguments& arguments, const CheckKernels& kernels)
      : arguments_(arguments), kernels_(kernels), integers_(check::is_integer_gemm(arguments)) {}

  void compute(std::span<const std::int64_t> rows) {
    const std::size_t elements = rows.size() * columns();
    elements_.resize(elements);
    if (result_.bytes() < elements * sizeof(abi::CheckElement)) {
      result_ = DeviceMemory();
      result_ = DeviceMemory(elements * sizeof(abi::CheckElement), kernels_.device());
    }
    const DeviceMemory numbers = uploaded(rows, kernels_.device());
    multiply(rows, numbers);
    if (integers_) return;
    row_facts_ = facts_of_rows(rows.size(), numbers);
    find_batches(rows);
    column_facts_ = facts_of_columns();
  }

  check::Expectation expect(const check::GemmRounding& rounding, std::size_t row,
                            std::size_t column) const {
    const abi::CheckElement& element = elements_[row * columns() + column];
    if (integers_) return {element.value};
    const int of_column = column_facts_[batch_of_row_[row] * columns() + column];
    return rounding.expect({element.value, element.magnitude, element.partials},
                           facts_of(row_facts_[row]), facts_of(of_column));
  }

 private:
  std::size_t columns() const { return static_cast<std::size_t>(arguments_.extents().n); }

  void multiply(std::span<const std::int64_t> rows, const DeviceMemory& numbers) {
    const GemmExtents& e = arguments_.extents();
    const std::vector<abi::CheckTile> list = tiles_of(arguments_, rows);
    const DeviceMemory tiles = uploaded(std::span(list), kernels_.device());
    const auto column_tiles =
        static_cast<unsigned>(check::divide_up(e.n, std::int64_t{abi::kCheckTile}));
    kernels_.product({.a = matrix_of(arguments_.a_matrix()),
                      .b = matrix_of(arguments_.b_matrix()),
                      .m = e.m,
                      .n = e.n,
                      .k = e.k,
                      .rows = address_of(numbers),
                      .tiles = address_of(tiles),
                      .result = address_of(result_),
                      .column_tiles = column_tiles,
                      .a_type = abi_type(arguments_.a_matrix().dtype),
                      .b_type = abi_type(arguments_.b_matrix().dtype)},
                     list.size(), integers_);
    result_.download(elements_.data(), elements_.size() * sizeof(abi::CheckElement));
  }

  std::vector<int> facts_of_rows(std::size_t count, const DeviceMemory& numbers) const {
    const MatrixView& a = arguments_.a_matrix();
    return vector_facts({.address = matrix_of(a).address,
                         .list = address_of(numbers),
                         .result = 0,
                         .count = static_cast<std::int64_t>(count),
                         .inner = 1,
                         .divisor = arguments_.extents().m,
                         .batch_stride = a.batch_stride,
                         .stride = a.row_stride,
                         .inner_stride = 0,
                         .k = arguments_.extents().k,
                         .k_stride = a.column_stride,
                         .type = abi_type(a.dtype)});
  }

  /// Of the columns of each matrix B of the panel.
  std::vector<int> facts_of_columns() const {
    const MatrixView& b = arguments_.b_matrix();
    const DeviceMemory list = uploaded(std::span<const std::int64_t>(batches_), kernels_.device());
    return vector_facts({.address = matrix_of(b).address,
                         .list = address_of(list),
                         .result = 0,
                         .count = static_cast<std::int64_t>(batches_.size() * columns()),
                         .inner = arguments_.extents().n,
                         .divisor = 1,
                         .batch_stride = b.batch_stride,
                         .stride = 0,
                         .inner_stride = b.column_stride,
                         .k = arguments_.extents().k,
                         .k_stride = b.row_stride,
                         .type = abi_type(b.dtype)});
  }

  std::vector<int> vector_facts(abi::CheckVectors vectors) const {
    std::vector<int> facts(static_cast<std::size_t>(vectors.count));
    const DeviceMemory result(facts.size() * sizeof(int), kernels_.device());
    vectors.result = address_of(result);
    kernels_.facts(vectors);
    result.download(facts.data(), result.bytes());
    return facts;
  }

  void find_batches(std::span<const std::int64_t> rows) {
    batches_.clear();
    batch_of_row_.clear();
    for (const std::int64_t row : rows) {
      const bool shared = arguments_.b_matrix().batch_stride == 0;
      const std::int64_t batch = shared ? 0 : row / arguments_.extents().m;
      if (batches_.empty() || batches_.back() != batch) batches_.push_back(batch);
      batch_of_row_.push_back(batches_.size() - 1);
    }
  }

  const GemmArguments& arguments_;
  const CheckKernels& kernels_;
  bool integers_;
  DeviceMemory result_;
  std::vector<abi::CheckElement> elements_;
  std::vector<int> row_facts_;
  std::vector<int> column_facts_;
  std::vector<std::int64_t> batches_;
  std::vector<std::size_t> batch_of_row_;
};

void report(const CheckOptions& options, double done) {
  if (!options.progress || options.progress(done)) return;
  throw Error(ErrorKind::cancelled, "the check was cancelled");
}

}  // namespace

check::ExpectedRows expected_rows(const GemmArguments& on_device, const check::RowSample& sample,
                                  const CheckKernels& kernels, const CheckOptions& options) {
  const std::int64_t columns = on_device.extents().n;
  check::ExpectedRows expected{.rows = sample, .columns = columns, .elements = {}};
  expected.elements.resize(static_cast<std::size_t>(sample.count()));
  if (columns == 0) return expected;
  const auto rounding =
      check::is_integer_gemm(on_device) ? check::GemmRounding{} : check::gemm_rounding(on_device);
  const std::int64_t height = std::max<std::int64_t>(kPanelElements / columns, 1);
  Panel panel(on_device, kernels);
  for (std::int64_t first = 0; first < sample.count(); first += height) {
    report(options, static_cast<double>(first) / static_cast<double>(sample.count()));
    const std::vector<std::int64_t> rows = check::rows_from(sample, first, height);
    panel.compute(rows);
    const auto count = static_cast<std::int64_t>(rows.size());
    check::run_tasks(count, options.threads, {}, [&](check::TaskSource& source) {
      while (const std::optional<std::int64_t> task = source.next()) {
        auto& row = expected.elements[static_cast<std::size_t>(first + *task)];
        row.reserve(static_cast<std::size_t>(columns));
        for (std::size_t column = 0; column < static_cast<std::size_t>(columns); ++column)
          row.push_back(panel.expect(rounding, static_cast<std::size_t>(*task), column));
      }
    });
  }
  return expected;
}

}  // namespace estoc::tuning
