// The kernel class cpu_elementwise: elementwise operations on the host processor.
#include "providers/cpu/cpu_elementwise.h"

#include "operations/elementwise/program.h"
#include "providers/cpu/cost_model.h"
#include "providers/cpu/host_kernel.h"
#include "providers/cpu/isa.h"
#include "providers/cpu/tiled_elementwise.h"

namespace estoc::cpu {
namespace {

std::vector<ElementwiseOp> all_ops() {
  std::vector<ElementwiseOp> ops;
  for (int op = 0; op <= static_cast<int>(ElementwiseOp::tanh); ++op) {
    ops.push_back(static_cast<ElementwiseOp>(op));
  }
  return ops;
}

std::shared_ptr<const DesignSpace> make_space() {
  DesignSpace::Builder builder;
  builder.ops(all_ops())
      .dtypes(Role::a_dtype, all_dtypes())
      .dtypes(Role::b_dtype, all_dtypes())
      .dtypes(Role::out_dtype, all_dtypes())
      .require({"op", "a", "b"}, [](const DesignPoint& point) {
        const auto op = static_cast<ElementwiseOp>(point.integer(Role::op));
        return is_binary(op) || point.dtype(Role::a_dtype) == point.dtype(Role::b_dtype);
      });
  return builder.build();
}

/// What is decoded of a kernel.
using Program = std::shared_ptr<const EpilogueGraph>;

class ElementwiseLaunch final : public Launch {
 public:
  ElementwiseLaunch(const ElementwiseArguments& arguments,
                    std::shared_ptr<const EpilogueGraph> program, const ProductTable& products,
                    int threads)
      : operation_(arguments, std::move(program), products, threads) {}
  void launch(void* /*stream*/) override { operation_.run(); }

 private:
  TiledElementwise operation_;
};

}  // namespace

CpuElementwise::CpuElementwise() : space_(make_space()) {}

std::span<const Target> CpuElementwise::targets() const {
  return host_targets();
}

Status CpuElementwise::supports(const DesignPoint& /*point*/, const RuntimeArguments& /*arguments*/,
                                Target /*target*/) const {
  return processor_status();
}

std::optional<Prediction> CpuElementwise::predict(const DesignPoint& /*point*/,
                                                  const RuntimeArguments& arguments,
                                                  Target /*target*/) const {
  const auto& elementwise = static_cast<const ElementwiseArguments&>(arguments);
  const auto elements = static_cast<double>(elementwise.out().elements());
  double bits = 0;
  const operations::ElementwiseOperands operands(elementwise);
  for (const TensorView* view : operands.views())
    bits += dtype_bits(view->dtype());
  const auto* const binding = elementwise.epilogue_binding();
  const int calls = binding != nullptr ? library_calls(*binding->graph)
                    : is_library_call(operations::function_of(elementwise.op())) ? 1
                                                                                 : 0;
  return Prediction{.seconds = predict_elementwise_seconds(elements, elements * bits / 8, calls),
                    .knobs = {}};
}

std::shared_ptr<const void> CpuElementwise::decode(
    const DesignPoint& point, const std::shared_ptr<const EpilogueGraph>& epilogue) const {
  return std::make_shared<const Program>(epilogue != nullptr ? epilogue
                                                             : operations::program_graph(point));
}

Status CpuElementwise::supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                                         Target /*target*/) const {
  return operations::check_program(point, epilogue);
}

std::unique_ptr<Launch> CpuElementwise::bind(const DesignPoint& point, const Knobs& /*knobs*/,
                                             const RuntimeArguments& arguments,
                                             std::shared_ptr<const CompiledObject> /*object*/,
                                             const BindOptions& options) const {
  const ProductTable* const products = active_products();
  if (products == nullptr) throw Error(ErrorKind::unsupported, processor_status().error());
  const auto& elementwise = static_cast<const ElementwiseArguments&>(arguments);
  const auto* const binding = elementwise.epilogue_binding();
  const auto* const decoded = static_cast<const Program*>(point.decoded());
  Program program = binding != nullptr   ? binding->graph
                    : decoded != nullptr ? *decoded
                                         : operations::program_graph(point);
  return std::make_unique<ElementwiseLaunch>(elementwise, std::move(program), *products,
                                             launch_threads(options));
}

}  // namespace estoc::cpu
