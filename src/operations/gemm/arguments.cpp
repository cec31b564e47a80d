// Checks the operands of a GEMM and brings them into the form (batch, row, column).
#include "estoc/arguments.hpp"

#include <array>
#include <string_view>

#include "epilogue/bind.h"
#include "model/checked.h"
#include "model/fail.h"
#include "model/operand_checks.h"
#include "operations/operand_bytes.h"

namespace estoc {
namespace {

using model::fail;
using model::fail_value;
using model::NamedView;

std::int64_t extent_from_end(const TensorView& view, int position) {
  return view.shape(view.rank() - position);
}

void check_rank(NamedView operand, NamedView out) {
  const int rank = operand.view->rank();
  if (rank < 2 || rank > 3) {
    fail_value("{}.shape: expected 2 or 3 modes, got {}", operand.name, rank);
  }
  if (rank == 3 && out.view->rank() == 2) {
    fail_value("{}.shape: expected 2 modes like out, got 3", operand.name);
  }
}

void check_extent(const char* operand, char mode, std::int64_t expected, std::int64_t got) {
  if (expected == got) return;
  fail_value("{}.shape: expected {} = {}, got {}", operand, mode, expected, got);
}

void check_batch(NamedView operand, std::int64_t batches) {
  if (operand.view->rank() == 2) return;
  const std::int64_t got = operand.view->shape(0);
  if (got == batches || got == 1) return;
  fail_value("{}.shape: expected L = {}{}, got {}", operand.name, batches,
             batches == 1 ? "" : " or 1", got);
}

void check_work(const GemmExtents& extents) {
  const auto& [m, n, k, l] = extents;
  if (m == 0 || n == 0 || k == 0 || l == 0) return;
  std::int64_t work = m;
  if (!model::multiply_by(work, n) || !model::multiply_by(work, k) ||
      !model::multiply_by(work, l)) {
    fail_value("M * N * K * L: expected at most 2^63 - 1, got {} * {} * {} * {}", m, n, k, l);
  }
}

/// N of out: with accumulators in pairs, half the columns of B.
std::int64_t out_columns(NamedView b, AccumulatorPairs pairs) {
  const std::int64_t columns = extent_from_end(*b.view, 1);
  if (pairs == AccumulatorPairs::none) return columns;
  if (columns % 2 != 0) {
    fail_value("{}.shape: expected an even N with accumulators in pairs, got {}", b.name, columns);
  }
  return columns / 2;
}

GemmExtents find_extents(NamedView a, NamedView b, NamedView out, AccumulatorPairs pairs) {
  const GemmExtents extents{extent_from_end(*a.view, 2), out_columns(b, pairs),
                            extent_from_end(*a.view, 1),
                            out.view->rank() == 3 ? out.view->shape(0) : 1};
  check_extent(b.name, 'K', extents.k, extent_from_end(*b.view, 2));
  check_extent(out.name, 'M', extents.m, extent_from_end(*out.view, 2));
  check_extent(out.name, 'N', extents.n, extent_from_end(*out.view, 1));
  check_batch(a, extents.l);
  check_batch(b, extents.l);
  check_work(extents);
  return extents;
}

MatrixView as_matrix(const TensorView& view, std::int64_t batches) {
  const int rank = view.rank();
  MatrixView matrix;
  matrix.data = view.data();
  matrix.dtype = view.dtype();
  matrix.rows = view.shape(rank - 2);
  matrix.columns = view.shape(rank - 1);
  matrix.batches = batches;
  matrix.row_stride = view.stride(rank - 2);
  matrix.column_stride = view.stride(rank - 1);
  matrix.batch_stride = rank == 3 && view.shape(0) != 1 ? view.stride(0) : 0;
  matrix.alignment = view.alignment();
  return matrix;
}

/// Of the matrix of twice as many columns, those that the first accumulators are of.
MatrixView first_columns(MatrixView matrix, AccumulatorPairs pairs) {
  if (pairs == AccumulatorPairs::none) return matrix;
  matrix.columns /= 2;
  if (pairs == AccumulatorPairs::interleaved) matrix.column_stride *= 2;
  return matrix;
}

/// What a matrix that has two columns for each of out cannot have.
void check_paired(const Operand& b, AccumulatorPairs pairs) {
  if (pairs == AccumulatorPairs::none) return;
  if (is_packed(b.tensor().dtype())) {
    fail(ErrorKind::type,
         "B.dtype: expected elements of whole bytes with accumulators in pairs, got {}",
         dtype_name(b.tensor().dtype()));
  }
  if (b.is_scaled() && b.scaled()->mode != ScaleMode::tensorwise) {
    fail_value("B.scale: expected one of the tensor with accumulators in pairs, got {}",
               scale_mode_name(b.scaled()->mode));
  }
}

void check_accumulator(Dtype dtype) {
  if (dtype == Dtype::f64 || dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::i32) {
    return;
  }
  fail(ErrorKind::type, "accumulator_type: expected f64, f32, f16 or i32, got {}",
       dtype_name(dtype));
}

void check_scale(const Operand& operand, const char* name, int k_from_end) {
  if (operand.is_scaled()) operand.scaled()->validate(name, operand.tensor().rank() - k_from_end);
}

void check_scale_memory(const Operand& operand, const char* name, const char* second,
                        NamedView out) {
  if (!operand.is_scaled()) return;
  const ScaledTensor& scaled = *operand.scaled();
  model::check_pointer({&scaled.scale, name});
  model::check_overlap(out, {&scaled.scale, name});
  if (!scaled.tensor_scale) return;
  model::check_pointer({&*scaled.tensor_scale, second});
  model::check_overlap(out, {&*scaled.tensor_scale, second});
}

/// A quantised output is read as the A of the next product: its blocks lie along its last mode.
void check_quantised(const Operand& out) {
  if (!out.is_scaled()) return;
  const ScaledTensor& scaled = *out.scaled();
  scaled.validate("out", out.tensor().rank() - 1);
  const bool rows_of_blocks = scaled.has_blocks() && scaled.mode != ScaleMode::blockwise_128x128;
  if (!rows_of_blocks) {
    fail_value(
        "out.scale: expected blockwise_1x128, 1x32 or 1x16, got {} (a given scale is a "
        "factor in the epilogue)",
        scale_mode_name(scaled.mode));
  }
  if (is_integer(out.tensor().dtype())) {
    fail(ErrorKind::type, "out.dtype: expected e4m3, e5m2 or e2m1 with scales, got {}",
         dtype_name(out.tensor().dtype()));
  }
  if (scaled.tensor_scale) fail_value("out.tensor_scale: expected none, got one");
  if (scaled.powers_of_two && scaled.scale.dtype() != Dtype::f32) {
    fail_value("out.powers_of_two: expected it with scales of f32, got {}",
               dtype_name(scaled.scale.dtype()));
  }
}

void check_no_powers_of_two(const Operand& operand, const char* name) {
  if (!operand.is_scaled() || !operand.scaled()->powers_of_two) return;
  fail_value("{}.powers_of_two: expected it of out alone, got it of an input", name);
}

bool has_block_scales(const Operand& operand) {
  return operand.is_scaled() && operand.scaled()->has_blocks();
}

/// Whether out is more than the accumulator, or may be: scales of tensors and rows are factors.
bool has_epilogue(const GemmArguments& gemm) {
  return !gemm.epilogue().empty() || gemm.a().is_scaled() || gemm.b().is_scaled();
}

/// Sums of scaled blocks are no whole numbers.
void check_block_accumulator(const Operand& a, const Operand& b, Dtype accumulator) {
  if (accumulator != Dtype::i32 || !(has_block_scales(a) || has_block_scales(b))) return;
  fail(ErrorKind::type, "accumulator_type: expected f32 or f64 with scales of blocks, got i32");
}

/// The operand with its data at another address.
Operand moved_operand(const Operand& operand, void* data, const char* name) {
  const TensorView view = operand.tensor().moved(data, name);
  if (!operand.is_scaled()) return view;
  ScaledTensor scaled = *operand.scaled();
  scaled.data = view;
  return scaled;
}

bool lacks_data(const Operand& operand) {
  if (operand.tensor().described()) return true;
  const ScaledTensor* const scaled = operand.scaled();
  return scaled != nullptr &&
         (scaled->scale.described() || (scaled->tensor_scale && scaled->tensor_scale->described()));
}

}  // namespace

Dtype default_accumulator_type(Dtype a, Dtype b) {
  if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
  return is_integer(a) && is_integer(b) ? Dtype::i32 : Dtype::f32;
}

Dtype default_accumulator_type(const Operand& a, const Operand& b) {
  const Dtype sums = default_accumulator_type(a.tensor().dtype(), b.tensor().dtype());
  const bool blocks = has_block_scales(a) || has_block_scales(b);
  return sums == Dtype::i32 && blocks ? Dtype::f32 : sums;
}

GemmArguments::GemmArguments(const Operand& a, const Operand& b, const Operand& out,
                             Dtype accumulator_type, PerformanceControls controls,
                             EpilogueArguments epilogue)
    : RuntimeArguments(Operation::gemm, controls, std::move(epilogue)),
      a_(a),
      b_(b),
      out_(out),
      accumulator_type_(accumulator_type) {
  const NamedView named_a{&a_.tensor(), "A"};
  const NamedView named_b{&b_.tensor(), "B"};
  const NamedView named_out{&out_.tensor(), "out"};
  check_rank(named_out, named_out);
  check_rank(named_a, named_out);
  check_rank(named_b, named_out);
  extents_ = find_extents(named_a, named_b, named_out, pairs());
  for (const NamedView operand : {named_a, named_b, named_out})
    check_packed(operand);
  check_accumulator(accumulator_type);
  check_scale(a_, "A", 1);
  check_scale(b_, "B", 2);
  check_no_powers_of_two(a_, "A");
  check_no_powers_of_two(b_, "B");
  check_paired(b_, pairs());
  check_quantised(out_);
  check_block_accumulator(a_, b_, accumulator_type);
  check_device(named_b, named_a);
  check_device(named_out, named_a);
  device_ = out_.tensor().device();
  check_self_overlap(named_out);
  check_memory(CheckDevice::yes);
  check_scale_memory(a_, "A.scale", "A.tensor_scale", named_out);
  check_scale_memory(b_, "B.scale", "B.tensor_scale", named_out);
  check_out_scale_memory();
  set_matrices();
  if (has_epilogue(*this)) epilogue_binding_ = epilogue::bind(*this, nullptr);
  note_data();
}

void GemmArguments::set_matrices() {
  a_matrix_ = as_matrix(a_.tensor(), extents_.l);
  b_matrix_ = first_columns(as_matrix(b_.tensor(), extents_.l), pairs());
  out_matrix_ = as_matrix(out(), extents_.l);
}

void GemmArguments::note_data() {
  has_data_ = !lacks_data(a_) && !lacks_data(b_) && !lacks_data(out_);
  for (const EpilogueOperand& operand : epilogue_.operands()) {
    const TensorView* tensor = operand.tensor();
    has_data_ = has_data_ && (tensor == nullptr || !tensor->described());
  }
}

/// What depends on the addresses of the operands.
void GemmArguments::check_memory(CheckDevice check) const {
  const NamedView named_a{&a_.tensor(), "A"};
  const NamedView named_b{&b_.tensor(), "B"};
  const NamedView named_out{&out_.tensor(), "out"};
  if (check == CheckDevice::yes) {
    for (const NamedView operand : {named_a, named_b, named_out})
      check_pointer(operand);
  }
  check_overlap(named_out, named_a);
  check_overlap(named_out, named_b);
}

/// The scales of a quantised out are an output as well.
void GemmArguments::check_out_scale_memory() const {
  if (!out_.is_scaled()) return;
  const NamedView scale{&out_.scaled()->scale, "out.scale"};
  check_pointer(scale);
  check_self_overlap(scale);
  check_overlap(scale, {&out(), "out"});
  for (const auto& [operand, name] : {std::pair{&a_, "A"}, std::pair{&b_, "B"}}) {
    check_overlap(scale, {&operand->tensor(), name});
    if (operand->is_scaled()) check_overlap(scale, {&operand->scaled()->scale, name});
  }
}

AccumulatorPairs GemmArguments::pairs() const {
  return epilogue_.empty() ? AccumulatorPairs::none : epilogue_.program().pairs();
}

std::int64_t GemmArguments::pair_distance() const {
  switch (pairs()) {
    case AccumulatorPairs::halves:
      return extents_.n * b_matrix_.column_stride;
    case AccumulatorPairs::interleaved:
      return b_matrix_.column_stride / 2;
    default:
      return 0;
  }
}

GemmArguments GemmArguments::moved(void* a, void* b, void* out, CheckDevice check) const {
  GemmArguments result(*this);
  result.move(std::array{a, b, out}, check);
  return result;
}

bool GemmArguments::move(std::span<void* const> data, CheckDevice check) {
  a_ = moved_operand(a_, data[0], "A");
  b_ = moved_operand(b_, data[1], "B");
  out_ = moved_operand(out_, data[2], "out");
  check_memory(check);
  const NamedView named_out{&out_.tensor(), "out"};
  check_scale_memory(a_, "A.scale", "A.tensor_scale", named_out);
  check_scale_memory(b_, "B.scale", "B.tensor_scale", named_out);
  check_out_scale_memory();
  set_matrices();
  if (has_epilogue(*this)) {
    epilogue_binding_ = epilogue::bind(*this, std::move(epilogue_binding_));
  }
  note_data();
  return true;
}

OperandList GemmArguments::operands() const {
  return OperandList(NamedOperand{"A", &a_.tensor(), a_.scaled(), OperandRole::input},
                     NamedOperand{"B", &b_.tensor(), b_.scaled(), OperandRole::input},
                     NamedOperand{"out", &out_.tensor(), out_.scaled(), OperandRole::output});
}

OperationWork GemmArguments::work() const {
  const auto& [m, n, k, l] = extents_;
  const double products = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k) *
                          static_cast<double>(l);
  const double columns = pairs() == AccumulatorPairs::none ? 1 : 2;
  return {2 * columns * products, operations::element_bytes(operands())};
}

std::unique_ptr<RuntimeArguments> GemmArguments::clone() const {
  return std::make_unique<GemmArguments>(*this);
}

std::unique_ptr<RuntimeArguments> GemmArguments::rebuilt(std::span<const Operand> operands,
                                                         EpilogueArguments epilogue) const {
  return std::make_unique<GemmArguments>(operands[0], operands[1], operands[2], accumulator_type_,
                                         controls_, std::move(epilogue));
}

}  // namespace estoc
