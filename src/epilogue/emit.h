// Writes the graph of an epilogue as device code.
#pragma once

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

/// Of a graph's nodes; that of an interned graph is in the graph.
EpilogueCost epilogue_cost(const EpilogueGraph& graph);

/// How many neighbours a thread that has four of them evaluates at once: two where the inputs and
/// outputs of four would take too many registers.
int epilogue_width(const EpilogueGraph& graph);

}  // namespace estoc
