// Kernel classes written in Python whose kernels are CUDA code, as classes of the library.
#include <string>

#include "author.h"
#include "cuda_launch.h"
#include "errors.h"
#include "estoc/element_epilogue.hpp"
#include "numbers.h"

namespace estoc::python {
namespace {

/// estoc.CudaCode.
struct PyCode {
  CudaCode native;
};

/// Calls the author's object, for any thread, without the GIL. No Python object leaves it except
/// what plan() raised.
class PythonCudaClass final : public CudaKernelClass {
 public:
  explicit PythonCudaClass(const nb::object& author)
      : author_(author), waits_(nb::cast<bool>(author.attr("waits_for_dependencies"))) {
    for (const Target target : author_.targets()) {
      if (target.is_cpu()) {
        fail_value("kernel class " + author_.name() +
                   ": expected targets such as \"sm_90a\", got \"cpu\"");
      }
    }
  }

  std::string_view name() const override { return author_.name(); }
  std::string abi() const override { return author_.abi(); }
  Operation operation() const override { return author_.operation(); }
  std::shared_ptr<const DesignSpace> space() const override { return author_.space(); }
  bool waits_for_dependencies() const override { return waits_; }
  std::span<const Target> targets() const override {
    return author_.targets().empty() ? CudaKernelClass::targets() : author_.targets();
  }

  Status supports(const DesignPoint& point, const RuntimeArguments& arguments,
                  Target target) const override {
    return author_.supports(point, arguments, target);
  }

  Status supports_epilogue(const DesignPoint& point, const EpilogueGraph& epilogue,
                           Target target) const override {
    if (!author_.takes_epilogues()) {
      return CudaKernelClass::supports_epilogue(point, epilogue, target);
    }
    Status status = check_element_epilogue(epilogue);
    return status.ok() ? author_.supports_epilogue(point, epilogue, target) : status;
  }

  std::optional<Prediction> predict(const DesignPoint& point, const RuntimeArguments& arguments,
                                    Target target) const override {
    return author_.predict(point, arguments, target);
  }

  std::size_t workspace_size(const DesignPoint& point, const Knobs& /*knobs*/,
                             const RuntimeArguments& arguments) const override {
    return author_.workspace_size(point, arguments);
  }

  CudaCode code(const DesignPoint& point, Target target) const override {
    return code_of("code",
                   [&] { return author_.object().attr("code")(author_.at(point), target.name()); });
  }

  CudaCode fused_code(const DesignPoint& point, Target target,
                      const EpilogueGraph& epilogue) const override {
    return code_of("fused_code", [&] {
      return author_.object().attr("fused_code")(author_.at(point), target.name(), epilogue);
    });
  }

  void plan(const DesignPoint& point, const Knobs& /*knobs*/, const RuntimeArguments& arguments,
            const Workspace& workspace, LaunchPlan& plan) const override {
    const nb::gil_scoped_acquire locked;
    auto* const launch = new PyLaunch{&plan, &arguments};
    const nb::object object = nb::cast(launch, nb::rv_policy::take_ownership);
    struct End {
      PyLaunch* launch;
      ~End() { launch->plan = nullptr; }
    } const end{launch};
    author_.object().attr("plan")(author_.at(point), arguments_of(arguments),
                                  workspace_tensor(workspace, arguments.device()), object);
  }

 private:
  CudaCode code_of(const char* method, const std::function<nb::object()>& call) const {
    const nb::gil_scoped_acquire locked;
    return author_.guarded<CudaCode>(method, ErrorKind::compile, [&] {
      const nb::object made = call();
      PyCode* code = nullptr;
      if (!nb::try_cast(made, code, false) || code == nullptr) {
        fail_type("expected an estoc.CudaCode, got " + class_name(made));
      }
      return code->native;
    });
  }

  Author author_;
  bool waits_;
};

PyCode make_code(nb::handle source, nb::handle image, nb::handle entries) {
  PyCode code;
  code.native.source = text(source, "source");
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
    for (const nb::object& entry : items_of(entries, "entries"))
      code.native.entries.push_back(text(entry, "entries"));
  }
  if (code.native.entries.empty()) fail_value("entries: expected at least one, got none");
  return code;
}

std::string describe_code(const PyCode& self) {
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
      .def(nb::new_(&make_code), nb::arg("source").none() = "", nb::arg("image") = nb::none(),
           nb::arg("entries").none() = "estoc_kernel")
      .def_prop_ro("source", [](const PyCode& self) { return self.native.source; })
      .def_prop_ro("image",
                   [](const PyCode& self) {
                     return nb::bytes(self.native.image.data(), self.native.image.size());
                   })
      .def_prop_ro("entries", [](const PyCode& self) { return self.native.entries; })
      .def("__reduce__",
           [](nb::handle_t<PyCode> self) {
             return nb::make_tuple(
                 self.type(),
                 nb::make_tuple(self.attr("source"), self.attr("image"), self.attr("entries")));
           })
      .def("__repr__", &describe_code);
  nb::class_<EpilogueGraph>(
      module, "EpilogueGraph",
      "An epilogue with all types known, as a kernel class compiles it. Values and\n"
      "addresses are no part of it.")
      .def_ro("text", &EpilogueGraph::canonical, "Equal epilogues have equal texts.")
      .def_prop_ro("source", &element_epilogue_source,
                   "The struct Epilogue for the source of a kernel (docs/adding_a_kernel.md).")
      .def("__getstate__", [](const EpilogueGraph& self) { return self.canonical; })
      .def("__setstate__",
           [](EpilogueGraph& self, const std::string& canonical) {
             new (&self) EpilogueGraph(*parse_epilogue_graph(canonical));
           })
      .def("__repr__",
           [](const EpilogueGraph& self) { return "<EpilogueGraph " + self.canonical + ">"; });
  module.def("_register_cuda_class", [](const std::string& provider, const nb::object& author) {
    register_kernel_class(provider, std::make_shared<PythonCudaClass>(author));
  });
}

}  // namespace estoc::python
