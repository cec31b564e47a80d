// An elementwise operation as what it is: an epilogue whose accumulator is A.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "estoc/arguments.hpp"
#include "estoc/design_space.hpp"
#include "estoc/epilogue_graph.hpp"
#include "estoc/status.hpp"

namespace estoc::operations {

/// The type that A is read as: f64 where an input is f64, i32 where inputs and out are integers or
/// booleans, else f32.
Dtype accumulator_type(std::span<const Dtype> inputs, Dtype out);

/// What an operation does to the accumulator: EpilogueOp::accumulator for identity.
EpilogueOp function_of(ElementwiseOp op);

/// The program of an operation: D = accum + t0 for add. `b` counts for operations of two operands.
std::shared_ptr<const EpilogueGraph> program_graph(ElementwiseOp op, Dtype a, Dtype b, Dtype out);

/// The program of a kernel without an epilogue.
std::shared_ptr<const EpilogueGraph> program_graph(const DesignPoint& point);

/// Why kernels of the point have no such epilogue: one is for identity, and has D alone.
Status check_program(const DesignPoint& point, const EpilogueGraph& epilogue);

/// The program of some arguments and what it reads beside A; addresses have no strides.
EpilogueBinding program_of(const ElementwiseArguments& arguments);

/// out, A, and the tensors that the program reads beside A, in the order of their slots.
class ElementwiseOperands {
 public:
  explicit ElementwiseOperands(const ElementwiseArguments& arguments);

  std::size_t size() const { return size_; }
  /// Operand `index`, with out's shape.
  const TensorView& view(std::size_t index) const { return *views_[index]; }
  const char* name(std::size_t index) const { return names_[index]; }
  std::span<const TensorView* const> views() const { return {views_.data(), size_}; }
  /// Bytes of memory in which elements are.
  double span_bytes() const;

 private:
  void add(const TensorView& view, const char* name);

  std::array<const TensorView*, 2 + EpilogueLimits::kTensors> views_{};
  std::array<const char*, 2 + EpilogueLimits::kTensors> names_{};
  std::size_t size_ = 0;
};

}  // namespace estoc::operations
