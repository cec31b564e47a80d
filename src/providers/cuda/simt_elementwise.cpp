// Kernel class simt_elementwise: out = the program of an epilogue whose accumulator is A.
#include "providers/cuda/simt_elementwise.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "cost/device_model.h"
#include "epilogue/emit.h"
#include "epilogue/op_table.h"
#include "estoc/abi/simt_elementwise.cuh"
#include "estoc/arguments.hpp"
#include "operations/elementwise/program.h"
#include "providers/cuda/built_in_class.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/epilogue_launch.h"
#include "providers/cuda/modes.h"

namespace estoc::cuda {
namespace {

constexpr std::array kOps{
    ElementwiseOp::add,     ElementwiseOp::sub,        ElementwiseOp::mul,      ElementwiseOp::div,
    ElementwiseOp::maximum, ElementwiseOp::minimum,    ElementwiseOp::identity, ElementwiseOp::neg,
    ElementwiseOp::abs,     ElementwiseOp::sqrt,       ElementwiseOp::rsqrt,    ElementwiseOp::exp,
    ElementwiseOp::log,     ElementwiseOp::reciprocal, ElementwiseOp::relu,     ElementwiseOp::gelu,
    ElementwiseOp::silu,    ElementwiseOp::sigmoid,    ElementwiseOp::tanh};

std::shared_ptr<const DesignSpace> make_space() {
  return DesignSpace::Builder{}
      .ops(kOps)
      .dtypes(Role::a_dtype, all_dtypes())
      .dtypes(Role::b_dtype, all_dtypes())
      .dtypes(Role::out_dtype, all_dtypes())
      .choices("access", {"flat", "vector", "single"})
      .require({"op", "a", "b"},
               [](const DesignPoint& p) {
                 return is_binary(static_cast<ElementwiseOp>(p.integer(Role::op))) ||
                        p.dtype(Role::a_dtype) == p.dtype(Role::b_dtype);
               })
      .build_lazily();
}

/// Vector width: 16 bytes of the widest operand, at most 16 elements. A byte of a packed output is
/// one thread's.
int vector_of(const DesignPoint& point, int widest_bits) {
  if (point.value("access").text != "single") return 128 / std::max(widest_bits, 8);
  return is_packed(point.dtype(Role::out_dtype)) ? 2 : 1;
}

int vector_of(const DesignPoint& point, const Modes& modes) {
  int widest = 0;
  for (const TensorView* view : modes.operands().views())
    widest = std::max(widest, dtype_bits(view->dtype()));
  return vector_of(point, widest);
}

abi::SimtElementwiseConfig config_of(const DesignPoint& point, const EpilogueGraph& program) {
  const Dtype a = point.dtype(Role::a_dtype);
  const Dtype out = point.dtype(Role::out_dtype);
  const std::string& access = point.value("access").text;
  int widest = std::max(dtype_bits(a), dtype_bits(out));
  for (const EpilogueTensor& tensor : program.tensors)
    widest = std::max(widest, dtype_bits(tensor.dtype));
  return {.a = abi_type(a),
          .out = abi_type(out),
          .compute = abi_type(epilogue::dtype_of(program.accumulator)),
          .tensors = static_cast<int>(program.tensors.size()),
          .vector = vector_of(point, widest),
          .flat = access == "flat",
          .strided = access == "single"};
}

/// Bytes of abi::ElementwiseInputs.
std::size_t input_bytes(std::size_t tensors, std::size_t scalars) {
  return std::max<std::size_t>(tensors, 1) * sizeof(abi::ElementwiseTensor) +
         std::max<std::size_t>(scalars, 1) * sizeof(abi::EpilogueScalar);
}

/// Gives the kernel what its program reads beside A.
void add_inputs(const Modes& modes, std::size_t tensors, const EpilogueBinding* binding,
                LaunchPlan& plan) {
  const std::size_t scalars = binding != nullptr ? binding->scalars.size() : 0;
  const std::size_t bytes = input_bytes(tensors, scalars);
  std::byte* to = plan.add_parameter_bytes(bytes, alignof(abi::ElementwiseTensor));
  std::memset(to, 0, bytes);
  for (std::size_t i = 0; i < tensors; ++i) {
    const abi::ElementwiseTensor tensor = modes.tensor(i);
    std::memcpy(to + i * sizeof(tensor), &tensor, sizeof(tensor));
  }
  to += input_bytes(tensors, 0) - sizeof(abi::EpilogueScalar);
  for (std::size_t i = 0; i < scalars; ++i) {
    const abi::EpilogueScalar scalar = scalar_parameter(*binding, i);
    std::memcpy(to + i * sizeof(scalar), &scalar, sizeof(scalar));
  }
}

class SimtElementwise final : public BuiltInClass {
 public:
  SimtElementwise() : BuiltInClass("simt_elementwise") {}

  std::string_view name() const override { return "simt_elementwise"; }
  Operation operation() const override { return Operation::elementwise; }
  std::shared_ptr<const DesignSpace> space() const override { return space_; }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target /*target*/) const override {
    const std::string& access = point.value("access").text;
    const Modes modes(static_cast<const ElementwiseArguments&>(arguments));
    if (access == "single") return modes.keeps_bytes();
    if (access == "flat" && modes.rank() > 1) {
      return Status::fail(Reason::layout,
                          "out.strides: expected operands that form one contiguous run, got a view "
                          "of several modes");
    }
    return modes.fits_vectors(vector_of(point, modes));
  }

  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target /*target*/) const override {
    return operations::check_program(point, epilogue);
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override {
    const operations::ElementwiseOperands operands(
        static_cast<const ElementwiseArguments&>(arguments));
    const cost::DeviceModel& device = cost::device_model(target, arguments.device());
    const std::string& access = point.value("access").text;
    const double reached = access == "flat" ? 1.0 : access == "vector" ? 0.9 : 0.5;
    return Prediction{
        device.launch_seconds + operands.span_bytes() / (reached * device.memory_bytes_per_s), {}};
  }

  void plan(const DesignPoint& point, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    const auto& elementwise = static_cast<const ElementwiseArguments&>(arguments);
    if (elementwise.out().elements() == 0) return;
    const Modes modes(elementwise);
    const abi::SimtElementwiseParameters parameters = modes.parameters(vector_of(point, modes));
    const std::size_t tensors = modes.operands().size() - 2;
    abi::SimtElementwiseConfig config{};
    config.tensors = static_cast<int>(tensors);
    const std::int64_t block = std::int64_t{config.threads()} * config.unroll();
    constexpr std::int64_t kMaxBlocks = std::int64_t{1} << 30;
    const std::int64_t blocks = (parameters.vectors + block - 1) / block;
    const CudaGeometry geometry{.grid = {static_cast<unsigned>(std::min(blocks, kMaxBlocks)), 1, 1},
                                .block = {static_cast<unsigned>(config.threads()), 1, 1}};
    plan.kernel(geometry, parameters);
    add_inputs(modes, tensors, elementwise.epilogue_binding(), plan);
  }

 protected:
  std::string source(const DesignPoint& point, const EpilogueGraph* epilogue) const override {
    const auto own = epilogue == nullptr ? operations::program_graph(point) : nullptr;
    const EpilogueGraph* const program = epilogue == nullptr ? own.get() : epilogue;
    return fmt::format(R"(#include <estoc/kernels/simt_elementwise.cuh>

using namespace estoc::abi;
namespace {{
{}{}static_assert(sizeof(SimtElementwiseParameters) == {});
using Inputs = ElementwiseInputs<Epilogue::kTensors, Epilogue::kScalars>;
static_assert(sizeof(Inputs) == {});
}}  // namespace

extern "C" __global__ void __launch_bounds__(kConfig.threads(), 3)
estoc_kernel(const __grid_constant__ SimtElementwiseParameters parameters,
             const __grid_constant__ Inputs inputs) {{
  estoc::simt_elementwise<kConfig, Epilogue>(parameters, inputs);
}}
)",
                       config_text("SimtElementwiseConfig", config_of(point, *program)),
                       emit_epilogue(*program, false), sizeof(abi::SimtElementwiseParameters),
                       input_bytes(program->tensors.size(), program->scalars.size()));
  }

 private:
  std::shared_ptr<const DesignSpace> space_ = make_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_simt_elementwise() {
  return std::make_shared<SimtElementwise>();
}

}  // namespace estoc::cuda
