// An elementwise operation cut into tiles that fit the first-level cache.
#include "providers/cpu/tiled_elementwise.h"

#include <algorithm>
#include <cstddef>
#include <type_traits>

#include "estoc/numeric.hpp"
#include "providers/cpu/elementwise_ops.h"
#include "providers/cpu/thread_pool.h"

namespace estoc::cpu {
namespace {

constexpr int kA = 0;
constexpr int kB = 1;
constexpr int kOut = 2;

/// Side of the tiles of an operation that transposes an operand.
constexpr std::int64_t kTransposeSide = 32;
/// Tiles that make another thread worth waking.
constexpr std::int64_t kTilesPerThread = 32;
constexpr std::int64_t kSlowTilesPerThread = 8;
/// Parts that each thread's share is cut into, so that a late thread holds nobody up.
constexpr std::int64_t kPartsPerThread = 4;

std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

}  // namespace

TiledElementwise::TiledElementwise(const ElementwiseArguments& arguments,
                                   const ProductTable& products, int threads)
    : products_(products),
      operands_{{{arguments.a().data(), arguments.a().dtype()},
                 {arguments.b().data(), arguments.b().dtype()},
                 {arguments.out().data(), arguments.out().dtype()}}},
      op_(arguments.op()),
      arithmetic_(choose_arithmetic()) {
  take_modes(arguments);
  choose_tiles();
  choose_threads(threads);
}

/// As ElementwiseArguments says.
TiledElementwise::Arithmetic TiledElementwise::choose_arithmetic() const {
  if (operands_[kA].dtype == Dtype::f64 || operands_[kB].dtype == Dtype::f64) {
    return Arithmetic::f64;
  }
  const bool integers = std::all_of(operands_.begin(), operands_.end(), [](const Operand& operand) {
    return is_integer(operand.dtype) || operand.dtype == Dtype::boolean;
  });
  return integers && has_integer_form(op_) ? Arithmetic::i32 : Arithmetic::f32;
}

void TiledElementwise::take_modes(const ElementwiseArguments& arguments) {
  const TensorView& out = arguments.out();
  for (int mode = 0; mode < out.rank(); ++mode) {
    empty_ = empty_ || out.shape(mode) == 0;
    if (out.shape(mode) <= 1) continue;
    modes_[static_cast<std::size_t>(rank_++)] = {
        out.shape(mode),
        {arguments.a().stride(mode), arguments.b().stride(mode), out.stride(mode)}};
  }
  std::stable_sort(modes_.begin(), modes_.begin() + rank_,
                   [](const Mode& x, const Mode& y) { return x.strides[kOut] < y.strides[kOut]; });
  int merged = 0;
  for (int mode = 1; mode < rank_; ++mode) {
    Mode& inner = modes_[static_cast<std::size_t>(merged)];
    const Mode& outer = modes_[static_cast<std::size_t>(mode)];
    const bool continues = std::equal(
        inner.strides.begin(), inner.strides.end(), outer.strides.begin(),
        [&](std::int64_t step, std::int64_t next) { return next == step * inner.extent; });
    if (continues) {
      inner.extent *= outer.extent;
    } else {
      modes_[static_cast<std::size_t>(++merged)] = outer;
    }
  }
  rank_ = std::max(2, std::min(rank_, merged + 1));
  for (int mode = merged + 1; mode < rank_; ++mode)
    modes_[static_cast<std::size_t>(mode)] = {};
}

void TiledElementwise::choose_tiles() {
  bool transposes = false;
  for (const int operand : {kA, kB}) {
    const auto at = static_cast<std::size_t>(operand);
    if (modes_[0].strides[at] <= 1) continue;
    for (int mode = 1; mode < rank_ && !transposes; ++mode) {
      if (modes_[static_cast<std::size_t>(mode)].strides[at] != 1) continue;
      std::swap(modes_[1], modes_[static_cast<std::size_t>(mode)]);
      transposes = true;
    }
  }
  tile_inner_ = std::min(modes_[0].extent, transposes ? kTransposeSide : kTileElements);
  tile_outer_ = std::min(modes_[1].extent, kTileElements / tile_inner_);
  tiles_inner_ = divide_up(modes_[0].extent, tile_inner_);
  tiles_outer_ = divide_up(modes_[1].extent, tile_outer_);
  tiles_ = empty_ ? 0 : tiles_inner_ * tiles_outer_;
  for (int mode = 2; mode < rank_; ++mode)
    tiles_ *= modes_[static_cast<std::size_t>(mode)].extent;
}

void TiledElementwise::choose_threads(int threads) {
  const std::int64_t worth = is_transcendental(op_) ? kSlowTilesPerThread : kTilesPerThread;
  // Neighbours in one byte must not be written by two threads.
  const std::int64_t most = is_packed(operands_[kOut].dtype) ? 1 : threads;
  threads_ = static_cast<int>(std::clamp<std::int64_t>(tiles_ / worth, 1, most));
  tiles_each_ = std::max<std::int64_t>(1, divide_up(tiles_, threads_ * kPartsPerThread));
}

void TiledElementwise::run() const {
  if (threads_ == 1) return run_tiles(0, tiles_);
  ThreadPool::shared().run(threads_, divide_up(tiles_, tiles_each_),
                           [this](std::int64_t part, int /*slot*/) {
                             const std::int64_t first = part * tiles_each_;
                             run_tiles(first, std::min(tiles_, first + tiles_each_));
                           });
}

void TiledElementwise::run_tiles(std::int64_t first, std::int64_t last) const {
  switch (arithmetic_) {
    case Arithmetic::f32:
      return run_tiles_in<float>(first, last);
    case Arithmetic::f64:
      return run_tiles_in<double>(first, last);
    case Arithmetic::i32:
      return run_tiles_in<std::int32_t>(first, last);
  }
}

template <class T>
void TiledElementwise::run_tiles_in(std::int64_t first, std::int64_t last) const {
  alignas(64) T a[kTileElements];
  alignas(64) T b[kTileElements];
  for (std::int64_t tile = first; tile < last; ++tile)
    run_tile(tile, a, b);
}

template <class T>
void TiledElementwise::run_tile(std::int64_t index, T* a, T* b) const {
  const std::int64_t inner = index % tiles_inner_ * tile_inner_;
  index /= tiles_inner_;
  const std::int64_t outer = index % tiles_outer_ * tile_outer_;
  index /= tiles_outer_;
  std::array<std::int64_t, kOperands> offsets{};
  for (std::size_t at = 0; at < kOperands; ++at) {
    offsets[at] = inner * modes_[0].strides[at] + outer * modes_[1].strides[at];
  }
  for (int mode = 2; mode < rank_; ++mode) {
    const Mode& further = modes_[static_cast<std::size_t>(mode)];
    const std::int64_t position = index % further.extent;
    index /= further.extent;
    for (std::size_t at = 0; at < kOperands; ++at)
      offsets[at] += position * further.strides[at];
  }
  const auto block = [&](int operand) {
    const auto at = static_cast<std::size_t>(operand);
    return Block{nullptr,
                 operands_[at].dtype,
                 std::min(tile_inner_, modes_[0].extent - inner),
                 std::min(tile_outer_, modes_[1].extent - outer),
                 modes_[0].strides[at],
                 modes_[1].strides[at]};
  };
  load(kA, block(kA), offsets[kA], a);
  if (is_binary(op_)) load(kB, block(kB), offsets[kB], b);
  const Block target = block(kOut);
  apply(op_, a, b, a, target.inner * target.outer);
  store(target, offsets[kOut], a);
}

template <class T>
void TiledElementwise::load(int operand, const Block& block, std::int64_t offset, T* buffer) const {
  void* const data = operands_[static_cast<std::size_t>(operand)].data;
  Block source = block;
  if (is_block_dtype(block.dtype)) {
    source.data = static_cast<std::byte*>(data) + offset * (dtype_bits(block.dtype) / 8);
    if constexpr (std::is_same_v<T, float>) {
      products_.load_f32(source, buffer, source.inner);
    } else if constexpr (std::is_same_v<T, double>) {
      products_.load_f64(source, buffer, source.inner);
    } else {
      products_.load_i32(source, buffer, source.inner);
    }
    return;
  }
  for (std::int64_t o = 0; o < block.outer; ++o) {
    for (std::int64_t i = 0; i < block.inner; ++i) {
      const std::int64_t at = offset + i * block.inner_stride + o * block.outer_stride;
      buffer[i + o * block.inner] = static_cast<T>(load_element(block.dtype, data, at));
    }
  }
}

template <class T>
void TiledElementwise::store(const Block& block, std::int64_t offset, const T* buffer) const {
  void* const data = operands_[kOut].data;
  Block target = block;
  if (is_block_dtype(block.dtype)) {
    target.data = static_cast<std::byte*>(data) + offset * (dtype_bits(block.dtype) / 8);
    if constexpr (std::is_same_v<T, float>) {
      products_.store_f32(target, buffer, target.inner);
    } else if constexpr (std::is_same_v<T, double>) {
      products_.store_f64(target, buffer, target.inner);
    } else {
      products_.store_i32(target, buffer, target.inner);
    }
    return;
  }
  for (std::int64_t o = 0; o < block.outer; ++o) {
    for (std::int64_t i = 0; i < block.inner; ++i) {
      const std::int64_t at = offset + i * block.inner_stride + o * block.outer_stride;
      store_element(block.dtype, data, at, static_cast<double>(buffer[i + o * block.inner]));
    }
  }
}

}  // namespace estoc::cpu
