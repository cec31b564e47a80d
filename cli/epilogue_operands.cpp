// Reads the options of epilogues and opens their files.
#include "epilogue_operands.h"

#include <fmt/format.h>

#include <algorithm>

#include "failure.h"
#include "operand_file.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr const char* kOperandHint =
    "an epilogue reads: D = relu(alpha * accum + bias); aux = accum (docs/epilogues.md); declare "
    "its operands in the problem text, bias=f32:row, or give --scalar, --aux and --aux-out";

struct Named {
  std::string name;
  std::string value;
};

Named split(const std::string& text, const char* option, const char* form) {
  const std::size_t equals = text.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == text.size()) {
    throw Failure(Exit::usage,
                  fmt::format("{}: expected {}, got '{}'", option, form, printable(text)));
  }
  return {text.substr(0, equals), text.substr(equals + 1)};
}

EpilogueProgram program_of(const Problem& problem) {
  return with_hint(kOperandHint, [&] { return EpilogueProgram::parse(problem.epilogue); });
}

auto find_spec(Problem& problem, const std::string& name) {
  return std::ranges::find(problem.operands, name, &EpilogueOperandSpec::name);
}

/// "0.5" as problem text reads it.
EpilogueOperandSpec scalar_spec(const Named& scalar) {
  const std::string hint = "such as --scalar alpha=0.5";
  const bool number = !scalar.value.empty() &&
                      scalar.value.find_first_not_of("0123456789.eE+-infa") == std::string::npos;
  if (number) {
    try {
      const Problem parsed =
          Problem::parse(fmt::format("gemm {}={} epi=\"x\"", scalar.name, scalar.value));
      if (parsed.operands.size() == 1 && parsed.operands[0].value) return parsed.operands[0];
    } catch (const Error&) {
      // Worded below.
    }
  }
  throw Failure(Exit::usage,
                fmt::format("--scalar: expected NAME=NUMBER, got '{}={}'", scalar.name,
                            printable(scalar.value)),
                hint);
}

void apply_scalar(const std::string& text, Problem& problem) {
  const Named scalar = split(text, "--scalar", "NAME=NUMBER");
  EpilogueOperandSpec spec = scalar_spec(scalar);
  const auto declared = find_spec(problem, scalar.name);
  if (declared == problem.operands.end()) {
    problem.operands.push_back(std::move(spec));
    return;
  }
  if (declared->form != EpilogueForm::scalar || declared->value) {
    throw Failure(Exit::usage,
                  fmt::format("--scalar: {} is given twice, or declared as no scalar", scalar.name),
                  kOperandHint);
  }
  declared->value = spec.value;
  declared->is_integer = spec.is_integer;
}

void apply_output(const std::string& text, const EpilogueProgram& program, Problem& problem) {
  const Named output = split(text, "--aux-out", "NAME=FILE");
  const auto all = program.assignments();
  const auto found = std::ranges::find(all, output.name, &EpilogueAssignment::name);
  if (found == all.end() || output.name == "D") {
    throw Failure(Exit::usage,
                  fmt::format("--aux-out: the epilogue assigns no output '{}'", output.name),
                  output.name == "D" ? "--out saves D" : kOperandHint);
  }
  if (find_spec(problem, output.name) != problem.operands.end()) return;
  EpilogueOperandSpec spec;
  spec.name = output.name;
  if (found->reduction) {
    spec.form = EpilogueForm::scalar;
    spec.tensor.dtype = Dtype::f32;
  }
  problem.operands.push_back(std::move(spec));
}

/// The value for `name` among NAME=VALUE texts; empty when there is none.
std::string value_for(const std::vector<std::string>& texts, const std::string& name) {
  for (const std::string& text : texts) {
    if (text.starts_with(name + '=')) return text.substr(name.size() + 1);
  }
  return {};
}

void refuse_repeated(const std::vector<std::string>& texts, const char* option) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string name = split(texts[i], option, "NAME=FILE").name;
    for (std::size_t j = 0; j < i; ++j) {
      if (!texts[j].starts_with(name + '=')) continue;
      throw Failure(Exit::usage, fmt::format("{}: {} is given twice", option, name));
    }
  }
}

FilledOperand file_operand(const EpilogueOperandSpec& spec, const std::string& path) {
  FilledOperand operand;
  operand.spec = spec;
  operand.file = open_operand_file(path);
  const TensorView& view = operand.file->view();
  if (spec.tensor.dtype && *spec.tensor.dtype != view.dtype()) {
    throw Failure(Exit::usage,
                  fmt::format("{}: the problem text says {}, {} holds {}", spec.name,
                              dtype_name(*spec.tensor.dtype), path, dtype_name(view.dtype())),
                  "leave the operand out of the problem text to take the file's dtype and shape");
  }
  operand.spec.tensor.dtype = view.dtype();
  operand.shape.assign(view.shape().begin(), view.shape().end());
  operand.strides.assign(view.strides().begin(), view.strides().end());
  return operand;
}

}  // namespace

void add_epilogue_options(CLI::App& command, EpilogueOptions& options, bool saves) {
  command
      .add_option("--epilogue", options.text,
                  "what is applied to the accumulator, such as 'D = relu(accum + bias)'")
      ->type_name("TEXT");
  command.add_option("--scalar", options.scalars, "a scalar of the epilogue: alpha=0.5")
      ->type_name("NAME=NUMBER")
      ->allow_extra_args(false);
  command.add_option("--aux", options.inputs, "a tensor of the epilogue: bias=FILE")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
  if (!saves) return;
  command.add_option("--aux-out", options.outputs, "save an output of the epilogue: aux=FILE")
      ->type_name("NAME=FILE")
      ->allow_extra_args(false);
}

Problem parse_problem(const std::string& text, const EpilogueOptions& options) {
  if (options.text.empty()) return parse_problem(text);
  // As part of the text, so that operands may be declared there.
  std::string quoted;
  for (const char c : options.text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return parse_problem(fmt::format("{} epi=\"{}\"", text, quoted));
}

void apply_epilogue_options(const EpilogueOptions& options, Problem& problem) {
  const bool some = !options.scalars.empty() || !options.inputs.empty() || !options.outputs.empty();
  if (problem.epilogue.empty()) {
    if (some)
      throw Failure(Exit::usage, "--scalar, --aux and --aux-out need an epilogue", kOperandHint);
    return;
  }
  const EpilogueProgram program = program_of(problem);
  refuse_repeated(options.inputs, "--aux");
  refuse_repeated(options.outputs, "--aux-out");
  for (const std::string& scalar : options.scalars)
    apply_scalar(scalar, problem);
  for (const std::string& output : options.outputs)
    apply_output(output, program, problem);
}

std::vector<FilledOperand> fill_operands(const EpilogueOptions& options, const Problem& problem) {
  std::vector<FilledOperand> operands;
  if (problem.epilogue.empty()) return operands;
  const EpilogueProgram program = program_of(problem);
  const auto inputs = program.inputs();
  for (const EpilogueOperandSpec& spec : problem.operands) {
    const std::string path = value_for(options.inputs, spec.name);
    if (!path.empty()) continue;
    FilledOperand operand;
    operand.spec = spec;
    operand.is_output = std::ranges::find(inputs, spec.name) == inputs.end();
    operand.save_to = value_for(options.outputs, spec.name);
    if (!spec.value) {
      operand.shape = epilogue_operand_shape(spec, problem);
      operand.strides = epilogue_operand_strides(spec, problem);
    }
    operands.push_back(std::move(operand));
  }
  for (const std::string& text : options.inputs) {
    const Named input = split(text, "--aux", "NAME=FILE");
    EpilogueOperandSpec spec;
    spec.name = input.name;
    const auto declared =
        std::ranges::find(problem.operands, input.name, &EpilogueOperandSpec::name);
    if (declared != problem.operands.end()) spec.tensor.dtype = declared->tensor.dtype;
    operands.push_back(file_operand(spec, input.value));
  }
  return operands;
}

EpilogueArguments make_epilogue(const Problem& problem, const std::vector<FilledOperand>& operands,
                                const std::vector<TensorView>& tensors) {
  std::vector<EpilogueOperand> given;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const EpilogueOperandSpec& spec = operands[i].spec;
    if (spec.value) {
      given.emplace_back(spec.name, epilogue_scalar(spec));
    } else {
      given.emplace_back(spec.name, tensors[i]);
    }
  }
  return with_hint(kOperandHint,
                   [&] { return EpilogueArguments(problem.epilogue, std::move(given)); });
}

TensorView describe_operand(const FilledOperand& operand, Device device) {
  if (operand.spec.value) return {};
  return TensorView::describe(
      *operand.spec.tensor.dtype, operand.shape, operand.strides, device,
      operand.file ? operand.file->view().alignment() : operand.spec.tensor.alignment.value_or(256),
      operand.spec.name.c_str());
}

}  // namespace estoc::cli
