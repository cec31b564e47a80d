// Kernel classes written in Python whose kernels are CUDA code, as classes of the library.
#include <functional>
#include <string>
#include <utility>

#include "arguments.h"
#include "configurations.h"
#include "cuda_launch.h"
#include "errors.h"
#include "estoc/cuda_kernel_class.hpp"
#include "remembered_lists.h"

namespace estoc::python {
namespace {

/// estoc.CudaCode.
struct PyCode {
  CudaCode native;
};

/// The arguments that a method of the class is given. They hold views of the caller's tensors.
nb::object arguments_of(const RuntimeArguments& arguments) {
  if (const auto* gemm = dynamic_cast<const GemmArguments*>(&arguments)) {
    return nb::cast(new PyGemmArguments(*gemm), nb::rv_policy::take_ownership);
  }
  const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(arguments);
  return nb::cast(new PyElementwiseArguments(elementwise), nb::rv_policy::take_ownership);
}

nb::object workspace_tensor(const Workspace& workspace, Device device) {
  if (workspace.data == nullptr) return nb::none();
  Tensor tensor;
  tensor.source = nb::none();
  tensor.view = TensorView::row_major(workspace.data, Dtype::u8,
                                      {static_cast<std::int64_t>(workspace.bytes)}, device);
  return nb::cast(tensor);
}

std::string text_attribute(nb::handle author, const char* name) {
  const nb::object value = author.attr(name);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  fail_type("kernel class " + class_name(author) + ": expected text as " + name + ", got " +
            class_name(value));
}

std::vector<Target> targets_of(nb::handle author) {
  std::vector<Target> targets;
  const nb::object given = author.attr("targets");
  if (given.is_none()) return targets;
  for (const nb::handle name : given) {
    const auto target = Target::parse(nb::cast<std::string>(nb::str(name)));
    if (!target || target->is_cpu()) {
      fail_value("kernel class " + class_name(author) +
                 ": expected targets such as \"sm_90a\", got " + nb::repr(name).c_str());
    }
    targets.push_back(*target);
  }
  return targets;
}

Operation operation_of(nb::handle author) {
  const std::string name = text_attribute(author, "operation");
  if (const auto operation = parse_operation(name)) return *operation;
  fail_value("kernel class " + class_name(author) +
             ": expected gemm or elementwise as operation, got " + name);
}

/// "ZeroDivisionError: division by zero", where an exception of Python's own text is a traceback.
std::string summary_of(const std::exception& error) {
  const auto* raised = dynamic_cast<const nb::python_error*>(&error);
  if (raised == nullptr) return error.what();
  return class_name(raised->value()) + ": " + nb::str(raised->value()).c_str();
}

/// Asks the author's object. Called by any thread, without the GIL; nothing of Python's leaves it
/// but what Python raised in plan().
class PythonCudaClass final : public CudaKernelClass {
 public:
  explicit PythonCudaClass(nb::object author)
      : name_(text_attribute(author, "name")),
        abi_(text_attribute(author, "abi")),
        operation_(operation_of(author)),
        targets_(targets_of(author)),
        waits_(nb::cast<bool>(author.attr("waits_for_dependencies"))),
        configurations_(author.attr("configurations")()),
        author_(std::move(author)) {
    const nb::object base = nb::module_::import_("estoc.cuda").attr("CudaKernelClass");
    auto own = [&](const char* method) {
      return !author_.type().attr(method).is(base.attr(method));
    };
    supports_ = own("supports");
    predicts_ = own("predict");
    needs_workspace_ = own("workspace_size");
  }

  ~PythonCudaClass() override {
    if (Py_IsInitialized() == 0) {
      configurations_.leak();
      author_.release();
      return;
    }
    const nb::gil_scoped_acquire locked;
    configurations_ = Configurations();
    author_.reset();
  }

  PythonCudaClass(const PythonCudaClass&) = delete;
  PythonCudaClass& operator=(const PythonCudaClass&) = delete;

  std::string_view name() const override { return name_; }
  Operation operation() const override { return operation_; }
  std::shared_ptr<const DesignSpace> space() const override { return configurations_.space(); }
  std::string abi() const override { return abi_; }
  bool waits_for_dependencies() const override { return waits_; }
  std::span<const Target> targets() const override {
    return targets_.empty() ? CudaKernelClass::targets() : std::span<const Target>(targets_);
  }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override {
    if (!supports_) return Status::success();
    const nb::gil_scoped_acquire locked;
    try {
      const nb::object answer = author_.attr("supports")(configurations_.at(point),
                                                         arguments_of(arguments), target.name());
      Status* status = nullptr;
      if (nb::try_cast(answer, status, false) && status != nullptr) return *status;
      return Status::fail("kernel class " + name_ + ": expected an estoc.Status of supports, got " +
                          class_name(answer));
    } catch (const std::exception& error) {
      return Status::fail("kernel class " + name_ + ": " + summary_of(error));
    }
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override {
    if (!predicts_) return std::nullopt;
    const nb::gil_scoped_acquire locked;
    return guarded<std::optional<Prediction>>("predict", ErrorKind::value, [&] {
      const nb::object seconds = author_.attr("predict")(configurations_.at(point),
                                                         arguments_of(arguments), target.name());
      return seconds.is_none() ? std::nullopt
                               : std::optional(Prediction{nb::cast<double>(seconds), {}});
    });
  }

  std::size_t workspace_size(const DesignPoint& point, const Knobs& /*knobs*/,
                             const RuntimeArguments& arguments) const override {
    if (!needs_workspace_) return 0;
    const nb::gil_scoped_acquire locked;
    return guarded<std::size_t>("workspace_size", ErrorKind::value, [&] {
      return nb::cast<std::size_t>(
          author_.attr("workspace_size")(configurations_.at(point), arguments_of(arguments)));
    });
  }

  CudaCode code(const DesignPoint& point, Target target) const override {
    const nb::gil_scoped_acquire locked;
    return guarded<CudaCode>("code", ErrorKind::compile, [&] {
      const nb::object made = author_.attr("code")(configurations_.at(point), target.name());
      PyCode* code = nullptr;
      if (!nb::try_cast(made, code, false) || code == nullptr) {
        fail_type("expected an estoc.CudaCode, got " + class_name(made));
      }
      return code->native;
    });
  }

  void plan(const DesignPoint& point, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const override {
    const nb::gil_scoped_acquire locked;
    auto* const launch = new PyLaunch{&plan, arguments.device()};
    const nb::object object = nb::cast(launch, nb::rv_policy::take_ownership);
    struct End {
      PyLaunch* launch;
      ~End() { launch->plan = nullptr; }
    } const end{launch};
    author_.attr("plan")(configurations_.at(point), arguments_of(arguments),
                         workspace_tensor(workspace, arguments.device()), object);
  }

 private:
  /// What the library may keep or show to several threads holds nothing of Python's.
  template <typename Result>
  Result guarded(const char* method, ErrorKind kind, const std::function<Result()>& ask) const {
    try {
      return ask();
    } catch (const std::exception& error) {
      throw Error(kind, "kernel class " + name_ + ", " + method + ": " + summary_of(error));
    }
  }

  std::string name_;
  std::string abi_;
  Operation operation_;
  std::vector<Target> targets_;
  bool waits_;
  Configurations configurations_;
  nb::object author_;
  bool supports_ = false;
  bool predicts_ = false;
  bool needs_workspace_ = false;
};

PyCode make_code(const std::string& source, nb::handle image, nb::handle entries) {
  PyCode code;
  code.native.source = source;
  if (!image.is_none()) {
    if (!nb::isinstance<nb::bytes>(image)) {
      fail_type("image: expected bytes, got " + class_name(image));
    }
    const auto bytes = nb::borrow<nb::bytes>(image);
    code.native.image = std::string(bytes.c_str(), bytes.size());
  }
  if (code.native.source.empty() == code.native.image.empty()) {
    fail_value("code: expected either source or image, got " +
               std::string(code.native.source.empty() ? "neither" : "both"));
  }
  code.native.entries.clear();
  if (nb::isinstance<nb::str>(entries)) {
    code.native.entries.push_back(nb::cast<std::string>(entries));
  } else {
    code.native.entries = nb::cast<std::vector<std::string>>(entries);
  }
  if (code.native.entries.empty()) fail_value("entries: expected at least one, got none");
  return code;
}

std::string describe(const PyCode& self) {
  const bool text = self.native.image.empty();
  const std::size_t size = text ? self.native.source.size() : self.native.image.size();
  return "<CudaCode " + self.native.entries.front() + ", " + std::to_string(size) +
         (text ? " characters of source>" : " bytes of code>");
}

}  // namespace

void bind_cuda_classes(nb::module_& module) {
  bind_cuda_launch(module);
  nb::class_<PyCode>(
      module, "CudaCode",
      "The code of one kernel: CUDA C++ text, or a cubin, fatbin or PTX.\n\n"
      "Parameters\n----------\n"
      "source : str\n    Compiled by NVRTC as C++20, without headers but Estoc's own.\n"
      "image : bytes, optional\n    Code that is compiled already, instead of source.\n"
      "entries : str or sequence of str\n"
      "    The __global__ functions that a launch starts, as the driver knows them: extern \"C\".")
      .def(nb::new_(&make_code), nb::arg("source") = "", nb::arg("image") = nb::none(),
           nb::arg("entries") = "estoc_kernel")
      .def_prop_ro("source", [](const PyCode& self) { return self.native.source; })
      .def_prop_ro("image",
                   [](const PyCode& self) {
                     return nb::bytes(self.native.image.data(), self.native.image.size());
                   })
      .def_prop_ro("entries", [](const PyCode& self) { return self.native.entries; })
      .def("__repr__", &describe);
  module.def("_register_cuda_class", [](const std::string& provider, nb::object author) {
    register_kernel_class(provider, std::make_shared<PythonCudaClass>(std::move(author)));
    forget_lists();
  });
  module.def("_unregister_native_class", [](const std::string& name) {
    forget_lists();
    return unregister_kernel_class(name);
  });
}

}  // namespace estoc::python
