// Implements the gathering of strided tensors into row-major order.
#include "io/row_major.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace estoc::io {
namespace {

constexpr std::int64_t kBufferBytes = std::int64_t{1} << 20;

/// A rectangle of elements: `rows` by `columns`, strides in bytes.
struct Block {
  const std::byte* data;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t row_stride;
  std::int64_t column_stride;
};

/// Copies a block into contiguous rows, reading along the smaller stride.
template <std::size_t size>
void gather(const Block& block, std::byte* to) {
  const auto copy = [&](std::int64_t row, std::int64_t column) {
    const std::byte* from = block.data + row * block.row_stride + column * block.column_stride;
    std::memcpy(to + (row * block.columns + column) * static_cast<std::int64_t>(size), from, size);
  };
  if (block.row_stride < block.column_stride) {
    for (std::int64_t column = 0; column < block.columns; ++column) {
      for (std::int64_t row = 0; row < block.rows; ++row)
        copy(row, column);
    }
    return;
  }
  for (std::int64_t row = 0; row < block.rows; ++row) {
    for (std::int64_t column = 0; column < block.columns; ++column)
      copy(row, column);
  }
}

void gather(const Block& block, std::int64_t element_bytes, std::byte* to) {
  switch (element_bytes) {
    case 1:
      return gather<1>(block, to);
    case 2:
      return gather<2>(block, to);
    case 4:
      return gather<4>(block, to);
    default:
      return gather<8>(block, to);
  }
}

/// Collects blocks in a buffer and hands them on when it is full.
class BlockWriter {
 public:
  BlockWriter(std::int64_t element_bytes, const ByteSink& sink)
      : sink_(sink), buffer_(kBufferBytes), element_bytes_(element_bytes) {}

  void append(const Block& block) {
    const std::int64_t bytes = block.rows * block.columns * element_bytes_;
    if (used_ + bytes > kBufferBytes) flush();
    gather(block, element_bytes_, buffer_.data() + used_);
    used_ += bytes;
  }

  void flush() {
    sink_(std::span(buffer_).first(static_cast<std::size_t>(used_)));
    used_ = 0;
  }

 private:
  const ByteSink& sink_;
  std::vector<std::byte> buffer_;
  std::int64_t element_bytes_;
  std::int64_t used_ = 0;
};

/// Hands the matrix to the writer in blocks that fit its buffer: whole rows where they do.
void append_matrix(const Block& matrix, std::int64_t element_bytes, BlockWriter& writer) {
  const std::int64_t columns = std::min(matrix.columns, kBufferBytes / element_bytes);
  const std::int64_t rows = columns < matrix.columns ? 1 : kBufferBytes / (columns * element_bytes);
  for (std::int64_t row = 0; row < matrix.rows; row += rows) {
    for (std::int64_t column = 0; column < matrix.columns; column += columns) {
      Block block = matrix;
      block.data += row * matrix.row_stride + column * matrix.column_stride;
      block.rows = std::min(rows, matrix.rows - row);
      block.columns = std::min(columns, matrix.columns - column);
      writer.append(block);
    }
  }
}

bool is_row_major(const TensorView& tensor) {
  std::int64_t expected = 1;
  for (int mode = tensor.rank() - 1; mode >= 0; --mode) {
    if (tensor.shape(mode) != 1 && tensor.stride(mode) != expected) return false;
    expected *= tensor.shape(mode);
  }
  return true;
}

/// The last two modes as a matrix; absent ones have extent 1.
Block last_two_modes(const TensorView& tensor, std::int64_t element_bytes) {
  const int rank = tensor.rank();
  Block block{static_cast<const std::byte*>(tensor.data()), 1, 1, 0, 0};
  if (rank >= 1) {
    block.columns = tensor.shape(rank - 1);
    block.column_stride = tensor.stride(rank - 1) * element_bytes;
  }
  if (rank >= 2) {
    block.rows = tensor.shape(rank - 2);
    block.row_stride = tensor.stride(rank - 2) * element_bytes;
  }
  return block;
}

/// Where matrix number `index` begins, counted over the modes before the last two; in elements.
std::int64_t matrix_offset(const TensorView& tensor, std::int64_t index) {
  std::int64_t offset = 0;
  for (int mode = tensor.rank() - 3; mode >= 0; --mode) {
    offset += index % tensor.shape(mode) * tensor.stride(mode);
    index /= tensor.shape(mode);
  }
  return offset;
}

}  // namespace

void stream_row_major(const TensorView& tensor, const ByteSink& sink) {
  if (tensor.elements() == 0) return;
  const std::int64_t element_bytes = storage_bytes(tensor.dtype(), 1);
  if (is_row_major(tensor)) {
    return sink({static_cast<const std::byte*>(tensor.data()),
                 static_cast<std::size_t>(tensor.elements() * element_bytes)});
  }
  const Block first = last_two_modes(tensor, element_bytes);
  const std::int64_t matrices = tensor.elements() / (first.rows * first.columns);
  BlockWriter writer(element_bytes, sink);
  for (std::int64_t i = 0; i < matrices; ++i) {
    Block matrix = first;
    matrix.data += matrix_offset(tensor, i) * element_bytes;
    append_matrix(matrix, element_bytes, writer);
  }
  writer.flush();
}

}  // namespace estoc::io
