// Batches of matrices of small integers in memory, for kernels that are run outside the library.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <estoc/abi/matrix.cuh>
#include <estoc/abi/types.cuh>

namespace estoc::harness {

/// Writes `value` as an element, rounded as kernels round.
void put(abi::Type type, std::byte* to, double value);

/// `batches` matrices, each contiguous along its rows or its columns. Lines are padded to a
/// multiple of `align` bytes; what no element covers is 0xa5.
class Tensor {
 public:
  struct Shape {
    abi::Type type;
    int rows;
    int columns;
    int batches = 1;
    bool rows_inner = false;
    int align = 16;
  };

  /// Elements of -3 to 3 (0 to 6 where there is no sign) drawn from `seed`; with 0, none: the
  /// tensor is to be written.
  Tensor(const Shape& shape, unsigned seed);

  const Shape& shape() const { return shape_; }
  double value(int l, int i, int j) const { return values_[index_of(l, i, j)]; }
  double& value(int l, int i, int j) { return values_[index_of(l, i, j)]; }

  /// Bytes at an address that is a multiple of 1024.
  std::byte* data() { return bytes_.data() + start_; }
  const std::byte* data() const { return bytes_.data() + start_; }
  std::size_t size() const { return size_; }
  /// Bytes up to the end of the last element, without the padding after it.
  std::size_t extent() const;

  /// Elements from one row to the next, and so on.
  int row_stride() const { return shape_.rows_inner ? 1 : line_; }
  int column_stride() const { return shape_.rows_inner ? line_ : 1; }
  int batch_stride() const;
  int inner() const { return shape_.rows_inner ? shape_.rows : shape_.columns; }
  int outer() const { return shape_.rows_inner ? shape_.columns : shape_.rows; }

  /// The strides, for a copy of the bytes at `address`.
  abi::Matrix matrix(unsigned long long address) const;

  /// All values, written as bytes into the gaps' pattern.
  std::vector<std::byte> encoded() const;

 private:
  std::size_t index_of(int l, int i, int j) const {
    const int index = (l * shape_.rows + i) * shape_.columns + j;
    return static_cast<std::size_t>(index);
  }
  std::size_t offset_of(int l, int i, int j) const;

  Shape shape_;
  int line_;
  std::vector<double> values_;
  std::size_t size_;
  std::vector<std::byte> bytes_;
  std::size_t start_;
};

/// Empty where both hold the same bytes; else which element differs first.
std::string difference(const Tensor& like, const std::byte* got, const std::byte* expected);

}  // namespace estoc::harness
