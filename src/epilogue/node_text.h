// Names a step of an epilogue's graph in messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "estoc/epilogue_graph.hpp"

namespace estoc::epilogue {

/// The second accumulator of a pair in canonical text; the first is accum.
inline constexpr std::string_view kSecondAccumulator = "second";

/// "accum", "t0", "s1", "v4", or the number: the reference to it in canonical text.
std::string node_reference(const EpilogueGraph& graph, std::size_t index);

/// "gelu(v4) in f32", "t0 bf16 mn", with the references of canonical text.
std::string node_text(const EpilogueGraph& graph, std::size_t index);

/// The text of the step that computes D, or, where D is the accumulator, the first other output.
std::string output_text(const EpilogueGraph& graph);

/// "absmax(v3) kept along m".
std::string reduction_text(const EpilogueGraph& graph, std::size_t index);

}  // namespace estoc::epilogue
