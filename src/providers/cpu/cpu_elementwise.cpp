// The kernel class cpu_elementwise: elementwise operations on the host processor.
#include "providers/cpu/cpu_elementwise.h"

#include "providers/cpu/cost_model.h"
#include "providers/cpu/elementwise_ops.h"
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

class ElementwiseLaunch final : public Launch {
 public:
  ElementwiseLaunch(const ElementwiseArguments& arguments, const ProductTable& products,
                    int threads)
      : operation_(arguments, products, threads) {}
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
  const ElementwiseOp op = elementwise.op();
  const auto elements = static_cast<double>(elementwise.out().elements());
  const int bits = dtype_bits(elementwise.a().dtype()) + dtype_bits(elementwise.out().dtype()) +
                   (is_binary(op) ? dtype_bits(elementwise.b().dtype()) : 0);
  return Prediction{
      .seconds = predict_elementwise_seconds(elements, elements * bits / 8, is_transcendental(op)),
      .knobs = {}};
}

std::unique_ptr<Launch> CpuElementwise::bind(const DesignPoint& /*point*/, const Knobs& /*knobs*/,
                                             const RuntimeArguments& arguments,
                                             std::shared_ptr<const CompiledObject> /*object*/,
                                             const BindOptions& options) const {
  const ProductTable* const products = active_products();
  if (products == nullptr) throw Error(ErrorKind::unsupported, processor_status().error());
  return std::make_unique<ElementwiseLaunch>(static_cast<const ElementwiseArguments&>(arguments),
                                             *products, launch_threads(options));
}

}  // namespace estoc::cpu
