// The language: what parses, what it means, and how mistakes are reported.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

#include "estoc/epilogue.hpp"
#include "estoc/status.hpp"

namespace estoc {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::string complaint(std::string_view text) {
  try {
    (void)EpilogueProgram::parse(text);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::value);
    return error.what();
  }
}

std::string normal(std::string_view text) {
  return EpilogueProgram::parse(text).text();
}

TEST(EpilogueProgram, KnowsInputsAndAssignments) {
  const auto program =
      EpilogueProgram::parse("t = alpha * accum + bias; D = gelu(t) + C; amax = absmax(D)");
  EXPECT_THAT(program.inputs(), ElementsAre("alpha", "bias", "C"));
  ASSERT_EQ(program.assignments().size(), 3U);
  EXPECT_EQ(program.assignments()[1].name, "D");
  EXPECT_FALSE(program.assignments()[1].reduction);
  EXPECT_EQ(program.assignments()[2].reduction, EpilogueReduction::absmax);
}

TEST(EpilogueProgram, IsPrintedWithOneSpacing) {
  EXPECT_EQ(normal("D=accum*2;\n\n aux =-accum ;"), "D = accum * 2; aux = -accum");
  EXPECT_EQ(normal("D=max( accum,0.5 )\natomic"), "D = max(accum, 0.5); atomic");
  EXPECT_EQ(normal("D=quantize(accum,s,e4m3)"), "D = quantize(accum, s, e4m3)");
  EXPECT_EQ(normal("D=select(!(accum<1&&C>=2)||x!=3,1e-3,.5)"),
            "D = select(!(accum < 1 && C >= 2) || x != 3, 1e-3, .5)");
}

TEST(EpilogueProgram, EqualStepsAreEqualProgramsHoweverTheyAreWritten) {
  EXPECT_EQ(EpilogueProgram::parse("D = relu(accum+bias)"),
            EpilogueProgram::parse("D  = relu( (accum + bias) );"));
  EXPECT_NE(EpilogueProgram::parse("D = relu(accum + bias)"),
            EpilogueProgram::parse("D = relu(accum + bia)"));
  EXPECT_NE(EpilogueProgram::parse("D = accum; s = sum(D)"),
            EpilogueProgram::parse("D = accum; s = sum(D); atomic"));
  EXPECT_EQ(EpilogueProgram::parse("D = maximum(accum, 0)"),
            EpilogueProgram::parse("D = max(accum, 0)"));
}

TEST(EpilogueProgram, OperatorsBindAsInC) {
  const auto same = [](std::string_view text, std::string_view bracketed) {
    EXPECT_EQ(EpilogueProgram::parse(text), EpilogueProgram::parse(bracketed)) << text;
  };
  same("D = a + b * accum - c / d", "D = (a + (b * accum)) - (c / d)");
  same("D = -a * accum", "D = (-a) * accum");
  same("D = a - b - accum", "D = (a - b) - accum");
  same("D = select(a < b + 1 && c || !d == e, accum, 0)",
       "D = select(((a < (b + 1)) && c) || ((!d) == e), accum, 0)");
}

TEST(EpilogueProgram, MistakesNameTheColumn) {
  EXPECT_EQ(complaint("D = geul(accum)"),
            "epilogue, column 5: expected an operation, got 'geul'; did you mean gelu?");
  EXPECT_EQ(complaint("D = relu(accum"),
            "epilogue, column 15: expected , or ) after an input, got the end");
  EXPECT_EQ(complaint("D = relu(accum, 1)"), "epilogue, column 5: relu: expected 1 input, got 2");
  EXPECT_EQ(complaint("D = elu()"), "epilogue, column 5: elu: expected 1 or 2 inputs, got 0");
  EXPECT_EQ(complaint("D accum"), "epilogue, column 3: expected = after the name, got 'accum'");
  EXPECT_EQ(complaint("D = accum accum"),
            "epilogue, column 11: expected an operation, ; or the end, got 'accum'");
  EXPECT_EQ(complaint("D = accum +\n2"),
            "epilogue, column 12: expected a value, got the end of the line");
  EXPECT_EQ(complaint("D = $"),
            "epilogue, column 5: expected a name, a number or an operation, got '$'");
  EXPECT_EQ(complaint("D = 1 < accum < 3"),
            "epilogue, column 15: expected one comparison, got a second; use && or brackets");
  EXPECT_EQ(complaint("D = quantize(accum, 2, f33)"),
            "epilogue, column 24: expected a dtype such as e4m3, got 'f33'");
  EXPECT_EQ(complaint("D = 1e999 * accum"), "epilogue, column 5: expected a number, got '1e999'");
}

TEST(EpilogueProgram, NamesAreAssignedOnceBeforeTheirUse) {
  EXPECT_EQ(complaint("D = accum; D = 2"),
            "epilogue, column 12: D: expected one assignment, got a second");
  EXPECT_EQ(complaint("D = t; t = accum"),
            "epilogue, column 8: t: expected its assignment before its use");
  EXPECT_THAT(complaint("accum = 1; D = accum"), HasSubstr("other than accum"));
  EXPECT_THAT(complaint("D = accum; nan = 2"), HasSubstr("other than accum, inf, nan"));
  EXPECT_THAT(complaint("D = accum + " + std::string(65, 'x')), HasSubstr("at most 64 characters"));
}

TEST(EpilogueProgram, DMustBeWritten) {
  EXPECT_EQ(complaint("aux = accum"),
            "epilogue, column 12: expected an assignment to D such as D = accum, got none");
  EXPECT_EQ(complaint(""),
            "epilogue, column 1: expected an assignment to D such as D = accum, got none");
  EXPECT_EQ(complaint("D = sum(accum)"),
            "epilogue, column 1: D: expected a value of the product's shape, got a reduction");
}

TEST(EpilogueProgram, ResultsOfReductionsAreOutputsOnly) {
  EXPECT_THAT(
      complaint("s = sum(accum); D = accum / s"),
      HasSubstr("column 29: expected a value of the product's shape, got the result of sum"));
  EXPECT_THAT(complaint("D = accum + max(accum)"), HasSubstr("the result of max"));
  EXPECT_EQ(complaint("D = accum; s = max(accum); m = max(accum, 1)"), "");
}

TEST(EpilogueProgram, BoundsAreRefusedWithTheBound) {
  EXPECT_EQ(complaint(std::string(1 << 20, ' ')),
            "epilogue: expected at most 65536 characters, got 1048576");
  std::string many = "D = accum";
  for (int i = 0; i < 10'000; ++i)
    many += "+1." + std::to_string(i % 10);
  EXPECT_THAT(complaint(many), HasSubstr("expected at most 256 operations, inputs and literals"));
  EXPECT_THAT(complaint("D = " + std::string(5000, '(') + "accum"),
              HasSubstr("expected at most 300 expressions inside each other"));
  EXPECT_THAT(complaint("D = " + std::string(5000, '-') + "accum"), HasSubstr("at most 300"));
  std::string inputs = "D = accum";
  for (int i = 0; i < 40; ++i)
    inputs += " + x" + std::to_string(i);
  EXPECT_THAT(complaint(inputs), HasSubstr("expected at most 32 inputs"));
}

TEST(EpilogueBuilder, GivesTheProgramThatItsTextGives) {
  EpilogueBuilder e;
  const EpilogueValue t = e.input("alpha") * e.accum() + e.input("bias");
  const EpilogueValue d = select(t > 0, gelu(t), leaky_relu(t, 0.5)) + 2 * e.input("C");
  e.assign("D", cast(clamp(d, -1, 1.5), Dtype::bf16));
  e.assign("amax", absmax(d));
  e.assign("aux", quantize(d, e.input("scale"), Dtype::e4m3));
  const EpilogueProgram program = e.program();
  EXPECT_EQ(EpilogueProgram::parse(program.text()), program);
  EXPECT_THAT(program.inputs(), ElementsAre("alpha", "bias", "C", "scale"));
  EXPECT_THAT(program.text(), HasSubstr("gelu("));
}

TEST(EpilogueBuilder, RefusesWhatTextRefuses) {
  EpilogueBuilder e;
  EpilogueBuilder other;
  EXPECT_THROW((void)e.program(), Error);
  EXPECT_THROW((void)e.input("3x"), Error);
  EXPECT_THROW((void)(e.accum() + other.accum()), Error);
  EXPECT_THROW((void)(e.accum() + sum(e.accum())), Error);
  EXPECT_THROW(e.assign("D", other.accum()), Error);
  e.assign("D", e.accum());
  EXPECT_THROW(e.assign("D", e.accum()), Error);
  EXPECT_THROW((void)e.input("D"), Error);
  EpilogueValue value = e.accum();
  EXPECT_THROW(
      {
        for (int i = 0; i < 10'000; ++i)
          value = value + (0.5 + i);
      },
      Error);
}

/// Whether the language has a function of the name, with whatever number of inputs.
bool is_function(const std::string& name) {
  std::string inputs = "accum";
  for (int count = 1; count <= 4; ++count, inputs += ", accum")
    if (complaint("D = " + name + "(" + inputs + ")").empty()) return true;
  return false;
}

TEST(EpilogueProgram, DocumentationHasEveryFunction) {
  std::ifstream file(std::string(ESTOC_SOURCE_DIR) + "/docs/epilogues.md");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  int functions = 0;
  for (int op = static_cast<int>(EpilogueOp::add); op <= static_cast<int>(EpilogueOp::dropout);
       ++op) {
    const std::string name(epilogue_op_name(static_cast<EpilogueOp>(op)));
    const bool compares = op >= static_cast<int>(EpilogueOp::equal) &&
                          op <= static_cast<int>(EpilogueOp::greater_equal);
    if (!is_function(name)) continue;
    ++functions;
    if (compares || name == "neg") continue;
    EXPECT_THAT(text, HasSubstr("`" + name + "("));
  }
  EXPECT_EQ(functions, 32);
}

}  // namespace
}  // namespace estoc
