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
constexpr std::size_t kRegisterWidth = 8;

bool is_whole(EpilogueType type) {
  return type <= EpilogueType::i32;
}

bool is_sum(EpilogueReduction reduction) {
  return reduction == EpilogueReduction::sum || reduction == EpilogueReduction::sum_of_squares;
}

/// True when memory of `dtype` is what registers of `type` hold.
bool is_register_dtype(Dtype dtype, EpilogueType type) {
  switch (type) {
    case EpilogueType::f32:
      return dtype == Dtype::f32;
    case EpilogueType::f64:
      return dtype == Dtype::f64;
    default:
      return dtype == Dtype::i32 && type == EpilogueType::i32;
  }
}

bool is_narrow_float(Dtype dtype) {
  return is_float(dtype) && dtype != Dtype::f64 && dtype != Dtype::f32;
}

Block strip_block(void* data, Dtype dtype, std::int64_t count, std::int64_t stride) {
  return {data, dtype, count, 1, stride, 0};
}

void load_register(const ProductTable& table, const Block& block, EpilogueType type, void* target) {
  if (type == EpilogueType::f32) {
    table.load_f32(block, static_cast<float*>(target), block.inner);
  } else if (type == EpilogueType::f64) {
    table.load_f64(block, static_cast<double*>(target), block.inner);
  } else {
    table.load_i32(block, static_cast<std::int32_t*>(target), block.inner);
  }
}

template <class T>
void fill(void* target, std::int64_t count, T value) {
  std::fill_n(static_cast<T*>(target), count, value);
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

TileEpilogue::TileEpilogue(const GemmArguments& arguments, bool transposed,
                           const ProductTable& table, const TaskGrid& grid, int slots)
    : graph_(arguments.epilogue_binding()->graph),
      table_(table),
      grid_(grid),
      transposed_(transposed),
      scalars_(arguments.epilogue_binding()->scalars),
      scalar_values_(scalars_.size()) {
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
  collect_nodes();
  collect_outputs(binding);
  make_memory(slots);
}

TileEpilogue::Operand TileEpilogue::operand(const EpilogueAddress& address, Dtype dtype,
                                            std::uint16_t node) const {
  Operand result{address.data,          dtype, address.batch_stride, address.row_stride,
                 address.column_stride, node};
  if (transposed_) std::swap(result.inner_stride, result.outer_stride);
  return result;
}

void TileEpilogue::collect_nodes() {
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const EpilogueNode& node = graph_->nodes[i];
    if (node.op == EpilogueOp::accumulator) sums_node_ = static_cast<int>(i);
    if (node.input_count == 0) continue;
    EpilogueStep step;
    step.op = node.op;
    step.to = node.type;
    step.dtype = node.dtype;
    step.output = static_cast<std::uint16_t>(i);
    std::copy_n(node.inputs.begin(), node.input_count, step.inputs);
    const std::size_t first = node.op == EpilogueOp::select ? 1 : 0;
    step.from = graph_->nodes[node.inputs[first]].type;
    (node.varies == Varies{} ? constant_steps_ : steps_).push_back(step);
  }
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

void TileEpilogue::make_memory(int slots) {
  strip_ = graph_->nodes.size() > kManyNodes ? kShortStrip : kLongStrip;
  const std::size_t strips = graph_->nodes.size() + 1;  // and one of scratch
  slot_bytes_ = strips * static_cast<std::size_t>(strip_) * kRegisterWidth;
  memory_.reset(static_cast<std::byte*>(
      ::operator new (slot_bytes_* static_cast<std::size_t>(slots), std::align_val_t{kAlignment})));
  if (partial_count_ > 0) partials_ = std::make_unique<double[]>(partial_count_);
}

std::byte* TileEpilogue::slot_memory(int slot) const {
  return memory_.get() + slot_bytes_ * static_cast<std::size_t>(slot);
}

void TileEpilogue::begin() const {
  for (std::size_t i = 0; i < scalars_.size(); ++i) {
    const Dtype dtype = graph_->scalars[i].dtype;
    if (scalars_[i].data != nullptr) {
      scalar_values_[i] = load_element(dtype, scalars_[i].data, 0);
    } else if (is_float(dtype)) {
      scalar_values_[i] = round_to(dtype, scalars_[i].value);
    } else {
      // Whole numbers of 32 bits, the sign of which may be meant as a bit.
      const auto bits = static_cast<std::uint32_t>(static_cast<std::uint64_t>(scalars_[i].integer));
      const auto whole = static_cast<double>(static_cast<std::int32_t>(bits));
      scalar_values_[i] =
          dtype == Dtype::i32 ? whole : round_to(dtype, static_cast<double>(scalars_[i].integer));
    }
  }
  clear_partials();
}

void TileEpilogue::clear_partials() const {
  for (const Reduced& reduced : reduced_) {
    std::fill_n(partials_.get() + reduced.first, reduced.task_size * grid_.tasks(),
                identity(reduced.reduction, reduced.type));
  }
}

/// Literals and scalars, one value for a whole strip.
void TileEpilogue::set_constants(void* const* registers) const {
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
    const EpilogueNode& node = graph_->nodes[i];
    double value = node.value;
    if (node.op == EpilogueOp::scalar) {
      value = scalar_values_[node.slot];
    } else if (node.op != EpilogueOp::literal) {
      continue;
    }
    if (node.type == EpilogueType::f32) {
      fill(registers[i], strip_, static_cast<float>(value));
    } else if (node.type == EpilogueType::f64) {
      fill(registers[i], strip_, value);
    } else {
      fill(registers[i], strip_, static_cast<std::int32_t>(value));
    }
  }
}

void TileEpilogue::run_steps(const std::vector<EpilogueStep>& steps, const TileRegion& strip,
                             void* const* registers, void* scratch) const {
  if (steps.empty()) return;
  EpilogueStrip work;
  work.steps = steps.data();
  work.step_count = static_cast<std::int64_t>(steps.size());
  work.registers = registers;
  work.count = strip.inner;
  work.scratch = scratch;
  work.table = &table_;
  const auto width = static_cast<std::uint64_t>(transposed_ ? grid_.inner : grid_.outer);
  const auto area =
      static_cast<std::uint64_t>(grid_.inner) * static_cast<std::uint64_t>(grid_.outer);
  const auto m = static_cast<std::uint64_t>(transposed_ ? strip.j : strip.i);
  const auto n = static_cast<std::uint64_t>(transposed_ ? strip.i : strip.j);
  work.first_element = static_cast<std::uint64_t>(strip.l) * area + m * width + n;
  work.element_step = transposed_ ? 1 : width;
  table_.run_strip(work);
}

void TileEpilogue::apply(int slot, std::int64_t task, const TileRegion& tile, const void* sums,
                         std::int64_t stride) const {
  std::byte* const memory = slot_memory(slot);
  const std::size_t register_bytes = static_cast<std::size_t>(strip_) * kRegisterWidth;
  std::array<void*, EpilogueLimits::kNodes> registers{};
  for (std::size_t i = 0; i < graph_->nodes.size(); ++i)
    registers[i] = memory + i * register_bytes;
  void* const scratch = memory + graph_->nodes.size() * register_bytes;
  set_constants(registers.data());
  run_steps(constant_steps_, {tile.l, tile.i, tile.j, strip_, 1}, registers.data(), scratch);

  const std::size_t width = graph_->accumulator == EpilogueType::f64 ? 8 : 4;
  for (std::int64_t j = 0; j < tile.outer; ++j) {
    for (std::int64_t i = 0; i < tile.inner; i += strip_) {
      const TileRegion strip{tile.l, tile.i + i, tile.j + j, std::min(strip_, tile.inner - i), 1};
      const auto* const first =
          static_cast<const std::byte*>(sums) + static_cast<std::size_t>(i + j * stride) * width;
      apply_strip(task, strip, first, registers.data(), scratch);
    }
  }
}

void TileEpilogue::apply_strip(std::int64_t task, const TileRegion& strip, const void* sums,
                               void** registers, void* scratch) const {
  load_sums(strip, sums, registers);
  for (const Operand& tensor : tensors_)
    load(strip, tensor, registers);
  run_steps(steps_, strip, registers, scratch);
  for (const Operand& target : stores_)
    store(strip, target, registers, scratch);
  for (const Reduced& reduced : reduced_)
    fold(task, strip, reduced, registers);
}

void TileEpilogue::load_sums(const TileRegion& strip, const void* sums, void** registers) const {
  if (sums_node_ < 0) return;
  void*& target = registers[sums_node_];
  void* const source = const_cast<void*>(sums);  // registers of inputs are only read
  if (sums_direct_) {
    target = source;
  } else {
    load_register(table_, strip_block(source, Dtype::f32, strip.inner, 1), EpilogueType::f64,
                  target);
  }
}

void TileEpilogue::load(const TileRegion& strip, const Operand& source, void** registers) const {
  const EpilogueType type = graph_->nodes[source.node].type;
  void* const data = source.at(strip.l, strip.i, strip.j);
  if (source.inner_stride == 1 && is_register_dtype(source.dtype, type)) {
    registers[source.node] = data;
    return;
  }
  load_register(table_, strip_block(data, source.dtype, strip.inner, source.inner_stride), type,
                registers[source.node]);
}

void TileEpilogue::store(const TileRegion& strip, const Operand& target, void* const* registers,
                         void* scratch) const {
  const EpilogueType type = graph_->nodes[target.node].type;
  const Block block = strip_block(target.at(strip.l, strip.i, strip.j), target.dtype, strip.inner,
                                  target.inner_stride);
  const void* const values = registers[target.node];
  if (type == EpilogueType::f32) {
    table_.store_f32(block, static_cast<const float*>(values), strip.inner);
  } else if (type == EpilogueType::f64) {
    table_.store_f64(block, static_cast<const double*>(values), strip.inner);
  } else if (is_narrow_float(target.dtype)) {
    // By way of f64, which holds every whole number: rounded once.
    load_register(table_, strip_block(registers[target.node], Dtype::i32, strip.inner, 1),
                  EpilogueType::f64, scratch);
    table_.store_f64(block, static_cast<const double*>(scratch), strip.inner);
  } else {
    table_.store_i32(block, static_cast<const std::int32_t*>(values), strip.inner);
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
                        void* const* registers) const {
  EpilogueFold work;
  work.reduction = reduced.reduction;
  work.type = reduced.type;
  work.values = registers[reduced.target.node];
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
