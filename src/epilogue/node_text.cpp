// Names a step of an epilogue's graph in messages.
#include "epilogue/node_text.h"

#include <fmt/format.h>

#include "epilogue/literals.h"
#include "epilogue/op_table.h"
#include "estoc/epilogue.hpp"

namespace estoc::epilogue {
namespace {

std::string modes(const Varies& varies) {
  std::string text;
  if (varies.l) text += 'l';
  if (varies.m) text += 'm';
  if (varies.n) text += 'n';
  return text;
}

}  // namespace

std::string node_reference(const EpilogueGraph& graph, std::size_t index) {
  const EpilogueNode& node = graph.nodes[index];
  switch (node.op) {
    case EpilogueOp::accumulator:
      return std::string(node.slot != 0 ? kSecondAccumulator : "accum");
    case EpilogueOp::tensor:
      return fmt::format("t{}", node.slot);
    case EpilogueOp::scalar:
      return fmt::format("s{}", node.slot);
    case EpilogueOp::literal:
      return print_literal(node.value, node.type == EpilogueType::i32);
    default:
      return fmt::format("v{}", index);
  }
}

std::string node_text(const EpilogueGraph& graph, std::size_t index) {
  const EpilogueNode& node = graph.nodes[index];
  std::string text = node_reference(graph, index);
  if (node.op == EpilogueOp::tensor) {
    text += fmt::format(" {} {}", dtype_name(node.dtype), modes(node.varies));
  } else if (node.op == EpilogueOp::scalar) {
    text += fmt::format(" {}", dtype_name(node.dtype));
  } else if (node.input_count > 0) {
    text = node.op == EpilogueOp::cast ? dtype_name(node.dtype) : op_info(node.op).name;
    for (std::size_t i = 0; i < node.input_count; ++i)
      text += (i == 0 ? "(" : ", ") + node_reference(graph, node.inputs[i]);
    text += ')';
  }
  return fmt::format("{} in {}", text, epilogue_type_name(node.type));
}

std::string output_text(const EpilogueGraph& graph) {
  for (const EpilogueStore& store : graph.stores) {
    if (graph.nodes[store.node].op != EpilogueOp::accumulator) return node_text(graph, store.node);
  }
  return graph.reduced.empty() ? node_text(graph, 0) : reduction_text(graph, 0);
}

std::string reduction_text(const EpilogueGraph& graph, std::size_t index) {
  const EpilogueReducedStore& store = graph.reduced[index];
  const std::string kept = modes(store.keeps);
  return fmt::format("{}({}){}", epilogue_reduction_name(store.reduction),
                     node_reference(graph, store.node),
                     kept.empty() ? " of everything" : " kept along " + kept);
}

}  // namespace estoc::epilogue
