// A GEMM in cuBLASLt's terms: descriptors, layouts, and the algorithms it offers for them.
#include "providers/cublaslt/lt_matmul.h"

#include <fmt/core.h>

#include <array>
#include <optional>
#include <utility>

#include "jit/driver.h"

namespace estoc::cublaslt {
namespace {

std::optional<DataType> data_type(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
      return DataType::f64;
    case Dtype::f32:
    case Dtype::tf32:
      return DataType::f32;
    case Dtype::f16:
      return DataType::f16;
    case Dtype::bf16:
      return DataType::bf16;
    case Dtype::e4m3:
      return DataType::e4m3;
    case Dtype::e5m2:
      return DataType::e5m2;
    case Dtype::e2m1:
      return DataType::e2m1;
    case Dtype::i8:
      return DataType::i8;
    case Dtype::i32:
      return DataType::i32;
    default:
      return std::nullopt;
  }
}

ComputeType compute_type(const GemmArguments& arguments) {
  const bool tf32 = arguments.a_matrix().dtype == Dtype::tf32 ||
                    (arguments.a_matrix().dtype == Dtype::f32 && arguments.controls().allow_tf32);
  switch (arguments.accumulator_type()) {
    case Dtype::f64:
      return ComputeType::f64;
    case Dtype::i32:
      return ComputeType::i32;
    default:
      return tf32 ? ComputeType::f32_fast_tf32 : ComputeType::f32;
  }
}

// An integer product is scaled in i32 where out is i32, else in f32.
DataType scale_type(const GemmArguments& arguments) {
  if (arguments.accumulator_type() == Dtype::f64) return DataType::f64;
  return arguments.out_matrix().dtype == Dtype::i32 ? DataType::i32 : DataType::f32;
}

// How parts of K may be added up (cublasLtReductionScheme_t): in place, or in the compute type.
// What is left out rounds the parts to out's type first, so that the accumulator is not what it
// says.
std::uint32_t reduction_schemes(const GemmArguments& arguments) {
  constexpr std::uint32_t kInPlace = 1;
  constexpr std::uint32_t kComputeType = 2;
  const bool wide_out = dtype_bits(arguments.out_matrix().dtype) >= 32;
  return wide_out ? kInPlace | kComputeType : kComputeType;
}

// A matrix as cuBLAS stores one: column-major with a leading dimension.
struct Stored {
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t leading_dimension;
  bool transposed;  ///< what is stored is the transpose of the view
};

Stored stored(const MatrixView& view) {
  if (view.is_column_major() && (view.columns <= 1 || view.column_stride >= view.rows)) {
    return {view.rows, view.columns,
            std::max(view.columns <= 1 ? view.rows : view.column_stride,
                     std::max<std::int64_t>(view.rows, 1)),
            false};
  }
  return {view.columns, view.rows,
          std::max(view.rows <= 1 ? view.columns : view.row_stride,
                   std::max<std::int64_t>(view.columns, 1)),
          true};
}

bool has_leading_dimension(const MatrixView& view) {
  const bool column =
      view.is_column_major() && (view.columns <= 1 || view.column_stride >= view.rows);
  const bool row = view.is_row_major() && (view.rows <= 1 || view.row_stride >= view.columns);
  return column || row;
}

bool is_transposed(const GemmArguments& arguments, OutOrder out_order) {
  // A row-major out is a column-major out^T = B^T A^T, unless it is declared row-major.
  return stored(arguments.out_matrix()).transposed && out_order == OutOrder::column;
}

/// A matrix as one that is stored the way that another is; nothing where it is not.
std::optional<Stored> stored_like(const MatrixView& view, const Stored& other) {
  const std::int64_t lines = other.transposed ? view.rows : view.columns;
  const std::int64_t line = other.transposed ? view.columns : view.rows;
  const std::int64_t along = other.transposed ? view.column_stride : view.row_stride;
  const std::int64_t step = other.transposed ? view.row_stride : view.column_stride;
  if ((along != 1 && line > 1) || (lines > 1 && step < line)) return std::nullopt;
  return Stored{line, lines, std::max(lines > 1 ? step : line, std::max<std::int64_t>(line, 1)),
                other.transposed};
}

MatrixLayout make_layout(const LtTable& table, const MatrixView& view, const Stored& matrix,
                         Order order, std::int64_t batches) {
  LayoutHandle* handle = nullptr;
  const bool rows_first = order == Order::row;
  table.check(
      table.layout_create(&handle, *data_type(view.dtype),
                          static_cast<std::uint64_t>(rows_first ? matrix.columns : matrix.rows),
                          static_cast<std::uint64_t>(rows_first ? matrix.rows : matrix.columns),
                          matrix.leading_dimension),
      "cublasLtMatrixLayoutCreate");
  MatrixLayout layout(handle);
  auto set = [&](LayoutAttribute attribute, const auto& value) {
    table.check(table.layout_set(handle, attribute, &value, sizeof(value)),
                "cublasLtMatrixLayoutSetAttribute");
  };
  if (rows_first) set(LayoutAttribute::order, order);
  if (batches > 1) {
    set(LayoutAttribute::batch_count, static_cast<std::int32_t>(batches));
    set(LayoutAttribute::batch_stride, view.batch_stride);
  }
  return layout;
}

}  // namespace

Status LtMatmul::expressible(const GemmArguments& arguments) {
  const std::array views{std::pair{"A", &arguments.a_matrix()},
                         std::pair{"B", &arguments.b_matrix()},
                         std::pair{"out", &arguments.out_matrix()}};
  for (const auto& [what, view] : views) {
    if (!data_type(view->dtype)) {
      return Status::fail(Reason::dtype, fmt::format("{}.dtype: expected one cuBLASLt has, got {}",
                                                     what, dtype_name(view->dtype)));
    }
    if (!has_leading_dimension(*view)) {
      return Status::fail(Reason::layout,
                          fmt::format("{}.strides: expected one mode contiguous and the other's "
                                      "stride no smaller than its extent, got ({}, {})",
                                      what, view->row_stride, view->column_stride));
    }
  }
  const MatrixView& a = arguments.a_matrix();
  const MatrixView& b = arguments.b_matrix();
  if (a.dtype == Dtype::i8 && (a.column_stride != 1 || b.row_stride != 1)) {
    // The library documents no other; its heuristics offer some that it then refuses to run.
    return Status::fail(Reason::layout,
                        fmt::format("A, B: expected 8-bit integers with K contiguous in both, got "
                                    "strides of K of {} and {}",
                                    a.column_stride, b.row_stride));
  }
  const GemmExtents& e = arguments.extents();
  if (e.m == 0 || e.n == 0 || e.k == 0 || e.l == 0) {
    return Status::fail(Reason::shape, "out.shape: expected extents of 1 or more, got a 0");
  }
  if (e.l > 65535 * std::int64_t{32768}) {
    return Status::fail(Reason::shape, fmt::format("out.shape: expected at most 2^31 - 1 batches, "
                                                   "got {}",
                                                   e.l));
  }
  return Status::success();
}

Status LtMatmul::describe(const GemmArguments& arguments, OutOrder out_order,
                          LtEpilogue* epilogue) {
  const bool rows_are_columns = is_transposed(arguments, out_order);
  Status status = describe_lt_epilogue(arguments, rows_are_columns, epilogue);
  if (!status.ok() || !epilogue->c) return status;
  if (stored_like(*epilogue->c, stored(arguments.out_matrix()))) return status;
  return Status::fail(Reason::epilogue,
                      fmt::format("epilogue: expected a matrix that lies as out does, got strides "
                                  "({}, {})",
                                  epilogue->c->row_stride, epilogue->c->column_stride));
}

LtMatmul::LtMatmul(const GemmArguments& arguments, OutOrder out_order)
    : table_(*lt_table()), out_order_(out_order) {
  const Stored out = stored(arguments.out_matrix());
  transposed_ = is_transposed(arguments, out_order);
  LtEpilogue epilogue;
  if (Status status = describe(arguments, out_order, &epilogue); !status) {
    throw Error(ErrorKind::unsupported, status.error());
  }
  const Order order = out.transposed && out_order == OutOrder::row ? Order::row : Order::column;
  const MatrixView& first = transposed_ ? arguments.b_matrix() : arguments.a_matrix();
  const MatrixView& second = transposed_ ? arguments.a_matrix() : arguments.b_matrix();
  const Stored first_stored = stored(first);
  const Stored second_stored = stored(second);
  const std::int64_t batches = arguments.extents().l;

  MatmulDescHandle* desc = nullptr;
  table_.check(table_.desc_create(&desc, compute_type(arguments), scale_type(arguments)),
               "cublasLtMatmulDescCreate");
  desc_.reset(desc);
  auto transpose = [&](const Stored& matrix) {
    return matrix.transposed != transposed_ ? Transpose::yes : Transpose::no;
  };
  set(DescAttribute::transpose_a, transpose(first_stored));
  set(DescAttribute::transpose_b, transpose(second_stored));
  // Sums of scaled blocks are never left to tensor cores.
  const bool blocks = arguments.a().is_scaled() && arguments.a().scaled()->has_blocks();
  if (arguments.controls().fast_accumulation && dtype_bits(arguments.a_matrix().dtype) == 8 &&
      is_float(arguments.a_matrix().dtype) && !blocks) {
    set(DescAttribute::fast_accumulation, std::int8_t{1});
  }
  first_ = make_layout(table_, first, first_stored, Order::column, batches);
  second_ = make_layout(table_, second, second_stored, Order::column, batches);
  out_ = make_layout(table_, arguments.out_matrix(), out, order, batches);
  alignments_[0] = first.alignment;
  alignments_[1] = second.alignment;
  alignments_[2] = alignments_[3] = arguments.out_matrix().alignment;
  if (epilogue.c) {
    c_ = make_layout(table_, *epilogue.c, *stored_like(*epilogue.c, out), order, batches);
    c_data_ = epilogue.c->data;
    alignments_[2] = epilogue.c->alignment;
  }
  set_scales(epilogue.scales);
  set_epilogue(epilogue);
  reduction_schemes_ = reduction_schemes(arguments);
  set_factors(arguments, epilogue);
}

bool LtMatmul::move_to(const GemmArguments& arguments) {
  LtEpilogue epilogue;
  if (!describe(arguments, out_order_, &epilogue) || epilogue.mode != mode_) return false;
  if (epilogue.c.has_value() != (c_ != nullptr)) return false;
  if (epilogue.c) c_data_ = epilogue.c->data;
  if (epilogue.bias) set_bias_pointer(*epilogue.bias);
  set_scale_pointers(epilogue.scales);
  set_factors(arguments, epilogue);
  return true;
}

template <class Value>
void LtMatmul::set(DescAttribute attribute, Value value) {
  table_.check(table_.desc_set(desc_.get(), attribute, &value, sizeof(value)),
               "cublasLtMatmulDescSetAttribute");
}

void LtMatmul::set_factors(const GemmArguments& arguments, const LtEpilogue& epilogue) {
  auto factor = [&](double value) -> Factor {
    switch (scale_type(arguments)) {
      case DataType::f64:
        return value;
      case DataType::i32:
        return static_cast<std::int32_t>(value);
      default:
        return static_cast<float>(value);
    }
  };
  alpha_ = factor(epilogue.alpha);
  beta_ = factor(epilogue.beta);
}

void LtMatmul::set_scales(const LtScales& scales) {
  set_scale_pointers(scales);
  auto set_mode = [&](const LtScale& scale, DescAttribute mode) {
    if (scale.any && scale.mode != LtScaleMode::scalar) set(mode, scale.mode);
  };
  set_mode(transposed_ ? scales.b : scales.a, DescAttribute::a_scale_mode);
  set_mode(transposed_ ? scales.a : scales.b, DescAttribute::b_scale_mode);
}

void LtMatmul::set_scale_pointers(const LtScales& scales) {
  auto set_one = [&](const LtScale& scale, DescAttribute pointer) {
    if (!scale.any) return;
    // As with a bias, any address will do for the query.
    const auto like = static_cast<std::uintptr_t>(scale.alignment);
    set(pointer, scale.data != nullptr ? reinterpret_cast<std::uintptr_t>(scale.data) : like);
  };
  set_one(transposed_ ? scales.b : scales.a, DescAttribute::a_scale_pointer);
  set_one(transposed_ ? scales.a : scales.b, DescAttribute::b_scale_pointer);
}

void LtMatmul::set_epilogue(const LtEpilogue& epilogue) {
  mode_ = epilogue.mode;
  if (mode_ == Mode::none) return;
  set(DescAttribute::epilogue, mode_);
  if (!epilogue.bias) return;
  const LtBias& bias = *epilogue.bias;
  set_bias_pointer(bias);
  set(DescAttribute::bias_data_type, *data_type(bias.dtype));
  if (bias.batch_stride != 0) set(DescAttribute::bias_batch_stride, bias.batch_stride);
}

void LtMatmul::set_bias_pointer(const LtBias& bias) {
  // Algorithms are chosen by the alignment of the pointer; without data any of that alignment will
  // do.
  const auto like = static_cast<std::uintptr_t>(bias.alignment);
  set(DescAttribute::bias_pointer,
      bias.data != nullptr ? reinterpret_cast<std::uintptr_t>(bias.data) : like);
}

std::vector<Candidate> LtMatmul::heuristics(int most) const {
  PreferenceHandle* handle = nullptr;
  table_.check(table_.preference_create(&handle), "cublasLtMatmulPreferenceCreate");
  const Preference preference(handle);
  auto set = [&](PreferenceAttribute attribute, const auto& value) {
    table_.check(table_.preference_set(handle, attribute, &value, sizeof(value)),
                 "cublasLtMatmulPreferenceSetAttribute");
  };
  set(PreferenceAttribute::max_workspace, kWorkspaceLimit);
  set(PreferenceAttribute::reduction_schemes, reduction_schemes_);
  set(PreferenceAttribute::alignment_a, static_cast<std::uint32_t>(alignments_[0]));
  set(PreferenceAttribute::alignment_b, static_cast<std::uint32_t>(alignments_[1]));
  set(PreferenceAttribute::alignment_c, static_cast<std::uint32_t>(alignments_[2]));
  set(PreferenceAttribute::alignment_d, static_cast<std::uint32_t>(alignments_[3]));
  std::vector<HeuristicResult> results(static_cast<std::size_t>(most));
  int count = 0;
  const auto status = table_.get_heuristic(lt_context(), desc_.get(), first_.get(), second_.get(),
                                           c_ ? c_.get() : out_.get(), out_.get(), handle, most,
                                           results.data(), &count);
  // "Not supported" means no algorithm.
  results.resize(status == kLtSuccess ? static_cast<std::size_t>(count) : 0);
  std::vector<Candidate> candidates;
  for (const HeuristicResult& result : results) {
    if (result.state != kLtSuccess) continue;
    candidates.push_back({result.algorithm, read_facts(table_, result)});
  }
  return candidates;
}

void LtMatmul::start(LtContext* context, const LtOperands& operands, const Algorithm& algorithm,
                     void* workspace, std::size_t workspace_bytes, jit::CUstream stream) const {
  const auto [a, b, out] = operands;
  auto address = [](const auto& factor) {
    return std::visit([](const auto& value) { return static_cast<const void*>(&value); }, factor);
  };
  const auto status = table_.matmul(
      context, desc_.get(), address(alpha_), transposed_ ? b : a, first_.get(), transposed_ ? a : b,
      second_.get(), address(beta_), c_ ? c_data_ : out, c_ ? c_.get() : out_.get(), out,
      out_.get(), &algorithm, workspace, workspace_bytes, stream);
  if (status == kLtSuccess) return;
  // The driver knows better when a kernel that ran before is to blame. The query does not wait, and
  // does not end a capture.
  std::size_t free = 0;
  std::size_t total = 0;
  jit::driver().check(jit::driver().mem_get_info(&free, &total), "cublasLtMatmul");
  table_.check(status, "cublasLtMatmul");
}

}  // namespace estoc::cublaslt
