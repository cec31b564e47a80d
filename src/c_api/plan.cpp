// The C interface to plans and matmul.
#include "estoc/plan.hpp"

#include <algorithm>
#include <vector>

#include "c_api/support.h"

struct estoc_plan : estoc::c_api::Holder<100, estoc::Plan> {
  using Holder::Holder;
};

namespace estoc::c_api {
namespace {

PlanOptions plan_options(const estoc_plan_options* given) {
  const estoc_plan_options o = read_optional(given, "options");
  if (o.threads < 0) {
    throw Error(ErrorKind::value,
                "options.threads: expected 0 or more, got " + std::to_string(o.threads));
  }
  return {.query = query_of(o.query), .threads = o.threads, .programmatic = o.programmatic >= 0};
}

bool matmul(const estoc_gemm* given, const estoc_run_options* options) {
  const estoc_gemm gemm = read_struct(given, "gemm");
  const RunOptions run = run_options(options);
  const Operand a = c_api::operand_of(gemm.a, "A");
  const Operand b = c_api::operand_of(gemm.b, "B");
  const Operand out = c_api::operand_of(gemm.out, "out");
  const std::vector<EpilogueOperand> operands = gemm_operands(gemm);
  MatmulOptions matmul_options{
      .accumulator_type = gemm.accumulator != nullptr
                              ? std::optional(dtype_of(gemm.accumulator, "accumulator"))
                              : std::nullopt,
      .controls = controls_of(gemm.controls),
      .operands = operands,
      .stream = run.stream,
      .threads = run.threads,
      .programmatic = run.programmatic};
  if (gemm.epilogue != nullptr) matmul_options.epilogue = gemm.epilogue;
  if (estoc_tuner* const tuner = read_optional(options, "options").tuner)
    matmul_options.tuner = value_of(tuner, "options.tuner").get();
  if (run.workspace.data != nullptr) {
    matmul_options.workspace = [&](std::size_t /*bytes*/) { return run.workspace; };
  }
  return estoc::matmul(a, b, out, matmul_options);
}

/// Operations of one input have no B.
void rebind(Plan& plan, const void* a, const void* b, void* out,
            std::span<const EpilogueOperand> epilogue) {
  if (plan.arguments().operands().size() != 2) return plan.rebind(a, b, out, epilogue);
  if (b != nullptr) {
    throw Error(ErrorKind::value, "b: expected NULL, as the operation has one input");
  }
  const void* const operands[] = {a, out};
  plan.rebind(operands, epilogue);
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::arguments_of;
using c_api::give;
using c_api::guarded;
using c_api::required;
using c_api::value_of;

estoc_status estoc_plan_create(const estoc_arguments* arguments, const estoc_plan_options* options,
                               estoc_plan** plan) {
  return guarded([&] {
    const estoc::RuntimeArguments& value = arguments_of(arguments, "arguments");
    give(plan, "plan", [&] { return estoc::plan(value, c_api::plan_options(options)); });
  });
}

estoc_status estoc_plan_of_artifact(const estoc_artifact* artifact,
                                    const estoc_arguments* arguments,
                                    const estoc_plan_options* options, estoc_plan** plan) {
  return guarded([&] {
    const estoc::Artifact& code = value_of(artifact, "artifact");
    const estoc::RuntimeArguments& value = arguments_of(arguments, "arguments");
    give(plan, "plan", [&] { return estoc::Plan(code, value, c_api::plan_options(options)); });
  });
}

const char* estoc_plan_kernel_name(const estoc_plan* plan) {
  return c_api::name_of(plan, [](const auto& value) { return value.kernel().name().c_str(); });
}

estoc_status estoc_plan_workspace_size(const estoc_plan* plan, size_t* bytes) {
  return guarded([&] {
    size_t& place = required(bytes, "bytes");
    place = value_of(plan, "plan").workspace_size();
  });
}

estoc_status estoc_plan_run(estoc_plan* plan, void* stream, void* workspace,
                            size_t workspace_bytes) {
  return guarded([&] { value_of(plan, "plan").run(stream, {workspace, workspace_bytes}); });
}

estoc_status estoc_plan_rebind(estoc_plan* plan, const void* a, const void* b, void* out,
                               const estoc_operand* operands, size_t operand_count) {
  return guarded([&] {
    c_api::rebind(value_of(plan, "plan"), a, b, out,
                  c_api::epilogue_operands(operands, operand_count, "operands"));
  });
}

estoc_status estoc_plan_rebind_arguments(estoc_plan* plan, const estoc_arguments* arguments) {
  return guarded([&] { value_of(plan, "plan").rebind(arguments_of(arguments, "arguments")); });
}

void estoc_plan_destroy(estoc_plan* plan) {
  c_api::destroy(plan);
}

estoc_status estoc_matmul(const estoc_gemm* gemm, const estoc_run_options* options) {
  return guarded([&] { c_api::matmul(gemm, options); });
}

estoc_status estoc_result_dtype(const char* a, const char* b, const char** dtype) {
  return guarded([&] {
    const char*& place = required(dtype, "dtype");
    place = c_api::name_of_dtype(estoc::result_dtype(c_api::dtype_of(&required(a, "A"), "A"),
                                                     c_api::dtype_of(&required(b, "B"), "B")));
  });
}

estoc_status estoc_result_shape(const estoc_tensor* a, const estoc_tensor* b, int64_t shape[3],
                                int* rank) {
  return guarded([&] {
    int64_t* const extents = &required(shape, "shape");
    int& count = required(rank, "rank");
    const std::vector<std::int64_t> made =
        estoc::result_shape(c_api::operand_of(a, "A").tensor(), c_api::operand_of(b, "B").tensor());
    std::fill_n(std::copy(made.begin(), made.end(), extents), 3 - made.size(), 0);
    count = static_cast<int>(made.size());
  });
}
