// Batches of matrices of small integers in memory.
#include "tensor.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

#include "emulator/conversions.h"

namespace estoc::harness {

using abi::Type;

void put(Type type, std::byte* to, double value) {
  const auto single = static_cast<float>(value);
  u32 bits = std::bit_cast<u32>(single);
  switch (type) {
    case Type::f64:
      std::memcpy(to, &value, 8);
      return;
    case Type::bf16:
      bits = emulator::float_to_bfloat(single);
      break;
    case Type::f16:
      bits = emulator::float_to_half(single);
      break;
    case Type::e4m3:
      bits = emulator::float_to_e4m3(single);
      break;
    case Type::e5m2:
      bits = emulator::float_to_e5m2(single);
      break;
    case Type::i32:
      bits = static_cast<u32>(static_cast<i32>(value));
      break;
    case Type::i8:
      bits = static_cast<u32>(static_cast<i32>(std::clamp(value, -128.0, 127.0)));
      break;
    case Type::u8:
      bits = static_cast<u32>(std::clamp(value, 0.0, 255.0));
      break;
    default:
      break;
  }
  std::memcpy(to, &bits, static_cast<std::size_t>(abi::type_bytes(type)));
}

Tensor::Tensor(const Shape& shape, unsigned seed)
    : shape_(shape),
      line_(0),
      values_(static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(shape.columns) *
              static_cast<std::size_t>(shape.batches)) {
  const int bytes = abi::type_bytes(shape.type);
  const int per = std::max(1, shape.align / bytes);
  line_ = (inner() + per - 1) / per * per;
  const int size = batch_stride() * shape.batches * bytes;
  size_ = static_cast<std::size_t>(size);
  bytes_.assign(size_ + 1024, std::byte{0xa5});
  start_ = (1024 - reinterpret_cast<std::uintptr_t>(bytes_.data()) % 1024) % 1024;
  if (seed == 0) return;
  std::mt19937 random(seed);
  const int lowest = shape.type == Type::u8 ? 0 : -3;
  for (double& element : values_)
    element = static_cast<int>(random() % 7) + lowest;
  const std::vector<std::byte> all = encoded();
  std::copy(all.begin(), all.end(), data());
}

int Tensor::batch_stride() const {
  return line_ * std::max(outer(), 1);
}

std::size_t Tensor::offset_of(int l, int i, int j) const {
  const int element = l * batch_stride() + i * row_stride() + j * column_stride();
  const int byte = element * abi::type_bytes(shape_.type);
  return static_cast<std::size_t>(byte);
}

abi::Matrix Tensor::matrix(unsigned long long address) const {
  return {address, row_stride(), column_stride(), shape_.batches > 1 ? batch_stride() : 0};
}

std::size_t Tensor::extent() const {
  if (values_.empty()) return 0;
  return offset_of(shape_.batches - 1, shape_.rows - 1, shape_.columns - 1) +
         static_cast<std::size_t>(abi::type_bytes(shape_.type));
}

std::vector<std::byte> Tensor::encoded() const {
  std::vector<std::byte> all(size_, std::byte{0xa5});
  for (int l = 0; l < shape_.batches; ++l) {
    for (int i = 0; i < shape_.rows; ++i) {
      for (int j = 0; j < shape_.columns; ++j)
        put(shape_.type, all.data() + offset_of(l, i, j), value(l, i, j));
    }
  }
  return all;
}

std::string difference(const Tensor& like, const std::byte* got, const std::byte* expected) {
  const std::byte* end = expected + like.size();
  const auto at = std::mismatch(expected, end, got).first;
  if (at == end) return {};
  const auto element = static_cast<int>((at - expected) / abi::type_bytes(like.shape().type));
  const int within = element % like.batch_stride();
  const int line = like.shape().rows_inner ? like.column_stride() : like.row_stride();
  const int outer = within / line;
  const int inner = within % line;
  const bool rows_inner = like.shape().rows_inner;
  return fmt::format("out({}, {}, {}) differs{}", element / like.batch_stride(),
                     rows_inner ? inner : outer, rows_inner ? outer : inner,
                     inner < like.inner() ? "" : ", which is a gap between rows");
}

}  // namespace estoc::harness
