// Kernel class simt_elementwise: out = op(A, B), any dtypes, any strides.
#include "providers/cuda/simt_elementwise.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "cost/device_model.h"
#include "estoc/abi/simt_elementwise.cuh"
#include "estoc/arguments.hpp"
#include "providers/cuda/built_in_class.h"
#include "providers/cuda/config_text.h"
#include "providers/cuda/modes.h"

namespace estoc::cuda {
namespace {

static_assert(static_cast<int>(abi::Op::tanh) == static_cast<int>(ElementwiseOp::tanh));

constexpr std::array kOps{
    ElementwiseOp::add,     ElementwiseOp::sub,        ElementwiseOp::mul,      ElementwiseOp::div,
    ElementwiseOp::maximum, ElementwiseOp::minimum,    ElementwiseOp::identity, ElementwiseOp::neg,
    ElementwiseOp::abs,     ElementwiseOp::sqrt,       ElementwiseOp::rsqrt,    ElementwiseOp::exp,
    ElementwiseOp::log,     ElementwiseOp::reciprocal, ElementwiseOp::relu,     ElementwiseOp::gelu,
    ElementwiseOp::silu,    ElementwiseOp::sigmoid,    ElementwiseOp::tanh};

bool has_integer_form(ElementwiseOp op) {
  switch (op) {
    case ElementwiseOp::add:
    case ElementwiseOp::sub:
    case ElementwiseOp::mul:
    case ElementwiseOp::maximum:
    case ElementwiseOp::minimum:
    case ElementwiseOp::identity:
    case ElementwiseOp::neg:
    case ElementwiseOp::abs:
    case ElementwiseOp::relu:
      return true;
    default:
      return false;
  }
}

// As documented at ElementwiseArguments.
Dtype compute_type(ElementwiseOp op, Dtype a, Dtype b, Dtype out) {
  if (a == Dtype::f64 || b == Dtype::f64) return Dtype::f64;
  const std::array types{a, b, out};
  const bool floats = std::any_of(types.begin(), types.end(), is_float);
  return !floats && has_integer_form(op) ? Dtype::i32 : Dtype::f32;
}

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

// Elements of which the widest operand has 16 bytes, but no more than 16. A byte of a packed output
// is one thread's.
int vector_of(const DesignPoint& point) {
  const int out_bits = dtype_bits(point.dtype(Role::out_dtype));
  if (point.value("access").text == "single") return out_bits == 4 ? 2 : 1;
  const int widest = std::max(
      {dtype_bits(point.dtype(Role::a_dtype)), dtype_bits(point.dtype(Role::b_dtype)), out_bits});
  return 128 / std::max(widest, 8);
}

abi::SimtElementwiseConfig config_of(const DesignPoint& point) {
  const auto op = static_cast<ElementwiseOp>(point.integer(Role::op));
  const Dtype a = point.dtype(Role::a_dtype);
  const Dtype b = point.dtype(Role::b_dtype);
  const Dtype out = point.dtype(Role::out_dtype);
  const std::string& access = point.value("access").text;
  return {.op = static_cast<abi::Op>(op),
          .a = abi_type(a),
          .b = abi_type(b),
          .out = abi_type(out),
          .compute = abi_type(compute_type(op, a, b, out)),
          .vector = vector_of(point),
          .flat = access == "flat",
          .strided = access == "single"};
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
    const auto& elementwise = static_cast<const ElementwiseArguments&>(arguments);
    const Modes modes(elementwise);
    if (access == "single") return modes.keeps_bytes(elementwise);
    if (access == "flat" && modes.rank() > 1) {
      return Status::fail(Reason::layout,
                          "out.strides: expected operands that form one contiguous run, got a view "
                          "of several modes");
    }
    return modes.fits_vectors(elementwise, vector_of(point));
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override {
    const auto& elementwise = static_cast<const ElementwiseArguments&>(arguments);
    const cost::DeviceModel& device = cost::device_model(target, arguments.device());
    const double bytes =
        static_cast<double>(elementwise.a().span_bytes()) +
        static_cast<double>(is_binary(elementwise.op()) ? elementwise.b().span_bytes() : 0) +
        static_cast<double>(elementwise.out().span_bytes());
    const std::string& access = point.value("access").text;
    const double reached = access == "flat" ? 1.0 : access == "vector" ? 0.9 : 0.5;
    return Prediction{device.launch_seconds + bytes / (reached * device.memory_bytes_per_s), {}};
  }

  void plan(const DesignPoint& point, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& /*workspace*/, LaunchPlan& plan) const override {
    const auto& elementwise = static_cast<const ElementwiseArguments&>(arguments);
    if (elementwise.out().elements() == 0) return;
    const Modes modes(elementwise);
    const abi::SimtElementwiseParameters parameters =
        modes.parameters(elementwise, vector_of(point));
    constexpr std::int64_t kBlock = 256 * 4;
    constexpr std::int64_t kMostBlocks = std::int64_t{1} << 30;
    const std::int64_t blocks = (parameters.vectors + kBlock - 1) / kBlock;
    const CudaGeometry geometry{
        .grid = {static_cast<unsigned>(std::min(blocks, kMostBlocks)), 1, 1}, .block = {256, 1, 1}};
    plan.kernel(geometry, parameters);
  }

 protected:
  std::string source(const DesignPoint& point, const EpilogueGraph* /*epilogue*/) const override {
    return fmt::format(R"(#include <estoc/kernels/simt_elementwise.cuh>

using namespace estoc::abi;
namespace {{
{}static_assert(sizeof(SimtElementwiseParameters) == {});
}}  // namespace

extern "C" __global__ void __launch_bounds__(kConfig.threads(), 3)
estoc_kernel(const __grid_constant__ SimtElementwiseParameters parameters) {{
  estoc::simt_elementwise<kConfig>(parameters);
}}
)",
                       config_text("SimtElementwiseConfig", config_of(point)),
                       sizeof(abi::SimtElementwiseParameters));
  }

 private:
  std::shared_ptr<const DesignSpace> space_ = make_space();
};

}  // namespace

std::shared_ptr<const KernelClass> make_simt_elementwise() {
  return std::make_shared<SimtElementwise>();
}

}  // namespace estoc::cuda
