// Strided tensors as streams of bytes in row-major order, against a walk element by element.
#include "io/row_major.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "estoc/dtype.hpp"

namespace estoc::io {
namespace {

using Extents = std::vector<std::int64_t>;

std::vector<std::byte> streamed(const TensorView& tensor, std::size_t* calls = nullptr) {
  std::vector<std::byte> bytes;
  stream_row_major(tensor, [&](std::span<const std::byte> more) {
    bytes.insert(bytes.end(), more.begin(), more.end());
    if (calls != nullptr) ++*calls;
  });
  return bytes;
}

/// The same by one loop over the elements.
std::vector<std::byte> walked(const TensorView& tensor) {
  const std::int64_t bytes = storage_bytes(tensor.dtype(), 1);
  std::vector<std::byte> all;
  for (std::int64_t i = 0; i < tensor.elements(); ++i) {
    std::int64_t rest = i;
    std::int64_t offset = 0;
    for (int mode = tensor.rank() - 1; mode >= 0; --mode) {
      offset += rest % tensor.shape(mode) * tensor.stride(mode);
      rest /= tensor.shape(mode);
    }
    const auto* const from = static_cast<const std::byte*>(tensor.data()) + offset * bytes;
    all.insert(all.end(), from, from + bytes);
  }
  return all;
}

std::vector<std::uint8_t> counted(std::size_t bytes) {
  std::vector<std::uint8_t> memory(bytes);
  for (std::size_t i = 0; i < bytes; ++i)
    memory[i] = static_cast<std::uint8_t>(i * 151 >> 3);
  return memory;
}

TEST(StreamRowMajor, AnyShapeAndStrides) {
  EXPECT_TRUE(rc::check("random tensors of every size of element", [] {
    const Dtype dtype = *rc::gen::element(Dtype::u8, Dtype::bf16, Dtype::f32, Dtype::f64);
    const int rank = *rc::gen::inRange(0, 5);
    Extents shape;
    Extents strides;
    std::int64_t last = 0;
    for (int mode = 0; mode < rank; ++mode) {
      shape.push_back(*rc::gen::inRange<std::int64_t>(1, 6));
      strides.push_back(*rc::gen::inRange<std::int64_t>(0, 40));
      last += (shape.back() - 1) * strides.back();
    }
    auto memory = counted(static_cast<std::size_t>((last + 1) * storage_bytes(dtype, 1)));
    const TensorView tensor(memory.data(), dtype, shape, strides);
    RC_ASSERT(streamed(tensor) == walked(tensor));
  }));
}

TEST(StreamRowMajor, WhatIsContiguousIsHandedOverWhereItLies) {
  auto memory = counted(24);
  const TensorView tensor(memory.data(), Dtype::f32, Extents{2, 1, 3}, Extents{3, 99, 1});
  std::size_t calls = 0;
  stream_row_major(tensor, [&](std::span<const std::byte> bytes) {
    ++calls;
    EXPECT_EQ(static_cast<const void*>(bytes.data()), memory.data());
    EXPECT_EQ(bytes.size(), 24U);
  });
  EXPECT_EQ(calls, 1U);
}

TEST(StreamRowMajor, WhatHasNoElementsIsNoStream) {
  auto memory = counted(8);
  std::size_t calls = 0;
  streamed(TensorView(memory.data(), Dtype::f32, Extents{0, 2}, Extents{1, 1}), &calls);
  EXPECT_EQ(calls, 0U);
}

TEST(StreamRowMajor, PassesThroughABufferOfBoundedSize) {
  // A row of the transpose is longer than the buffer; of the second, many rows are.
  for (const auto& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{2, 1500000}, {70000, 30}}) {
    auto memory = counted(static_cast<std::size_t>(rows * columns));
    const TensorView tensor(memory.data(), Dtype::u8, Extents{rows, columns}, Extents{1, rows});
    std::size_t largest = 0;
    std::vector<std::byte> bytes;
    stream_row_major(tensor, [&](std::span<const std::byte> more) {
      largest = std::max(largest, more.size());
      bytes.insert(bytes.end(), more.begin(), more.end());
    });
    EXPECT_LE(largest, std::size_t{1} << 20);
    EXPECT_TRUE(bytes == walked(tensor)) << rows << " x " << columns;
  }
}

}  // namespace
}  // namespace estoc::io
