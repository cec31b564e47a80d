// The GEMM as an operation: its operands, its problem text, its metadata and its reference.
#include "operations/gemm/schema.h"

#include <array>
#include <utility>

#include "check/blocks.h"
#include "operations/problem_epilogue.h"
#include "operations/problem_parts.h"
#include "operations/problem_scale.h"

namespace estoc::operations {
namespace {

constexpr std::array kGemmOperands = a_b_and_out("lmk", "lkn", "lmn");

constexpr std::array<TextKey, 15> kGemmKeys{{
    {"m", &Problem::m},
    {"n", &Problem::n},
    {"k", &Problem::k},
    {"l", &Problem::l},
    {"a", &Problem::a},
    {"b", &Problem::b},
    {"out", &Problem::out},
    {"acc", &Problem::accumulator_type},
    {"epi", TextField::epilogue},
    {"allow_tf32", &PerformanceControls::allow_tf32},
    {"fast_accumulation", &PerformanceControls::fast_accumulation},
    {"deterministic", &PerformanceControls::deterministic},
    {"batch_invariant", &PerformanceControls::batch_invariant},
    {"allow_bf16x6", &PerformanceControls::allow_bf16x6},
    {"workspace", TextField::workspace},
}};

const GemmArguments& as_gemm(const RuntimeArguments& arguments) {
  return static_cast<const GemmArguments&>(arguments);
}

void complete_gemm(Problem& problem) {
  require(problem.m.has_value(), "m", "an extent such as m=128");
  require(problem.n.has_value(), "n", "an extent such as n=128");
  require(problem.k.has_value(), "k", "an extent such as k=128");
  if (!problem.l) problem.l = 1;
  default_input_dtypes(problem.a, problem.b);
  complete_scale(problem.a, "a");
  complete_scale(problem.b, "b");
  complete_scale(problem.out, "out");
  if (!problem.accumulator_type) {
    const bool blocks = has_block_scale(problem.a) || has_block_scale(problem.b);
    const Dtype sums = default_accumulator_type(*problem.a.dtype, *problem.b.dtype);
    problem.accumulator_type = blocks && sums == Dtype::i32 ? Dtype::f32 : sums;
  }
  if (!problem.out.dtype && problem.out.scale) problem.out.dtype = problem.a.dtype;
  if (!problem.out.dtype) {
    const bool scaled = problem.a.scale || problem.b.scale;
    problem.out.dtype =
        scaled && *problem.accumulator_type == Dtype::i32 ? Dtype::f32 : *problem.accumulator_type;
  }
  default_layout(problem.a, "a");
  default_layout(problem.b, "b");
  default_layout(problem.out, "out");
  for (EpilogueOperandSpec& operand : problem.operands)
    complete_operand(operand, problem);
}

std::int64_t extent_of(char mode, const Problem& problem) {
  switch (mode) {
    case 'm':
      return *problem.m;
    case 'n':
      return *problem.n;
    case 'k':
      return *problem.k;
    default:
      return *problem.l;
  }
}

/// The shape of the operand. An input whose strides are two has no batch mode: it serves every
/// batch.
Extents shape_of(const OperandSchema& operand, const Problem& problem) {
  const bool serves_all =
      operand.role == OperandRole::input && (problem.*operand.spec).strides.size() == 2;
  const bool batched = is_batched(problem) && !serves_all;
  Extents shape;
  for (const char mode : operand.modes)
    if (mode != 'l' || batched) shape.push_back(extent_of(mode, problem));
  if (operand.spec == &Problem::b) shape.back() = columns_of_b(problem);
  return shape;
}

std::unique_ptr<RuntimeArguments> gemm_arguments(const Problem& problem, Device device) {
  const auto view = [&](const OperandSchema& operand) {
    return describe(problem.*operand.spec, shape_of(operand, problem), device, operand.name);
  };
  const auto& [a, b, out] = kGemmOperands;
  const Operand a_operand = scaled_operand(problem.a, view(a), 1, a.name);
  const Operand b_operand = scaled_operand(problem.b, view(b), 2, b.name);
  const Operand out_operand = scaled_operand(problem.out, view(out), 1, out.name);
  std::vector<EpilogueOperand> operands;
  for (const EpilogueOperandSpec& spec : problem.operands)
    operands.push_back(describe_operand(spec, problem, device));
  return std::make_unique<GemmArguments>(a_operand, b_operand, out_operand,
                                         *problem.accumulator_type, problem.controls,
                                         EpilogueArguments(problem.epilogue, std::move(operands)));
}

/// The spec of A or B. Scales of a matrix for every batch have no batch mode, nor may it then.
OperandSpec input_spec(const Operand& operand, const MatrixView& matrix) {
  OperandSpec spec = spec_of(matrix);
  spec.scale = scale_spec_of(operand);
  const TensorView& data = operand.tensor();
  const bool serves_all = matrix.batches != 1 && (data.rank() == 2 || data.shape(0) == 1);
  if (spec.scale && serves_all) {
    spec.layout.reset();
    spec.strides = {matrix.row_stride, matrix.column_stride};
  }
  return spec;
}

/// B with the columns of both accumulators.
MatrixView whole_b(const GemmArguments& gemm) {
  MatrixView b = gemm.b_matrix();
  if (gemm.pairs() == AccumulatorPairs::none) return b;
  b.columns *= 2;
  if (gemm.pairs() == AccumulatorPairs::interleaved) b.column_stride /= 2;
  return b;
}

Problem gemm_problem(const RuntimeArguments& arguments) {
  const GemmArguments& gemm = as_gemm(arguments);
  Problem problem;
  const auto& [m, n, k, l] = gemm.extents();
  problem.m = m;
  problem.n = n;
  problem.k = k;
  problem.l = l;
  problem.a = input_spec(gemm.a(), gemm.a_matrix());
  problem.b = input_spec(gemm.b(), whole_b(gemm));
  problem.out = spec_of(gemm.out_matrix());
  if (gemm.out_scaled() != nullptr) problem.out.scale = scale_spec_of(Operand(*gemm.out_scaled()));
  problem.accumulator_type = gemm.accumulator_type();
  problem.epilogue = gemm.epilogue().text();
  for (const EpilogueOperand& operand : gemm.epilogue().operands()) {
    if (operand.name != "D") problem.operands.push_back(spec_of(operand, gemm.extents()));
  }
  return problem;
}

Attributes gemm_attributes(const RuntimeArguments& arguments) {
  return {.accumulator_type = as_gemm(arguments).accumulator_type()};
}

OperandsMetadata gemm_metadata(std::span<const TensorAttributes> operands,
                               const Attributes& attributes) {
  return GemmOperandsMetadata{operands[0], operands[1], operands[2], attributes.accumulator_type};
}

void require_checkable_gemm(const RuntimeArguments& arguments) {
  check::require_checkable(as_gemm(arguments));
}

CheckResult check_gemm_output(const RuntimeArguments& arguments, const CheckOptions& options) {
  return check::check_gemm(as_gemm(arguments), options, nullptr);
}

}  // namespace

constinit const OperationSchema kGemm{.operation = Operation::gemm,
                                      .name = "gemm",
                                      .operands = kGemmOperands,
                                      .keys = kGemmKeys,
                                      .accumulates = true,
                                      .complete = complete_gemm,
                                      .arguments = gemm_arguments,
                                      .problem = gemm_problem,
                                      .attributes = gemm_attributes,
                                      .metadata = gemm_metadata,
                                      .require_checkable = require_checkable_gemm,
                                      .check = check_gemm_output};

}  // namespace estoc::operations
