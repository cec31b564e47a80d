// The epilogue of a problem on the command line: its text, and its operands' files and values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "estoc/problem.hpp"
#include "estoc/tensor_file.hpp"
#include "options.h"

namespace estoc::cli {

/// --epilogue, --scalar, --aux, --aux-out: NAME=VALUE and NAME=FILE as they were given.
struct EpilogueOptions {
  std::string text;
  std::vector<std::string> scalars, inputs, outputs;
};

/// --aux-out only where outputs are saved.
void add_epilogue_options(CLI::App& command, EpilogueOptions& options, bool saves);

/// An operand of a complete problem's epilogue.
struct FilledOperand {
  EpilogueOperandSpec spec;
  std::vector<std::int64_t> shape, strides;
  std::optional<FileTensor> file;
  bool is_output = false;
  std::string save_to;  ///< empty: nowhere
};

/// The problem of a text with the epilogue of the options, if one is given, as its own.
Problem parse_problem(const std::string& text, const EpilogueOptions& options);

/// Puts values and outputs of the options into the problem, before it is completed. An
/// output that the problem does not declare is like out, a reduction one number of f32. Throws
/// Failure{usage} for what contradicts the problem's text or is given twice.
void apply_epilogue_options(const EpilogueOptions& options, Problem& problem);

/// The operands of a completed problem, those with files as the files have them.
std::vector<FilledOperand> fill_operands(const EpilogueOptions& options, const Problem& problem);

/// The epilogue over these tensors, in the order of `operands`; scalars given by value have none.
EpilogueArguments make_epilogue(const Problem& problem, const std::vector<FilledOperand>& operands,
                                const std::vector<TensorView>& tensors);

/// A description of the operand on `device`.
TensorView describe_operand(const FilledOperand& operand, Device device);

}  // namespace estoc::cli
