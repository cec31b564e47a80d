// Elements of a strided tensor in row-major order, as a stream of bytes.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "estoc/tensor.hpp"

namespace estoc::io {

/// Takes the next bytes of a stream.
using ByteSink = std::function<void(std::span<const std::byte>)>;

/// Hands the elements of `tensor`, a host tensor with data and no packed type, to `sink` in
/// row-major order. What is contiguous goes straight from the tensor's memory, the rest through
/// a buffer of bounded size.
void stream_row_major(const TensorView& tensor, const ByteSink& sink);

}  // namespace estoc::io
