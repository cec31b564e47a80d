// Arguments from problem text.
#include "estoc/problem.hpp"

#include <memory>
#include <string>

#include "arguments.h"
#include "author.h"
#include "dtypes.h"
#include "epilogue.h"
#include "numbers.h"

namespace estoc::python {
namespace {

nb::object tensor_object(const TensorView& view) {
  Tensor tensor;
  tensor.view = view;
  tensor.source = nb::none();
  return nb::cast(tensor);
}

nb::object operand_object(const EpilogueOperand& operand) {
  if (const TensorView* tensor = operand.tensor()) return tensor_object(*tensor);
  const EpilogueScalarOperand& scalar = *operand.scalar();
  return scalar.is_integer ? nb::object(nb::int_(scalar.integer)) : nb::float_(scalar.value);
}

nb::object epilogue_object(const EpilogueArguments& epilogue) {
  nb::dict operands;
  for (const EpilogueOperand& operand : epilogue.operands())
    operands[operand.name.c_str()] = operand_object(operand);
  return nb::cast(new PyEpilogue(nb::str(epilogue.text().c_str()), operands),
                  nb::rv_policy::take_ownership);
}

/// With its epilogue, which arguments made from the library's own do not show.
nb::object with_epilogue(const GemmArguments& gemm) {
  const PyGemmArguments shown(gemm);
  return nb::cast(new PyGemmArguments(shown.a(), shown.b(), shown.result(),
                                      dtype_object(gemm.accumulator_type()),
                                      epilogue_object(gemm.epilogue()), nb::cast(gemm.controls())),
                  nb::rv_policy::take_ownership);
}

nb::object parse_problem(nb::handle problem, nb::handle device) {
  Problem parsed = Problem::parse(text(problem, "problem"));
  parsed.complete();
  const auto arguments = parsed.arguments(parse_device(text(device, "device")));
  const auto* gemm = dynamic_cast<const GemmArguments*>(arguments.get());
  const bool has_epilogue = gemm != nullptr && !gemm->epilogue().empty();
  return has_epilogue ? with_epilogue(*gemm) : arguments_of(*arguments);
}

}  // namespace

void bind_problems(nb::module_& module) {
  module.def(
      "parse_problem", &parse_problem, nb::arg("problem"), nb::arg("device") = "cpu",
      "The arguments that a problem text describes, without data: enough to find, explain and\n"
      "compile kernels, refused by run. `args.problem` is the way back.\n\n"
      "Parameters\n----------\n"
      "problem : str\n    Such as \"gemm m=512 n=256 k=128 a=bf16:t b=bf16:n\"; what is left out "
      "has\n"
      "    the default of docs/problem_text.md.\n"
      "device : str\n    \"cpu\", \"cuda\" or \"cuda:1\".\n\n"
      "Raises ValueError with the column and what was expected there.");
}

}  // namespace estoc::python
