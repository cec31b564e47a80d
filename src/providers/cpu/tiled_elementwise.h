// An elementwise operation cut into tiles that fit the first-level cache.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "estoc/arguments.hpp"
#include "model/common_modes.h"
#include "providers/cpu/strip_program.h"

namespace estoc::cpu {

/// Whether an element of the operation takes a function of the mathematics library.
bool is_library_call(EpilogueOp op);
/// How many of them the elements of a graph take.
int library_calls(const EpilogueGraph& graph);

/// Everything a launch of one elementwise operation needs.
///
/// A tile is a stretch of the innermost mode times some steps of the next; its inputs are widened
/// to registers, the program runs there, and D is stored. What memory holds as registers do is used
/// in place.
class TiledElementwise {
 public:
  /// `arguments` must have data; `program` is theirs. `threads` is the most that take part. Throws
  /// std::bad_alloc.
  TiledElementwise(const ElementwiseArguments& arguments,
                   std::shared_ptr<const EpilogueGraph> program, const ProductTable& products,
                   int threads);

  /// Computes out, on the calling thread and the pool's.
  void run() const;

 private:
  static constexpr std::size_t kOut = 0;

  struct Operand {
    void* data = nullptr;
    Dtype dtype = Dtype::f32;
    std::uint16_t node = 0;
    bool used = true;  ///< the program reads it, or writes it
  };
  /// The part of an operand that belongs to a tile.
  struct Part {
    Block block;
    std::int64_t offset = 0;  ///< elements from the operand's first

    std::int64_t elements() const { return block.inner * block.outer; }
  };

  void take_operands(const ElementwiseArguments& arguments);
  void choose_tiles(std::size_t operands);
  void choose_threads(int threads);

  void run_tiles(std::int64_t first, std::int64_t last, int slot) const;
  /// `own` are the thread's registers; in `registers`, memory may stand for some of them.
  void run_tile(std::int64_t index, const StripProgram::Registers& own,
                StripProgram::Registers& registers) const;
  Part part(std::size_t operand, std::int64_t inner, std::int64_t outer,
            std::int64_t further) const;
  bool is_register(const Operand& operand, const Part& part) const;
  void load(const Operand& operand, const Part& part, StripProgram::Registers& registers) const;
  void store(const Part& part, const StripProgram::Registers& registers) const;

  StripProgram program_;
  std::vector<Operand> operands_;  ///< out, A, and the program's tensors
  model::CommonModes modes_;
  bool result_is_input_ = false;  ///< D is one of the inputs as it is
  std::int64_t tile_elements_ = 0;
  std::int64_t tile_inner_ = 1, tile_outer_ = 1;
  std::int64_t tiles_inner_ = 1, tiles_outer_ = 1;
  std::int64_t tiles_ = 0;
  std::int64_t tiles_each_ = 1;
  int threads_ = 1;
};

}  // namespace estoc::cpu
