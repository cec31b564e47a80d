// What the library does for kernels written in Python: comparing operands with their metadata.
#include <string>
#include <vector>

#include "errors.h"
#include "estoc/device.hpp"
#include "kernels.h"

namespace estoc::python {
namespace {

Status mismatch(Reason reason, const std::string& what, const std::string& expected,
                const std::string& got) {
  return Status::fail(reason, what + ": expected " + expected + ", got " + got);
}

std::string text_of(Dtype dtype) {
  return std::string(dtype_name(dtype));
}

/// Modes of extent 1 are contiguous in either direction.
bool has_layout(const TensorView& view, LayoutConstraint layout) {
  const int rank = view.rank();
  if (layout == LayoutConstraint::any || rank == 0) return true;
  const int mode = layout == LayoutConstraint::t ? rank - 1 : rank - 2;
  return mode < 0 || view.shape(mode) <= 1 || view.stride(mode) == 1;
}

Status check_operand(const char* name, const TensorView& view, const TensorAttributes& wanted) {
  if (view.dtype() != wanted.dtype) {
    return mismatch(Reason::dtype, std::string(name) + ".dtype", text_of(wanted.dtype),
                    text_of(view.dtype()));
  }
  if (!has_layout(view, wanted.layout)) {
    return mismatch(Reason::layout, std::string(name) + ".strides",
                    std::string("layout ") + static_cast<char>(wanted.layout), view.to_string());
  }
  if (view.alignment() % wanted.alignment != 0) {
    return mismatch(Reason::alignment, std::string(name) + ".alignment",
                    std::to_string(wanted.alignment) + " bytes",
                    std::to_string(view.alignment()) + " bytes");
  }
  return Status::success();
}

Status check_three(const TensorAttributes& a, const TensorAttributes& b,
                   const TensorAttributes& out, const PyArguments& arguments) {
  for (const auto& [name, tensor] : arguments.operands()) {
    const std::string_view which = name;
    const TensorAttributes& wanted = which == "A" ? a : which == "B" ? b : out;
    Status status = check_operand(name, tensor->view, wanted);
    if (!status.ok()) return status;
  }
  return Status::success();
}

Status check_gemm(const GemmOperandsMetadata& wanted, const PyArguments& arguments) {
  const auto* gemm = dynamic_cast<const PyGemmArguments*>(&arguments);
  if (gemm == nullptr) return mismatch(Reason::operation, "operation", "gemm", "another");
  Status status = check_three(wanted.a, wanted.b, wanted.out, arguments);
  if (!status.ok()) return status;
  const Dtype accumulator = gemm->gemm().accumulator_type();
  if (accumulator == wanted.accumulator_type) return status;
  return mismatch(Reason::dtype, "accumulator_type", text_of(wanted.accumulator_type),
                  text_of(accumulator));
}

Status check_elementwise(const ElementwiseOperandsMetadata& wanted, const PyArguments& arguments) {
  const auto* given = dynamic_cast<const PyElementwiseArguments*>(&arguments);
  if (given == nullptr) return mismatch(Reason::operation, "operation", "elementwise", "another");
  if (given->elementwise().op() != wanted.op) {
    return mismatch(Reason::operation, "op", std::string(elementwise_op_name(wanted.op)),
                    std::string(elementwise_op_name(given->elementwise().op())));
  }
  return check_three(wanted.a, wanted.b, wanted.out, arguments);
}

Status status_of(nb::handle kernel, const char* method, nb::handle argument) {
  const nb::object given = kernel.attr(method)(argument);
  Status* status = nullptr;
  if (nb::try_cast(given, status, false) && status != nullptr) return *status;
  return Status::fail(std::string(method) + ": expected an estoc.Status, got " + class_name(given));
}

Status check_kernel(nb::handle kernel, const PyArguments& arguments) {
  if (!arguments.epilogue().is_none()) {
    const nb::object graph = nb::cast(*arguments.require_native().epilogue_graph());
    Status status = status_of(kernel, "_supports_epilogue", graph);
    if (!status.ok()) return status;
  }
  return status_of(kernel, "_supports", nb::find(arguments));
}

/// The target of a device that is there.
std::optional<Target> target_of(Device device) {
  if (device.is_cpu()) return Target::cpu();
  const std::vector<DeviceInfo>& devices = cuda_devices();
  const auto index = static_cast<std::size_t>(device.index);
  return index < devices.size() ? std::optional(devices[index].target) : std::nullopt;
}

/// Whether the target is among those that the attribute `targets` of a class names, if it has one.
Status check_targets(nb::handle kernel, const PyArguments& arguments,
                     std::optional<Target> target) {
  const nb::object targets = nb::getattr(kernel, "targets", nb::none());
  if (targets.is_none()) return Status::success();
  if (!target) target = target_of(arguments.device());
  const std::string wanted = target ? target->name() : arguments.device().name();
  std::string names;
  for (const nb::handle each :
       nb::isinstance<nb::str>(targets) ? nb::make_tuple(targets) : targets) {
    const std::string name = shown_text(each);
    if (name == wanted) return Status::success();
    names += (names.empty() ? "" : ", ") + name;
  }
  return mismatch(Reason::target, "target", "one of " + names, wanted);
}

Status supports_python(nb::handle kernel, PyKernel& self, const PyArguments& arguments,
                       std::optional<Target> target) {
  PyKernelMetadata* metadata = nullptr;
  if (!self.metadata.is_valid() || !nb::try_cast(self.metadata, metadata, false)) {
    return Status::fail(
        "metadata: expected an estoc.KernelMetadata, got none: call "
        "super().__init__(metadata)");
  }
  const int cc = target ? target->cc() : 0;
  if (target && metadata->native.min_cc > cc) {
    return mismatch(Reason::target, "target",
                    "compute capability " + std::to_string(metadata->native.min_cc),
                    target->name());
  }
  Status status = check_targets(kernel, arguments, target);
  if (status.ok()) status = check_operands(*metadata, arguments);
  return status.ok() ? check_kernel(kernel, arguments) : status;
}

}  // namespace

Status check_operands(const PyKernelMetadata& metadata, const PyArguments& arguments) {
  const nb::object operands = operands_of(metadata);
  GemmOperandsMetadata* gemm = nullptr;
  if (nb::try_cast(operands, gemm, false) && gemm != nullptr) return check_gemm(*gemm, arguments);
  ElementwiseOperandsMetadata* elementwise = nullptr;
  if (nb::try_cast(operands, elementwise, false) && elementwise != nullptr) {
    return check_elementwise(*elementwise, arguments);
  }
  return Status::success();  // of a kind of its author's own, which _supports judges
}

Status check_supports(nb::handle kernel, const PyArguments& arguments,
                      std::optional<Target> target) {
  PyKernel& self = kernel_behind(kernel);
  if (!self.native) return supports_python(kernel, self, arguments, target);
  const nb::gil_scoped_release unlocked;  // the driver or cuBLASLt may be opened for it
  return self.native->supports(*arguments.native(), target);
}

Status supports(nb::handle kernel, const PyArguments& arguments, std::optional<Target> target) {
  (void)kernel_behind(kernel);
  try {
    return check_supports(kernel, arguments, target);
  } catch (const nb::python_error& error) {
    return Status::fail("kernel class " + class_name(kernel) + ": " + class_name(error.value()) +
                        ": " + shown_text(error.value()));
  } catch (const std::exception& error) {
    return Status::fail("kernel class " + class_name(kernel) + ": " + error.what());
  }
}

}  // namespace estoc::python
