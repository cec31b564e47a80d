// Checks the operands of a grouped GEMM, and reads the ends of its groups.
#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "estoc/arguments.hpp"
#include "model/fail.h"
#include "model/operand_checks.h"
#include "operations/grouped_gemm/group_table.h"
#include "operations/operand_bytes.h"

namespace estoc {
namespace {

using model::fail;
using model::fail_value;
using model::NamedView;

constexpr std::array<std::string_view, 4> kModeNames{"m", "n", "k", "l"};
constexpr std::array<std::string_view, 5> kLayoutNames{"ends", "prefix", "masked", "ranges",
                                                       "pointers"};

GroupMode mode_of(const TensorView& a, const TensorView& b, GroupLayout layout) {
  for (const NamedView operand : {NamedView{&a, "A"}, NamedView{&b, "B"}}) {
    if (operand.view->rank() == 2 || operand.view->rank() == 3) continue;
    fail_value("{}.shape: expected 2 or 3 modes, got {}", operand.name, operand.view->rank());
  }
  if (layout == GroupLayout::masked) {
    if (a.rank() == 3 && b.rank() == 3) return GroupMode::rows;
    fail_value("A.shape, B.shape: expected 3 modes each with masked groups, got {} and {}",
               a.rank(), b.rank());
  }
  if (layout == GroupLayout::pointers) {
    if (a.rank() == 3 && b.rank() == 3) return GroupMode::batches;
    fail_value("A.shape, B.shape: expected 3 modes each with groups by pointers, got {} and {}",
               a.rank(), b.rank());
  }
  if (a.rank() == 2) return b.rank() == 3 ? GroupMode::rows : GroupMode::reduction;
  return b.rank() == 2 ? GroupMode::columns : GroupMode::batches;
}

/// Whose first mode counts the groups.
NamedView counted(GroupMode mode, const TensorView& a, const TensorView& b, const TensorView& out) {
  const bool has_groups = mode != GroupMode::reduction;
  const TensorView& view = !has_groups ? out : mode == GroupMode::rows ? b : a;
  return {&view, !has_groups ? "out" : mode == GroupMode::rows ? "B" : "A"};
}

void check_out(GroupMode mode, GroupLayout layout, const TensorView& out) {
  const bool divided = mode == GroupMode::rows || mode == GroupMode::columns;
  const int rank = divided && layout != GroupLayout::masked ? 2 : 3;
  if (out.rank() == rank) return;
  fail_value("out.shape: expected {} modes for groups along {}, got {}", rank,
             group_mode_name(mode), out.rank());
}

void check_groups(const char* operand, NamedView expected, std::int64_t got) {
  const std::int64_t groups = expected.view->shape(0);
  if (got == groups) return;
  fail_value("{}.shape: expected G = {} like {}, got {}", operand, groups, expected.name, got);
}

void check_table(const TensorView& table) {
  const bool packed =
      table.stride(1) == 1 && (table.shape(0) <= 1 || table.stride(0) >= kGroupEntryWords);
  if (table.shape(1) != kGroupEntryWords || !packed) {
    fail_value("offsets: expected (G, {}) without gaps in entries, got {}", kGroupEntryWords,
               table.to_string());
  }
  constexpr int kEntryAlignment = 16;
  if (table.elements() > 0 && table.alignment() < kEntryAlignment) {
    fail_value("offsets.alignment: expected entries at multiples of {} bytes, got {}",
               kEntryAlignment, table.alignment());
  }
}

void check_offsets_shape(const TensorView& offsets, GroupLayout layout, NamedView groups) {
  const bool pairs = layout == GroupLayout::ranges || layout == GroupLayout::pointers;
  const int rank = pairs ? 2 : 1;
  if (offsets.rank() != rank) {
    fail_value("offsets.shape: expected {} mode{}, got {}", rank, rank == 1 ? "" : "s",
               offsets.rank());
  }
  if (layout == GroupLayout::prefix) {
    const std::int64_t count = groups.view->shape(0);
    if (offsets.shape(0) == count + 1) return;
    fail_value("offsets.shape: expected G + 1 = {} with G like {}, got {}", count + 1, groups.name,
               offsets.shape(0));
  }
  check_groups("offsets", groups, offsets.shape(0));
  if (layout == GroupLayout::pointers) return check_table(offsets);
  if (layout != GroupLayout::ranges) return;
  const bool packed = offsets.stride(1) == 1 && (offsets.shape(0) <= 1 || offsets.stride(0) == 2);
  if (offsets.shape(1) != 2 || !packed) {
    fail_value("offsets: expected (G, 2) without gaps, got {}", offsets.to_string());
  }
}

void check_offsets(GroupMode mode, GroupLayout layout, const std::optional<TensorView>& offsets,
                   NamedView groups) {
  if (mode == GroupMode::batches && layout != GroupLayout::pointers) {
    if (offsets) {
      fail_value("offsets: expected none where A and B have three modes, got {}",
                 offsets->to_string());
    }
    return;
  }
  if (!offsets) {
    fail_value("offsets: expected {}, got none",
               layout == GroupLayout::pointers ? "a table of pointers" : "the ends of the groups");
  }
  check_offsets_shape(*offsets, layout, groups);
  if (offsets->dtype() != Dtype::i32) {
    fail(ErrorKind::type, "offsets.dtype: expected i32, got {}", dtype_name(offsets->dtype()));
  }
  check_device({&*offsets, "offsets"}, groups);
}

/// Matrix 0 of a tensor of three modes. Where there is none, a description stands for it.
TensorView first_matrix(const TensorView& view, const char* name) {
  const auto shape = view.shape().last(2);
  const auto strides = view.strides().last(2);
  if (view.described() || view.elements() == 0) {
    return TensorView::describe(view.dtype(), shape, strides, view.device(), view.alignment(),
                                name);
  }
  return {view.data(), view.dtype(), shape, strides, view.device(), name};
}

/// (G, M, C) as (G M, C).
TensorView flattened(const TensorView& view, const char* name) {
  const std::int64_t matrices = view.shape(0);
  const std::int64_t rows = view.shape(1);
  const std::int64_t stride = rows == 1 ? view.stride(0) : view.stride(1);
  const bool follow = view.elements() == 0 || matrices == 1 || view.stride(0) == rows * stride;
  if (!follow) {
    fail_value("{}.strides: expected {} from matrix to matrix with masked groups, got {}", name,
               rows * stride, view.stride(0));
  }
  const std::array<std::int64_t, 2> shape{matrices * rows, view.shape(2)};
  const std::array<std::int64_t, 2> strides{stride, view.stride(2)};
  if (view.described() || view.elements() == 0) {
    return TensorView::describe(view.dtype(), shape, strides, view.device(), view.alignment(),
                                name);
  }
  return {view.data(), view.dtype(), shape, strides, view.device(), name};
}

Operand flattened_operand(const Operand& operand, const char* name) {
  const TensorView data = flattened(operand.tensor(), name);
  if (!operand.is_scaled()) return data;
  ScaledTensor scaled = *operand.scaled();
  scaled.data = data;
  if (scaled.mode == ScaleMode::tensorwise) return scaled;
  const bool by_rows = scaled.swizzle == ScaleSwizzle::none && scaled.scale.rank() == 3 &&
                       scaled.scale.shape(1) == operand.tensor().shape(1) &&
                       scaled.scale.shape(0) == operand.tensor().shape(0);
  if (!by_rows) {
    fail_value("{}.scale: expected scales of rows or of 1 x V blocks with masked groups, got {}",
               name, scaled.scale.to_string());
  }
  scaled.scale = flattened(scaled.scale, "A.scale");
  return scaled;
}

/// The operand of group 0. Scales of rows that each group has its own of are no factors of out as a
/// whole: they are lowered with the operand.
Operand first_operand(const Operand& operand, const char* name) {
  const TensorView data = first_matrix(operand.tensor(), name);
  if (!operand.is_scaled() || operand.scaled()->mode == ScaleMode::rowwise) return data;
  ScaledTensor scaled = *operand.scaled();
  scaled.data = data;
  if (scaled.has_blocks()) scaled.scale = first_matrix(scaled.scale, name);
  return scaled;
}

/// The rows of A that an index chooses, which lie nowhere together.
TensorView chosen_rows(const TensorView& a, const TensorView& rows) {
  return TensorView::describe(a.dtype(), std::array{rows.shape(0), a.shape(1)},
                              std::array{a.stride(0), a.stride(1)}, a.device(), a.alignment(), "A");
}

GemmArguments product_of(GroupMode mode, GroupLayout layout, const Operand& a, const Operand& b,
                         const TensorView& out, const std::optional<TensorView>& rows,
                         Dtype accumulator_type, PerformanceControls controls,
                         EpilogueArguments epilogue) {
  const bool masked = layout == GroupLayout::masked;
  return {masked                       ? flattened_operand(a, "A")
          : rows                       ? chosen_rows(a.tensor(), *rows)
          : mode == GroupMode::columns ? first_operand(a, "A")
                                       : a,
          mode == GroupMode::rows ? first_operand(b, "B") : b,
          masked ? flattened(out, "out") : out,
          accumulator_type,
          controls,
          std::move(epilogue)};
}

/// What products of groups by pointers do not have.
void check_pointed(const Operand& a, const Operand& b, const TensorView& out,
                   const EpilogueArguments& epilogue, bool zero_rest) {
  if (!epilogue.empty()) fail_value("epilogue: expected none with groups by pointers, got one");
  if (zero_rest) fail_value("zero_rest: expected false with groups by pointers, got true");
  for (const auto& [operand, name] : {std::pair{&a, "A"}, std::pair{&b, "B"}}) {
    if (!operand->is_scaled()) continue;
    fail_value("{}.scale: expected none with groups by pointers, got one", name);
  }
  for (const auto& [view, name] :
       {NamedView{&a.tensor(), "A"}, NamedView{&b.tensor(), "B"}, NamedView{&out, "out"}}) {
    if (is_packed(view->dtype())) {
      fail(ErrorKind::type,
           "{}.dtype: expected elements of whole bytes with groups by pointers, "
           "got {}",
           name, dtype_name(view->dtype()));
    }
    if (!operations::has_contiguous_rows(*view)) {
      fail_value(
          "{}.strides: expected 1 along a mode of the matrices with groups by pointers, got "
          "({}, {})",
          name, view->stride(1), view->stride(2));
    }
    for (const int mode : {1, 2}) {
      if (view->shape(mode) <= std::numeric_limits<std::int32_t>::max()) continue;
      fail_value("{}.shape: expected extents of at most 2^31 - 1 with groups by pointers, got {}",
                 name, view->shape(mode));
    }
  }
}

/// An index of the rows of A, and what there is not beside one.
void check_rows(GroupMode mode, GroupLayout layout, const Operand& a, const Operand& b,
                const TensorView& out, const TensorView& rows) {
  if (mode != GroupMode::rows || layout == GroupLayout::masked) {
    fail_value("rows: expected none but with groups along m that are not masked, got {}",
               rows.to_string());
  }
  if (rows.rank() != 1 || rows.shape(0) != out.shape(0)) {
    fail_value("rows.shape: expected M = {} like out, got {}", out.shape(0), rows.to_string());
  }
  if (rows.dtype() != Dtype::i32) {
    fail(ErrorKind::type, "rows.dtype: expected i32, got {}", dtype_name(rows.dtype()));
  }
  check_device(NamedView{&rows, "rows"}, NamedView{&b.tensor(), "B"});
  for (const auto& [operand, name] : {std::pair{&a, "A"}, std::pair{&b, "B"}}) {
    if (operand->is_scaled())
      fail_value("{}.scale: expected none beside an index of rows, got one", name);
    if (!is_packed(operand->tensor().dtype())) continue;
    fail(ErrorKind::type,
         "{}.dtype: expected elements of whole bytes beside an index of rows, got {}", name,
         dtype_name(operand->tensor().dtype()));
  }
}

/// The ranks and extents that the product of group 0 does not show.
GroupMode checked_mode(const Operand& a, const Operand& b, const TensorView& out,
                       const GroupOptions& options) {
  const GroupLayout layout = options.layout;
  const TensorView& plain_a = a.tensor();
  const TensorView& plain_b = b.tensor();
  const GroupMode mode = mode_of(plain_a, plain_b, layout);
  check_out(mode, layout, out);
  const NamedView groups = counted(mode, plain_a, plain_b, out);
  if (mode == GroupMode::batches) check_groups("B", groups, plain_b.shape(0));
  if (layout == GroupLayout::masked) check_groups("A", groups, plain_a.shape(0));
  if (mode == GroupMode::batches || layout == GroupLayout::masked) {
    check_groups("out", groups, out.shape(0));
  }
  check_offsets(mode, layout, options.offsets, groups);
  if (options.rows) check_rows(mode, layout, a, b, out, *options.rows);
  for (const NamedView operand : {NamedView{&plain_a, "A"}, NamedView{&plain_b, "B"}})
    check_packed(operand);
  if (a.is_scaled()) a.scaled()->validate("A", plain_a.rank() - 1);
  if (b.is_scaled()) b.scaled()->validate("B", plain_b.rank() - 2);
  return mode;
}

void check_row_scales(const Operand& operand, Dtype accumulator) {
  if (!operand.is_scaled() || operand.scaled()->mode != ScaleMode::rowwise) return;
  if (accumulator != Dtype::i32) return;
  fail(ErrorKind::type,
       "accumulator_type: expected f32 or f64 with scales of rows of each group, got i32");
}

Operand moved_to(const Operand& operand, void* data, const char* name) {
  const TensorView view = operand.tensor().moved(data, name);
  if (!operand.is_scaled()) return view;
  ScaledTensor scaled = *operand.scaled();
  scaled.data = view;
  return scaled;
}

bool is_described(const Operand& operand) {
  const ScaledTensor* const scaled = operand.scaled();
  return operand.tensor().described() ||
         (scaled != nullptr && (scaled->scale.described() ||
                                (scaled->tensor_scale && scaled->tensor_scale->described())));
}

}  // namespace

std::string_view group_mode_name(GroupMode mode) {
  return kModeNames[static_cast<std::size_t>(mode)];
}

std::optional<GroupMode> parse_group_mode(std::string_view name) {
  const auto found = std::ranges::find(kModeNames, name);
  if (found == kModeNames.end()) return std::nullopt;
  return static_cast<GroupMode>(found - kModeNames.begin());
}

std::string_view group_layout_name(GroupLayout layout) {
  return kLayoutNames[static_cast<std::size_t>(layout)];
}

std::optional<GroupLayout> parse_group_layout(std::string_view name) {
  const auto found = std::ranges::find(kLayoutNames, name);
  if (found == kLayoutNames.end()) return std::nullopt;
  return static_cast<GroupLayout>(found - kLayoutNames.begin());
}

GroupedGemmArguments::GroupedGemmArguments(const Operand& a, const Operand& b,
                                           const TensorView& out, Dtype accumulator_type,
                                           const GroupOptions& groups, PerformanceControls controls,
                                           EpilogueArguments epilogue)
    : RuntimeArguments(Operation::grouped_gemm, controls, std::move(epilogue)),
      a_(a),
      b_(b),
      out_(out),
      offsets_(groups.offsets),
      rows_(groups.rows),
      layout_(groups.layout),
      mode_(checked_mode(a, b, out, groups)),
      groups_(counted(mode_, a_.tensor(), b_.tensor(), out).view->shape(0)),
      zero_rest_(groups.zero_rest),
      product_(
          product_of(mode_, layout_, a_, b_, out, rows_, accumulator_type, controls, epilogue_)) {
  if (mode_ == GroupMode::columns && product_.pairs() != AccumulatorPairs::none) {
    fail_value("epilogue: expected accum alone with groups along n, got accumulators in pairs");
  }
  if (mode_ == GroupMode::columns) check_row_scales(a_, accumulator_type);
  if (mode_ == GroupMode::rows) check_row_scales(b_, accumulator_type);
  device_ = product_.device();
  if (layout_ == GroupLayout::pointers) check_pointed(a_, b_, out_, epilogue_, zero_rest_);
  check_memory(CheckDevice::yes);
  take_product();
}

/// What the product knows once its operands are where they belong.
void GroupedGemmArguments::take_product() {
  epilogue_binding_ = product_.epilogue_binding_;
  if (layout_ == GroupLayout::pointers) {
    has_data_ = !offsets_->described();
    return;
  }
  has_data_ = !is_described(a_) && !is_described(b_) && !out().described() &&
              !(offsets_ && offsets_->described()) && !(rows_ && rows_->described());
  for (const EpilogueOperand& operand : epilogue_.operands())
    has_data_ = has_data_ && (operand.tensor() == nullptr || !operand.tensor()->described());
}

/// Of the operands that the product does not have, or only a part of.
void GroupedGemmArguments::check_memory(CheckDevice check) const {
  std::array<NamedView, 6> inputs{NamedView{&a_.tensor(), "A"}, NamedView{&b_.tensor(), "B"}};
  std::size_t count = 2;
  if (a_.is_scaled()) inputs[count++] = {&a_.scaled()->scale, "A.scale"};
  if (b_.is_scaled()) inputs[count++] = {&b_.scaled()->scale, "B.scale"};
  if (offsets_) inputs[count++] = {&*offsets_, "offsets"};
  if (rows_) inputs[count++] = {&*rows_, "rows"};
  for (const NamedView input : std::span(inputs.data(), count)) {
    if (check == CheckDevice::yes) check_pointer(input);
    check_overlap({&out(), "out"}, input);
    if (epilogue_.empty()) continue;
    for (const EpilogueAssignment& assignment : epilogue_.program().assignments()) {
      const EpilogueOperand* const output = epilogue_.find(assignment.name);
      if (output == nullptr || assignment.name == "D") continue;
      check_overlap({output->tensor(), output->name.c_str()}, input);
    }
  }
}

bool GroupedGemmArguments::move(std::span<void* const> data, CheckDevice check) {
  if (layout_ == GroupLayout::pointers) return move_pointed(data, check);
  a_ = moved_to(a_, data[0], "A");
  b_ = moved_to(b_, data[1], "B");
  out_ = out_.moved(data[2], "out");
  if (offsets_) offsets_ = offsets_->moved(data[3], "offsets");
  if (rows_) rows_ = rows_->moved(data[4], "rows");
  // Nothing else may refer to the binding, so that its memory is used again.
  epilogue_binding_.reset();
  if (groups_ == 0 || rows_) {
    // Matrix 0 does not exist, or A of the product does not, so its place must not be checked.
    product_ =
        product_of(mode_, layout_, a_, b_, out_, rows_, accumulator_type(), controls_, epilogue_);
  } else {
    product_.epilogue_ = epilogue_;
    product_.move(data.first(3), check);
  }
  check_memory(check);
  take_product();
  return true;
}

/// Operands that are descriptions stay so: the table has their addresses.
bool GroupedGemmArguments::move_pointed(std::span<void* const> data, CheckDevice check) {
  const auto moved = [](const TensorView& view, void* address, const char* name) {
    return view.described() && address == nullptr ? view : view.moved(address, name);
  };
  a_ = moved(a_.tensor(), data[0], "A");
  b_ = moved(b_.tensor(), data[1], "B");
  out_ = moved(out_, data[2], "out");
  offsets_ = offsets_->moved(data[3], "offsets");
  if (data[0] != nullptr || data[1] != nullptr || data[2] != nullptr) {
    product_ =
        product_of(mode_, layout_, a_, b_, out_, rows_, accumulator_type(), controls_, epilogue_);
  }
  check_memory(check);
  take_product();
  return true;
}

OperandList GroupedGemmArguments::operands() const {
  const NamedOperand a{"A", &a_.tensor(), a_.scaled(), OperandRole::input};
  const NamedOperand b{"B", &b_.tensor(), b_.scaled(), OperandRole::input};
  const NamedOperand out{"out", &out_, nullptr, OperandRole::output};
  if (!offsets_) return OperandList(a, b, out);
  const NamedOperand offsets{"offsets", &*offsets_, nullptr, OperandRole::index};
  if (!rows_) return OperandList(a, b, out, offsets);
  return OperandList(a, b, out, offsets,
                     NamedOperand{"rows", &*rows_, nullptr, OperandRole::index});
}

OperationWork GroupedGemmArguments::work() const {
  const auto& [m, n, k, l] = product_.extents();
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                          static_cast<double>(mode_ == GroupMode::batches ? l : 1);
  const double columns = product_.pairs() == AccumulatorPairs::none ? 1 : 2;
  return {2 * columns * products, operations::element_bytes(operands())};
}

std::unique_ptr<RuntimeArguments> GroupedGemmArguments::clone() const {
  return std::make_unique<GroupedGemmArguments>(*this);
}

std::unique_ptr<RuntimeArguments> GroupedGemmArguments::rebuilt(std::span<const Operand> operands,
                                                                EpilogueArguments epilogue) const {
  GroupOptions groups{.offsets = std::nullopt, .zero_rest = zero_rest_, .layout = layout_};
  if (offsets_) groups.offsets = operands[3].tensor();
  if (rows_) groups.rows = operands[4].tensor();
  return std::make_unique<GroupedGemmArguments>(operands[0], operands[1], operands[2].tensor(),
                                                accumulator_type(), groups, controls_,
                                                std::move(epilogue));
}

std::int64_t GroupedGemmArguments::divided_extent() const {
  const GemmExtents& extents = product_.extents();
  switch (mode_) {
    case GroupMode::rows:
      return extents.m;
    case GroupMode::columns:
      return extents.n;
    case GroupMode::reduction:
      return extents.k;
    default:
      return 0;
  }
}

std::int64_t GroupedGemmArguments::matrix_stride() const {
  if (mode_ == GroupMode::rows) return b_.tensor().stride(0);
  return mode_ == GroupMode::columns ? a_.tensor().stride(0) : 0;
}

void GroupedGemmArguments::read_groups(std::span<GroupRange> groups) const {
  operations::read_groups({.count = groups_,
                           .extent = divided_extent(),
                           .offsets = offsets_->data(),
                           .stride = layout_ == GroupLayout::ranges ? 1 : offsets_->stride(0),
                           .zero_rest = zero_rest_,
                           .layout = layout_},
                          groups);
}

void GroupedGemmArguments::read_entries(std::span<GroupEntry> entries) const {
  const operations::GroupTable table(*this);
  for (std::size_t group = 0; group < entries.size(); ++group)
    entries[group] = table.entry(static_cast<std::int64_t>(group));
}

}  // namespace estoc
