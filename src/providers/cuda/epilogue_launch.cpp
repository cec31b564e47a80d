// What kernels with an epilogue are given at a launch, and the second stage of its reductions.
#include "providers/cuda/epilogue_launch.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <span>

#include "epilogue/emit.h"
#include "epilogue/node_text.h"
#include "estoc/numeric.hpp"
#include "providers/cuda/operand_plane.h"

namespace estoc::cuda {
namespace {

constexpr std::int64_t kMaxReductionCtas = 4096;

std::size_t parameter_bytes(const EpilogueGraph& graph) {
  auto at_least_one = [](std::size_t count) { return std::max<std::size_t>(count, 1); };
  return sizeof(abi::EpilogueOperand) * (at_least_one(graph.tensors.size()) + graph.stores.size()) +
         sizeof(abi::EpilogueScalar) * at_least_one(graph.scalars.size()) +
         sizeof(abi::EpiloguePartials) * at_least_one(graph.reduced.size());
}

int held_bytes(const EpilogueGraph& graph, const EpilogueReducedStore& store) {
  return graph.nodes[store.node].type == EpilogueType::f64 ? 8 : 4;
}

/// Whether four neighbours of a row may be moved at once.
bool moves_four(const abi::Matrix& x, Dtype dtype) {
  const std::int64_t size = bytes_of(dtype);
  const std::int64_t alignment = std::min<std::int64_t>(4 * size, 16);
  return x.column_stride == 1 && x.address % static_cast<std::uint64_t>(alignment) == 0 &&
         x.row_stride * size % alignment == 0 && x.batch_stride * size % alignment == 0;
}

std::uint64_t scalar_bits(const EpilogueScalarValue& scalar, Dtype dtype, EpilogueType held) {
  const bool whole = dtype == Dtype::i32 || dtype == Dtype::i8 || dtype == Dtype::u8;
  const double value = whole ? static_cast<double>(scalar.integer) : round_to(dtype, scalar.value);
  switch (held) {
    case EpilogueType::boolean:
      return value != 0 ? 1 : 0;
    case EpilogueType::i32:
      return static_cast<std::uint32_t>(whole ? scalar.integer : static_cast<std::int64_t>(value));
    case EpilogueType::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case EpilogueType::f64:
      break;
  }
  return std::bit_cast<std::uint64_t>(value);
}

EpilogueType held_type(const EpilogueGraph& graph, std::size_t scalar) {
  for (const EpilogueNode& node : graph.nodes) {
    if (node.op == EpilogueOp::scalar && node.slot == scalar) return node.type;
  }
  return EpilogueType::f32;
}

/// Of one reduction: results, and parts a batch where those of batches are apart.
struct ReducedSizes {
  std::int64_t inner;
  std::int64_t results;
  std::int64_t parts;
  std::int64_t batches;  ///< whose parts belong to one result

  std::int64_t total() const { return parts * batches; }
};

ReducedSizes sizes_of(const EpilogueReducedStore& store, const GemmExtents& e, bool transposed,
                      const PartCounts& parts) {
  // Rows of the problem are columns of the code where it is transposed.
  const bool by_rows = transposed ? store.keeps.n : store.keeps.m;
  const bool by_columns = transposed ? store.keeps.m : store.keeps.n;
  const std::int64_t inner = store.keeps.m ? e.m : store.keeps.n ? e.n : 1;
  return {inner, inner * (store.keeps.l ? e.l : 1),
          by_rows      ? parts.row
          : by_columns ? parts.column
                       : parts.all,
          store.keeps.l ? 1 : e.l};
}

/// Calls each(i, sizes, offset in the workspace); returns the bytes of all.
template <typename Each>
std::size_t over_partials(const EpilogueGraph& graph, const GemmExtents& e, bool transposed,
                          const PartCounts& parts, const Each& each) {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < graph.reduced.size(); ++i) {
    const EpilogueReducedStore& store = graph.reduced[i];
    const ReducedSizes sizes = sizes_of(store, e, transposed, parts);
    each(i, sizes, offset);
    const auto bytes = static_cast<std::size_t>(sizes.results * sizes.total()) *
                       static_cast<std::size_t>(held_bytes(graph, store));
    offset += (bytes + 255) / 256 * 256;
  }
  return offset;
}

std::uint64_t address_at(const Workspace& workspace, std::size_t offset) {
  return reinterpret_cast<std::uintptr_t>(workspace.data) + offset;
}

bool computes_in_f64(const EpilogueGraph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                     [](const EpilogueNode& node) { return node.type == EpilogueType::f64; });
}

/// Fills a block of parameters from the front.
class Filler {
 public:
  explicit Filler(std::byte* to) : to_(to) {}
  template <typename Value>
  void put(const Value& value) {
    std::memcpy(to_, &value, sizeof(Value));
    to_ += sizeof(Value);
  }

 private:
  std::byte* to_;
};

}  // namespace

EpilogueView::EpilogueView(const GemmArguments& gemm, bool transposed_view)
    : binding(gemm.epilogue_binding()),
      extents(gemm.extents()),
      transposed(transposed_view),
      batch_invariant(gemm.controls().batch_invariant) {}

Varies EpilogueView::transpose_modes(Varies varies) const {
  if (transposed) std::swap(varies.m, varies.n);
  return varies;
}

abi::Matrix EpilogueView::matrix(const EpilogueAddress& address) const {
  return {.address = reinterpret_cast<std::uintptr_t>(address.data),
          .row_stride = transposed ? address.column_stride : address.row_stride,
          .column_stride = transposed ? address.row_stride : address.column_stride,
          .batch_stride = address.batch_stride};
}

std::size_t epilogue_workspace(const GemmArguments& gemm, bool transposed,
                               const PartCounts& parts) {
  if (gemm.epilogue_binding() == nullptr) return 0;
  return over_partials(*gemm.epilogue_binding()->graph, gemm.extents(), transposed, parts,
                       [](std::size_t, const ReducedSizes&, std::size_t) {});
}

cost::EpilogueTraffic epilogue_traffic(const GemmArguments& gemm) {
  if (gemm.epilogue_binding() == nullptr) return {};
  constexpr double kLanes = 128;        // of a multiprocessor, that start an instruction in a clock
  constexpr double kSpecialLanes = 16;  // of its special units
  const EpilogueGraph& graph = *gemm.epilogue_binding()->graph;
  const GemmExtents& e = gemm.extents();
  auto extent = [](bool varies, std::int64_t of) { return varies ? static_cast<double>(of) : 1.0; };
  auto elements = [&](const Varies& v) {
    return extent(v.l, e.l) * extent(v.m, e.m) * extent(v.n, e.n);
  };
  cost::EpilogueTraffic traffic;
  traffic.fused = true;
  traffic.reduces = !graph.reduced.empty();
  for (const EpilogueTensor& tensor : graph.tensors)
    traffic.bytes += elements(tensor.varies) * static_cast<double>(bytes_of(tensor.dtype));
  for (std::size_t i = 1; i < graph.stores.size(); ++i) {
    traffic.bytes +=
        elements({true, true, true}) * static_cast<double>(bytes_of(graph.stores[i].dtype));
  }
  const EpilogueCost& cost = graph.cost;
  traffic.clocks_per_element = std::max(cost.instructions / kLanes, cost.special / kSpecialLanes);
  return traffic;
}

abi::EpilogueScalar scalar_parameter(const EpilogueBinding& binding, std::size_t i) {
  const EpilogueScalarValue& scalar = binding.scalars[i];
  const auto address = reinterpret_cast<std::uintptr_t>(scalar.data);
  if (address != 0) return {address, 0};
  const EpilogueGraph& graph = *binding.graph;
  return {0, scalar_bits(scalar, graph.scalars[i].dtype, held_type(graph, i))};
}

void add_epilogue(const EpilogueView& view, const PartCounts& parts, const Workspace& workspace,
                  const abi::TmaMode* tma, LaunchPlan& plan) {
  const EpilogueGraph& graph = view.graph();
  const EpilogueBinding& binding = *view.binding;
  Filler filler(plan.add_parameter_bytes(parameter_bytes(graph), 8));
  auto put_operand = [&](const EpilogueAddress& address, Dtype dtype) {
    const abi::Matrix at = view.matrix(address);
    filler.put(abi::EpilogueOperand{at, view.whole_fours && moves_four(at, dtype) ? 1 : 0,
                                    tma != nullptr ? *tma++ : abi::TmaMode::none});
  };
  for (std::size_t i = 0; i < graph.tensors.size(); ++i)
    put_operand(binding.tensors[i], graph.tensors[i].dtype);
  if (graph.tensors.empty()) filler.put(abi::EpilogueOperand{});
  for (std::size_t i = 0; i < graph.scalars.size(); ++i)
    filler.put(scalar_parameter(binding, i));
  if (graph.scalars.empty()) filler.put(abi::EpilogueScalar{});
  for (std::size_t i = 0; i < graph.stores.size(); ++i)
    put_operand(view.store(i), graph.stores[i].dtype);
  over_partials(graph, view.extents, view.transposed, parts,
                [&](std::size_t, const ReducedSizes& sizes, std::size_t offset) {
                  filler.put(abi::EpiloguePartials{address_at(workspace, offset), sizes.results,
                                                   sizes.parts});
                });
  if (graph.reduced.empty()) filler.put(abi::EpiloguePartials{});
}

namespace {

/// Threads that share a result of the second kernel: few, so that few CTAs wait beside the first.
unsigned reduction_lanes(const ReducedSizes& sizes, bool batch_invariant) {
  constexpr std::int64_t kPartsOfOne = 32;
  if (sizes.results < 32 && !batch_invariant) return 256;
  return sizes.total() > kPartsOfOne ? 8 : 1;
}

}  // namespace

void add_reduction(const EpilogueView& view, const PartCounts& parts, const Workspace& workspace,
                   bool empty, bool programmatic, LaunchPlan& plan) {
  const EpilogueGraph& graph = view.graph();
  if (graph.reduced.empty()) return;
  constexpr unsigned kThreads = 256;
  const auto lanes_of = [&](const ReducedSizes& sizes) {
    return reduction_lanes(sizes, view.batch_invariant);
  };
  std::int64_t most = 0;
  over_partials(graph, view.extents, view.transposed, parts,
                [&](std::size_t, const ReducedSizes& sizes, std::size_t) {
                  most = std::max(most, ceil_div(sizes.results, kThreads / lanes_of(sizes)));
                });
  if (most == 0) return;
  plan.kernel(1, {.grid = {static_cast<unsigned>(std::min(most, kMaxReductionCtas)),
                           static_cast<unsigned>(graph.reduced.size()), 1},
                  .block = {kThreads, 1, 1},
                  .shared_bytes = 8 * kThreads});
  if (programmatic && !empty) plan.launch_programmatically();
  Filler filler(plan.add_parameter_bytes(sizeof(abi::EpilogueResult) * graph.reduced.size(), 8));
  over_partials(graph, view.extents, view.transposed, parts,
                [&](std::size_t i, const ReducedSizes& sizes, std::size_t offset) {
                  const EpilogueAddress& to = view.binding->reduced[i];
                  const Varies keeps = graph.reduced[i].keeps;
                  filler.put(abi::EpilogueResult{
                      {address_at(workspace, offset), sizes.results, empty ? 0 : sizes.total()},
                      {reinterpret_cast<std::uintptr_t>(to.data),
                       keeps.m ? to.row_stride : to.column_stride, 0, to.batch_stride},
                      std::max<std::int64_t>(sizes.inner, 1),
                      static_cast<int>(lanes_of(sizes)),
                      0});
                });
}

std::string reduction_source(const EpilogueGraph& graph) {
  return fmt::format(R"(
using FusedResults = estoc::abi::EpilogueResults<{}>;
static_assert(sizeof(FusedResults) == {});
extern "C" __global__ void __launch_bounds__(256)
estoc_reduce_partials(const __grid_constant__ FusedResults results) {{
  estoc::epilogue::finish<Epilogue>(results);
}}
)",
                     graph.reduced.size(), sizeof(abi::EpilogueResult) * graph.reduced.size());
}

std::string epilogue_source(const EpilogueGraph* graph, bool transposed) {
  if (graph == nullptr) return {};
  return fmt::format("\n{}static_assert(sizeof(Epilogue::Parameters) == {});\n",
                     emit_epilogue(*graph, transposed), parameter_bytes(*graph));
}

int epilogue_registers(const EpilogueGraph& graph, bool transposed) {
  auto wide = [](EpilogueType type) { return type == EpilogueType::f64 ? 2 : 1; };
  auto by_columns = [&](const Varies& varies) { return transposed ? varies.m : varies.n; };
  const int width = epilogue_width(graph);
  // Two at a time are loaded and stored one by one.
  const int address = width == 2 ? 3 : 0;
  int registers = graph.cost.live_registers;
  if (graph.accumulator != EpilogueType::f64 && computes_in_f64(graph)) registers += 8;
  for (const EpilogueNode& node : graph.nodes) {
    if (node.op == EpilogueOp::scalar) registers += wide(node.type);
    if (node.op != EpilogueOp::tensor) continue;
    registers += (by_columns(node.varies) ? width : 1) * wide(node.type) + address;
  }
  for (const EpilogueStore& store : graph.stores)
    registers += width * wide(graph.nodes[store.node].type) + address;
  for (const EpilogueReducedStore& store : graph.reduced) {
    // What ptxas takes more where the product's own sums are f64 was seen, not counted.
    const int each =
        graph.accumulator == EpilogueType::f64 ? 4 : wide(graph.nodes[store.node].type);
    registers += (by_columns(store.keeps) ? 4 : 1) * each;
  }
  return registers;
}

Status check_epilogue_registers(const EpilogueGraph& graph, int needed, int available) {
  if (needed <= available) return Status::success();
  return Status::fail(
      Reason::resource,
      fmt::format("epilogue: expected at most {} registers beside the sums and the code, got {}, "
                  "with most values at {}",
                  available, needed, epilogue::node_text(graph, graph.cost.busiest_node)));
}

Status check_epilogue_forms(const EpilogueGraph& graph) {
  for (std::size_t i = 0; i < graph.reduced.size(); ++i) {
    if (!graph.reduced[i].keeps.m || !graph.reduced[i].keeps.n) continue;
    return Status::fail(Reason::epilogue,
                        fmt::format("epilogue: expected reductions that keep rows, columns, "
                                    "batches or nothing, got {}",
                                    epilogue::reduction_text(graph, i)));
  }
  return Status::success();
}

}  // namespace estoc::cuda
