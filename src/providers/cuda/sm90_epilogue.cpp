// What an epilogue takes of an sm90_gemm or sm100_gemm kernel: shared memory, registers, tensor
// maps.
#include "providers/cuda/sm90_epilogue.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "core/architectures.h"
#include "epilogue/node_text.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/operand_plane.h"
#include "providers/cuda/sm90_space.h"
#include "providers/cuda/tensor_map.h"

namespace estoc::cuda {
namespace {

using abi::Schedule;
using abi::Sm100GemmConfig;
using abi::Sm90EpilogueShape;
using abi::Sm90GemmConfig;

static_assert(core::architecture(90).shared_bytes == core::architecture(100).shared_bytes);
constexpr int kSharedBytes = core::architecture(90).shared_bytes;
constexpr int kMinStages = 3;
constexpr int kMaxDepth = 4;

// Of the boxes in which tensors are moved, and of a tile that its threads store together.
int box_rows(const Sm90GemmConfig& /*config*/) {
  return 64;
}
int box_rows(const Sm100GemmConfig& /*config*/) {
  return Sm100GemmConfig::kRows;
}
int stored_rows(const Sm90GemmConfig& config) {
  return config.consumer_rows();
}
int stored_rows(const Sm100GemmConfig& /*config*/) {
  return Sm100GemmConfig::kRows;
}
// Columns of out that a tile computes.
int stored_columns(const Sm90GemmConfig& config) {
  return config.place_columns();
}
int stored_columns(const Sm100GemmConfig& config) {
  return config.tile_n;
}
// Whether M is the contiguous mode of matrices in boxes.
bool stores_m_major(const Sm90GemmConfig& config) {
  return config.epilogue.m_major;
}
bool stores_m_major(const Sm100GemmConfig& /*config*/) {
  return false;
}
// Whether a tile is stored while the next one is multiplied.
bool stores_meanwhile(const Sm90GemmConfig& config) {
  return config.schedule == Schedule::pingpong;
}
bool stores_meanwhile(const Sm100GemmConfig& /*config*/) {
  return true;
}

Varies transpose_modes(Varies varies, bool transposed) {
  if (transposed) std::swap(varies.m, varies.n);
  return varies;
}

bool is_matrix(const Varies& varies) {
  return varies.m && varies.n;
}

int held_bytes(const EpilogueGraph& graph, EpilogueOp leaf, std::size_t slot) {
  for (const EpilogueNode& node : graph.nodes) {
    if (node.op == leaf && node.slot == slot) return node.type == EpilogueType::f64 ? 8 : 4;
  }
  return 4;
}

/// The bytes of one element in the boxes of all inputs, of all outputs, and in the widest.
struct ElementBytes {
  int loads = 0;
  int stores = 0;
  int widest = 0;
};

ElementBytes element_bytes(const EpilogueGraph& graph) {
  ElementBytes bytes;
  for (const EpilogueTensor& tensor : graph.tensors) {
    if (!is_matrix(tensor.varies)) continue;
    bytes.loads += bytes_of(tensor.dtype);
    bytes.widest = std::max(bytes.widest, bytes_of(tensor.dtype));
  }
  for (const EpilogueStore& store : graph.stores) {
    bytes.stores += bytes_of(store.dtype);
    bytes.widest = std::max(bytes.widest, bytes_of(store.dtype));
  }
  return bytes;
}

std::string stored_text(const EpilogueGraph& graph, const EpilogueStore& store) {
  return fmt::format("{} stored as {}", epilogue::node_text(graph, store.node),
                     dtype_name(store.dtype));
}

/// The matrix whose elements are widest, for messages.
std::string widest_text(const EpilogueGraph& graph) {
  std::string text;
  int widest = 0;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const EpilogueNode& node = graph.nodes[i];
    if (node.op != EpilogueOp::tensor || !is_matrix(node.varies)) continue;
    if (bytes_of(node.dtype) > widest) text = epilogue::node_text(graph, i);
    widest = std::max(widest, bytes_of(node.dtype));
  }
  for (const EpilogueStore& store : graph.stores) {
    if (bytes_of(store.dtype) <= widest) continue;
    widest = bytes_of(store.dtype);
    text = stored_text(graph, store);
  }
  return text;
}

/// Vectors and scalars of a tile.
template <typename Config>
int value_bytes(const Config& config, const EpilogueGraph& graph, bool transposed) {
  int bytes = 0;
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Varies varies = transpose_modes(graph.tensors[i].varies, transposed);
    if (is_matrix(varies)) continue;
    const int extent = varies.n ? stored_columns(config) : varies.m ? stored_rows(config) : 1;
    bytes += (extent * held_bytes(graph, EpilogueOp::tensor, i) + 15) / 16 * 16;
  }
  return (bytes + 8 * static_cast<int>(graph.scalars.size()) + 15) / 16 * 16;
}

/// Boxes of one input that cover what a consumer stores of a tile.
template <typename Config>
int boxes_of_tile(const Config& config, int columns) {
  return stored_rows(config) / box_rows(config) * (stored_columns(config) / columns);
}

/// Inputs under way that hide the way to memory: half a tile of them, or, where the other consumer
/// multiplies meanwhile, two boxes.
template <typename Config>
int depth_wanted(const Config& config, int columns) {
  const int boxes = boxes_of_tile(config, columns);
  if (stores_meanwhile(config)) return std::min(boxes, 2);
  return std::min((boxes + 1) / 2, kMaxDepth);
}

/// The shape with as many boxes as fit; columns 0 when `least` of them do not.
template <typename Config>
Sm90EpilogueShape fill(Config config, Sm90EpilogueShape shape, int least) {
  const int most =
      shape.load_bytes > 0 ? std::min(boxes_of_tile(config, shape.columns), kMaxDepth) : 0;
  for (int depth = most; depth >= (most > 0 ? std::max(least, 1) : 0); --depth) {
    shape.load_depth = depth;
    config.epilogue = shape;
    if (config.shared_bytes() <= kSharedBytes) return shape;
  }
  return {};
}

/// Tries boxes of all widths with all numbers of stages; the widest with the most stages wins.
template <typename Config>
Config choose(Config config, const ElementBytes& bytes, int values, bool rolled, bool deep_enough) {
  const bool m_major = config.epilogue.m_major;
  for (; config.stages >= kMinStages; --config.stages) {
    for (const int columns : {64, 32, 16}) {
      if (stored_columns(config) % columns != 0 || columns * bytes.widest > 128) continue;
      for (const int store_depth : {2, 1}) {
        const int elements = box_rows(config) * columns;
        const Sm90EpilogueShape shape{columns,     elements * bytes.loads,
                                      0,           elements * bytes.stores,
                                      store_depth, values,
                                      rolled,      m_major};
        config.epilogue = fill(config, shape, deep_enough ? depth_wanted(config, columns) : 1);
        if (config.epilogue.columns > 0) return config;
      }
    }
  }
  config.epilogue = {};
  return config;
}

/// Registers of a thread for 16 columns of two rows.
int registers_of(const EpilogueGraph& graph, bool transposed) {
  int registers = graph.cost.live_registers + static_cast<int>(graph.scalars.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Varies varies = transpose_modes(graph.tensors[i].varies, transposed);
    const int held = held_bytes(graph, EpilogueOp::tensor, i) / 4;
    registers += is_matrix(varies) ? 4 * std::max(bytes_of(graph.tensors[i].dtype) / 2, 1)
                 : varies.n        ? 4 * held
                                   : 2 * held;
  }
  for (const EpilogueStore& store : graph.stores)
    registers += bytes_of(store.dtype) == 2 ? 4 : 2;
  for (const EpilogueReducedStore& store : graph.reduced) {
    const int wide = graph.nodes[store.node].type == EpilogueType::f64 ? 2 : 1;
    registers += (transpose_modes(store.keeps, transposed).n ? 4 : 2) * wide;
  }
  return registers;
}

/// The same for 16 columns of one row.
int row_registers(const EpilogueGraph& graph, bool transposed) {
  int registers = graph.cost.live_registers + static_cast<int>(graph.scalars.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const Varies varies = transpose_modes(graph.tensors[i].varies, transposed);
    const int held = held_bytes(graph, EpilogueOp::tensor, i) / 4;
    registers += is_matrix(varies) ? 8 * std::max(bytes_of(graph.tensors[i].dtype) / 2, 1)
                 : varies.n        ? 16 * held
                                   : held;
  }
  for (const EpilogueStore& store : graph.stores)
    registers += bytes_of(store.dtype) == 2 ? 8 : 2;
  for (const EpilogueReducedStore& store : graph.reduced) {
    const int wide = graph.nodes[store.node].type == EpilogueType::f64 ? 2 : 1;
    registers += (transpose_modes(store.keeps, transposed).n ? 16 : 1) * wide;
  }
  return registers;
}

/// Whether the code of all elements of a thread would take long to compile, and to fetch.
bool is_long(const EpilogueGraph& graph) {
  const bool by_columns =
      std::any_of(graph.reduced.begin(), graph.reduced.end(),
                  [](const EpilogueReducedStore& store) { return store.keeps.m || store.keeps.n; });
  constexpr double kShortInstructions = 40;
  return graph.cost.instructions > kShortInstructions || (by_columns && graph.reduced.size() > 1) ||
         graph.stores.size() + graph.tensors.size() > 6;
}

bool reduces_columns(const EpilogueGraph& graph, bool transposed) {
  return std::any_of(graph.reduced.begin(), graph.reduced.end(),
                     [transposed](const EpilogueReducedStore& store) {
                       return transpose_modes(store.keeps, transposed).n;
                     });
}

/// Whether the code of all elements would spill: with reductions of columns, ptxas keeps the parts
/// of several steps beside the sums. There is room for them beside 128 sums and nothing else.
bool needs_loop(const Sm90GemmConfig& config, const EpilogueGraph& graph, bool transposed) {
  // Products of 8-bit floats leave ptxas fewer registers, and so do three consumers.
  const int most = config.consumers() == 3 ? 64 : abi::type_bytes(config.a) == 1 ? 96 : 128;
  if (config.consumers() == 1 || config.sums() < most) return false;
  if (!reduces_columns(graph, transposed)) return false;
  const bool alone = graph.tensors.empty() && graph.scalars.empty() && graph.stores.size() == 1 &&
                     abi::type_bytes(config.out) <= 2;
  return config.sums() > most || !alone;
}

/// Widths between multiples of 32 have boxes of 16 columns. Where one consumer has them all, the
/// code of all elements would spill.
bool has_narrow_boxes(const Sm90GemmConfig& config) {
  return config.consumers() > 1 && config.tile_n > 64 && config.tile_n % 32 != 0;
}

/// What the code takes beside sums, inputs and outputs. Where many sums leave less, ptxas makes do
/// with it for short epilogues without reductions whose 16-bit output leaves by TMA.
int code_registers(const Sm90GemmConfig& config, const EpilogueGraph& graph) {
  const bool simple = config.tma_store && abi::type_bytes(config.out) == 2 &&
                      graph.reduced.empty() && !config.epilogue.rolled;
  // With three consumers, epilogues with less room than this spilled.
  if (config.consumers() == 3) return 60;
  return config.sums() > 160 && simple ? 16 : 40;
}

std::uint64_t stride_bytes(std::int64_t stride, std::int64_t extent, std::int64_t bytes) {
  return static_cast<std::uint64_t>(extent > 1 && stride > 0 ? stride * bytes : 16);
}

/// A matrix as TMA sees it, whose columns are neighbours.
struct MappedMatrix : abi::Matrix {
  std::int64_t rows;
  std::int64_t columns;
};

template <typename Config>
MappedMatrix mapped(const Config& config, const abi::Matrix& at, const EpilogueView& view) {
  const bool turned = view.transposed != stores_m_major(config);
  MappedMatrix matrix{at, turned ? view.extents.n : view.extents.m,
                      turned ? view.extents.m : view.extents.n};
  if (stores_m_major(config)) std::swap(matrix.row_stride, matrix.column_stride);
  return matrix;
}

struct BoxShape {
  int rows;
  int columns;
};
template <typename Config>
BoxShape box_shape(const Config& config) {
  if (stores_m_major(config)) return {config.epilogue.columns, box_rows(config)};
  return {box_rows(config), config.epilogue.columns};
}

/// How TMA can move the boxes of a tensor: abi::EpilogueOperand::tma. Stores end with a whole
/// chunk of 16 bytes; loads do not. Both begin with one.
abi::TmaMode tma_mode(const MappedMatrix& at, Dtype dtype, const EpilogueView& view, bool stored) {
  const std::int64_t size = bytes_of(dtype);
  constexpr std::int64_t kMaxStride = std::int64_t{1} << 40;
  const bool batched = view.extents.l > 1 && at.batch_stride != 0;
  auto steps = [&](std::int64_t stride) {
    return stride > 0 && stride < kMaxStride / size && stride * size % 16 == 0;
  };
  const bool row = at.rows == 1 || (at.row_stride >= at.columns && steps(at.row_stride));
  const bool whole = view.whole_fours && (!stored || at.columns * size % 16 == 0);
  const bool fits = whole && (at.column_stride == 1 || at.columns == 1) && at.address % 16 == 0 &&
                    row && (!batched || steps(at.batch_stride));
  if (!fits) return abi::TmaMode::none;
  return batched ? abi::TmaMode::batched : abi::TmaMode::plain;
}

template <typename Config>
abi::TensorMap encode(const PlanDevice& device, const Config& config, const MappedMatrix& at,
                      Dtype dtype, bool batched, const EpilogueView& view, std::string_view name) {
  const std::int64_t size = bytes_of(dtype);
  const std::int64_t batches = batched ? view.extents.l : 1;
  const BoxShape box = box_shape(config);
  const int row_bytes = box.columns * static_cast<int>(size);
  return encode_tensor_map(
      device,
      {.operand = name,
       .type = abi_type(dtype),
       .address = at.address,
       .extents = {static_cast<std::uint64_t>(at.columns), static_cast<std::uint64_t>(at.rows),
                   static_cast<std::uint64_t>(batches)},
       .stride_bytes = {stride_bytes(at.row_stride, at.rows, size),
                        stride_bytes(at.batch_stride, batches, size)},
       .box = {static_cast<std::uint32_t>(box.columns), static_cast<std::uint32_t>(box.rows), 1},
       .swizzle_bytes = row_bytes >= 32 ? row_bytes : 0});
}

/// Beside narrow boxes long epilogues spill in a loop too.
Status too_long(const Sm90GemmConfig& config, const EpilogueGraph& graph) {
  return Status::fail(
      Reason::resource,
      fmt::format("epilogue: expected a short one for tiles of {} columns, got {} instructions, "
                  "{} inputs that are tensors, {} outputs and {} reductions",
                  config.tile_n, graph.cost.instructions, graph.tensors.size(), graph.stores.size(),
                  graph.reduced.size()));
}

/// Whether a tile's boxes of B hold the columns of both accumulators of pairs, 16 of out at least.
Status check_pairs(const Sm90GemmConfig& config, bool transposed) {
  if (!config.paired) return Status::success();
  if (transposed) {
    return Status::fail(
        Reason::epilogue,
        "epilogue: expected accum alone in a kernel for the transposed product, got "
        "accumulators in pairs");
  }
  const int unit = (config.b_n_major ? 128 : 32) * config.cluster_m;
  if (config.tile_n % unit != 0) {
    return Status::fail(
        Reason::epilogue,
        fmt::format("epilogue: expected accum alone with tiles of {} columns, which "
                    "are no multiple of {}, got accumulators in pairs",
                    config.tile_n, unit));
  }
  // Beside more sums the code of boxes of 16 columns spills.
  constexpr int kMostSums = 160;
  if (config.place_columns() % 32 == 0 || config.sums() <= kMostSums) return Status::success();
  return Status::fail(Reason::resource,
                      fmt::format("epilogue: expected accum alone with {} sums a thread and {} "
                                  "columns of out, got accumulators in pairs",
                                  config.sums(), config.place_columns()));
}

/// The first matrix whose elements have no 16 bits, for messages; empty where there is none.
std::string other_than_16_bits(const EpilogueGraph& graph) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const EpilogueNode& node = graph.nodes[i];
    if (node.op != EpilogueOp::tensor) continue;
    const EpilogueTensor& tensor = graph.tensors[node.slot];
    if (is_matrix(tensor.varies) && dtype_bits(tensor.dtype) != 16)
      return epilogue::node_text(graph, i);
  }
  for (const EpilogueStore& store : graph.stores) {
    if (dtype_bits(store.dtype) != 16) return stored_text(graph, store);
  }
  return {};
}

/// Whether a swapped kernel that stores by TMA takes an epilogue: a wide one where its matrices can
/// be moved in boxes whose columns are 64 elements of 128 bytes.
Status check_m_major(const Sm90GemmConfig& config, const EpilogueGraph& graph) {
  if (!config.out_m_major) return Status::success();
  if (config.tile_n < kWideSwapped) {
    return Status::fail(
        Reason::epilogue,
        fmt::format("epilogue: expected none in a swapped kernel with alignOut16 and "
                    "tiles of {} rows: the one with alignOut1 takes it",
                    config.tile_n));
  }
  if (has_16_bit_matrices(graph)) return Status::success();
  return Status::fail(Reason::epilogue,
                      fmt::format("epilogue: expected matrices of 16-bit elements in a swapped "
                                  "kernel with tiles of {} rows, got {}",
                                  config.tile_n, other_than_16_bits(graph)));
}

/// The configuration with room for an epilogue.
template <typename Config>
Config with_room(const Config& plain, const EpilogueGraph& graph, bool transposed, bool rolled) {
  const ElementBytes bytes = element_bytes(graph);
  const int values = value_bytes(plain, graph, transposed);
  const Config deep = choose(plain, bytes, values, rolled, true);
  return deep.epilogue.columns > 0 ? deep : choose(plain, bytes, values, rolled, false);
}

template <typename Config>
Status no_room(const Config& config, const EpilogueGraph& graph) {
  return Status::fail(
      Reason::resource,
      fmt::format("epilogue: expected inputs and outputs that leave {} stages of "
                  "{} bytes in shared memory, got {} bytes an element, the "
                  "widest of them {}",
                  kMinStages, config.stage_bytes(),
                  element_bytes(graph).loads + element_bytes(graph).stores, widest_text(graph)));
}

}  // namespace

bool has_16_bit_matrices(const EpilogueGraph& graph) {
  return std::all_of(graph.tensors.begin(), graph.tensors.end(),
                     [](const EpilogueTensor& tensor) {
                       return !is_matrix(tensor.varies) || dtype_bits(tensor.dtype) == 16;
                     }) &&
         std::all_of(graph.stores.begin(), graph.stores.end(),
                     [](const EpilogueStore& store) { return dtype_bits(store.dtype) == 16; });
}

abi::Sm90GemmConfig fused_config(const abi::Sm90GemmConfig& given, const EpilogueGraph& graph,
                                 bool transposed, bool m_major) {
  abi::Sm90GemmConfig plain = given;
  plain.epilogue.m_major = m_major && has_16_bit_matrices(graph);
  plain.paired = graph.pairs != AccumulatorPairs::none;
  const bool narrow = has_narrow_boxes(plain) && plain.schedule == abi::Schedule::pingpong;
  return with_room(plain, graph, transposed,
                   is_long(graph) || narrow || needs_loop(plain, graph, transposed));
}

// In a loop: where a thread's sums are in tensor memory is known at run time.
abi::Sm100GemmConfig fused_config(const abi::Sm100GemmConfig& plain, const EpilogueGraph& graph,
                                  bool transposed) {
  return with_room(plain, graph, transposed, true);
}

Status check_room(const abi::Sm90GemmConfig& config, const EpilogueGraph& graph, bool transposed) {
  if (Status pairs = check_pairs(config, transposed); !pairs.ok()) return pairs;
  if (Status boxes = check_m_major(config, graph); !boxes.ok()) return boxes;
  if (config.epilogue.columns == 0) return no_room(config, graph);
  if (config.consumers() > config.input_warps() && config.epilogue.loads()) {
    return Status::fail(
        Reason::resource,
        fmt::format("epilogue: expected no inputs for a tile of {} consumers", config.consumers()));
  }
  int available = config.consumers() == 1 ? core::architecture(90).registers_per_thread
                                          : config.consumer_registers();
  // Of 8-bit floats with many sums of their own, ptxas leaves fewer for the rest.
  if (abi::type_bytes(config.a) == 1 && !config.promote && config.sums() > 128) available -= 48;
  Status registers = check_epilogue_registers(
      graph, registers_of(graph, transposed),
      std::max(available - code_registers(config, graph) - config.sums(), 0));
  return registers.ok() && has_narrow_boxes(config) && is_long(graph) ? too_long(config, graph)
                                                                      : registers;
}

Status check_room(const abi::Sm100GemmConfig& config, const EpilogueGraph& graph, bool transposed) {
  if (config.epilogue.columns == 0) return no_room(config, graph);
  // What the code takes beside inputs and outputs; a thread has 16 columns of a row at a time.
  constexpr int kCode = 40 + 16;
  return check_epilogue_registers(graph, row_registers(graph, transposed),
                                  core::architecture(100).registers_per_thread - kCode);
}

template <typename Config>
PartCounts tile_part_counts(const Config& config, std::int64_t m, std::int64_t n) {
  const std::int64_t blocks = ceil_div(m, box_rows(config));
  const std::int64_t tiles = ceil_div(n, stored_columns(config));
  return {.row = tiles, .column = 4 * blocks, .all = 4 * blocks * tiles};
}
template PartCounts tile_part_counts(const Sm90GemmConfig&, std::int64_t, std::int64_t);
template PartCounts tile_part_counts(const Sm100GemmConfig&, std::int64_t, std::int64_t);

template <typename Config>
abi::TensorMap fused_out_map(const PlanDevice& device, const Config& config,
                             const EpilogueView& view) {
  const MappedMatrix at = mapped(config, view.matrix(view.store(0)), view);
  const Dtype dtype = view.graph().stores[0].dtype;
  const abi::TmaMode tma = tma_mode(at, dtype, view, true);
  return tma != abi::TmaMode::none
             ? encode(device, config, at, dtype, tma == abi::TmaMode::batched, view, "out")
             : abi::TensorMap{};
}

template abi::TensorMap fused_out_map(const PlanDevice&, const Sm90GemmConfig&,
                                      const EpilogueView&);
template abi::TensorMap fused_out_map(const PlanDevice&, const Sm100GemmConfig&,
                                      const EpilogueView&);

template <typename Config>
void add_mapped_epilogue(const Config& config, const EpilogueView& view, const PartCounts& parts,
                         const Workspace& workspace, bool empty, LaunchPlan& plan) {
  const EpilogueGraph& graph = view.graph();
  if (!empty) {
    constexpr std::size_t kOperands = EpilogueLimits::kTensors + EpilogueLimits::kStores;
    std::array<abi::TmaMode, kOperands> tma{};
    std::array<abi::TensorMap, 2 * std::size_t{abi::kEpilogueMaps}> maps;
    std::size_t used = 0;
    int inputs = 0;
    for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
      if (!is_matrix(graph.tensors[i].varies) || inputs++ >= abi::kEpilogueMaps) continue;
      const MappedMatrix at = mapped(config, view.matrix(view.binding->tensors[i]), view);
      const Dtype dtype = graph.tensors[i].dtype;
      tma[i] = tma_mode(at, dtype, view, false);
      maps[used++] = tma[i] == abi::TmaMode::none
                         ? abi::TensorMap{}
                         : encode(plan.device(), config, at, dtype, tma[i] == abi::TmaMode::batched,
                                  view, "an input");
    }
    for (std::size_t i = 0; i < graph.stores.size() && i <= abi::kEpilogueMaps; ++i) {
      const MappedMatrix at = mapped(config, view.matrix(view.store(i)), view);
      const Dtype dtype = graph.stores[i].dtype;
      const abi::TmaMode how = tma[graph.tensors.size() + i] = tma_mode(at, dtype, view, true);
      if (i == 0) continue;
      maps[used++] = how == abi::TmaMode::none
                         ? abi::TensorMap{}
                         : encode(plan.device(), config, at, dtype, how == abi::TmaMode::batched,
                                  view, "an output");
    }
    add_epilogue(view, parts, workspace, tma.data(), plan);
    const std::size_t bytes = std::max<std::size_t>(used, 1) * sizeof(abi::TensorMap);
    std::memcpy(plan.add_parameter_bytes(bytes, alignof(abi::TensorMap)), maps.data(), bytes);
  }
  add_reduction(view, parts, workspace, empty, true, plan);
}
template void add_mapped_epilogue(const Sm90GemmConfig&, const EpilogueView&, const PartCounts&,
                                  const Workspace&, bool, LaunchPlan&);
template void add_mapped_epilogue(const Sm100GemmConfig&, const EpilogueView&, const PartCounts&,
                                  const Workspace&, bool, LaunchPlan&);

}  // namespace estoc::cuda
