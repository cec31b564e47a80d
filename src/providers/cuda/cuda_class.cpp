// What the kernel classes of the cuda provider have in common: a generated unit, compiled by the
// JIT, launched through the driver.
#include "providers/cuda/cuda_class.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "estoc/device.hpp"
#include "estoc/dtype.hpp"
#include "jit/driver.h"

namespace estoc::cuda {
namespace {

static_assert(static_cast<int>(abi::Type::boolean) == static_cast<int>(Dtype::boolean));
static_assert(static_cast<int>(abi::Type::e4m3) == static_cast<int>(Dtype::e4m3));
static_assert(static_cast<int>(abi::Op::tanh) == static_cast<int>(ElementwiseOp::tanh));

// Everything NVRTC 13.0 compiles for and the kernels' instructions exist on.
constexpr std::array kTargets{
    Target::sm(80),        Target::sm(86),        Target::sm(87),        Target::sm(89),
    Target::sm(90),        Target::sm(90, true),  Target::sm(100),       Target::sm(100, true),
    Target::sm(103),       Target::sm(103, true), Target::sm(110, true), Target::sm(120),
    Target::sm(120, true),
};

const CudaObject& as_cuda(const CompiledObject* object) {
  if (const auto* cuda = dynamic_cast<const CudaObject*>(object)) return *cuda;
  throw Error(ErrorKind::type, "artifact: expected one of the cuda provider, got another's");
}

}  // namespace

std::shared_ptr<jit::LoadedKernel> CudaObject::loaded() const {
  std::call_once(once_,
                 [this] { loaded_ = std::make_shared<jit::LoadedKernel>(unit_->name, unit_); });
  return loaded_;
}

std::span<const Target> CudaKernelClass::targets() const {
  return kTargets;
}

std::shared_ptr<const CompiledObject> CudaKernelClass::compile(const DesignPoint& point,
                                                               const RuntimeArguments& /*any*/,
                                                               Target target) const {
  const jit::UnitRequest request{.name = std::string(name()) + point.space().suffix(point),
                                 .source = source(point),
                                 .target = target};
  return std::make_shared<const CudaObject>(jit::compile_unit(request));
}

std::unique_ptr<Launch> CudaKernelClass::bind(const DesignPoint& point, const Knobs& knobs,
                                              const RuntimeArguments& arguments,
                                              std::shared_ptr<const CompiledObject> object,
                                              const BindOptions& options) const {
  const int device = arguments.device().index;
  const CudaObject& compiled = as_cuda(object.get());
  if (!arguments.device().is_cuda()) {
    throw Error(ErrorKind::value, fmt::format("operands: expected memory of a CUDA device, got {}",
                                              arguments.device().name()));
  }
  const Target actual = jit::device_target(device);
  const Target built = compiled.unit().target;
  if (actual.cc() != built.cc()) {
    throw Error(ErrorKind::value, fmt::format("artifact: expected one for {}, which cuda:{} is, "
                                              "got one for {}",
                                              actual.name(), device, built.name()));
  }
  const jit::ContextScope scope(device);
  return std::make_unique<jit::DeviceLaunch>(
      device, nodes(point, knobs, arguments, compiled.loaded(), options));
}

DeviceModel device_model(Target target) {
  DeviceModel model;
  for (const DeviceInfo& device : jit::devices()) {
    if (device.target.cc() != target.cc()) continue;
    model.multiprocessors = device.multiprocessors;
    model.clock_hz = 0.85e3 * device.clock_khz;
    // Two transfers a clock, eight bits a byte; nine tenths of that is reached.
    model.memory_bytes_per_s = 0.9 * 2e3 * device.memory_clock_khz * device.memory_bus_bits / 8;
    return model;
  }
  if (target.cc() < 90) {
    model.multiprocessors = 108;
    model.clock_hz = 1.3e9;
    model.memory_bytes_per_s = 1.7e12;
  }
  return model;
}

std::string type_text(Dtype dtype) {
  return fmt::format("Type::{}", [&] {
    return dtype == Dtype::boolean ? std::string_view("boolean") : dtype_name(dtype);
  }());
}

}  // namespace estoc::cuda
