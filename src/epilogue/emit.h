// Writes the graph of an epilogue as device code.
#pragma once

#include <cstddef>
#include <string>

#include "estoc/epilogue_graph.hpp"

namespace estoc {

/// A struct `Epilogue` for the kernels of device/estoc (docs/kernels.md, "Epilogues"). Where
/// `transposed`, the kernel computes the transpose of the output: rows are columns.
std::string emit_epilogue(const EpilogueGraph& graph, bool transposed);

/// Whether elements are evaluated in pairs of neighbours in a row of the code
/// (device/estoc/epilogue/pair.cuh): where there is one gelu_tanh, which two elements can share the
/// reciprocal of.
bool shares_reciprocals(const EpilogueGraph& graph);

/// The cost of one element, and the most registers that its values take at a time.
struct EpilogueCost {
  double instructions = 0;  ///< of the ordinary units
  double special = 0;       ///< of the unit for powers, logarithms and reciprocals
  int live_registers = 0;
  std::size_t busiest_node = 0;  ///< the node at which they are most
};
EpilogueCost epilogue_cost(const EpilogueGraph& graph);

/// How many neighbours a thread that has four of them evaluates at once: two where the inputs and
/// outputs of four would take too many registers.
int epilogue_width(const EpilogueGraph& graph);

}  // namespace estoc
