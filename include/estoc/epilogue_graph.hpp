// The typed graph of an epilogue: what kernel classes read to compile and to launch it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/dtype.hpp"

namespace estoc {

/// What a node computes. The formula of each is in docs/epilogues.md.
enum class EpilogueOp : std::uint8_t {
#define ESTOC_EPILOGUE_OP(name, inputs, rule, spelling, instructions, special, commutes) name,
#include "estoc/epilogue_ops.def"
};

/// The type in which a node's value is held.
enum class EpilogueType : std::uint8_t { boolean, i32, f32, f64 };

/// The modes of the output that a value depends on; the others repeat it.
struct Varies {
  bool l = false;
  bool m = false;
  bool n = false;
  bool operator==(const Varies&) const = default;
};

/// Which columns of the product an element is computed from, where it has two accumulators: those
/// of column n of out are columns n and N + n of B, or 2 n and 2 n + 1. B has twice as many columns
/// as out then.
enum class AccumulatorPairs : std::uint8_t { none, halves, interleaved };

/// How a reduction puts elements together.
enum class EpilogueReduction : std::uint8_t { sum, max, min, absmax, sum_of_squares };

/// One operation of the graph; its inputs stand before it.
struct EpilogueNode {
  EpilogueOp op = EpilogueOp::accumulator;
  EpilogueType type = EpilogueType::f32;
  Varies varies;
  Dtype dtype = Dtype::f32;  ///< of a tensor, a scalar, and the goal of a cast
  std::uint8_t input_count = 0;
  std::uint16_t slot = 0;  ///< of a tensor or scalar; of accumulators in pairs 1 is the second
  std::array<std::uint16_t, 4> inputs{};  ///< indices of nodes
  double value = 0;                       ///< of a literal
  bool operator==(const EpilogueNode&) const = default;
};

/// An input tensor: where it repeats the strides are 0.
struct EpilogueTensor {
  Dtype dtype = Dtype::f32;
  Varies varies;
  bool operator==(const EpilogueTensor&) const = default;
};

/// A scalar given at run time, by value or as a pointer to one element of the device's memory.
struct EpilogueScalar {
  Dtype dtype = Dtype::f32;
  bool operator==(const EpilogueScalar&) const = default;
};

/// An output of the product's shape; the first of them is D.
struct EpilogueStore {
  std::uint16_t node = 0;
  Dtype dtype = Dtype::f32;
  bool operator==(const EpilogueStore&) const = default;
};

/// An output that keeps some modes of the product's shape and reduces the others.
struct EpilogueReducedStore {
  EpilogueReduction reduction = EpilogueReduction::sum;
  Varies keeps;
  std::uint16_t node = 0;
  Dtype dtype = Dtype::f32;
  bool operator==(const EpilogueReducedStore&) const = default;
};

/// What one element of an epilogue takes of a thread.
struct EpilogueCost {
  double instructions = 0;       ///< of the ordinary units
  double special = 0;            ///< of the unit for powers, logarithms and reciprocals
  int live_registers = 0;        ///< the most that values take at a time
  std::size_t busiest_node = 0;  ///< the node at which they are most
};

/// A whole epilogue with every type known. Equal graphs have equal canonical texts and hashes, and
/// share compiled kernels: names, values of scalars, addresses and strides are no part of it. Nodes
/// that nothing needs, and nodes that occur twice, have been taken out.
struct EpilogueGraph {
  EpilogueType accumulator = EpilogueType::f32;
  AccumulatorPairs pairs = AccumulatorPairs::none;
  std::vector<EpilogueNode> nodes;
  std::vector<EpilogueTensor> tensors;
  std::vector<EpilogueScalar> scalars;
  std::vector<EpilogueStore> stores;
  std::vector<EpilogueReducedStore> reduced;
  /// Reductions may add up in any order (faster, and not the same bits each time).
  bool atomic = false;

  std::string canonical;   ///< readable text that says all of the above
  std::uint64_t hash = 0;  ///< of `canonical`
  EpilogueCost cost;
};

/// Bounds that construction enforces.
struct EpilogueLimits {
  static constexpr int kNodes = 256;
  static constexpr int kTensors = 16;
  static constexpr int kScalars = 16;
  static constexpr int kStores = 16;  ///< of the product's shape, D included
  static constexpr int kReduced = 16;
  static constexpr int kTextBytes = 65536;
};

/// Where one tensor of the product's shape is: element (l, m, n) at data + l * batch_stride +
/// m * row_stride + n * column_stride, counted in elements.
struct EpilogueAddress {
  void* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  int alignment = 1;  ///< bytes
};

/// A scalar's value, or where on the device it is.
struct EpilogueScalarValue {
  double value = 0;
  std::int64_t integer = 0;    ///< the same for an integer scalar, exactly
  const void* data = nullptr;  ///< not null: read from here when the kernel runs
};

/// What the slots of a graph are for one call. Lists are as long as those of the graph, except that
/// stores[0], D, repeats the output operand.
struct EpilogueBinding {
  std::shared_ptr<const EpilogueGraph> graph;
  std::vector<EpilogueAddress> tensors;
  std::vector<EpilogueScalarValue> scalars;
  std::vector<EpilogueAddress> stores;
  std::vector<EpilogueAddress> reduced;
};

}  // namespace estoc
