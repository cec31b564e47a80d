// An elementwise operation cut into tiles that fit the first-level cache.
#include "providers/cpu/tiled_elementwise.h"

#include <algorithm>
#include <cstddef>

#include "estoc/numeric.hpp"
#include "operations/elementwise/program.h"
#include "providers/cpu/thread_pool.h"

namespace estoc::cpu {
namespace {

/// Elements of a tile: registers of a small program stay in the first-level cache, and those of a
/// large one in the second.
constexpr std::int64_t kTileElements = 1024;
constexpr std::int64_t kSmallTileElements = 256;
constexpr std::size_t kManyNodes = 24;
/// Side of the tiles of an operation that transposes an operand.
constexpr std::int64_t kTransposeSide = 32;
/// Tiles that make another thread worth waking.
constexpr std::int64_t kTilesPerThread = 32;
constexpr std::int64_t kSlowTilesPerThread = 8;
/// Parts that each thread's share is cut into, so that a late thread delays no other.
constexpr std::int64_t kPartsPerThread = 4;

std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

template <class T>
void load_each(const Block& block, std::int64_t offset, void* values) {
  T* to = static_cast<T*>(values);
  for (std::int64_t o = 0; o < block.outer; ++o) {
    for (std::int64_t i = 0; i < block.inner; ++i) {
      const std::int64_t at = offset + i * block.inner_stride + o * block.outer_stride;
      *to++ = static_cast<T>(load_element(block.dtype, block.data, at));
    }
  }
}

template <class T>
void store_each(const Block& block, std::int64_t offset, const void* values) {
  const T* from = static_cast<const T*>(values);
  for (std::int64_t o = 0; o < block.outer; ++o) {
    for (std::int64_t i = 0; i < block.inner; ++i) {
      const std::int64_t at = offset + i * block.inner_stride + o * block.outer_stride;
      store_element(block.dtype, block.data, at, static_cast<double>(*from++));
    }
  }
}

std::vector<EpilogueScalarValue> scalars_of(const ElementwiseArguments& arguments) {
  const EpilogueBinding* const binding = arguments.epilogue_binding();
  return binding != nullptr ? binding->scalars : std::vector<EpilogueScalarValue>{};
}

/// `block` of a type that load and store know, from its element `offset` on.
Block moved(Block block, std::int64_t offset) {
  block.data = static_cast<std::byte*>(block.data) + offset * (dtype_bits(block.dtype) / 8);
  return block;
}

}  // namespace

bool is_library_call(EpilogueOp op) {
  switch (op) {
    case EpilogueOp::exp:
    case EpilogueOp::exp2:
    case EpilogueOp::log:
    case EpilogueOp::pow:
    case EpilogueOp::gelu:
    case EpilogueOp::gelu_tanh:
    case EpilogueOp::silu:
    case EpilogueOp::sigmoid:
    case EpilogueOp::tanh:
    case EpilogueOp::softplus:
    case EpilogueOp::elu:
    case EpilogueOp::mish:
      return true;
    default:
      return false;
  }
}

int library_calls(const EpilogueGraph& graph) {
  return static_cast<int>(std::ranges::count_if(
      graph.nodes, [](const EpilogueNode& node) { return is_library_call(node.op); }));
}

TiledElementwise::TiledElementwise(const ElementwiseArguments& arguments,
                                   std::shared_ptr<const EpilogueGraph> program,
                                   const ProductTable& products, int threads)
    : program_(std::move(program), scalars_of(arguments), products),
      modes_(operations::ElementwiseOperands(arguments).views()) {
  take_operands(arguments);
  tile_elements_ = program_.graph().nodes.size() > kManyNodes ? kSmallTileElements : kTileElements;
  choose_tiles(operands_.size());
  if (arguments.out().elements() == 0) tiles_ = 0;
  choose_threads(threads);
  program_.make_registers(threads_, tile_elements_);
}

void TiledElementwise::take_operands(const ElementwiseArguments& arguments) {
  const EpilogueGraph& graph = program_.graph();
  const operations::ElementwiseOperands tensors(arguments);
  for (const TensorView* view : tensors.views())
    operands_.push_back({view->data(), view->dtype(), 0, false});
  operands_[kOut].node = graph.stores.front().node;
  operands_[kOut].used = true;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const EpilogueNode& node = graph.nodes[i];
    const bool is_a = node.op == EpilogueOp::accumulator;
    if (!is_a && node.op != EpilogueOp::tensor) continue;
    Operand& operand = operands_[is_a ? kOut + 1 : kOut + 2 + node.slot];
    operand.node = static_cast<std::uint16_t>(i);
    operand.used = true;
  }
  result_is_input_ = graph.nodes[operands_[kOut].node].input_count == 0;
}

void TiledElementwise::choose_tiles(std::size_t operands) {
  bool transposes = false;
  for (std::size_t operand = kOut + 1; operand < operands; ++operand) {
    if (modes_[0].strides[operand] <= 1) continue;
    for (int mode = 1; mode < modes_.rank() && !transposes; ++mode) {
      if (modes_[mode].strides[operand] != 1) continue;
      std::swap(modes_[1], modes_[mode]);
      transposes = true;
    }
  }
  tile_inner_ = std::min(modes_[0].extent, transposes ? kTransposeSide : tile_elements_);
  tile_inner_ = std::max<std::int64_t>(tile_inner_, 1);
  tile_outer_ = std::max<std::int64_t>(std::min(modes_[1].extent, tile_elements_ / tile_inner_), 1);
  tiles_inner_ = divide_up(modes_[0].extent, tile_inner_);
  tiles_outer_ = divide_up(modes_[1].extent, tile_outer_);
  tiles_ = tiles_inner_ * tiles_outer_;
  for (int mode = 2; mode < modes_.rank(); ++mode)
    tiles_ *= modes_[mode].extent;
}

void TiledElementwise::choose_threads(int threads) {
  const bool slow = library_calls(program_.graph()) > 0;
  const std::int64_t worth = slow ? kSlowTilesPerThread : kTilesPerThread;
  // Neighbours in one byte must not be written by two threads.
  const std::int64_t most = is_packed(operands_[kOut].dtype) ? 1 : threads;
  threads_ = static_cast<int>(std::clamp<std::int64_t>(tiles_ / worth, 1, most));
  tiles_each_ = std::max<std::int64_t>(1, divide_up(tiles_, threads_ * kPartsPerThread));
}

void TiledElementwise::run() const {
  program_.read_scalars();
  if (threads_ == 1) return run_tiles(0, tiles_, 0);
  ThreadPool::shared().run(threads_, divide_up(tiles_, tiles_each_),
                           [this](std::int64_t part, int slot) {
                             const std::int64_t first = part * tiles_each_;
                             run_tiles(first, std::min(tiles_, first + tiles_each_), slot);
                           });
}

void TiledElementwise::run_tiles(std::int64_t first, std::int64_t last, int slot) const {
  const StripProgram::Registers own = program_.registers(slot);
  StripProgram::Registers registers = own;
  for (std::int64_t tile = first; tile < last; ++tile)
    run_tile(tile, own, registers);
}

TiledElementwise::Part TiledElementwise::part(std::size_t operand, std::int64_t inner,
                                              std::int64_t outer, std::int64_t further) const {
  const auto stride = [&](int mode) { return modes_[mode].strides[operand]; };
  Part part;
  part.block = {operands_[operand].data,
                operands_[operand].dtype,
                std::min(tile_inner_, modes_[0].extent - inner),
                std::min(tile_outer_, modes_[1].extent - outer),
                stride(0),
                stride(1)};
  part.offset = inner * stride(0) + outer * stride(1);
  for (int mode = 2; mode < modes_.rank(); ++mode) {
    part.offset += further % modes_[mode].extent * stride(mode);
    further /= modes_[mode].extent;
  }
  return part;
}

void TiledElementwise::run_tile(std::int64_t index, const StripProgram::Registers& own,
                                StripProgram::Registers& registers) const {
  const std::int64_t inner = index % tiles_inner_ * tile_inner_;
  index /= tiles_inner_;
  const std::int64_t outer = index % tiles_outer_ * tile_outer_;
  const std::int64_t further = index / tiles_outer_;
  for (std::size_t operand = kOut + 1; operand < operands_.size(); ++operand) {
    if (!operands_[operand].used) continue;
    registers.node[operands_[operand].node] = own.node[operands_[operand].node];
    load(operands_[operand], part(operand, inner, outer, further), registers);
  }
  const Part out = part(kOut, inner, outer, further);
  const Operand& result = operands_[kOut];
  const bool in_place = !result_is_input_ && is_register(result, out);
  if (in_place) {
    registers.node[result.node] = moved(out.block, out.offset).data;
  } else if (!result_is_input_) {
    registers.node[result.node] = own.node[result.node];
  }
  program_.run(registers, out.elements(), {});
  if (!in_place) store(out, registers);
}

/// Whether memory holds the part as the register of its node would.
bool TiledElementwise::is_register(const Operand& operand, const Part& part) const {
  const Block& block = part.block;
  return is_register_dtype(operand.dtype, program_.graph().nodes[operand.node].type) &&
         block.inner_stride == 1 && (block.outer == 1 || block.outer_stride == block.inner);
}

void TiledElementwise::load(const Operand& operand, const Part& part,
                            StripProgram::Registers& registers) const {
  if (!is_block_dtype(operand.dtype)) {
    void* const values = registers.node[operand.node];
    switch (program_.graph().nodes[operand.node].type) {
      case EpilogueType::f32:
        return load_each<float>(part.block, part.offset, values);
      case EpilogueType::f64:
        return load_each<double>(part.block, part.offset, values);
      default:
        return load_each<std::int32_t>(part.block, part.offset, values);
    }
  }
  const Block block = moved(part.block, part.offset);
  if (is_register(operand, part)) {
    registers.node[operand.node] = block.data;
  } else {
    program_.load(block, operand.node, registers);
  }
}

void TiledElementwise::store(const Part& part, const StripProgram::Registers& registers) const {
  const std::uint16_t node = operands_[kOut].node;
  if (is_block_dtype(part.block.dtype)) {
    return program_.store(moved(part.block, part.offset), node, registers);
  }
  switch (program_.graph().nodes[node].type) {
    case EpilogueType::f32:
      return store_each<float>(part.block, part.offset, registers.node[node]);
    case EpilogueType::f64:
      return store_each<double>(part.block, part.offset, registers.node[node]);
    default:
      return store_each<std::int32_t>(part.block, part.offset, registers.node[node]);
  }
}

}  // namespace estoc::cpu
