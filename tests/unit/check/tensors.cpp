// Implements the helpers of the check tests.
#include "tensors.h"

#include <utility>

namespace estoc::test {

Tensor::Tensor(Dtype dtype, std::vector<std::int64_t> shape, bool column_major) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape)
    elements *= extent;
  // A byte more, so that an empty tensor has an address too.
  memory.resize(static_cast<std::size_t>(storage_bytes(dtype, elements)) + 1);
  view_ = column_major ? TensorView::column_major(memory.data(), dtype, shape)
                       : TensorView::row_major(memory.data(), dtype, shape);
}

double Tensor::get(std::int64_t row, std::int64_t column) const {
  const int rank = view_.rank();
  return load_element(view_.dtype(), view_.data(),
                      row * view_.stride(rank - 2) + column * view_.stride(rank - 1));
}

void Tensor::set(std::int64_t row, std::int64_t column, double value) {
  const int rank = view_.rank();
  store_element(view_.dtype(), view_.data(),
                row * view_.stride(rank - 2) + column * view_.stride(rank - 1), value);
}

Tensor& Tensor::randomise(std::uint64_t seed) {
  fill_random(view_, seed);
  return *this;
}

Tensor& Tensor::fill(double value) {
  for (std::int64_t i = 0; i < view_.elements(); ++i)
    store_element(view_.dtype(), view_.data(), i, value);
  return *this;
}

Step plain_step(Dtype accumulator) {
  switch (accumulator) {
    case Dtype::f64:
      return [](double sum, double a, double b) { return sum + a * b; };
    case Dtype::i32:
      return [](double sum, double a, double b) {
        const auto wide = static_cast<std::int64_t>(sum) +
                          static_cast<std::int64_t>(a) * static_cast<std::int64_t>(b);
        return static_cast<double>(static_cast<std::int32_t>(static_cast<std::uint32_t>(wide)));
      };
    case Dtype::f16:
      return [](double sum, double a, double b) {
        return round_to(Dtype::f16, sum + round_to(Dtype::f16, a * b));
      };
    default:
      return [](double sum, double a, double b) {
        const float product = static_cast<float>(a) * static_cast<float>(b);
        return static_cast<double>(static_cast<float>(sum) + product);
      };
  }
}

namespace {

/// Rows (or columns) of a matrix as doubles, tf32 rounded.
std::vector<double> decode(const MatrixView& matrix, std::int64_t batch) {
  std::vector<double> values;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t column = 0; column < matrix.columns; ++column) {
      const double value = load_element(
          matrix.dtype, matrix.data,
          batch * matrix.batch_stride + row * matrix.row_stride + column * matrix.column_stride);
      values.push_back(matrix.dtype == Dtype::tf32 ? round_to(Dtype::tf32, value) : value);
    }
  }
  return values;
}

}  // namespace

void PlainGemm::run(const GemmArguments& arguments) const {
  const GemmExtents& extents = arguments.extents();
  const MatrixView& out = arguments.out_matrix();
  const std::int64_t end = last_k < 0 ? extents.k : last_k;
  for (std::int64_t batch = 0; batch < extents.l; ++batch) {
    const std::vector<double> a = decode(arguments.a_matrix(), batch);
    const std::vector<double> b = decode(arguments.b_matrix(), batch);
    for (std::int64_t row = 0; row < extents.m; ++row) {
      for (std::int64_t column = 0; column < extents.n; ++column) {
        double sum = 0;
        for (std::int64_t k = first_k; k < end; ++k) {
          sum = step(sum, a[static_cast<std::size_t>(row * extents.k + k)],
                     b[static_cast<std::size_t>(k * extents.n + column)]);
        }
        store(out.dtype, out.data,
              batch * out.batch_stride + row * out.row_stride + column * out.column_stride, sum);
      }
    }
  }
}

Problem2d::Problem2d(std::int64_t m, std::int64_t n, std::int64_t k, Dtype a_dtype, Dtype b_dtype,
                     Dtype out_dtype, Dtype accumulator_type, PerformanceControls wishes)
    : a(a_dtype, {m, k}),
      b(b_dtype, {k, n}, true),
      out(out_dtype, {m, n}),
      accumulator(accumulator_type),
      controls(wishes) {
  a.randomise(1);
  b.randomise(2);
}

GemmArguments Problem2d::arguments() const {
  return {a.view(), b.view(), out.view(), accumulator, controls};
}

CheckResult Problem2d::check(const CheckOptions& options) const {
  return check_output(arguments(), options);
}

void Problem2d::compute() {
  PlainGemm{plain_step(accumulator)}.run(arguments());
}

std::string to_string(const CheckResult& result) {
  return "error " + std::to_string(result.error) + ", bound " + std::to_string(result.bound) +
         ", " + result.worst;
}

}  // namespace estoc::test
