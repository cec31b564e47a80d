// Completes a problem with what operand files say: extents, dtypes, layouts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "epilogue_operands.h"
#include "estoc/arguments.hpp"
#include "estoc/problem.hpp"
#include "estoc/tensor_file.hpp"
#include "scale_files.h"

namespace estoc::cli {

/// A tensor of a file in the role of an operand.
struct FileOperand {
  std::string path;
  FileTensor file;
  /// The logical operand: A (m, k), B (k, n), with or without a batch mode in front. The file's
  /// tensor itself, or that with its last two modes exchanged (see `fill_problem`).
  TensorView view;
  bool exchanged = false;
  std::optional<FileScale> scale{};  ///< that lies beside quantised data
};

/// A complete problem and the shapes of its operands.
struct FilledProblem {
  Problem problem;
  std::optional<FileOperand> a, b;
  std::vector<std::int64_t> a_shape, b_shape, out_shape;
  std::vector<FilledOperand> operands;  ///< of the epilogue
};

/// Fills the gaps of `problem` from the files, empty paths standing for none, then by its own
/// defaults.
///
/// A file's tensor has the shape of the operand as written in the formula, A (m, k) and B (k, n),
/// and its order in memory, C or Fortran, gives the layout. Where the text says layout `n`, a
/// C-order file is taken to hold the operand as it lies in memory, transposed: A as (k, m), B as
/// (n, k), the way a linear layer's weights are stored.
///
/// Scales that lie beside a tensor of a .safetensors file (find_scale) make it a scaled operand of
/// a product.
///
/// Throws Failure: a file that cannot be used (Exit::file); text and file, or two files, that
/// contradict each other, naming both (Exit::usage); something no file and no default can fill.
FilledProblem fill_problem(Problem problem, const std::string& a_path, const std::string& b_path,
                           const EpilogueOptions& epilogue = {});

/// Whether the problem, whose op is known, has no operand B.
bool has_one_operand(const Problem& problem);

/// Names of the inputs that neither a file nor a number stands for: they are random when it is run.
std::vector<std::string> random_operands(const FilledProblem& filled);

/// The operands of a problem; `b` is ignored where the operation has one operand, `offsets` where
/// it has no groups, `rows` where no index chooses those of A. `tensors` are those of
/// FilledProblem::operands.
struct OperandViews {
  Operand a, b, out;
  TensorView offsets{};
  TensorView rows{};
  std::vector<TensorView> tensors{};
};

/// The problem's arguments on these operands.
std::unique_ptr<RuntimeArguments> make_arguments(const FilledProblem& filled,
                                                 const OperandViews& views);

/// The canonical text of the problem that `arguments` of it are, with the sizes of its groups.
std::string text_of(const FilledProblem& filled, const RuntimeArguments& arguments);

/// An operand of a grouped product of role index, "offsets" or "rows", described; nothing for a
/// problem that has none.
std::optional<TensorView> described_index(const Problem& problem, std::string_view name,
                                          Device device);

/// The problem's arguments without data, on `device`.
std::unique_ptr<RuntimeArguments> describe_arguments(const FilledProblem& filled, Device device);

}  // namespace estoc::cli
