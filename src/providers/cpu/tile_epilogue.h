// The epilogue of a GEMM on the host, carried out on each finished tile while it is in the cache.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "estoc/arguments.hpp"
#include "providers/cpu/strip_program.h"

namespace estoc::cpu {

/// How a GEMM is cut into tasks. Modes are those of BlockedGemm: `inner` goes along memory.
struct TaskGrid {
  std::int64_t inner = 0, outer = 0, batches = 0;           ///< extents of the product
  std::int64_t task_inner = 1, task_outer = 1, task_l = 1;  ///< of a task, the last may be smaller
  std::int64_t tasks_inner = 0, tasks_outer = 0, tasks_l = 0;

  std::int64_t tasks() const { return tasks_inner * tasks_outer * tasks_l; }
};

/// Part of a product: `inner` x `outer` elements from (l, i, j) on.
struct TileRegion {
  std::int64_t l = 0, i = 0, j = 0, inner = 0, outer = 0;
};

/// Runs the operations of an epilogue on strips of a tile. Reductions are kept for each task and
/// put together in the order of tasks, so that they are the same each time for one number of
/// threads.
class TileEpilogue {
 public:
  /// `transposed` when N is the inner mode. Throws std::bad_alloc.
  TileEpilogue(const GemmArguments& arguments, bool transposed, const ProductTable& table,
               const TaskGrid& grid, int slots);

  /// Reads scalars, before the tasks of a run.
  void begin() const;
  /// Those of the accumulator, or of the first and the second of pairs.
  using Sums = std::array<const void*, 2>;

  /// Takes in the tile of a task, whose sums lie at sums + i + j * stride, and stores outputs.
  void apply(int slot, std::int64_t task, const TileRegion& tile, const Sums& sums,
             std::int64_t stride) const;
  /// Writes reductions, after the tasks of a run.
  void finish() const;

 private:
  struct Operand {
    void* data = nullptr;
    Dtype dtype = Dtype::f32;
    std::int64_t l_stride = 0, inner_stride = 0, outer_stride = 0;
    std::uint16_t node = 0;

    void* at(std::int64_t l, std::int64_t i, std::int64_t j) const;
    Block block(const TileRegion& strip) const;
  };
  struct Reduced {
    Operand target;
    EpilogueReduction reduction;
    EpilogueType type;
    bool keeps_l, keeps_inner, keeps_outer;
    std::int64_t task_size;  ///< partials of a task
    std::size_t first = 0;   ///< of the first task's partials
  };

  Operand operand(const EpilogueAddress& address, Dtype dtype, std::uint16_t node) const;
  void collect_outputs(const EpilogueBinding& binding);

  StripProgram::Place place_of(const TileRegion& strip) const;
  void apply_strip(std::int64_t task, const TileRegion& strip, const Sums& sums,
                   StripProgram::Registers& registers) const;
  void load(const TileRegion& strip, const Operand& source,
            StripProgram::Registers& registers) const;
  void load_sums(const TileRegion& strip, const Sums& sums,
                 StripProgram::Registers& registers) const;
  void fold(std::int64_t task, const TileRegion& strip, const Reduced& reduced,
            const StripProgram::Registers& registers) const;
  std::int64_t partial_index(const Reduced& reduced, std::int64_t l, std::int64_t i,
                             std::int64_t j) const;
  void clear_partials() const;
  void write(const Reduced& reduced) const;
  void take_task(const Reduced& reduced, std::int64_t task, std::vector<double>& totals) const;

  StripProgram program_;
  const EpilogueGraph* graph_;  ///< of the program
  const ProductTable& table_;
  TaskGrid grid_;
  bool transposed_;
  std::vector<Operand> tensors_;
  std::vector<Operand> stores_;
  std::vector<Reduced> reduced_;
  bool sums_direct_ = false;
  std::unique_ptr<double[]> partials_;
  std::size_t partial_count_ = 0;
};

}  // namespace estoc::cpu
