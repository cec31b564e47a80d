// The product that a plain Eigen program computes, built for the machine with OpenMP.
#include "plain_eigen.h"

#include <Eigen/Core>

namespace plain_eigen {

void multiply(const float* a, const float* b, float* out, std::int64_t m, std::int64_t n,
              std::int64_t k, int threads) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::setNbThreads(threads);
  const Eigen::Map<const Matrix> left(a, m, k);
  const Eigen::Map<const Matrix> right(b, k, n);
  Eigen::Map<Matrix> product(out, m, n);
  product.noalias() = left * right;
}

}  // namespace plain_eigen
