// Reads operand files and reconciles them with the problem text.
#include "problem_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "failure.h"
#include "operand_file.h"
#include "text.h"

namespace estoc::cli {
namespace {

using Shape = std::vector<std::int64_t>;

/// An extent of the problem, and who said it.
struct Extent {
  std::string_view name;
  std::optional<std::int64_t>* value;
  std::string source = "the problem text";
};

/// What a mode of a GEMM operand is called in a file, and which extent it must be.
struct ModeRole {
  std::string_view noun;
  Extent* extent;
};

std::string layout_hint(std::string_view operand, std::string_view letter_shape,
                        std::string_view plain_shape) {
  return fmt::format(
      "a C-order file holds {0} as {2}, or as {1} where the problem text says {3}=...:n", operand,
      letter_shape, plain_shape, operand == "A" ? "a" : "b");
}

bool is_fortran_order(const TensorView& view) {
  const int rank = view.rank();
  if (rank < 2 || view.elements() == 0) return false;
  const bool c_order = view.stride(rank - 1) == 1 && view.stride(rank - 2) == view.shape(rank - 1);
  return !c_order && view.stride(rank - 2) == 1;
}

bool has_layout_letter(const TensorView& view) {
  const int rank = view.rank();
  return rank < 2 || view.elements() == 0 || view.stride(rank - 1) == 1 ||
         view.stride(rank - 2) == 1;
}

std::string strides_text(std::span<const std::int64_t> strides) {
  return fmt::format("[{}]", fmt::join(strides, ","));
}

[[noreturn]] void contradict(std::string_view operand, std::string text_says, std::string file_says,
                             std::string hint) {
  throw Failure(Exit::usage, fmt::format("{}: {}, {}", operand, text_says, file_says),
                std::move(hint));
}

/// The tensor as an operand of the dtype that the text gives.
TensorView with_text_dtype(std::string_view operand, const OperandSpec& spec,
                           const FileOperand& file) {
  const Dtype held = file.view.dtype();
  if (!spec.dtype || *spec.dtype == held) return file.view;
  if (*spec.dtype == Dtype::tf32 && held == Dtype::f32) return file.view.with_dtype(Dtype::tf32);
  contradict(operand, fmt::format("the problem text says {}", dtype_name(*spec.dtype)),
             fmt::format("{} holds {}", file.path, dtype_name(held)),
             "leave the dtype out of the problem text to take the file's");
}

/// Applies the rule of `fill_problem` about order in memory, and writes what came of it to `spec`.
void settle_layout(std::string_view operand, OperandSpec& spec, FileOperand& file) {
  const bool fortran = is_fortran_order(file.view);
  const std::string hint = "leave the layout out of the problem text to take the file's";
  if (spec.layout == Layout::t && fortran) {
    contradict(operand, "the problem text says layout t",
               fmt::format("{} is in Fortran order (layout n)", file.path), hint);
  }
  if (!has_layout_letter(file.view)) {
    if (spec.layout) {
      contradict(operand, "the problem text gives a layout letter",
                 fmt::format("{} has strides {}, which no letter names", file.path,
                             strides_text(file.view.strides())),
                 hint);
    }
  } else if (spec.layout == Layout::n && !fortran && file.view.rank() >= 2) {
    file.view = file.view.transposed();
    file.exchanged = true;
  }
  const auto strides = file.view.strides();
  if (!spec.strides.empty() && !std::ranges::equal(spec.strides, strides)) {
    contradict(operand, fmt::format("the problem text says strides {}", strides_text(spec.strides)),
               fmt::format("{} has {}", file.path, strides_text(strides)), hint);
  }
  if (!spec.layout && spec.strides.empty()) {
    if (has_layout_letter(file.view)) {
      spec.layout = fortran ? Layout::n : Layout::t;
    } else {
      spec.strides.assign(strides.begin(), strides.end());
    }
  }
}

void check_alignment(std::string_view operand, OperandSpec& spec, const FileOperand& file) {
  if (spec.alignment && file.view.alignment() < *spec.alignment) {
    contradict(operand,
               fmt::format("the problem text promises an alignment of {} bytes", *spec.alignment),
               fmt::format("{} is aligned to {}", file.path, file.view.alignment()),
               "leave @ and the number out of the problem text");
  }
}

/// Has the operand be scaled by the scales beside it in the file, and says so in the text.
void settle_scale(const std::string& operand, OperandSpec& spec, FileOperand& file) {
  file.scale = find_scale(operand, file.path, file.view, file.exchanged);
  if (!file.scale) return;
  if (spec.scale && spec.scale->mode != file.scale->mode) {
    contradict(operand,
               fmt::format("the problem text says {} scales", scale_mode_text(spec.scale->mode)),
               fmt::format("{} has {} ones", file.scale->path, scale_mode_text(file.scale->mode)),
               "leave the scales out of the problem text to take the file's");
  }
  spec.scale = ScaleSpec{.mode = file.scale->mode};
  if (spec.scale->mode == ScaleMode::tensorwise) return;
  const auto strides = file.scale->view.strides();
  spec.scale->strides.assign(strides.begin(), strides.end());
}

/// Opens the file and reconciles all but its extents with the text.
std::optional<FileOperand> open_operand(std::string_view operand, const std::string& path,
                                        OperandSpec& spec, bool may_be_scaled) {
  if (path.empty()) return std::nullopt;
  FileOperand file{path, open_operand_file(path), {}, false, {}};
  file.view = file.file.view();
  file.view = with_text_dtype(operand, spec, file);
  spec.dtype = file.view.dtype();
  settle_layout(operand, spec, file);
  check_alignment(operand, spec, file);
  if (may_be_scaled) settle_scale(std::string(operand), spec, file);
  return file;
}

/// The extent of a mode as the file has it.
void agree(std::string_view operand, const FileOperand& file, std::string_view noun, Extent& extent,
           std::int64_t got, const std::string& hint) {
  if (!extent.value->has_value()) {
    *extent.value = got;
    extent.source = file.path;
    return;
  }
  if (**extent.value == got) return;
  contradict(operand, fmt::format("{} says {} = {}", extent.source, extent.name, **extent.value),
             fmt::format("{} has {} {}{}", file.path, got, noun, got == 1 ? "" : "s"), hint);
}

/// Reconciles the extents of a GEMM operand, (rows, columns) with or without batches in front.
void settle_extents(std::string_view operand, const FileOperand& file, Extent& rows,
                    Extent& columns, Extent& batches) {
  const TensorView& view = file.view;
  const int rank = view.rank();
  if (rank != 2 && rank != 3) {
    throw Failure(Exit::usage,
                  fmt::format("{}: expected a matrix (rows, columns) or (batches, rows, columns), "
                              "{} has shape {}",
                              operand, file.path, format_shape(view.shape())));
  }
  const std::string hint = layout_hint(operand, fmt::format("({}, {})", columns.name, rows.name),
                                       fmt::format("({}, {})", rows.name, columns.name));
  // A file that is read transposed has the operand's rows as its columns.
  agree(operand, file, file.exchanged ? "column" : "row", rows, view.shape(rank - 2), hint);
  agree(operand, file, file.exchanged ? "row" : "column", columns, view.shape(rank - 1), hint);
  if (rank == 3 && view.shape(0) != 1) {
    agree(operand, file, "batch mode", batches, view.shape(0),
          "a matrix without batches, or with one, is used for every batch");
  }
}

/// Columns of B for each of out.
std::int64_t columns_of_b(const Problem& problem) {
  if (problem.epilogue.empty()) return 1;
  return EpilogueProgram::parse(problem.epilogue).pairs() == AccumulatorPairs::none ? 1 : 2;
}

void settle_gemm_extents(FilledProblem& filled) {
  Problem& problem = filled.problem;
  Extent m{"m", &problem.m}, k{"k", &problem.k}, l{"l", &problem.l};
  if (filled.a) settle_extents("A", *filled.a, m, k, l);
  if (!filled.b) return;
  const std::int64_t each = columns_of_b(problem);
  std::optional<std::int64_t> columns = problem.n;
  if (columns) *columns *= each;
  Extent n{each == 1 ? "n" : "2 n", &columns};
  settle_extents("B", *filled.b, k, n, l);
  problem.n = *columns / each;
}

Shape shape_of(const TensorView& view) {
  return {view.shape().begin(), view.shape().end()};
}

/// `rows` x `columns`, with a batch mode where the problem has one.
Shape matrix_shape(bool batched, std::int64_t batches, std::int64_t rows, std::int64_t columns) {
  return batched ? Shape{batches, rows, columns} : Shape{rows, columns};
}

void settle_gemm_shapes(FilledProblem& filled) {
  const Problem& problem = filled.problem;
  const auto is_batched = [](const std::optional<FileOperand>& file) {
    return file && file->view.rank() == 3;
  };
  const std::int64_t l = problem.l.value_or(1);
  const bool batched = l != 1 || is_batched(filled.a) || is_batched(filled.b);
  filled.a_shape =
      filled.a ? shape_of(filled.a->view) : matrix_shape(batched, l, *problem.m, *problem.k);
  filled.b_shape = filled.b
                       ? shape_of(filled.b->view)
                       : matrix_shape(batched, l, *problem.k, *problem.n * columns_of_b(problem));
  filled.out_shape = matrix_shape(batched, l, *problem.m, *problem.n);
}

/// What the text says; files must have the same shapes.
void settle_grouped_shapes(FilledProblem& filled) {
  const auto described = filled.problem.arguments();
  const OperandList operands = described->operands();
  filled.a_shape = shape_of(*operands[0].tensor);
  filled.b_shape = shape_of(*operands[1].tensor);
  filled.out_shape = shape_of(*operands[2].tensor);
  const auto check = [](const char* name, const std::optional<FileOperand>& file,
                        const Shape& shape) {
    if (!file || shape_of(file->view) == shape) return;
    contradict(name, fmt::format("the problem text says shape {}", format_shape(shape)),
               fmt::format("{} has shape {}", file->path, format_shape(file->view.shape())),
               "the shapes of grouped operands follow from m, n, k, g and along");
  };
  check("A", filled.a, filled.a_shape);
  check("B", filled.b, filled.b_shape);
}

/// The shape that both broadcast to; nullopt when there is none.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  Shape out(std::max(a.size(), b.size()), 1);
  for (const Shape* shape : {&a, &b}) {
    const std::size_t skip = out.size() - shape->size();
    for (std::size_t i = 0; i < shape->size(); ++i) {
      std::int64_t& extent = out[skip + i];
      const std::int64_t got = (*shape)[i];
      if (got == 1 || got == extent) continue;
      if (extent != 1) return std::nullopt;
      extent = got;
    }
  }
  return out;
}

/// The output's shape, from the text and the files.
void settle_elementwise_shape(FilledProblem& filled) {
  Problem& problem = filled.problem;
  if (filled.a && filled.b && !problem.has_shape) {
    const Shape a = shape_of(filled.a->view), b = shape_of(filled.b->view);
    const auto shape = broadcast(a, b);
    if (!shape) {
      contradict("B", fmt::format("{} has shape {}", filled.a->path, format_shape(a)),
                 fmt::format("{} has shape {}", filled.b->path, format_shape(b)),
                 "shapes match from the last mode on; an extent of 1 repeats");
    }
    problem.shape = *shape;
    problem.has_shape = true;
  }
  const std::array<std::pair<std::string_view, const std::optional<FileOperand>*>, 2> operands{
      {{"A", &filled.a}, {"B", &filled.b}}};
  for (const auto& [operand, file] : operands) {
    if (!*file) continue;
    const Shape shape = shape_of((*file)->view);
    if (!problem.has_shape) {
      problem.shape = shape;
      problem.has_shape = true;
    }
    if (broadcast(shape, problem.shape) != problem.shape) {
      contradict(operand,
                 fmt::format("the problem text says shape {}", format_shape(problem.shape)),
                 fmt::format("{} has shape {}", (*file)->path, format_shape(shape)),
                 "leave shape out of the problem text to take it from the files");
    }
  }
}

void settle_elementwise_shapes(FilledProblem& filled) {
  const Shape& shape = filled.problem.shape;
  filled.out_shape = shape;
  filled.a_shape = filled.a ? shape_of(filled.a->view) : shape;
  filled.b_shape = filled.b ? shape_of(filled.b->view) : shape;
}

void refuse_second_operand(const Problem& problem, const std::string& b_path) {
  if (b_path.empty() || !has_one_operand(problem)) return;
  throw Failure(Exit::usage,
                fmt::format("B: {} takes one operand, {} would be a second",
                            problem.op ? elementwise_op_name(*problem.op) : "an epilogue", b_path));
}

}  // namespace

bool has_one_operand(const Problem& problem) {
  if (problem.operation != Operation::elementwise) return false;
  return problem.op ? !is_binary(*problem.op) : !problem.epilogue.empty();
}

FilledProblem fill_problem(Problem problem, const std::string& a_path, const std::string& b_path,
                           const EpilogueOptions& epilogue) {
  apply_epilogue_options(epilogue, problem);
  refuse_second_operand(problem, b_path);
  FilledProblem filled;
  filled.problem = std::move(problem);
  const Operation operation = filled.problem.operation;
  const bool may_be_scaled = operation != Operation::elementwise;
  filled.a = open_operand("A", a_path, filled.problem.a, may_be_scaled);
  filled.b = open_operand("B", b_path, filled.problem.b, may_be_scaled);
  if (operation == Operation::gemm) settle_gemm_extents(filled);
  if (operation == Operation::elementwise) settle_elementwise_shape(filled);
  with_hint("say it in the problem text, or pass files for the operands",
            [&] { filled.problem.complete(); });
  if (operation == Operation::gemm) settle_gemm_shapes(filled);
  if (operation == Operation::elementwise) settle_elementwise_shapes(filled);
  if (operation == Operation::grouped_gemm) settle_grouped_shapes(filled);
  filled.operands = fill_operands(epilogue, filled.problem);
  return filled;
}

std::vector<std::string> random_operands(const FilledProblem& filled) {
  std::vector<std::string> names;
  if (!filled.a) names.emplace_back("A");
  if (!filled.b && !has_one_operand(filled.problem)) names.emplace_back("B");
  for (const FilledOperand& operand : filled.operands) {
    if (!operand.is_output && !operand.file && !operand.spec.value)
      names.push_back(operand.spec.name);
  }
  return names;
}

std::string text_of(const FilledProblem& filled, const RuntimeArguments& arguments) {
  Problem problem = Problem::of(arguments);
  problem.sizes = filled.problem.sizes;
  return problem.to_string();
}

std::optional<TensorView> described_index(const Problem& problem, std::string_view name,
                                          Device device) {
  if (problem.operation != Operation::grouped_gemm) return std::nullopt;
  const auto described = problem.arguments(device);
  const OperandList operands = described->operands();
  const auto* const index = std::ranges::find(operands, name, &NamedOperand::name);
  if (index == operands.end()) return std::nullopt;
  return *index->tensor;
}

std::unique_ptr<RuntimeArguments> make_arguments(const FilledProblem& filled,
                                                 const OperandViews& views) {
  const Problem& problem = filled.problem;
  const auto& [a_data, b_data, out_data, offsets, rows, tensors] = views;
  const TensorView& a = a_data.tensor();
  const TensorView& b = b_data.tensor();
  const TensorView& out = out_data.tensor();
  if (problem.operation == Operation::grouped_gemm) {
    GroupOptions groups{
        .offsets = std::nullopt, .zero_rest = problem.zero_rest, .layout = problem.layout};
    const bool has_offsets =
        problem.along != GroupMode::batches || problem.layout == GroupLayout::pointers;
    if (has_offsets) groups.offsets = offsets;
    if (problem.rows) groups.rows = rows;
    return std::make_unique<GroupedGemmArguments>(a_data, b_data, out, *problem.accumulator_type,
                                                  groups, problem.controls,
                                                  make_epilogue(problem, filled.operands, tensors));
  }
  if (problem.operation == Operation::gemm) {
    return std::make_unique<GemmArguments>(a_data, b_data, out_data, *problem.accumulator_type,
                                           problem.controls,
                                           make_epilogue(problem, filled.operands, tensors));
  }
  if (!problem.epilogue.empty()) {
    return std::make_unique<ElementwiseArguments>(
        a, out, make_epilogue(problem, filled.operands, tensors), problem.controls);
  }
  if (has_one_operand(problem)) {
    return std::make_unique<ElementwiseArguments>(*problem.op, a, out, problem.controls);
  }
  return std::make_unique<ElementwiseArguments>(*problem.op, a, b, out, problem.controls);
}

std::unique_ptr<RuntimeArguments> describe_arguments(const FilledProblem& filled, Device device) {
  const auto describe = [&](const OperandSpec& spec, const Shape& shape,
                            const std::optional<FileOperand>& file, const char* what) {
    if (file) {
      return TensorView::describe(file->view.dtype(), shape, file->view.strides(), device,
                                  file->view.alignment(), what);
    }
    return TensorView::describe(*spec.dtype, shape, operand_strides(spec, shape), device,
                                spec.alignment.value_or(256), what);
  };
  const Problem& problem = filled.problem;
  const bool unary = has_one_operand(problem);
  const auto scaled = [](const OperandSpec& spec, const TensorView& data, int k_from_end,
                         const char* what) {
    if (!spec.scale) return Operand(data);
    return Operand(describe_scaled(*spec.scale, data, data.rank() - k_from_end, what));
  };
  const TensorView a = describe(problem.a, filled.a_shape, filled.a, "A");
  const TensorView b = unary ? a : describe(problem.b, filled.b_shape, filled.b, "B");
  OperandViews views{
      .a = scaled(problem.a, a, 1, "A"),
      .b = scaled(problem.b, b, 2, "B"),
      .out = scaled(problem.out, describe(problem.out, filled.out_shape, std::nullopt, "out"), 1,
                    "out")};
  if (const auto offsets = described_index(problem, "offsets", device)) views.offsets = *offsets;
  if (const auto rows = described_index(problem, "rows", device)) views.rows = *rows;
  for (const FilledOperand& operand : filled.operands)
    views.tensors.push_back(describe_operand(operand, device));
  return make_arguments(filled, views);
}

}  // namespace estoc::cli
