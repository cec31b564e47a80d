// Fuzzes the text of epilogues and of their graphs: any text is read or refused with an Error; what
// is read prints as text that is read as the same, and binds or is refused.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/status.hpp"
#include "expect.h"

namespace {

using estoc::Dtype;
using estoc::EpilogueOperand;
using estoc::EpilogueProgram;
using estoc::Error;
using estoc::TensorView;

constexpr std::int64_t kM = 6;
constexpr std::int64_t kN = 5;

TensorView described(Dtype dtype, std::vector<std::int64_t> shape) {
  std::vector<std::int64_t> strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  return TensorView::describe(dtype, shape, strides);
}

/// Operands of several shapes and dtypes, by the names' first letters.
EpilogueOperand operand(const std::string& name, bool reduced) {
  constexpr std::array<Dtype, 6> kDtypes{Dtype::f32, Dtype::bf16, Dtype::e4m3,
                                         Dtype::f64, Dtype::i8,   Dtype::boolean};
  const auto letter = static_cast<unsigned char>(name[0]);
  const Dtype dtype = kDtypes[letter % kDtypes.size()];
  if (reduced)
    return {name,
            described(dtype, letter % 2 == 0 ? std::vector{kM, std::int64_t{1}} : std::vector{kN})};
  if (letter % 4 == 0) return {name, 0.5};
  if (letter % 4 == 1) return {name, described(dtype, {kN})};
  return {name, described(dtype, {kM, kN})};
}

std::optional<EpilogueProgram> parse(std::string_view text) {
  try {
    return EpilogueProgram::parse(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void bind(const EpilogueProgram& program) {
  std::vector<EpilogueOperand> operands;
  for (const std::string& input : program.inputs())
    operands.push_back(operand(input, false));
  for (const estoc::EpilogueAssignment& output : program.assignments()) {
    const EpilogueOperand given = operand(output.name, output.reduction.has_value());
    if (output.name != "D" && given.tensor() != nullptr) operands.push_back(given);
  }
  try {
    const estoc::GemmArguments arguments(
        described(Dtype::f16, {kM, 4}), described(Dtype::f16, {4, kN}),
        described(Dtype::bf16, {kM, kN}), Dtype::f32, {}, {program, operands});
    const auto graph = arguments.epilogue_graph();
    if (graph != nullptr) {
      estoc::fuzz::expect(estoc::parse_epilogue_graph(graph->canonical) == graph);
    }
  } catch (const Error&) {
    // Inputs that no output needs, shapes that do not fit: refused as they should be.
  }
}

void read_graph(std::string_view text) {
  try {
    const auto graph = estoc::parse_epilogue_graph(text);
    estoc::fuzz::expect(estoc::parse_epilogue_graph(graph->canonical) == graph);
  } catch (const Error&) {
    // No graph's text.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_graph(text);
  const std::optional<EpilogueProgram> program = parse(text);
  if (!program) return 0;
  const std::optional<EpilogueProgram> again = parse(program->text());
  estoc::fuzz::expect(again.has_value());
  estoc::fuzz::expect(*again == *program);
  estoc::fuzz::expect(again->text() == program->text());
  bind(*program);
  return 0;
}
