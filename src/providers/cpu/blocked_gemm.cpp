// A GEMM, grouped or not, cut into tasks for threads and blocks for caches, around the products of
// one variant.
#include "providers/cpu/blocked_gemm.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <type_traits>
#include <utility>

#include "operations/gemm/lowering.h"
#include "operations/grouped_gemm/lowering.h"
#include "providers/cpu/thread_pool.h"

namespace estoc::cpu {
namespace {

/// Rows, columns and depth of the panels that operands are widened into: with the tile about 3 MB,
/// most of which stays in the second-level cache.
constexpr std::int64_t kPanelM = 512;
constexpr std::int64_t kPanelN = 512;
constexpr std::int64_t kPanelK = 512;
constexpr std::int64_t kPanelWholeK = 1024;
/// Panels of a product with a vector, along and across the mode that memory goes along: used once,
/// so they are long and small.
constexpr std::int64_t kVectorPanelLong = 2048;
constexpr std::int64_t kVectorPanelShort = 16;
/// A thread gets at least this many multiplications, or elements of operands times kElementCost.
constexpr std::int64_t kWorkPerThread = std::int64_t{1} << 19;
constexpr std::int64_t kElementCost = 16;
/// Rectangles of tasks begin at multiples of this, to not share cache lines of out.
constexpr std::int64_t kTaskStep = 16;

std::int64_t divide_up(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

std::size_t round_up(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/// True when the columns of `out` are the mode to go along: the mode of stride 1, else the tighter.
bool goes_along_columns(const MatrixView& out) {
  if (out.columns <= 1) return false;
  if (out.rows <= 1) return true;
  return out.column_stride < out.row_stride;
}

bool has_unit_row_stride(const MatrixView& matrix) {
  return matrix.row_stride == 1 || (matrix.rows <= 1 && matrix.column_stride != 1);
}

/// True when Eigen can read `matrix`, of numbers of `dtype`, where it lies.
bool can_be_direct(const MatrixView& matrix, Dtype dtype) {
  return matrix.dtype == dtype && (has_unit_row_stride(matrix) || matrix.column_stride == 1);
}

/// Element (l, row, column) of the matrix; null for one that has no memory, such as an output that
/// the epilogue does not store. Of the matrix `distance` elements further where that is given.
void* address(const MatrixView& matrix, std::int64_t l, std::int64_t row, std::int64_t column,
              std::int64_t distance = 0) {
  if (matrix.data == nullptr) return nullptr;
  const std::int64_t offset =
      l * matrix.batch_stride + row * matrix.row_stride + column * matrix.column_stride + distance;
  return static_cast<std::byte*>(matrix.data) + offset * (dtype_bits(matrix.dtype) / 8);
}

/// Null for an operand that is read without scales, and whose elements are of a byte or more.
std::unique_ptr<const ScaledPanel> scaled_panel(const operations::GemmOperand& operand,
                                                bool k_is_row) {
  if (!operand.scales.any() && is_block_dtype(operand.view.dtype)) return nullptr;
  return std::make_unique<const ScaledPanel>(operand.view, operand.scales, k_is_row);
}

/// The most products that add up to at most 2^24, so that every sum is exact in f32, less what
/// makes it a power of two.
std::int64_t exact_depth(Dtype a, Dtype b) {
  if (a == Dtype::i8 && b == Dtype::i8) return 1024;  // 2^24 / (128 * 128)
  if (a == Dtype::u8 && b == Dtype::u8) return 256;   // 2^24 / (255 * 255) = 258
  return 512;                                         // 2^24 / (255 * 128) = 514
}

/// Splits `parts` into rows and columns of rectangles that are as close to squares as can be.
std::pair<std::int64_t, std::int64_t> split(std::int64_t parts, std::int64_t m, std::int64_t n) {
  std::pair<std::int64_t, std::int64_t> best{1, parts};
  double least = 0;
  for (std::int64_t rows = 1; rows <= parts; ++rows) {
    if (parts % rows != 0) continue;
    const std::int64_t columns = parts / rows;
    const double border =
        static_cast<double>(divide_up(m, rows)) + static_cast<double>(divide_up(n, columns));
    if (rows == 1 || border < least) {
      least = border;
      best = {rows, columns};
    }
  }
  return best;
}

void multiply(const ProductTable& products, const Product<float>& product) {
  products.multiply_f32(product);
}

void multiply(const ProductTable& products, const Product<double>& product) {
  products.multiply_f64(product);
}

}  // namespace

BlockedGemm::BlockedGemm(const RuntimeArguments& arguments, bool round_to_tf32,
                         const ProductTable& products, int threads)
    : products_(products), sum_(Sum::f32) {
  using operations::Orientation;
  const GemmArguments& product = operations::product_of(arguments);
  const bool by_pointers = operations::has_pointers(arguments);
  transposed_ = by_pointers ? operations::has_contiguous_rows(product.out_matrix()).value_or(true)
                            : goes_along_columns(product.out_matrix());
  const operations::GemmProblem problem = operations::lower_product(
      arguments, transposed_ ? Orientation::transposed : Orientation::as_given);
  a_ = problem.a.view;
  b_ = problem.b.view;
  c_ = problem.out.view;
  paired_ = problem.paired();
  scaled_a_ = scaled_panel(problem.a, false);
  scaled_b_ = scaled_panel(problem.b, true);
  m_ = problem.m;
  n_ = problem.n;
  k_ = problem.k;
  l_ = problem.empty() ? 0 : problem.l;
  mapping_ = problem.mapping;
  groups_ = problem.groups;
  rows_ = (transposed_ ? problem.b : problem.a).rows;
  if (by_pointers) {
    table_ = operations::GroupTable(static_cast<const GroupedGemmArguments&>(arguments));
    pointed_.resize(static_cast<std::size_t>(groups_.count));
  } else {
    ranges_.resize(static_cast<std::size_t>(groups_.count));
  }
  if (round_to_tf32) a_.dtype = b_.dtype = Dtype::tf32;
  second_ = transposed_ ? a_ : b_;
  const std::int64_t distance = (transposed_ ? problem.a : problem.b).pair_distance;
  second_.data = paired_ ? address(second_, 0, 0, 0, distance) : nullptr;
  if (problem.accumulator_type == Dtype::f64) sum_ = Sum::f64;
  if (problem.accumulator_type == Dtype::i32) sum_ = Sum::i32;
  // Sums of whole numbers are exact in any order.
  in_order_ = arguments.controls().batch_invariant && sum_ != Sum::i32;
  const bool fused = problem.epilogue != nullptr;
  // Where out is f16, storing rounds.
  rounds_ = problem.accumulator_type == Dtype::f16 && (fused || c_.dtype != Dtype::f16);
  choose_blocks(fused);
  choose_tasks(threads);
  if (l_ > 0) allocate_scratch();
  if (fused) prepare_epilogue(product, transposed_);
}

bool BlockedGemm::move_to(const RuntimeArguments& arguments) {
  if (epilogue_ != nullptr) return false;  // which holds the address of out
  if (scaled_a_ != nullptr || scaled_b_ != nullptr) return false;
  const GemmArguments& product = operations::product_of(arguments);
  a_.data = (transposed_ ? product.b_matrix() : product.a_matrix()).data;
  b_.data = (transposed_ ? product.a_matrix() : product.b_matrix()).data;
  c_.data = product.out_matrix().data;
  if (mapping_ != operations::Mapping::strided) {
    const auto& grouped = static_cast<const GroupedGemmArguments&>(arguments);
    if (mapping_ == operations::Mapping::pointers) table_ = operations::GroupTable(grouped);
    groups_.offsets = grouped.offsets()->data();
    groups_.zero_rest = grouped.zero_rest();
    if (rows_.any()) {
      rows_.index = grouped.rows()->data();
      (transposed_ ? b_ : a_).data = grouped.a().tensor().data();
    }
  }
  return true;
}

void BlockedGemm::prepare_epilogue(const GemmArguments& arguments, bool transposed) {
  TaskGrid grid{m_, n_, arguments.extents().l, task_m_, task_n_, task_l_, 0, 0, 0};
  if (l_ > 0) {
    grid.tasks_inner = tasks_m_;
    grid.tasks_outer = tasks_n_;
    grid.tasks_l = tasks_l_;
  }
  epilogue_ = std::make_unique<const TileEpilogue>(arguments, transposed, products_, grid, slots_);
}

void BlockedGemm::choose_blocks(bool fused) {
  const Dtype number = sum_ == Sum::f64 ? Dtype::f64 : Dtype::f32;
  const bool is_integer = sum_ == Sum::i32;
  direct_a_ = !is_integer && can_be_direct(a_, number) && !is_chosen(a_);
  // A vector must have stride 1 for the product with a vector.
  const bool unit_vector = b_.row_stride == 1 && mapping_ != operations::Mapping::pointers;
  direct_b_ = !is_integer && can_be_direct(b_, number) && (n_ > 1 || unit_vector) && !is_chosen(b_);
  direct_c_ =
      !fused && !rounds_ && !is_integer && c_.dtype == number && (c_.row_stride == 1 || m_ <= 1);

  block_m_ = kPanelM;
  block_n_ = kPanelN;
  block_k_ = is_integer ? kPanelWholeK : kPanelK;
  if (n_ == 1) {
    const bool along_k = goes_along_columns(a_);
    block_m_ = along_k ? kVectorPanelShort : kVectorPanelLong;
    block_k_ = along_k ? kVectorPanelLong : kVectorPanelShort;
  }
  if (is_integer) block_k_ = std::min(block_k_, exact_depth(a_.dtype, b_.dtype));
  if (direct_a_ && direct_b_) {
    block_k_ = k_;
    block_m_ = direct_c_ ? m_ : kPanelM;
    block_n_ = direct_c_ ? n_ : kPanelN;
  }
  block_k_ = std::max<std::int64_t>(1, std::min(block_k_, k_));
}

void BlockedGemm::choose_tasks(int threads) {
  const double products = static_cast<double>(m_) * static_cast<double>(n_) *
                          static_cast<double>(k_) * static_cast<double>(l_);
  const double elements = static_cast<double>(m_) * static_cast<double>(k_) +
                          static_cast<double>(k_) * static_cast<double>(n_) +
                          static_cast<double>(m_) * static_cast<double>(n_);
  const double work =
      std::max(products, elements * static_cast<double>(l_) * static_cast<double>(kElementCost));
  const double worth = work / static_cast<double>(kWorkPerThread) + 1;
  const std::int64_t useful =
      worth < static_cast<double>(threads) ? static_cast<std::int64_t>(worth) : threads;
  slots_ = static_cast<int>(std::max<std::int64_t>(1, useful));
  if (l_ == 0) return;

  // Enough rectangles in each batch that every thread gets the same number of them.
  const std::int64_t parts = l_ >= 4 * useful ? 1 : useful / std::gcd(l_, useful);
  const auto [rows, columns] = split(parts, m_, n_);
  task_m_ = divide_up(divide_up(m_, rows), kTaskStep) * kTaskStep;
  task_n_ = parts == 1 ? n_ : divide_up(divide_up(n_, columns), kTaskStep) * kTaskStep;
  task_m_ = std::min(task_m_, m_);
  task_n_ = std::min(task_n_, n_);
  tasks_m_ = divide_up(m_, task_m_);
  tasks_n_ = divide_up(n_, task_n_);
  const double batch_work = work / static_cast<double>(l_);
  const double batches = static_cast<double>(kWorkPerThread) / (4 * batch_work);
  task_l_ = parts > 1 ? 1 : std::clamp<std::int64_t>(static_cast<std::int64_t>(batches), 1, l_);
  tasks_l_ = divide_up(l_, task_l_);
  slots_ = static_cast<int>(std::min<std::int64_t>(slots_, tasks_m_ * tasks_n_ * tasks_l_));
  block_m_ = std::min(block_m_, task_m_);
  block_n_ = std::min(block_n_, task_n_);
}

void BlockedGemm::allocate_scratch() {
  const std::size_t size = sum_ == Sum::f64 ? sizeof(double) : sizeof(float);
  const auto bytes = [&](std::int64_t elements) {
    return round_up(static_cast<std::size_t>(elements) * size, kAlignment);
  };
  const double packed = (static_cast<double>(block_m_) + static_cast<double>(block_n_)) *
                        static_cast<double>(block_k_) * static_cast<double>(size);
  packing_bytes_ = n_ == 1 && direct_b_ && direct_a_ ? 0
                   : packed < static_cast<double>(kPackingBytes)
                       ? round_up(static_cast<std::size_t>(packed), kAlignment) + kAlignment
                       : static_cast<std::size_t>(kPackingBytes);
  if (in_order_) packing_bytes_ = static_cast<std::size_t>(kOrderedBytes);
  a_bytes_ = direct_a_ ? 0 : bytes(block_m_ * block_k_);
  b_bytes_ = direct_b_ ? 0 : bytes(block_n_ * block_k_);
  tile_bytes_ = direct_c_ ? 0 : bytes(block_m_ * block_n_);
  slot_bytes_ = packing_bytes_ + a_bytes_ + b_bytes_ + tile_bytes_;
  if (sum_ == Sum::i32) slot_bytes_ += tile_bytes_;
  if (paired_) slot_bytes_ += sum_ == Sum::i32 ? 2 * tile_bytes_ : tile_bytes_;
  const std::size_t total = slot_bytes_ * static_cast<std::size_t>(slots_);
  if (total > 0) {
    scratch_.reset(static_cast<std::byte*>(::operator new (total, std::align_val_t{kAlignment})));
  }
}

template <class T>
BlockedGemm::Scratch<T> BlockedGemm::scratch(int slot) const {
  std::byte* memory = scratch_.get() + slot_bytes_ * static_cast<std::size_t>(slot);
  const auto take = [&](std::size_t bytes) { return std::exchange(memory, memory + bytes); };
  Scratch<T> parts{};
  parts.packing = take(packing_bytes_);
  parts.a = reinterpret_cast<T*>(take(a_bytes_));
  parts.b = reinterpret_cast<T*>(take(b_bytes_));
  parts.tile = reinterpret_cast<T*>(take(tile_bytes_));
  if (paired_) parts.second_tile = reinterpret_cast<T*>(take(tile_bytes_));
  if (sum_ != Sum::i32) return parts;
  parts.whole_tile = reinterpret_cast<std::int32_t*>(take(tile_bytes_));
  parts.second_whole_tile = reinterpret_cast<std::int32_t*>(memory);
  return parts;
}

BlockedGemm::Task BlockedGemm::task(std::int64_t index, int slot) const {
  const std::int64_t i = index % tasks_m_;
  const std::int64_t j = index / tasks_m_ % tasks_n_;
  const std::int64_t group = index / (tasks_m_ * tasks_n_);
  return {index,           slot,
          group * task_l_, std::min(l_, (group + 1) * task_l_),
          i * task_m_,     std::min(m_, (i + 1) * task_m_),
          j * task_n_,     std::min(n_, (j + 1) * task_n_)};
}

void BlockedGemm::run() const {
  if (mapping_ == operations::Mapping::pointers) {
    read_table();
  } else if (mapping_ != operations::Mapping::strided) {
    operations::read_groups(groups_, ranges_);
  }
  if (epilogue_ != nullptr) epilogue_->begin();
  if (l_ > 0) run_tasks();
  if (epilogue_ != nullptr) epilogue_->finish();
}

void BlockedGemm::read_table() const {
  for (std::size_t group = 0; group < pointed_.size(); ++group) {
    const auto number = static_cast<std::int64_t>(group);
    pointed_[group] = transposed_ ? table_.transposed_product(number) : table_.product(number);
    if (a_.dtype == Dtype::tf32) pointed_[group].a.dtype = pointed_[group].b.dtype = Dtype::tf32;
  }
}

const MatrixView& BlockedGemm::a_of(std::int64_t batch) const {
  return pointed_.empty() ? a_ : pointed_[static_cast<std::size_t>(batch)].a;
}

const MatrixView& BlockedGemm::b_of(std::int64_t batch) const {
  return pointed_.empty() ? b_ : pointed_[static_cast<std::size_t>(batch)].b;
}

const MatrixView& BlockedGemm::c_of(std::int64_t batch) const {
  return pointed_.empty() ? c_ : pointed_[static_cast<std::size_t>(batch)].out;
}

void BlockedGemm::run_tasks() const {
  const auto body = [this](std::int64_t index, int slot) {
    if (sum_ == Sum::f64) {
      run_task(task(index, slot), scratch<double>(slot));
    } else {
      run_task(task(index, slot), scratch<float>(slot));
    }
  };
  const std::int64_t tasks = tasks_m_ * tasks_n_ * tasks_l_;
  if (slots_ == 1) {
    for (std::int64_t index = 0; index < tasks; ++index)
      body(index, 0);
  } else {
    ThreadPool::shared().run(slots_, tasks, body);
  }
}

template <class T>
void BlockedGemm::run_task(const Task& task, const Scratch<T>& scratch) const {
  for (std::int64_t l = task.l0; l < task.l1; ++l)
    run_batch(task, l, scratch);
}

template <class T>
void BlockedGemm::run_batch(const Task& task, std::int64_t l, const Scratch<T>& scratch) const {
  using operations::Mapping;
  Part whole{l, task.m0, task.m1, task.n0, task.n1, 0, k_, l, l};
  if (mapping_ == Mapping::rows || mapping_ == Mapping::columns) {
    return run_groups(task, whole, scratch);
  }
  if (mapping_ == Mapping::pointers) {
    const operations::GroupProduct& own = pointed_[static_cast<std::size_t>(l)];
    whole.m1 = std::min(whole.m1, own.m);
    whole.n1 = std::min(whole.n1, own.n);
    whole.k1 = own.k;
  }
  if (mapping_ == Mapping::reduction) {
    whole.k0 = ranges_[static_cast<std::size_t>(l)].begin;
    whole.k1 = ranges_[static_cast<std::size_t>(l)].end;
  }
  run_part(task, whole, scratch);
}

template <class T>
void BlockedGemm::run_groups(const Task& task, const Part& whole, const Scratch<T>& scratch) const {
  const bool by_rows = mapping_ == operations::Mapping::rows;
  const std::int64_t last = by_rows ? whole.m1 : whole.n1;
  std::int64_t begin = by_rows ? whole.m0 : whole.n0;
  while (begin < last) {
    const auto next = std::ranges::upper_bound(ranges_, begin, {}, &GroupRange::end);
    const bool in_none = next == ranges_.end() || begin < next->begin;
    const std::int64_t stated = next == ranges_.end() ? last : in_none ? next->begin : next->end;
    const std::int64_t end = std::min(last, stated);
    Part part = whole;
    (by_rows ? part.m0 : part.n0) = begin;
    (by_rows ? part.m1 : part.n1) = end;
    (by_rows ? part.b_batch : part.a_batch) = in_none ? 0 : next - ranges_.begin();
    if (in_none) part.k1 = 0;
    if (!in_none || groups_.zero_rest) run_part(task, part, scratch);
    begin = end;
  }
}

template <class T>
void BlockedGemm::run_part(const Task& task, const Part& part, const Scratch<T>& scratch) const {
  for (std::int64_t j = part.n0; j < part.n1; j += block_n_) {
    for (std::int64_t i = part.m0; i < part.m1; i += block_m_) {
      const Tile tile{part.l, i, j, std::min(block_m_, part.m1 - i),
                      std::min(block_n_, part.n1 - j)};
      sum_tile(part, tile, scratch);
      if (paired_) sum_seconds(part, tile, scratch);
      if (epilogue_ != nullptr) {
        apply_epilogue(task, tile, scratch);
      } else if (!direct_c_) {
        store_tile(tile, scratch);
      }
    }
  }
}

template <class T>
void BlockedGemm::sum_seconds(Part part, const Tile& tile, const Scratch<T>& scratch) const {
  part.second = true;
  sum_tile(part, tile, scratch.seconds());
}

template <class T>
void BlockedGemm::sum_tile(const Part& part, const Tile& tile, const Scratch<T>& scratch) const {
  Product<T> product;
  product.m = tile.m;
  product.n = tile.n;
  const MatrixView& c = c_of(tile.l);
  product.c = direct_c_ ? static_cast<T*>(address(c, tile.l, tile.i, tile.j)) : scratch.tile;
  product.c_stride = direct_c_ ? c.column_stride : block_m_;
  product.packing = scratch.packing;
  product.in_order = in_order_;
  const bool is_integer = sum_ == Sum::i32;
  if (is_integer) std::fill_n(scratch.whole_tile, block_m_ * tile.n, 0);
  const MatrixView& a_matrix = part.second && transposed_ ? second_ : a_of(part.a_batch);
  const MatrixView& b_matrix = part.second && !transposed_ ? second_ : b_of(part.b_batch);
  // A panel of B as deep as K serves every tile of its columns.
  const bool one_panel = !paired_ && part.k1 - part.k0 <= block_k_ && tile.i != part.m0;
  std::int64_t p = part.k0;
  do {
    product.k = std::min(block_k_, part.k1 - p);
    const Region a{part.a_batch, tile.i, p, tile.m, product.k};
    const Region b{part.b_batch, p, tile.j, product.k, tile.n};
    const Reading<T> read_a = read(a_matrix, direct_a_, a, true, scratch.a);
    const Reading<T> read_b = read(b_matrix, direct_b_, b, !one_panel, scratch.b);
    product.a = read_a.data;
    product.a_stride = read_a.stride;
    product.a_row_major = read_a.row_major;
    product.b = read_b.data;
    product.b_stride = read_b.stride;
    product.b_row_major = read_b.row_major;
    product.accumulate = p > part.k0 && !is_integer;
    multiply(products_, product);
    if constexpr (std::is_same_v<T, float>) {
      if (is_integer) add_whole_numbers(tile, scratch);
    }
    p += block_k_;
  } while (p < part.k1);
  if constexpr (std::is_same_v<T, float>) {
    if (rounds_) round_sums(tile, scratch.tile);
  }
}

template <class T>
BlockedGemm::Reading<T> BlockedGemm::read(const MatrixView& matrix, bool direct,
                                          const Region& region, bool refresh, T* panel) const {
  if (direct) {
    const bool row_major = !has_unit_row_stride(matrix);
    const void* const data = address(matrix, region.l, region.row, region.column);
    return {static_cast<const T*>(data), row_major ? matrix.row_stride : matrix.column_stride,
            row_major};
  }
  const bool row_major = is_chosen(matrix) ? !transposed_ : goes_along_columns(matrix);
  if (refresh) load(matrix, region, row_major, panel);
  return {panel, row_major ? region.columns : region.rows, row_major};
}

template <class T>
void BlockedGemm::load(const MatrixView& matrix, const Region& region, bool row_major,
                       T* panel) const {
  if constexpr (std::is_same_v<T, float>) {
    const ScaledPanel* const scaled = &matrix == &a_   ? scaled_a_.get()
                                      : &matrix == &b_ ? scaled_b_.get()
                                                       : nullptr;
    if (scaled != nullptr) return scaled->load(products_, region, row_major, panel);
  }
  if (is_chosen(matrix)) return load_chosen(matrix, region, panel);
  void* const data = address(matrix, region.l, region.row, region.column);
  load(row_major ? Block{data, matrix.dtype, region.columns, region.rows, matrix.column_stride,
                         matrix.row_stride}
                 : Block{data, matrix.dtype, region.rows, region.columns, matrix.row_stride,
                         matrix.column_stride},
       panel);
}

bool BlockedGemm::is_chosen(const MatrixView& matrix) const {
  return rows_.any() && &matrix == (transposed_ ? &b_ : &a_);
}

/// Each row of the arguments' A is contiguous in the panel.
template <class T>
void BlockedGemm::load_chosen(const MatrixView& matrix, const Region& region, T* panel) const {
  const auto [first, count, k, depth] =
      transposed_ ? std::array{region.column, region.columns, region.row, region.rows}
                  : std::array{region.row, region.rows, region.column, region.columns};
  const std::int64_t k_stride = transposed_ ? matrix.row_stride : matrix.column_stride;
  const auto* const index = static_cast<const std::int32_t*>(rows_.index);
  for (std::int64_t i = 0; i < count; ++i, panel += depth) {
    const std::int64_t row = index[(first + i) * rows_.stride];
    if (row < 0 || row >= rows_.count) {
      std::fill_n(panel, depth, T{});
      continue;
    }
    void* const data = transposed_ ? address(matrix, 0, k, row) : address(matrix, 0, row, k);
    load(Block{data, matrix.dtype, depth, 1, k_stride, 0}, panel);
  }
}

void BlockedGemm::load(const Block& block, float* panel) const {
  products_.load_f32(block, panel, block.inner);
}

void BlockedGemm::load(const Block& block, double* panel) const {
  products_.load_f64(block, panel, block.inner);
}

void BlockedGemm::round_sums(const Tile& tile, float* sums) const {
  constexpr std::int64_t kRun = 256;
  std::array<std::uint16_t, kRun> halves;
  for (std::int64_t j = 0; j < tile.n; ++j) {
    for (std::int64_t i = 0; i < tile.m; i += kRun) {
      const std::int64_t count = std::min(kRun, tile.m - i);
      float* const values = sums + i + j * block_m_;
      const Block run{halves.data(), Dtype::f16, count, 1, 1, 0};
      products_.store_f32(run, values, count);
      products_.load_f32(run, values, count);
    }
  }
}

void BlockedGemm::add_whole_numbers(const Tile& tile, const Scratch<float>& scratch) const {
  for (std::int64_t j = 0; j < tile.n; ++j) {
    products_.add_whole(scratch.whole_tile + j * block_m_, scratch.tile + j * block_m_, tile.m);
  }
}

template <class T>
void BlockedGemm::apply_epilogue(const Task& task, const Tile& tile,
                                 const Scratch<T>& scratch) const {
  TileEpilogue::Sums sums{scratch.tile, scratch.second_tile};
  if (sum_ == Sum::i32) sums = {scratch.whole_tile, scratch.second_whole_tile};
  epilogue_->apply(task.slot, task.index, {tile.l, tile.i, tile.j, tile.m, tile.n}, sums, block_m_);
}

/// By way of f64, which holds every sum: rounded once.
void BlockedGemm::store_whole_as_float(const Block& target,
                                       std::int32_t* sums) const {  // NOLINT: a Block's data
  constexpr std::int64_t kRun = 256;
  std::array<double, kRun> values;
  for (std::int64_t o = 0; o < target.outer; ++o) {
    for (std::int64_t i = 0; i < target.inner; i += kRun) {
      const std::int64_t count = std::min(kRun, target.inner - i);
      const Block source{sums + i + o * block_m_, Dtype::i32, count, 1, 1, 0};
      products_.load_f64(source, values.data(), count);
      Block run = target;
      run.data = static_cast<std::byte*>(target.data) +
                 (i * target.inner_stride + o * target.outer_stride) * dtype_bits(run.dtype) / 8;
      run.inner = count;
      run.outer = 1;
      products_.store_f64(run, values.data(), count);
    }
  }
}

/// Writes a finished tile to out, each sum rounded once.
template <class T>
void BlockedGemm::store_tile(const Tile& tile, const Scratch<T>& scratch) const {
  const MatrixView& c = c_of(tile.l);
  const Block target{
      address(c, tile.l, tile.i, tile.j), c.dtype, tile.m, tile.n, c.row_stride, c.column_stride};
  if (sum_ == Sum::i32 && is_float(c_.dtype) && c_.dtype != Dtype::f32) {
    store_whole_as_float(target, scratch.whole_tile);
  } else if (sum_ == Sum::i32) {
    products_.store_i32(target, scratch.whole_tile, block_m_);
  } else if constexpr (std::is_same_v<T, float>) {
    products_.store_f32(target, scratch.tile, block_m_);
  } else {
    products_.store_f64(target, scratch.tile, block_m_);
  }
}

}  // namespace estoc::cpu
