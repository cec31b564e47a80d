// An elementwise operation cut into tiles that fit the first-level cache.
#pragma once

#include <array>
#include <cstdint>

#include "estoc/arguments.hpp"
#include "providers/cpu/product.h"

namespace estoc::cpu {

/// Everything a launch of one elementwise operation needs.
///
/// Modes are put in the order of out's strides, and merged where every operand allows it. A tile is
/// a stretch of the innermost mode times some steps of the next; it is widened to buffers, computed
/// there, and stored.
class TiledElementwise {
 public:
  /// `arguments` must have data. `threads` is the most that take part.
  TiledElementwise(const ElementwiseArguments& arguments, const ProductTable& products,
                   int threads);

  /// Computes out, on the calling thread and the pool's.
  void run() const;

 private:
  /// What the operation is computed in.
  enum class Arithmetic : std::uint8_t { f32, f64, i32 };

  static constexpr int kOperands = 3;  ///< A, B, out
  static constexpr std::int64_t kTileElements = 1024;

  /// One mode of the operation: its extent and each operand's stride.
  struct Mode {
    std::int64_t extent = 1;
    std::array<std::int64_t, kOperands> strides{};
  };

  struct Operand {
    void* data = nullptr;
    Dtype dtype = Dtype::f32;
  };

  Arithmetic choose_arithmetic() const;
  void take_modes(const ElementwiseArguments& arguments);
  void choose_tiles();
  void choose_threads(int threads);

  void run_tiles(std::int64_t first, std::int64_t last) const;
  template <class T>
  void run_tiles_in(std::int64_t first, std::int64_t last) const;
  template <class T>
  void run_tile(std::int64_t index, T* a, T* b) const;
  template <class T>
  void load(int operand, const Block& block, std::int64_t offset, T* buffer) const;
  template <class T>
  void store(const Block& block, std::int64_t offset, const T* buffer) const;

  const ProductTable& products_;
  std::array<Operand, kOperands> operands_;
  std::array<Mode, kMaxRank + 1> modes_{};  ///< innermost first; at least two
  int rank_ = 0;
  bool empty_ = false;
  ElementwiseOp op_;
  Arithmetic arithmetic_;
  std::int64_t tile_inner_ = 1, tile_outer_ = 1;
  std::int64_t tiles_inner_ = 1, tiles_outer_ = 1;
  std::int64_t tiles_ = 0;
  std::int64_t tiles_each_ = 1;
  int threads_ = 1;
};

}  // namespace estoc::cpu
