// The C interface to operations: products and elementwise operations, problem texts.
#include <cstddef>

#include "c_api/support.h"
#include "estoc/problem.hpp"

namespace estoc::c_api {

PerformanceControls controls_of(const estoc_controls* given) {
  const estoc_controls c = read_optional(given, "controls");
  PerformanceControls controls;
  controls.allow_tf32 = c.allow_tf32 != 0;
  controls.fast_accumulation = c.fast_accumulation != 0;
  controls.deterministic = c.deterministic != 0;
  controls.batch_invariant = c.batch_invariant != 0;
  controls.allow_bf16x6 = c.allow_bf16x6 != 0;
  if (c.limit_workspace == 0) return controls;
  if (c.workspace_limit < 0) {
    throw Error(ErrorKind::value, "controls.workspace_limit: expected 0 or more, got " +
                                      std::to_string(c.workspace_limit));
  }
  controls.workspace_limit = c.workspace_limit;
  return controls;
}

namespace {

EpilogueScalarOperand scalar_of(const estoc_operand& operand, const std::string& name) {
  EpilogueScalarOperand scalar;
  scalar.is_integer = operand.is_integer != 0;
  scalar.integer = scalar.is_integer ? operand.integer : 0;
  scalar.value = scalar.is_integer ? static_cast<double>(operand.integer) : operand.number;
  if (operand.dtype != nullptr) scalar.dtype = dtype_of(operand.dtype, name + ".dtype");
  return scalar;
}

}  // namespace

std::vector<EpilogueOperand> epilogue_operands(const estoc_operand* operands, std::size_t count,
                                               const std::string& what) {
  std::vector<EpilogueOperand> result;
  for (std::size_t i = 0; i < count; ++i) {
    const estoc_operand operand = read_element(operands, i, what);
    const std::string name = &required(operand.name, what + "[" + std::to_string(i) + "].name");
    if (operand.tensor != nullptr) {
      result.emplace_back(name, view_of(operand.tensor, name));
    } else {
      result.emplace_back(name, scalar_of(operand, name));
    }
  }
  return result;
}

namespace {

/// The operands of the epilogue of a struct that describes a product.
template <typename Product>
std::vector<EpilogueOperand> product_operands(const Product& product, const std::string& what) {
  if (product.epilogue == nullptr && product.operand_count > 0) {
    throw Error(ErrorKind::value, what + ".epilogue: expected a text for the operands, got NULL");
  }
  return epilogue_operands(product.operands, product.operand_count, what + ".operands");
}

}  // namespace

std::vector<EpilogueOperand> gemm_operands(const estoc_gemm& gemm) {
  return product_operands(gemm, "gemm");
}

const GemmArguments& product_of(const estoc_arguments* arguments) {
  const auto* const gemm = dynamic_cast<const GemmArguments*>(&arguments_of(arguments));
  if (gemm != nullptr) return *gemm;
  throw Error(ErrorKind::type,
              "arguments: expected those of a gemm, got those of " +
                  std::string(operation_name(arguments_of(arguments).operation())));
}

namespace {

std::unique_ptr<RuntimeArguments> gemm_of(const estoc_gemm* given) {
  const estoc_gemm gemm = read_struct(given, "gemm");
  const Operand a = operand_of(gemm.a, "A");
  const Operand b = operand_of(gemm.b, "B");
  const Operand out = operand_of(gemm.out, "out");
  const Dtype accumulator = gemm.accumulator != nullptr ? dtype_of(gemm.accumulator, "accumulator")
                                                        : default_accumulator_type(a, b);
  const PerformanceControls controls = controls_of(gemm.controls);
  EpilogueArguments epilogue(gemm.epilogue != nullptr ? gemm.epilogue : "", gemm_operands(gemm));
  return std::make_unique<GemmArguments>(a, b, out, accumulator, controls, std::move(epilogue));
}

static_assert(sizeof(estoc_group_entry) == sizeof(GroupEntry) &&
              offsetof(estoc_group_entry, m) == offsetof(GroupEntry, m) &&
              offsetof(estoc_group_entry, a_stride) == offsetof(GroupEntry, a_stride));

GroupLayout group_layout_of(const char* name) {
  if (const auto layout = parse_group_layout(name)) return *layout;
  throw Error(ErrorKind::value,
              "grouped_gemm.layout: expected ends, prefix, masked, ranges or pointers, got '" +
                  std::string(name) + "'");
}

std::unique_ptr<RuntimeArguments> grouped_gemm_of(const estoc_grouped_gemm* given) {
  const estoc_grouped_gemm grouped = read_struct(given, "grouped_gemm");
  const Operand a = operand_of(grouped.a, "A");
  const Operand b = operand_of(grouped.b, "B");
  const TensorView out = view_of(grouped.out, "out");
  GroupOptions groups{.offsets = std::nullopt, .zero_rest = grouped.zero_rest != 0};
  if (grouped.offsets != nullptr) groups.offsets = view_of(grouped.offsets, "offsets");
  if (grouped.layout != nullptr) groups.layout = group_layout_of(grouped.layout);
  if (grouped.rows != nullptr) groups.rows = view_of(grouped.rows, "rows");
  EpilogueArguments epilogue(grouped.epilogue != nullptr ? grouped.epilogue : "",
                             product_operands(grouped, "grouped_gemm"));
  const Dtype accumulator = grouped.accumulator != nullptr
                                ? dtype_of(grouped.accumulator, "accumulator")
                                : default_accumulator_type(a, b);
  return std::make_unique<GroupedGemmArguments>(a, b, out, accumulator, groups,
                                                controls_of(grouped.controls), std::move(epilogue));
}

ElementwiseOp op_of(const char* name) {
  const std::string_view text = &required(name, "elementwise.op");
  if (const auto op = parse_elementwise_op(text)) return *op;
  throw Error(ErrorKind::value,
              "elementwise.op: expected the name of an operation, got '" + std::string(text) + "'");
}

std::unique_ptr<RuntimeArguments> program_of(const estoc_elementwise& elementwise) {
  if (elementwise.op != nullptr || elementwise.b != nullptr) {
    throw Error(ErrorKind::value, "elementwise: expected NULL for op and B beside an epilogue");
  }
  EpilogueArguments epilogue(
      elementwise.epilogue,
      epilogue_operands(elementwise.operands, elementwise.operand_count, "elementwise.operands"));
  return std::make_unique<ElementwiseArguments>(
      view_of(elementwise.a, "A"), view_of(elementwise.out, "out"), std::move(epilogue),
      controls_of(elementwise.controls));
}

std::unique_ptr<RuntimeArguments> elementwise_of(const estoc_elementwise* given) {
  const estoc_elementwise elementwise = read_struct(given, "elementwise");
  if (elementwise.epilogue != nullptr) return program_of(elementwise);
  const ElementwiseOp op = op_of(elementwise.op);
  const TensorView a = view_of(elementwise.a, "A");
  const TensorView out = view_of(elementwise.out, "out");
  const PerformanceControls controls = controls_of(elementwise.controls);
  if (is_binary(op)) {
    const TensorView b = view_of(elementwise.b, "B");
    return std::make_unique<ElementwiseArguments>(op, a, b, out, controls);
  }
  if (elementwise.b == nullptr) return std::make_unique<ElementwiseArguments>(op, a, out, controls);
  throw Error(ErrorKind::value,
              std::string("B: expected NULL, as ") + elementwise.op + " has one operand");
}

std::vector<std::string> assigned_names(const EpilogueProgram& program) {
  std::vector<std::string> names;
  for (const EpilogueAssignment& assignment : program.assignments())
    names.push_back(assignment.name);
  return names;
}

}  // namespace
}  // namespace estoc::c_api

namespace c_api = estoc::c_api;
using c_api::give;
using c_api::guarded;
using c_api::required;

estoc_status estoc_arguments_gemm(const estoc_gemm* gemm, estoc_arguments** arguments) {
  return guarded([&] { give(arguments, "arguments", [&] { return c_api::gemm_of(gemm); }); });
}

estoc_status estoc_arguments_grouped_gemm(const estoc_grouped_gemm* grouped,
                                          estoc_arguments** arguments) {
  return guarded(
      [&] { give(arguments, "arguments", [&] { return c_api::grouped_gemm_of(grouped); }); });
}

estoc_status estoc_arguments_elementwise(const estoc_elementwise* elementwise,
                                         estoc_arguments** arguments) {
  return guarded(
      [&] { give(arguments, "arguments", [&] { return c_api::elementwise_of(elementwise); }); });
}

estoc_status estoc_arguments_parse(const char* text, int device, estoc_arguments** arguments) {
  return guarded([&] {
    estoc::Problem problem = estoc::Problem::parse(&required(text, "text"));
    problem.complete();
    give(arguments, "arguments",
         [&] { return problem.arguments(c_api::device_of(device, "device")); });
  });
}

estoc_status estoc_arguments_text(const estoc_arguments* arguments, char** text) {
  return guarded([&] {
    c_api::give_text(text, "text", [&] {
      return estoc::Problem::of(c_api::arguments_of(arguments)).to_string();
    });
  });
}

estoc_status estoc_arguments_epilogue(const estoc_arguments* arguments, char** canonical) {
  return guarded([&] {
    c_api::give_text(canonical, "canonical", [&] {
      const auto graph = c_api::arguments_of(arguments).epilogue_graph();
      return graph != nullptr ? graph->canonical : std::string();
    });
  });
}

estoc_status estoc_arguments_work(const estoc_arguments* arguments, estoc_work* work) {
  return guarded([&] {
    const estoc::OperationWork known = c_api::arguments_of(arguments).work();
    const estoc_work filled{
        .struct_size = 0, .flops = known.flops.value_or(0), .bytes = known.bytes};
    c_api::write_struct(work, filled, "work");
  });
}

estoc_status estoc_arguments_move(const estoc_arguments* arguments, void* a, void* b, void* out,
                                  estoc_arguments** moved) {
  return guarded([&] {
    give(moved, "moved", [&] {
      return std::make_unique<estoc::GemmArguments>(c_api::product_of(arguments).moved(a, b, out));
    });
  });
}

void estoc_arguments_destroy(estoc_arguments* arguments) {
  c_api::destroy(arguments);
}

estoc_status estoc_epilogue_names(const char* epilogue, estoc_strings** inputs,
                                  estoc_strings** outputs) {
  return guarded([&] {
    const auto program = estoc::EpilogueProgram::parse(&required(epilogue, "epilogue"));
    auto read = std::make_unique<estoc_strings>(
        std::vector<std::string>(program.inputs().begin(), program.inputs().end()));
    auto assigned = std::make_unique<estoc_strings>(c_api::assigned_names(program));
    if (inputs != nullptr) *inputs = read.release();
    if (outputs != nullptr) *outputs = assigned.release();
  });
}
