// Pickling: tensors with their data, kernels by name, compiled kernels with their code.
#include <algorithm>
#include <string>

#include "dtypes.h"
#include "epilogue.h"
#include "errors.h"
#include "estoc/discovery.hpp"
#include "estoc/tuned.hpp"
#include "kernels.h"

namespace estoc::python {
namespace {

/// pickle finds classes and Python's functions by name, not those of an extension module.
nb::object member(const char* name) {
  return nb::module_::import_("estoc._pickling").attr(name);
}

nb::tuple tuple_of(std::span<const std::int64_t> values) {
  nb::list list;
  for (const std::int64_t value : values)
    list.append(value);
  return nb::tuple(list);
}

nb::tuple reduce_tensor(const Tensor& self) {
  const nb::tuple shape = tuple_of(self.view.shape());
  const nb::tuple strides = tuple_of(self.view.strides());
  const nb::object dtype = dtype_object(self.view.dtype());
  if (self.view.described()) {
    return nb::make_tuple(
        member("describe"),
        nb::make_tuple(dtype, shape, strides, self.view.device().name(), self.view.alignment()));
  }
  // What arrives may lie otherwise in memory, so only a view of other bytes says its own shape.
  const Tensor plain = import_tensor(self.source, "tensor");
  const bool same = plain.view.dtype() == self.view.dtype() &&
                    std::ranges::equal(plain.view.shape(), self.view.shape());
  if (same) return nb::make_tuple(member("Tensor"), nb::make_tuple(self.source));
  return nb::make_tuple(member("Tensor"), nb::make_tuple(self.source, dtype, shape, strides));
}

nb::tuple reduce_gemm(const PyGemmArguments& self) {
  return nb::make_tuple(member("GemmArguments"),
                        nb::make_tuple(self.a(), self.b(), self.result(),
                                       dtype_object(self.gemm().accumulator_type()),
                                       self.epilogue(), self.controls()));
}

nb::tuple reduce_epilogue(const PyEpilogue& self) {
  return nb::make_tuple(member("make_epilogue"),
                        nb::make_tuple(self.native().text(), self.operands()));
}

nb::tuple reduce_elementwise(const PyElementwiseArguments& self) {
  if (!self.epilogue().is_none()) {
    return nb::make_tuple(member("make_elementwise"),
                          nb::make_tuple(self.a(), self.out(), self.epilogue(), self.controls()));
  }
  return nb::make_tuple(
      member("ElementwiseArguments"),
      nb::make_tuple(elementwise_op_name(self.elementwise().op()), self.a(),
                     self.b() ? nb::cast(*self.b()) : nb::none(), self.out(), self.controls()));
}

nb::tuple reduce_grouped(const PyGroupedGemmArguments& self) {
  return nb::make_tuple(member("GroupedGemmArguments"),
                        nb::make_tuple(self.a(), self.b(), self.out(),
                                       dtype_object(self.grouped().accumulator_type()),
                                       self.offsets() ? nb::cast(*self.offsets()) : nb::none(),
                                       self.grouped().zero_rest(), self.epilogue(), self.controls(),
                                       group_layout_name(self.grouped().layout()),
                                       self.rows() ? nb::cast(*self.rows()) : nb::none()));
}

nb::tuple reduce_scaled(const PyScaledTensor& self) {
  return nb::make_tuple(
      member("ScaledTensor"),
      nb::make_tuple(self.base, self.scale, scale_mode_name(self.mode),
                     scale_swizzle_name(self.swizzle), self.tensor_scale, self.powers_of_two));
}

nb::tuple reduce_kernel(nb::handle_t<PyKernel> self) {
  auto& kernel = kernel_behind(self);
  if (!kernel.native) return nb::make_tuple(self.type(), nb::make_tuple(metadata_of(kernel)));
  return nb::make_tuple(member("make_kernel"),
                        nb::make_tuple(kernel.native->name(), knobs_text(kernel.native->knobs()),
                                       kernel.native->metadata().epilogue));
}

nb::object make_kernel(const std::string& name, const std::string& knobs,
                       const std::string& epilogue) {
  return wrap_kernel(kernel_again(name, epilogue).with_knobs(parse_knobs(knobs)));
}

nb::tuple reduce_metadata(nb::handle_t<PyKernelMetadata> self) {
  const auto& metadata = nb::cast<const PyKernelMetadata&>(self);
  if (!metadata.kernel_class.is_valid()) {
    return nb::make_tuple(member("make_metadata"),
                          nb::make_tuple(metadata.native.name, metadata.native.epilogue));
  }
  return nb::make_tuple(self.type(), nb::make_tuple(metadata.native.name, metadata.kernel_class,
                                                    metadata.native.min_cc, operands_of(metadata),
                                                    metadata.design, metadata.epilogue));
}

/// Differs where this program would launch the code otherwise than the one that compiled it.
std::string version_of(const Kernel& kernel, Target target) {
  const CompileRequest request{kernel.point(), target, {}, kernel.epilogue().get()};
  return kernel.kernel_class().abi() + ' ' + kernel.kernel_class().code_key(request);
}

nb::tuple reduce_artifact(const PyArtifact& self) {
  if (!self.native) {
    return nb::make_tuple(member("CompiledArtifact"),
                          nb::make_tuple(self.compiled_obj, self.kernel));
  }
  nb::object code = nb::none();
  if (const CompiledCode* native = self.native->code()) {
    code = nb::make_tuple(native->format, native->compiler,
                          nb::bytes(native->bytes.data(), native->bytes.size()));
  }
  return nb::make_tuple(member("make_artifact"),
                        nb::make_tuple(self.kernel, self.native->target().name(), code,
                                       version_of(self.native->kernel(), self.native->target())));
}

Artifact load_artifact(const Kernel& kernel, Target target, nb::handle code) {
  if (code.is_none()) {
    const nb::gil_scoped_release unlocked;
    return kernel.compile(target);
  }
  const auto bytes = nb::borrow<nb::bytes>(code[2]);
  CompiledCode native;
  native.format = nb::cast<std::string>(code[0]);
  native.compiler = nb::cast<std::string>(code[1]);
  native.bytes = std::string(bytes.c_str(), bytes.size());
  const CompileRequest request{kernel.point(), target, {}, kernel.epilogue().get()};
  return {kernel, target, kernel.kernel_class().load(request, std::move(native))};
}

nb::object make_artifact(nb::object kernel, const std::string& target, nb::handle code,
                         const std::string& version) {
  const auto& self = kernel_behind(kernel);
  const auto parsed = Target::parse(target);
  if (!self.native || !parsed) fail_value("artifact: expected one of a kernel of the library");
  const std::string own = version_of(*self.native, *parsed);
  if (own != version) {
    fail_value("artifact: expected one of version \"" + own + "\", got \"" + version +
               "\": it is of another version of Estoc or of its class");
  }
  Artifact artifact = load_artifact(*self.native, *parsed, code);
  return nb::cast(new PyArtifact{std::move(artifact), nb::object(), std::move(kernel)},
                  nb::rv_policy::take_ownership);
}

template <typename T, typename Function>
void add_reduce(Function&& function) {
  const nb::object type = nb::borrow(nb::type<T>());
  nb::setattr(type, "__reduce__",
              nb::cpp_function(std::forward<Function>(function), nb::is_method(), nb::scope(type),
                               nb::name("__reduce__")));
}

}  // namespace

void bind_pickling(nb::module_& module) {
  add_reduce<Tensor>(&reduce_tensor);
  add_reduce<PyScaledTensor>(&reduce_scaled);
  add_reduce<PyEpilogue>(&reduce_epilogue);
  add_reduce<PyGemmArguments>(&reduce_gemm);
  add_reduce<PyElementwiseArguments>(&reduce_elementwise);
  add_reduce<PyGroupedGemmArguments>(&reduce_grouped);
  add_reduce<PyKernel>(&reduce_kernel);
  add_reduce<PyKernelMetadata>(&reduce_metadata);
  add_reduce<PyArtifact>(&reduce_artifact);
  module.def("_make_kernel", &make_kernel);
  module.def("_make_metadata", [](const std::string& name, const std::string& epilogue) {
    return wrap_metadata(kernel_again(name, epilogue).metadata());
  });
  module.def("_make_artifact", &make_artifact, nb::arg("kernel"), nb::arg("target"),
             nb::arg("code").none(), nb::arg("version"));
}

}  // namespace estoc::python
