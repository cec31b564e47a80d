// What to compute and on which operands: GemmArguments, ElementwiseArguments, GroupedGemmArguments.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/epilogue.hpp"
#include "estoc/tensor.hpp"

namespace estoc {

/// The operations Estoc can describe.
enum class Operation : std::uint8_t { gemm, elementwise, grouped_gemm };

/// "gemm", "elementwise", "grouped_gemm".
std::string_view operation_name(Operation operation);
std::optional<Operation> parse_operation(std::string_view name);

/// Options that trade exactness for speed; the defaults promise exact semantics.
struct PerformanceControls {
  /// f32 operands may be rounded to tf32 before they are multiplied.
  bool allow_tf32 = false;
  /// Products of 8-bit floats may be summed with the few bits that tensor cores keep (about 14),
  /// instead of in f32.
  bool fast_accumulation = false;
  /// The same input gives the same bits on the same device, whatever runs beside it.
  bool deterministic = false;
  /// GEMM: the bits of a row of out depend on that row of A and on B alone, not on M, the row's
  /// place, the number of multiprocessors or threads. Kernels that cannot promise it are left out,
  /// and those of one order of summation (KernelClass::summation) are chosen among, which depends
  /// on N, K, dtypes and what of layouts and alignments is the same for every M.
  bool batch_invariant = false;
  /// f32 operands may be split into three bf16 parts, of whose products the six largest are summed
  /// by tensor cores. Errors are of the size of those of f32 products; a row or column that holds
  /// an infinity gives NaN.
  bool allow_bf16x6 = false;
  /// Kernels that need more bytes of workspace are left out.
  std::optional<std::int64_t> workspace_limit;

  /// Whether sums are added up in the same order each time.
  bool keeps_order() const { return deterministic || batch_invariant; }

  bool operator==(const PerformanceControls&) const = default;
};

/// Sizes of a GEMM: out (l, m, n) = A (l, m, k) @ B (l, k, n).
struct GemmExtents {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t l = 1;

  bool operator==(const GemmExtents&) const = default;
};

/// One matrix operand with the batch mode made explicit: element (l, row, column) is at
/// data + l * batch_stride + row * row_stride + column * column_stride, counted in elements.
struct MatrixView {
  void* data = nullptr;
  Dtype dtype = Dtype::f32;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t batches = 1;
  std::int64_t row_stride = 0;
  std::int64_t column_stride = 0;
  std::int64_t batch_stride = 0;
  /// Bytes; see TensorView::alignment.
  int alignment = 1;

  /// Last mode contiguous (layout letter t): column stride 1, or at most one column.
  bool is_row_major() const { return column_stride == 1 || columns <= 1; }
  /// Next-to-last mode contiguous (layout letter n): row stride 1, or at most one row.
  bool is_column_major() const { return row_stride == 1 || rows <= 1; }
};

/// An operand of a GEMM: a tensor, or quantised data with its scale.
class Operand {
 public:
  Operand(const TensorView& tensor) : data_(tensor) {}  // NOLINT: conversion is the point
  Operand(const ScaledTensor& scaled);                  // NOLINT: conversion is the point

  const TensorView& tensor() const { return data_; }
  bool is_scaled() const { return scaled_ != nullptr; }
  /// Null for a plain tensor.
  const ScaledTensor* scaled() const { return scaled_.get(); }

 private:
  TensorView data_;
  std::shared_ptr<const ScaledTensor> scaled_;  // shared, so that plain operands stay small
};

/// The largest number of operands of an operation; those of its epilogue do not count.
inline constexpr std::size_t kMaxOperands = 6;

/// What an operation does with an operand; an index says where elements are, and is read as well.
enum class OperandRole : std::uint8_t { input, output, index };

/// An operand of some arguments, which it refers to.
struct NamedOperand {
  const char* name = "";                 ///< in messages: "A", "B", "out"
  const TensorView* tensor = nullptr;    ///< of a scaled operand its data
  const ScaledTensor* scaled = nullptr;  ///< null for a plain tensor
  OperandRole role = OperandRole::input;
};

/// The operand with place(view) in place of each of its tensors: the data, then scales.
template <class Place>
Operand operand_with(const NamedOperand& operand, Place place) {
  if (operand.scaled == nullptr) return Operand(place(*operand.tensor));
  ScaledTensor scaled = *operand.scaled;
  scaled.data = place(*operand.tensor);
  scaled.scale = place(scaled.scale);
  if (scaled.tensor_scale) scaled.tensor_scale = place(*scaled.tensor_scale);
  return Operand(scaled);
}

/// The operands of some arguments: inputs, outputs, indices, at most kMaxOperands. Allocates
/// nothing.
class OperandList {
 public:
  template <std::same_as<NamedOperand>... Operands>
  explicit OperandList(const Operands&... operands)
      : operands_{operands...}, size_(sizeof...(Operands)) {
    static_assert(sizeof...(Operands) <= kMaxOperands);
  }

  std::size_t size() const { return size_; }
  const NamedOperand& operator[](std::size_t index) const { return operands_[index]; }
  const NamedOperand* begin() const { return operands_.data(); }
  const NamedOperand* end() const { return operands_.data() + size_; }

 private:
  std::array<NamedOperand, kMaxOperands> operands_;
  std::size_t size_;
};

/// What an operation has to do at least.
struct OperationWork {
  /// Multiplications and additions of a product; none for an operation that memory bounds.
  std::optional<double> flops;
  /// Of all elements of the operands; those of an epilogue do not count.
  double bytes = 0;
};

/// Base of all operations that a kernel can carry out. Immutable once built; holds views, not data.
class RuntimeArguments {
 public:
  virtual ~RuntimeArguments() = default;

  Operation operation() const { return operation_; }
  /// All operands but the epilogue's, with their names: A, B and out, A and out, or A, B, out,
  /// offsets and rows.
  virtual OperandList operands() const = 0;
  virtual OperationWork work() const = 0;

  /// A copy; it refers to the same operands.
  virtual std::unique_ptr<RuntimeArguments> clone() const = 0;

  /// Whether the driver is called to find the device of an address; no: the caller knows it.
  enum class CheckDevice { yes, no };

  /// The same operation with the same controls and epilogue on other operands: one for each of
  /// operands(), and one for each of epilogue().operands(). Throws Error{value} for another number
  /// of them, and what the constructor of the arguments throws.
  std::unique_ptr<RuntimeArguments> with_operands(std::span<const Operand> operands,
                                                  std::vector<EpilogueOperand> epilogue = {}) const;

  const PerformanceControls& controls() const { return controls_; }
  const EpilogueArguments& epilogue() const { return epilogue_; }

  /// The epilogue with types and addresses, as kernel classes read it; null when out is the
  /// accumulator and nothing else is wanted.
  const EpilogueBinding* epilogue_binding() const { return epilogue_binding_.get(); }
  /// Its graph; null where there is none.
  std::shared_ptr<const EpilogueGraph> epilogue_graph() const {
    return epilogue_binding_ != nullptr ? epilogue_binding_->graph : nullptr;
  }

  /// The device all operands live on.
  Device device() const { return device_; }
  /// True when every operand that has elements has data, as run requires.
  bool has_data() const { return has_data_; }

 protected:
  RuntimeArguments(Operation operation, PerformanceControls controls, EpilogueArguments epilogue)
      : controls_(controls), epilogue_(std::move(epilogue)), operation_(operation) {}
  RuntimeArguments(const RuntimeArguments&) = default;
  RuntimeArguments& operator=(const RuntimeArguments&) = default;
  RuntimeArguments(RuntimeArguments&&) = default;
  RuntimeArguments& operator=(RuntimeArguments&&) = default;

  friend class Plan;
  /// Has the operands, one address each, lie elsewhere, with the epilogue's operands of now. False
  /// where the arguments have to be rebuilt instead, as by default; without allocating where not.
  /// Throws Error{value} as the constructor does of addresses; the operands are then undefined.
  virtual bool move(std::span<void* const> data, CheckDevice check);

  /// with_operands() once the numbers are right.
  virtual std::unique_ptr<RuntimeArguments> rebuilt(std::span<const Operand> operands,
                                                    EpilogueArguments epilogue) const = 0;

  PerformanceControls controls_;
  EpilogueArguments epilogue_;
  std::shared_ptr<EpilogueBinding> epilogue_binding_;  // may be shared with copies
  Device device_;
  Operation operation_;
  bool has_data_ = true;
};

/// The accumulator of a product that names none: f64 where an input is f64, i32 where both are
/// integers, else f32.
Dtype default_accumulator_type(Dtype a, Dtype b);
/// The same of operands: f32 for integers with scales of blocks.
Dtype default_accumulator_type(const Operand& a, const Operand& b);

/// out = A @ B, batched when the operands have three modes.
///
/// A is (m, k) or (l, m, k), B (k, n) or (l, k, n), out (m, n) or (l, m, n). A or B may have two
/// modes, or a batch mode of 1, where out has three: the matrix is then used for every batch.
/// A scaled operand stands for its data times its scales. Scales of a tensor or of its rows are
/// factors that the accumulator is multiplied by before the epilogue: A's, B's, then those of a
/// second level. Scales of blocks take part in the products, whose sums are then of floats.
/// A scaled out is quantised: its scales are written too, swizzled or by strides. N is the mode
/// that its blocks lie along, modes are blockwise_1x128, 1x32 and 1x16; scales that fill up
/// swizzled tiles are zero. With `amax` the largest magnitude of a block of D, in f32, and
/// `largest` that of the dtype, the scale is amax / largest, rounded up to a power of two where it
/// is e8m0 or `powers_of_two`, to nearest where it is e4m3; at least 2^-126, for e4m3 between 2^-6
/// and 448. Data are D / scale, rounded to nearest. A block that holds NaN or an infinity has the
/// scale NaN. Extents of 0 are legal: k = 0 gives zeros, the others an empty output.
class GemmArguments final : public RuntimeArguments {
 public:
  /// Throws Error{value | type}, naming the operand and the mode, when ranks or extents do not
  /// fit, m * n * k * l passes 2^63 - 1, `out` has elements that coincide with each other or with
  /// an input's (or so intricate strides that this cannot be decided), operands live on different
  /// devices, a pointer is not of the device it claims, `accumulator_type` is not f64 f32 f16 or
  /// i32, or is i32 with scales of blocks, a scale does not fit its data, a scaled out has another
  /// mode or a second level, or a packed type has a contiguous mode of odd extent. For the operands
  /// of an epilogue: when their shapes do not broadcast to out's, dtypes are none that epilogues
  /// have, an output shares memory with another or with an input other than element for element.
  GemmArguments(const Operand& a, const Operand& b, const Operand& out, Dtype accumulator_type,
                PerformanceControls controls = {}, EpilogueArguments epilogue = {});

  /// The same product of operands that lie elsewhere and are otherwise alike; scales and the
  /// epilogue's operands stay where they are. Throws Error{value} as the constructor does of
  /// addresses.
  GemmArguments moved(void* a, void* b, void* out, CheckDevice check = CheckDevice::yes) const;

  OperandList operands() const override;
  /// flops: 2 L M N K, and twice that with accumulators in pairs.
  OperationWork work() const override;
  std::unique_ptr<RuntimeArguments> clone() const override;

  const Operand& a() const { return a_; }
  const Operand& b() const { return b_; }
  /// Of a quantised out its data.
  const TensorView& out() const { return out_.tensor(); }
  /// Null where out is not quantised.
  const ScaledTensor* out_scaled() const { return out_.scaled(); }
  /// The dtype of D: out's, or f32 where that is quantised.
  Dtype result_dtype() const { return out_.is_scaled() ? Dtype::f32 : out().dtype(); }
  Dtype accumulator_type() const { return accumulator_type_; }
  const GemmExtents& extents() const { return extents_; }

  /// With accumulators in pairs B has 2 N columns, and no scales but that of the tensor.
  AccumulatorPairs pairs() const;
  /// From the column of B that an element's first accumulator is of to the second's, in elements
  /// of B; 0 without pairs, and where columns of B repeat.
  std::int64_t pair_distance() const;

  /// A as (l, m, k), B as (l, k, n), out as (l, m, n); an absent batch mode has stride 0. Of B in
  /// pairs the columns of the first accumulators.
  const MatrixView& a_matrix() const { return a_matrix_; }
  const MatrixView& b_matrix() const { return b_matrix_; }
  const MatrixView& out_matrix() const { return out_matrix_; }

 private:
  friend class GroupedGemmArguments;

  Operand a_;
  Operand b_;
  Operand out_;
  MatrixView a_matrix_;
  MatrixView b_matrix_;
  MatrixView out_matrix_;
  GemmExtents extents_;
  Dtype accumulator_type_;

  std::unique_ptr<RuntimeArguments> rebuilt(std::span<const Operand> operands,
                                            EpilogueArguments epilogue) const override;
  bool move(std::span<void* const> data, CheckDevice check) override;
  void check_memory(CheckDevice check) const;
  void check_out_scale_memory() const;
  void set_matrices();
  void note_data();
};

/// Operations of ElementwiseArguments. Binary: add to minimum; unary: the rest.
enum class ElementwiseOp : std::uint8_t {
  add,
  sub,
  mul,
  div,
  maximum,
  minimum,
  identity,
  neg,
  abs,
  sqrt,
  rsqrt,
  exp,
  log,
  reciprocal,
  relu,
  gelu,
  silu,
  sigmoid,
  tanh,
};

/// "add", "relu"; identity converts from one dtype to another.
std::string_view elementwise_op_name(ElementwiseOp op);
std::optional<ElementwiseOp> parse_elementwise_op(std::string_view name);
constexpr bool is_binary(ElementwiseOp op) {
  return op <= ElementwiseOp::minimum;
}

/// out = D of an epilogue whose accumulator is A, element by element; A and the epilogue's tensors
/// broadcast to out's shape as in NumPy (modes align at the last one, extent 1 or stride 0
/// repeats). A named operation is such an epilogue: add is D = accum + B.
///
/// A is read as f64 when a tensor that is read is f64; as i32 when all of them and out are integers
/// or boolean; otherwise as f32. From there on types are as in docs/epilogues.md: integers wrap
/// around and saturate to out, and add sub mul maximum minimum identity neg abs relu of integers
/// are integers. gelu is the erf form.
class ElementwiseArguments final : public RuntimeArguments {
 public:
  /// Throws Error as GemmArguments does; `out` may be the same view as an input exactly (in place).
  ElementwiseArguments(ElementwiseOp op, const TensorView& a, const TensorView& b,
                       const TensorView& out, PerformanceControls controls = {});
  ElementwiseArguments(ElementwiseOp op, const TensorView& a, const TensorView& out,
                       PerformanceControls controls = {});
  /// As a GEMM's epilogue, with `accum` for A. Throws Error{value} for an output beside D.
  ElementwiseArguments(const TensorView& a, const TensorView& out, EpilogueArguments epilogue,
                       PerformanceControls controls = {});

  /// B is there for binary operations alone.
  OperandList operands() const override;
  OperationWork work() const override;
  std::unique_ptr<RuntimeArguments> clone() const override;

  /// identity where there is an epilogue.
  ElementwiseOp op() const { return op_; }
  /// A and B expanded to out's shape: the rank of out, stride 0 where they repeat.
  const TensorView& a() const { return a_; }
  /// Equal to A for unary operations.
  const TensorView& b() const { return b_; }
  const TensorView& out() const { return out_; }

  /// What is read beside A, of out's shape: B, or the tensors of the epilogue's graph in the order
  /// of their slots.
  std::size_t tensor_count() const { return is_binary(op_) ? 1 : tensors_.size(); }
  NamedOperand tensor(std::size_t slot) const;

 private:
  /// A tensor of the epilogue with out's shape, and which of its operands that is.
  struct Tensor {
    TensorView view;
    std::size_t operand;
  };

  TensorView a_;
  TensorView b_;
  TensorView out_;
  ElementwiseOp op_;
  std::vector<Tensor> tensors_;

  std::unique_ptr<RuntimeArguments> rebuilt(std::span<const Operand> operands,
                                            EpilogueArguments epilogue) const override;
};

/// The mode along which the groups of a grouped GEMM follow one another.
enum class GroupMode : std::uint8_t {
  rows,       ///< M: A (M, K), B (G, K, N), out (M, N)
  columns,    ///< N: A (G, M, K), B (K, N), out (M, N)
  reduction,  ///< K: A (M, K), B (K, N), out (G, M, N)
  batches     ///< none: A (G, M, K), B (G, K, N), out (G, M, N)
};

/// The letter of the mode: "m", "n", "k", "l".
std::string_view group_mode_name(GroupMode mode);
std::optional<GroupMode> parse_group_mode(std::string_view name);

/// Where a group ends that begins at `begin`, if its offset is `offset` and its mode has `extent`
/// elements: at the offset, but neither before its beginning nor beyond the mode. The next group
/// begins there, the first one at 0. So groups are disjoint and in the mode, whatever offsets hold.
constexpr std::int64_t group_end(std::int64_t begin, std::int64_t offset, std::int64_t extent) {
  const std::int64_t inside = offset < extent ? offset : extent;
  return inside > begin ? inside : begin;
}

/// What offsets say of the groups. G is their number, E the extent of the mode that they divide.
enum class GroupLayout : std::uint8_t {
  ends,     ///< (G): where each group ends; the next one begins there, the first one at 0
  prefix,   ///< (G + 1): where each group begins, then where the last one ends
  masked,   ///< (G): rows of each group, which begins at its matrix of A; only GroupMode::rows
  ranges,   ///< (G, 2): where each group begins and ends, in ascending order
  pointers  ///< (G, 12): a GroupEntry for each group; only GroupMode::batches
};

/// "ends", "prefix", "masked", "ranges", "pointers".
std::string_view group_layout_name(GroupLayout layout);
std::optional<GroupLayout> parse_group_layout(std::string_view name);

/// Elements [begin, end) of the mode that groups divide.
struct GroupRange {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  bool operator==(const GroupRange&) const = default;
};

/// A group of GroupLayout::pointers, as the device reads it: out (m, n) = A (m, k) @ B (k, n), each
/// with its own address and leading dimension. Aligned as a table must be.
struct alignas(16) GroupEntry {
  /// Addresses; bytes from the first element where the operand of the arguments has data.
  std::uint64_t a = 0;
  std::uint64_t b = 0;
  std::uint64_t out = 0;
  /// Less what is outside [0, M], [0, N], [0, K] of the arguments.
  std::int32_t m = 0;
  std::int32_t n = 0;
  std::int32_t k = 0;
  /// Leading dimensions: elements from row to row where the operand of the arguments has contiguous
  /// rows, from column to column where it has contiguous columns. Strides that are both 1 are those
  /// of rows.
  std::int32_t a_stride = 0;
  std::int32_t b_stride = 0;
  std::int32_t out_stride = 0;

  bool operator==(const GroupEntry&) const = default;
};

/// An entry as elements of offsets.
inline constexpr std::int64_t kGroupEntryWords = 12;
static_assert(sizeof(GroupEntry) == 4 * kGroupEntryWords);

/// How a grouped GEMM is divided.
struct GroupOptions {
  /// i32 of the layout's shape, on the operands' device; none for GroupMode::batches but with
  /// GroupLayout::pointers.
  std::optional<TensorView> offsets{};
  /// What is in no group is computed as a product of zeros; otherwise it is left as it is.
  bool zero_rest = false;
  GroupLayout layout = GroupLayout::ends;
  /// An index, i32 of (M), on the operands' device: row i of the product's A is row rows[i] of A.
  /// For GroupMode::rows, but not with GroupLayout::masked.
  std::optional<TensorView> rows{};
};

/// Products of groups of rows, columns or summands, whose extents the device alone needs to know.
///
/// The ranks of the operands say along which mode the groups lie (GroupMode). Group g is the part
/// of that mode that offsets give it (GroupLayout), and multiplies matrix g of the operand that has
/// three modes; groups along K give matrix g of out, zeros for an empty group. Every boundary that
/// offsets state is taken by the rule of group_end(), one after the other, so groups are disjoint
/// and inside the operands whatever offsets hold. With GroupMode::batches this is a batched GEMM.
/// Operands of an epilogue broadcast to out's shape.
///
/// Masked groups have A (G, M, K), B (G, K, N) and out (G, M, N), of which the first offsets[g]
/// rows of matrix g count. A and out are as if they were (G M, K) and (G M, N), to which operands
/// of an epilogue broadcast: their matrices follow one another M rows apart. Scales of such an A
/// are of rows or of 1 x V blocks, (G, M, 1) or (G, M, K / V), in row order too.
///
/// With GroupLayout::pointers each group has matrices of its own, anywhere: offsets are a table of
/// GroupEntry, which only the device needs to know. A (G, M, K), B (G, K, N) and out (G, M, N) say
/// what is known on the host, and may be descriptions (TensorView::describe): dtypes, which mode is
/// contiguous, the largest extents that a group may have, and alignment: addresses and leading
/// dimensions of the table are multiples of TensorView::alignment() bytes. What the table says
/// beyond the largest extents is cut off. Where A, B or out has data, matrices of groups lie in it,
/// and the table holds their distances. There are no epilogues, scales or elements of 4 bits.
///
/// With an index of rows, A is (R, K) with any number of rows, and the product multiplies the
/// A (M, K) whose row i is row rows[i] of it, or zeros where rows[i] is no row of A: nothing
/// outside A is read, whatever the index holds. There are no scales or elements of 4 bits beside
/// one.
///
/// A scaled operand stands for its data times its scales, as in GemmArguments. Scales have as many
/// modes as the data: those of a matrix for each group have G in front, rows of B (G, 1, N). Blocks
/// are counted from the beginning of the operand, not of a group.
class GroupedGemmArguments final : public RuntimeArguments {
 public:
  /// Throws Error as GemmArguments does; Error{value} also for other combinations of ranks, for
  /// offsets that are missing or not wanted, or of another shape or device, for matrices of masked
  /// groups that do not follow one another, for what GroupLayout::pointers does not have, a table
  /// whose entries are not aligned to 16 bytes, and operands of it that are contiguous in neither
  /// mode, for an index of rows that is not (M) or not wanted and what there is not beside one;
  /// Error{type} for offsets and an index that are not i32, and for i32 accumulators beside rows of
  /// scales that differ from group to group.
  GroupedGemmArguments(const Operand& a, const Operand& b, const TensorView& out,
                       Dtype accumulator_type, const GroupOptions& groups,
                       PerformanceControls controls = {}, EpilogueArguments epilogue = {});

  /// A, B, out, then offsets and rows, where there are some.
  OperandList operands() const override;
  /// flops: 2 M N K; times G for GroupMode::batches. Of pointers, what the largest groups take.
  OperationWork work() const override;
  std::unique_ptr<RuntimeArguments> clone() const override;

  GroupMode mode() const { return mode_; }
  std::int64_t groups() const { return groups_; }
  bool zero_rest() const { return zero_rest_; }
  GroupLayout layout() const { return layout_; }
  /// Elements of the mode that is divided; of masked groups G M.
  std::int64_t divided_extent() const;

  const Operand& a() const { return a_; }
  const Operand& b() const { return b_; }
  const TensorView& out() const { return out_; }
  /// Null where there are none: for GroupMode::batches, but with GroupLayout::pointers.
  const TensorView* offsets() const { return offsets_ ? &*offsets_ : nullptr; }
  /// The index of the rows of A; null where there is none.
  const TensorView* rows() const { return rows_ ? &*rows_ : nullptr; }
  Dtype accumulator_type() const { return product_.accumulator_type(); }

  /// The product as if all of the divided mode were in group 0, with the epilogue. Of groups along
  /// K, each matrix of out is the product of all of K. Of masked groups, A is (G M, K). With an
  /// index of rows, A is a description of (M, K), whose strides are those of A.
  const GemmArguments& product() const { return product_; }
  /// Elements from one group's matrix to the next: of B for GroupMode::rows, of A for columns.
  std::int64_t matrix_stride() const;

  /// All groups, as kernels see them. Reads offsets, which must be on the host and no pointers.
  void read_groups(std::span<GroupRange> groups) const;
  /// All entries of GroupLayout::pointers, as kernels see them: with extents cut off, and addresses
  /// in place of distances. Reads offsets, which must be on the host.
  void read_entries(std::span<GroupEntry> entries) const;

 private:
  Operand a_;
  Operand b_;
  TensorView out_;
  std::optional<TensorView> offsets_;
  std::optional<TensorView> rows_;
  GroupLayout layout_;
  GroupMode mode_;
  std::int64_t groups_;
  bool zero_rest_;
  GemmArguments product_;

  std::unique_ptr<RuntimeArguments> rebuilt(std::span<const Operand> operands,
                                            EpilogueArguments epilogue) const override;
  bool move(std::span<void* const> data, CheckDevice check) override;
  bool move_pointed(std::span<void* const> data, CheckDevice check);
  void check_memory(CheckDevice check) const;
  void take_product();
};

}  // namespace estoc
