// The operations of an epilogue's graph, run on strips of elements.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "estoc/epilogue_graph.hpp"
#include "providers/cpu/product.h"

namespace estoc::cpu {

/// True when memory of `dtype` is what registers of `type` hold.
bool is_register_dtype(Dtype dtype, EpilogueType type);

/// A block of one row.
inline Block strip_block(void* data, Dtype dtype, std::int64_t count, std::int64_t stride) {
  return {data, dtype, count, 1, stride, 0};
}

/// Steps, constants, and for each thread a register for each node: as many values as a strip has.
class StripProgram {
 public:
  /// Registers of one thread. An input's may be replaced by memory that holds such values.
  struct Registers {
    std::array<void*, EpilogueLimits::kNodes> node{};
    void* scratch = nullptr;  ///< eight bytes for each element
  };
  /// Which elements of the output a strip is, for dropout.
  struct Place {
    std::uint64_t first_element = 0;
    std::uint64_t element_step = 1;
  };

  StripProgram(std::shared_ptr<const EpilogueGraph> graph, std::vector<EpilogueScalarValue> scalars,
               const ProductTable& table);

  /// Makes registers of `strip` elements for `slots` threads. Throws std::bad_alloc.
  void make_registers(int slots, std::int64_t strip);

  const EpilogueGraph& graph() const { return *graph_; }
  /// The node of the accumulator, or of the first or second of a pair; -1 when nothing needs it.
  int accumulator_node(std::size_t which = 0) const { return accumulator_nodes_[which]; }
  std::int64_t strip() const { return strip_; }

  /// Reads scalars, before the strips of a run.
  void read_scalars() const;
  /// The registers of a thread, with all that is the same for every element.
  Registers registers(int slot) const;
  /// The operations on `count` elements whose inputs are in registers.
  void run(const Registers& registers, std::int64_t count, Place place) const;
  /// A block of at most a strip to the register of a node, and from it to memory.
  void load(const Block& source, std::uint16_t node, const Registers& registers) const;
  void store(const Block& target, std::uint16_t node, const Registers& registers) const;

 private:
  struct FreeMemory {
    void operator()(std::byte* memory) const {
      ::operator delete (memory, std::align_val_t{kAlignment});
    }
  };
  static constexpr std::size_t kAlignment = 64;

  void collect_steps();
  void set_constants(const Registers& registers) const;
  void run_steps(const std::vector<EpilogueStep>& steps, const Registers& registers,
                 std::int64_t count, Place place) const;

  std::shared_ptr<const EpilogueGraph> graph_;
  const ProductTable& table_;
  std::vector<EpilogueScalarValue> scalars_;
  std::vector<EpilogueStep> constant_steps_;  ///< of nodes that are the same for all elements
  std::vector<EpilogueStep> steps_;
  std::array<int, 2> accumulator_nodes_{-1, -1};
  std::int64_t strip_ = 0;
  std::size_t register_bytes_ = 0;
  std::size_t slot_bytes_ = 0;
  std::unique_ptr<std::byte, FreeMemory> memory_;
  mutable std::vector<double> scalar_values_;
};

}  // namespace estoc::cpu
