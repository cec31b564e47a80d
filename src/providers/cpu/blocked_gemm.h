// A GEMM, grouped or not, cut into tasks for threads and blocks for caches, around the products of
// one variant.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "operations/grouped_gemm/group_table.h"
#include "providers/cpu/product.h"
#include "providers/cpu/scaled_panel.h"
#include "providers/cpu/tile_epilogue.h"

namespace estoc::cpu {

/// Everything a launch of one GEMM or grouped GEMM needs, scratch memory included.
///
/// The product is seen so that out's mode of stride 1 (else its tighter one) is the rows:
/// out^T = B^T A^T where it was the columns. Each task computes a rectangle of out in one or
/// several batches. Operands that Eigen can read as they lie are read there; the others are widened
/// a panel at a time. Sums are kept in out itself where it has the accumulator's type, else in a
/// tile that store_tile converts once, or that the epilogue is applied to. Accumulators of f16 are
/// sums of f32 that are rounded to f16 once, in the end.
///
/// Groups are read from their offsets by each launch. Tasks are those of the product as a whole, so
/// that threads are busy whatever the sizes of groups; a task computes the part of each group in
/// it. Of matrices by pointers each batch has its own, of which it computes what there is. Rows
/// that an index chooses are widened one after the other, or copied where they are numbers. Where
/// accumulators are in pairs, a tile is summed twice, with two views of B.
class BlockedGemm {
 public:
  /// `arguments`, of gemm or grouped_gemm, must have data, and a combination of dtypes that
  /// cpu_gemm describes. With `round_to_tf32`, f32 operands are read as tf32. `threads` is the most
  /// that take part. Throws std::bad_alloc.
  BlockedGemm(const RuntimeArguments& arguments, bool round_to_tf32, const ProductTable& products,
              int threads);

  /// As Launch::move_to.
  bool move_to(const RuntimeArguments& arguments);

  /// Computes out, on the calling thread and the pool's. One thread at a time may call it.
  void run() const;

 private:
  /// What products are computed in and what sums are kept in.
  enum class Sum : std::uint8_t { f32, f64, i32 };

  /// A rectangle of out in the batches from l0 to l1, worked on by the thread of `slot`.
  struct Task {
    std::int64_t index;
    int slot;
    std::int64_t l0, l1, m0, m1, n0, n1;
  };

  /// What of a batch of a task multiplies the same matrices: a rectangle of out, products k0 to k1,
  /// and the batches of A and B. `second`: for the second accumulators of pairs.
  struct Part {
    std::int64_t l, m0, m1, n0, n1, k0, k1, a_batch, b_batch;
    bool second = false;
  };

  /// The part of out that is summed at a time: m rows from i, n columns from j.
  struct Tile {
    std::int64_t l, i, j, m, n;
  };

  using Region = PanelRegion;

  /// Where a part of an operand can be read as numbers, and how they lie.
  template <class T>
  struct Reading {
    const T* data;
    std::int64_t stride;
    bool row_major;
  };

  /// Panels and tiles of one thread.
  template <class T>
  struct Scratch {
    void* packing;
    T* a;
    T* b;
    T* tile;
    std::int32_t* whole_tile;
    T* second_tile;
    std::int32_t* second_whole_tile;

    Scratch seconds() const {
      Scratch other = *this;
      other.tile = second_tile;
      other.whole_tile = second_whole_tile;
      return other;
    }
  };

  struct FreeScratch {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };
  static constexpr std::size_t kAlignment = 64;

  void choose_blocks(bool fused);
  void choose_tasks(int threads);
  void allocate_scratch();

  void prepare_epilogue(const GemmArguments& arguments, bool transposed);

  void read_table() const;
  const MatrixView& a_of(std::int64_t batch) const;
  const MatrixView& b_of(std::int64_t batch) const;
  const MatrixView& c_of(std::int64_t batch) const;

  Task task(std::int64_t index, int slot) const;
  void run_tasks() const;
  template <class T>
  Scratch<T> scratch(int slot) const;
  template <class T>
  void run_task(const Task& task, const Scratch<T>& scratch) const;
  template <class T>
  void run_batch(const Task& task, std::int64_t l, const Scratch<T>& scratch) const;
  template <class T>
  void run_groups(const Task& task, const Part& whole, const Scratch<T>& scratch) const;
  template <class T>
  void run_part(const Task& task, const Part& part, const Scratch<T>& scratch) const;
  template <class T>
  void sum_tile(const Part& part, const Tile& tile, const Scratch<T>& scratch) const;
  template <class T>
  void sum_seconds(Part part, const Tile& tile, const Scratch<T>& scratch) const;
  template <class T>
  Reading<T> read(const MatrixView& matrix, bool direct, const Region& region, bool refresh,
                  T* panel) const;
  template <class T>
  void load(const MatrixView& matrix, const Region& region, bool row_major, T* panel) const;
  bool is_chosen(const MatrixView& matrix) const;
  template <class T>
  void load_chosen(const MatrixView& matrix, const Region& region, T* panel) const;
  void load(const Block& block, float* panel) const;
  void load(const Block& block, double* panel) const;
  void round_sums(const Tile& tile, float* sums) const;
  void add_whole_numbers(const Tile& tile, const Scratch<float>& scratch) const;
  template <class T>
  void store_tile(const Tile& tile, const Scratch<T>& scratch) const;
  void store_whole_as_float(const Block& target, std::int32_t* sums) const;
  template <class T>
  void apply_epilogue(const Task& task, const Tile& tile, const Scratch<T>& scratch) const;

  const ProductTable& products_;
  MatrixView a_;
  MatrixView b_;
  MatrixView c_;
  MatrixView second_;    ///< of the arguments' B, for the second accumulators
  bool paired_ = false;  ///< accumulators are in pairs
  /// Null for operands that the product's own functions read.
  std::unique_ptr<const ScaledPanel> scaled_a_, scaled_b_;
  std::int64_t m_ = 0, n_ = 0, k_ = 0, l_ = 0;
  operations::Mapping mapping_ = operations::Mapping::strided;
  operations::Groups groups_;
  operations::RowIndex rows_;               ///< of a_; where transposed, of the columns of b_
  mutable std::vector<GroupRange> ranges_;  ///< of the groups, as of this launch
  operations::GroupTable table_;
  mutable std::vector<operations::GroupProduct> pointed_;  ///< by the table, as of this launch
  Sum sum_;
  bool rounds_ = false;      ///< sums become accumulators of f16 before anything else
  bool in_order_ = false;    ///< products are added up one after the other
  bool transposed_ = false;  ///< a_ and b_ are the views of B and A
  bool direct_a_ = false, direct_b_ = false, direct_c_ = false;
  std::int64_t block_m_ = 1, block_n_ = 1, block_k_ = 1;

  std::int64_t task_m_ = 1, task_n_ = 1, task_l_ = 1;
  std::int64_t tasks_m_ = 1, tasks_n_ = 1, tasks_l_ = 1;
  int slots_ = 1;
  std::size_t packing_bytes_ = 0, a_bytes_ = 0, b_bytes_ = 0, tile_bytes_ = 0, slot_bytes_ = 0;
  std::unique_ptr<std::byte, FreeScratch> scratch_;
  std::unique_ptr<const TileEpilogue> epilogue_;  ///< null when out is the accumulator
};

}  // namespace estoc::cpu
