// Strips, registers and partial reductions of an epilogue on the host.
#include "providers/cpu/tile_epilogue.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "estoc/numeric.hpp"

namespace estoc::cpu {
namespace {

/// Elements of a strip: registers of small programs stay in the first-level cache, and those of
/// large ones in the second.
constexpr std::int64_t kLongStrip = 256;
constexpr std::int64_t kShortStrip = 64;
constexpr std::size_t kManyNodes = 24;

bool is_whole(EpilogueType type) {
  return type <= EpilogueType::i32;
}

bool is_sum(EpilogueReduction reduction) {
  return reduction == EpilogueReduction::sum || reduction == EpilogueReduction::sum_of_squares;
}

double identity(EpilogueReduction reduction, EpilogueType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const bool is_integer = is_whole(type);
  switch (reduction) {
    case EpilogueReduction::max:
      return is_integer ? -2147483648.0 : -kInfinity;
    case EpilogueReduction::min:
      return is_integer ? 2147483647.0 : kInfinity;
    default:
      return 0;  // as a 64-bit integer 0 too
  }
}

double combine(EpilogueReduction reduction, EpilogueType type, double x, double y) {
  if (is_sum(reduction)) {
    if (!is_whole(type)) return x + y;
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) + std::bit_cast<std::uint64_t>(y));
  }
  if (std::isnan(x) || std::isnan(y)) return std::numeric_limits<double>::quiet_NaN();
  return reduction == EpilogueReduction::min ? std::min(x, y) : std::max(x, y);
}

/// What a total is in the type that the epilogue computes in.
double final_value(EpilogueReduction reduction, EpilogueType type, double total) {
  if (is_whole(type)) {
    if (!is_sum(reduction)) return total;
    return static_cast<std::int32_t>(
        static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(total)));
  }
  return type == EpilogueType::f32 ? static_cast<double>(static_cast<float>(total)) : total;
}

}  // namespace

void* TileEpilogue::Operand::at(std::int64_t l, std::int64_t i, std::int64_t j) const {
  const std::int64_t offset = l * l_stride + i * inner_stride + j * outer_stride;
  return static_cast<std::byte*>(data) + offset * (dtype_bits(dtype) / 8);
}

Block TileEpilogue::Operand::block(const TileRegion& strip) const {
  return strip_block(at(strip.l, strip.i, strip.j), dtype, strip.inner, inner_stride);
}

TileEpilogue::TileEpilogue(const GemmArguments& arguments, bool transposed,
                           const ProductTable& table, const TaskGrid& grid, int slots)
    : program_(arguments.epilogue_binding()->graph, arguments.epilogue_binding()->scalars, table),
      graph_(&program_.graph()),
      table_(table),
      grid_(grid),
      transposed_(transposed) {
  const EpilogueBinding& binding = *arguments.epilogue_binding();
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const EpilogueNode& node = graph_->nodes[i];
    if (node.op != EpilogueOp::tensor) continue;
    tensors_.push_back(
        operand(binding.tensors[node.slot], node.dtype, static_cast<std::uint16_t>(i)));
  }
  sums_direct_ = true;
  if (arguments.accumulator_type() == Dtype::f32) {
    sums_direct_ = std::ranges::none_of(graph_->nodes, [](const EpilogueNode& node) {
      return node.op == EpilogueOp::accumulator && node.type == EpilogueType::f64;
    });
  }
  collect_outputs(binding);
  program_.make_registers(slots, graph_->nodes.size() > kManyNodes ? kShortStrip : kLongStrip);
  if (partial_count_ > 0) partials_ = std::make_unique<double[]>(partial_count_);
}

TileEpilogue::Operand TileEpilogue::operand(const EpilogueAddress& address, Dtype dtype,
                                            std::uint16_t node) const {
  Operand result{address.data,          dtype, address.batch_stride, address.row_stride,
                 address.column_stride, node};
  if (transposed_) std::swap(result.inner_stride, result.outer_stride);
  return result;
}

void TileEpilogue::collect_outputs(const EpilogueBinding& binding) {
  for (std::size_t i = 0; i < graph_->stores.size(); ++i) {
    stores_.push_back(operand(binding.stores[i], graph_->stores[i].dtype, graph_->stores[i].node));
  }
  for (std::size_t i = 0; i < graph_->reduced.size(); ++i) {
    const EpilogueReducedStore& store = graph_->reduced[i];
    Reduced reduced{operand(binding.reduced[i], store.dtype, store.node),
                    store.reduction,
                    graph_->nodes[store.node].type,
                    store.keeps.l,
                    transposed_ ? store.keeps.n : store.keeps.m,
                    transposed_ ? store.keeps.m : store.keeps.n,
                    0,
                    partial_count_};
    reduced.task_size = (reduced.keeps_l ? grid_.task_l : 1) *
                        (reduced.keeps_inner ? grid_.task_inner : 1) *
                        (reduced.keeps_outer ? grid_.task_outer : 1);
    partial_count_ += static_cast<std::size_t>(reduced.task_size * grid_.tasks());
    reduced_.push_back(reduced);
  }
}

void TileEpilogue::begin() const {
  program_.read_scalars();
  clear_partials();
}

void TileEpilogue::clear_partials() const {
  for (const Reduced& reduced : reduced_) {
    std::fill_n(partials_.get() + reduced.first, reduced.task_size * grid_.tasks(),
                identity(reduced.reduction, reduced.type));
  }
}

StripProgram::Place TileEpilogue::place_of(const TileRegion& strip) const {
  const auto width = static_cast<std::uint64_t>(transposed_ ? grid_.inner : grid_.outer);
  const auto area =
      static_cast<std::uint64_t>(grid_.inner) * static_cast<std::uint64_t>(grid_.outer);
  const auto m = static_cast<std::uint64_t>(transposed_ ? strip.j : strip.i);
  const auto n = static_cast<std::uint64_t>(transposed_ ? strip.i : strip.j);
  return {static_cast<std::uint64_t>(strip.l) * area + m * width + n, transposed_ ? 1 : width};
}

void TileEpilogue::apply(int slot, std::int64_t task, const TileRegion& tile, const Sums& sums,
                         std::int64_t stride) const {
  StripProgram::Registers registers = program_.registers(slot);
  const std::size_t width = graph_->accumulator == EpilogueType::f64 ? 8 : 4;
  const std::int64_t most = program_.strip();
  for (std::int64_t j = 0; j < tile.outer; ++j) {
    for (std::int64_t i = 0; i < tile.inner; i += most) {
      const TileRegion strip{tile.l, tile.i + i, tile.j + j, std::min(most, tile.inner - i), 1};
      const std::size_t offset = static_cast<std::size_t>(i + j * stride) * width;
      const auto first = [&](const void* of) -> const void* {
        return of == nullptr ? nullptr : static_cast<const std::byte*>(of) + offset;
      };
      apply_strip(task, strip, {first(sums[0]), first(sums[1])}, registers);
    }
  }
}

void TileEpilogue::apply_strip(std::int64_t task, const TileRegion& strip, const Sums& sums,
                               StripProgram::Registers& registers) const {
  load_sums(strip, sums, registers);
  for (const Operand& tensor : tensors_)
    load(strip, tensor, registers);
  program_.run(registers, strip.inner, place_of(strip));
  for (const Operand& target : stores_)
    program_.store(target.block(strip), target.node, registers);
  for (const Reduced& reduced : reduced_)
    fold(task, strip, reduced, registers);
}

void TileEpilogue::load_sums(const TileRegion& strip, const Sums& sums,
                             StripProgram::Registers& registers) const {
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const int found = program_.accumulator_node(i);
    if (found < 0) continue;
    const auto node = static_cast<std::uint16_t>(found);
    void* const source = const_cast<void*>(sums[i]);  // registers of inputs are only read
    if (sums_direct_) {
      registers.node[node] = source;
    } else {
      program_.load(strip_block(source, Dtype::f32, strip.inner, 1), node, registers);
    }
  }
}

void TileEpilogue::load(const TileRegion& strip, const Operand& source,
                        StripProgram::Registers& registers) const {
  const EpilogueType type = graph_->nodes[source.node].type;
  const Block block = source.block(strip);
  if (source.inner_stride == 1 && is_register_dtype(source.dtype, type)) {
    registers.node[source.node] = block.data;
  } else {
    program_.load(block, source.node, registers);
  }
}

std::int64_t TileEpilogue::partial_index(const Reduced& reduced, std::int64_t l, std::int64_t i,
                                         std::int64_t j) const {
  std::int64_t index = reduced.keeps_l ? l % grid_.task_l : 0;
  index = index * (reduced.keeps_outer ? grid_.task_outer : 1) +
          (reduced.keeps_outer ? j % grid_.task_outer : 0);
  return index * (reduced.keeps_inner ? grid_.task_inner : 1) +
         (reduced.keeps_inner ? i % grid_.task_inner : 0);
}

void TileEpilogue::fold(std::int64_t task, const TileRegion& strip, const Reduced& reduced,
                        const StripProgram::Registers& registers) const {
  EpilogueFold work;
  work.reduction = reduced.reduction;
  work.type = reduced.type;
  work.values = registers.node[reduced.target.node];
  work.count = strip.inner;
  work.elementwise = reduced.keeps_inner;
  work.partials = partials_.get() + reduced.first + task * reduced.task_size +
                  partial_index(reduced, strip.l, strip.i, strip.j);
  table_.fold_strip(work);
}

void TileEpilogue::finish() const {
  for (const Reduced& reduced : reduced_)
    write(reduced);
}

void TileEpilogue::take_task(const Reduced& reduced, std::int64_t task,
                             std::vector<double>& totals) const {
  const std::int64_t i0 = task % grid_.tasks_inner * grid_.task_inner;
  const std::int64_t j0 = task / grid_.tasks_inner % grid_.tasks_outer * grid_.task_outer;
  const std::int64_t l0 = task / (grid_.tasks_inner * grid_.tasks_outer) * grid_.task_l;
  const std::int64_t i1 =
      reduced.keeps_inner ? std::min(grid_.inner, i0 + grid_.task_inner) : i0 + 1;
  const std::int64_t j1 =
      reduced.keeps_outer ? std::min(grid_.outer, j0 + grid_.task_outer) : j0 + 1;
  const std::int64_t l1 = reduced.keeps_l ? std::min(grid_.batches, l0 + grid_.task_l) : l0 + 1;
  const double* const partials = partials_.get() + reduced.first + task * reduced.task_size;
  for (std::int64_t l = l0; l < l1; ++l) {
    for (std::int64_t j = j0; j < j1; ++j) {
      for (std::int64_t i = i0; i < i1; ++i) {
        std::int64_t index = reduced.keeps_l ? l : 0;
        index = reduced.keeps_outer ? index * grid_.outer + j : index;
        index = reduced.keeps_inner ? index * grid_.inner + i : index;
        double& total = totals[static_cast<std::size_t>(index)];
        total = combine(reduced.reduction, reduced.type, total,
                        partials[partial_index(reduced, l, i, j)]);
      }
    }
  }
}

void TileEpilogue::write(const Reduced& reduced) const {
  const std::int64_t batches = reduced.keeps_l ? grid_.batches : 1;
  const std::int64_t outer = reduced.keeps_outer ? grid_.outer : 1;
  const std::int64_t inner = reduced.keeps_inner ? grid_.inner : 1;
  std::vector<double> totals(static_cast<std::size_t>(batches * outer * inner),
                             identity(reduced.reduction, reduced.type));
  for (std::int64_t task = 0; task < grid_.tasks(); ++task)
    take_task(reduced, task, totals);
  for (std::int64_t l = 0; l < batches; ++l) {
    for (std::int64_t j = 0; j < outer; ++j) {
      for (std::int64_t i = 0; i < inner; ++i) {
        const double total = totals[static_cast<std::size_t>((l * outer + j) * inner + i)];
        store_element(reduced.target.dtype, reduced.target.at(l, i, j), 0,
                      final_value(reduced.reduction, reduced.type, total));
      }
    }
  }
}

}  // namespace estoc::cpu
