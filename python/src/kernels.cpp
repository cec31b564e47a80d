// estoc.Kernel, CompiledArtifact and BoundKernel.
#include "kernels.h"

#include <chrono>
#include <string>

#include "addresses.h"
#include "errors.h"
#include "estoc/discovery.hpp"
#include "numbers.h"
#include "streams.h"
#include "workspaces.h"

namespace estoc::python {
namespace {

[[noreturn]] void fail_not_written(nb::handle kernel, const char* method) {
  fail_missing_method(class_name(kernel) + ": a kernel written in Python must have a method " +
                      method);
}

std::string name_of_kernel(nb::handle kernel) {
  PyKernel& self = kernel_behind(kernel);
  if (self.native) return self.native->name();
  return nb::cast<std::string>(metadata_of(self).attr("kernel_name"));
}

/// One immutable object stands for every success.
nb::typed<nb::object, Status> status_object(Status status) {
  static const auto* const success = new nb::object(nb::cast(Status::success()));
  const nb::object given = status.ok() ? *success : nb::cast(std::move(status));
  return nb::borrow<nb::typed<nb::object, Status>>(given.ptr());
}

void require_supported(nb::handle kernel, const PyArguments& arguments,
                       std::optional<Target> target = std::nullopt) {
  const Status status = supports(kernel, arguments, target);
  if (!status.ok()) {
    throw Error(ErrorKind::unsupported, "kernel " + name_of_kernel(kernel) + ": " + status.error());
  }
}

/// __init__(metadata): of a kernel written in Python, or of a built-in one made again.
void init_kernel(nb::pointer_and_handle<PyKernel> self, nb::object metadata) {
  PyKernelMetadata* given = nullptr;
  if (!nb::try_cast(metadata, given, false) || given == nullptr) {
    fail_type("metadata: expected an estoc.KernelMetadata, got " + class_name(metadata));
  }
  const nb::object class_name = nb::getattr(self.h.type(), "class_name", nb::none());
  if (class_name.is_none() || given->native.kernel_class != nb::cast<std::string>(class_name)) {
    new (self.p) PyKernel{std::nullopt, std::move(metadata)};
    return;
  }
  new (self.p) PyKernel{kernel_again(given->native.name, given->native.epilogue), nb::object()};
}

/// For `arguments`, or, where these are null, for all that the kernel supports on `target`.
Artifact compile_native(const Kernel& kernel, const RuntimeArguments* arguments,
                        std::optional<Target> target, const CompileOptions& options) {
  const nb::gil_scoped_release unlocked;
  return arguments == nullptr ? kernel.compile(*target, options)
                              : kernel.compile(*arguments, target, options);
}

nb::object compile(nb::handle self, nb::handle args, nb::handle cc, nb::handle target,
                   nb::handle lineinfo, nb::handle use_caches) {
  PyKernel& kernel = kernel_behind(self);
  if (!kernel.native) fail_not_written(self, "compile(self, args, cc=None)");
  const std::optional<Target> wanted = to_target(cc, target);
  if (args.is_none() && !wanted) fail_type("args: expected arguments, or a target, got neither");
  const RuntimeArguments* const arguments =
      args.is_none() ? nullptr : &to_arguments(args).require_native();
  const CompileOptions options{.lineinfo = truth(lineinfo, "lineinfo"),
                               .use_caches = truth(use_caches, "use_caches")};
  return nb::cast(new PyArtifact{compile_native(*kernel.native, arguments, wanted, options),
                                 nb::object(), nb::borrow(self)},
                  nb::rv_policy::take_ownership);
}

struct RunRequest {
  nb::handle artifact;
  nb::handle stream;
  nb::handle workspace;
  bool assume_supported = false;
  int threads = 0;
  bool programmatic = true;
};

struct HeldOptions {
  RunOptions native;
  nb::object workspace;
};

HeldOptions options_of(const Kernel& kernel, const PyArguments& arguments,
                       const RunRequest& request) {
  const RuntimeArguments& native = arguments.require_native();
  // What has no data is refused later on, and may be of a device that is not there.
  void* const stream = native.has_data() ? stream_for(arguments, request.stream) : nullptr;
  HeldWorkspace workspace =
      provide_workspace(request.workspace, kernel, native, arguments.out(), stream);
  return {{.stream = stream,
           .workspace = workspace.native,
           .threads = request.threads,
           .assume_supported_args = request.assume_supported,
           .programmatic = request.programmatic},
          std::move(workspace.holder)};
}

void run_native(const Kernel& kernel, const PyArguments& arguments, const RunRequest& request) {
  const RuntimeArguments& native = arguments.require_native();
  const HeldOptions options = options_of(kernel, arguments, request);
  if (request.artifact.is_none()) {
    const nb::gil_scoped_release unlocked;
    kernel.run(native, options.native);
    return;
  }
  const Artifact& artifact = native_artifact(request.artifact);
  const nb::gil_scoped_release unlocked;
  kernel.run(native, artifact, options.native);
}

nb::object stream_object(const PyArguments& arguments, nb::handle stream) {
  if (arguments.device().is_cpu()) return nb::borrow(stream);
  return nb::int_(address_of(stream_for(arguments, stream)));
}

void run_python(nb::handle self, const PyArguments& arguments, const RunRequest& request) {
  if (!request.assume_supported) require_supported(self, arguments);
  const nb::object given = nb::find(arguments);
  const nb::object artifact = request.artifact.is_none() ? nb::object(self.attr("compile")(given))
                                                         : nb::borrow(request.artifact);
  self.attr("_run")(given, artifact, stream_object(arguments, request.stream),
                    nb::arg("workspace") = request.workspace);
}

void run_with(nb::handle self, const PyArguments& arguments, const RunRequest& request) {
  PyKernel& kernel = kernel_behind(self);
  if (kernel.native) {
    run_native(*kernel.native, arguments, request);
  } else {
    run_python(self, arguments, request);
  }
}

RunRequest request_of(nb::handle artifact, nb::handle stream, nb::handle workspace,
                      nb::handle assume, nb::handle threads, nb::handle programmatic) {
  return {artifact,
          stream,
          workspace,
          truth(assume, "assume_supported_args"),
          whole_int(threads, "threads"),
          truth(programmatic, "programmatic")};
}

BoundKernel bind_native(const Kernel& kernel, const RuntimeArguments& arguments,
                        nb::handle artifact, const RunOptions& options) {
  const Artifact& native = native_artifact(artifact);
  const nb::gil_scoped_release unlocked;
  return kernel.bind(arguments, native, options);
}

nb::object bind(nb::handle self, const PyArguments& arguments, const RunRequest& request) {
  PyKernel& kernel = kernel_behind(self);
  const nb::object given = nb::find(arguments);
  nb::object compiled = nb::borrow(request.artifact);
  if (compiled.is_none()) compiled = self.attr("compile")(given);
  auto bound = std::make_unique<PyBound>();
  if (kernel.native) {
    HeldOptions options = options_of(*kernel.native, arguments, request);
    bound->native.emplace(
        bind_native(*kernel.native, arguments.require_native(), compiled, options.native));
    bound->workspace = std::move(options.workspace);
    const bool shares = arguments.device().is_cuda() &&
                        kernel.native->workspace_size(arguments.require_native()) > 0;
    if (shares) bound->stream = options.native.stream;
  } else if (!request.assume_supported) {
    require_supported(self, arguments);
  }
  bound->kernel = nb::borrow(self);
  bound->arguments = given;
  bound->artifact = std::move(compiled);
  if (!bound->workspace.is_valid()) bound->workspace = nb::borrow(request.workspace);
  return nb::cast(bound.release(), nb::rv_policy::take_ownership);
}

/// The stream to launch on. Throws Error{value} for another than that of the workspace.
void* stream_of(const PyBound& self, nb::handle stream) {
  void* const chosen = stream_for(nb::cast<const PyArguments&>(self.arguments), stream);
  if (!self.stream || *self.stream == chosen) return chosen;
  fail_value("stream: expected " + std::to_string(address_of(*self.stream)) +
             ", which the kernel is bound to with its workspace, got " +
             std::to_string(address_of(chosen)) + ": bind once for each stream");
}

void launch(PyBound& self, nb::handle stream) {
  if (!self.native) {
    const auto& arguments = nb::cast<const PyArguments&>(self.arguments);
    run_with(self.kernel, arguments, {self.artifact, stream, self.workspace, true});
    return;
  }
  void* const where = stream_of(self, stream);
  const nb::gil_scoped_release unlocked;
  const std::lock_guard lock(self.one_at_a_time);
  self.native->launch(where);
}

/// Seconds that one of `count` launches takes, started by C++ one after the other: what calls from
/// Python are compared with.
double time_launches(PyBound& self, int count, nb::handle stream) {
  if (!self.native || count < 1)
    fail_value("count: expected a kernel of the library, and 1 or more");
  void* const where = stream_of(self, stream);
  const nb::gil_scoped_release unlocked;
  const std::lock_guard lock(self.one_at_a_time);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i)
    self.native->launch(where);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / count;
}

nb::object workspace_size(nb::handle self, const PyArguments& arguments) {
  PyKernel& kernel = kernel_behind(self);
  if (!kernel.native) return nb::int_(0);
  return nb::int_(kernel.native->workspace_size(arguments.require_native()));
}

int traverse_kernel(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) Py_VISIT(nb::inst_ptr<PyKernel>(self)->metadata.ptr());
  return 0;
}

int clear_kernel(PyObject* self) {
  nb::inst_ptr<PyKernel>(self)->metadata.reset();
  return 0;
}

int traverse_artifact(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (nb::inst_ready(self)) {
    const auto* artifact = nb::inst_ptr<PyArtifact>(self);
    Py_VISIT(artifact->compiled_obj.ptr());
    Py_VISIT(artifact->kernel.ptr());
  }
  return 0;
}

int clear_artifact(PyObject* self) {
  auto* artifact = nb::inst_ptr<PyArtifact>(self);
  artifact->compiled_obj.reset();
  artifact->kernel.reset();
  return 0;
}

PyType_Slot kernel_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_kernel)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_kernel)},
                              {0, nullptr}};
PyType_Slot artifact_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_artifact)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear_artifact)},
                                {0, nullptr}};

void bind_kernel(nb::module_& module) {
  nb::class_<PyKernel>(
      module, "Kernel", nb::type_slots(kernel_slots), nb::is_weak_referenceable(),
      "One kernel: compiled or compilable, with metadata.\n\n"
      "A kernel written in Python derives from this class and has the methods\n"
      "generate_kernels(metadata_filter, epilogue_args=None, cc=None) (static),\n"
      "compile(self, args, cc=None), _run(self, args, artifact, stream, workspace=None), and,\n"
      "where they are not trivial, _supports(self, args), _supports_epilogue(self, epilogue) of "
      "an\n"
      "EpilogueGraph, get_workspace_size(self, args) and predict(self, args), the seconds "
      "expected;\n"
      "estoc.register makes it known. Where it has an attribute targets, such as (\"cpu\",), its\n"
      "kernels run on nothing else.")
      .def("__init__", &init_kernel, nb::arg("metadata").none())
      .def_prop_ro(
          "metadata", [](nb::handle_t<PyKernel> self) { return metadata_of(kernel_behind(self)); },
          "What is known of it without compiling it.")
      .def_prop_ro(
          "name", [](nb::handle_t<PyKernel> self) { return name_of_kernel(self); },
          "Unique and stable; kernel_by_name gives the kernel back.")
      .def_prop_ro(
          "predicted_seconds",
          [](const PyKernel& self) {
            return self.native ? self.native->predicted_seconds() : std::nullopt;
          },
          "What the ranking expected for the arguments the kernel was found for, or None.")
      .def_prop_ro(
          "tuned_seconds",
          [](const PyKernel& self) {
            return self.native ? self.native->tuned_seconds() : std::nullopt;
          },
          "What tuning measured for those arguments, where that put the kernel first, or None.")
      .def(
          "supports",
          [](nb::handle_t<PyKernel> self, nb::handle args, nb::handle cc, nb::handle target) {
            return status_object(supports(self, to_arguments(args), to_target(cc, target)));
          },
          nb::arg("args").none(), nb::arg("cc") = nb::none(), nb::arg("target") = nb::none(),
          "A Status: true, or false with the reason. Never raises for arguments that do not fit.")
      .def(
          "_supports", [](const PyKernel&, nb::handle) { return Status::success(); },
          nb::arg("args"))
      .def(
          "_supports_epilogue",
          [](const PyKernel&, const EpilogueGraph& epilogue) {
            return Status::fail("epilogue: expected none, got " + epilogue.canonical);
          },
          nb::arg("epilogue"))
      .def(
          "get_workspace_size",
          [](nb::handle_t<PyKernel> self, nb::handle args) {
            return workspace_size(self, to_arguments(args));
          },
          nb::arg("args").none(), "Bytes of workspace that run needs.")
      .def(
          "compile",
          [](nb::handle_t<PyKernel> self, nb::handle args, nb::handle cc, nb::handle target,
             nb::handle lineinfo, nb::handle use_caches) {
            return compile(self, args, cc, target, lineinfo, use_caches);
          },
          nb::arg("args").none() = nb::none(), nb::arg("cc") = nb::none(),
          nb::arg("target") = nb::none(), nb::arg("lineinfo").none() = false,
          nb::arg("use_caches").none() = true,
          "Compiles; needs no device, and releases the GIL. Without args, for all that the kernel\n"
          "supports on `target`. Ctrl-C is heard when the compiler is done.\n\n"
          "Raises UnsupportedError with the reason, CompileError with the compiler's log.")
      .def(
          "run",
          [](nb::handle_t<PyKernel> self, nb::handle args, nb::handle artifact, nb::handle stream,
             nb::handle workspace, nb::handle assume, nb::handle threads, nb::handle programmatic) {
            run_with(self, to_arguments(args),
                     request_of(artifact, stream, workspace, assume, threads, programmatic));
          },
          nb::arg("args").none(), nb::arg("compiled_artifact") = nb::none(),
          nb::arg("stream") = nb::none(), nb::arg("workspace") = nb::none(),
          nb::arg("assume_supported_args").none() = false, nb::arg("threads").none() = 0,
          nb::arg("programmatic").none() = true,
          "Compiles where that has not been done, and launches.\n\n"
          "Parameters\n----------\n"
          "args : RuntimeArguments\n"
          "compiled_artifact : CompiledArtifact, optional\n"
          "stream : optional\n    A stream of torch, CuPy, CUDA Python, or a number. Left out: "
          "the\n"
          "    current stream of the framework of `out`, else the one that `out` names, else the\n"
          "    null stream.\n"
          "workspace : tensor, optional\n    Of get_workspace_size(args) bytes or more.\n"
          "assume_supported_args : bool\n    Skip supports().\n"
          "threads : int\n    Host threads of a cpu kernel; 0: one for each core.\n"
          "programmatic : bool\n    On a GPU from Hopper on, begin before the kernel ahead on the "
          "stream ends, and wait for it there.")
      .def("_run",
           [](nb::handle_t<PyKernel> self, const nb::args&, const nb::kwargs&) {
             fail_not_written(self, "_run(self, args, artifact, stream, workspace=None)");
           })
      .def(
          "bind",
          [](nb::handle_t<PyKernel> self, nb::handle args, nb::handle artifact, nb::handle stream,
             nb::handle workspace, nb::handle assume, nb::handle threads, nb::handle programmatic) {
            return bind(self, to_arguments(args),
                        request_of(artifact, stream, workspace, assume, threads, programmatic));
          },
          nb::arg("args").none(), nb::arg("compiled_artifact") = nb::none(),
          nb::arg("stream") = nb::none(), nb::arg("workspace") = nb::none(),
          nb::arg("assume_supported_args").none() = false, nb::arg("threads").none() = 0,
          nb::arg("programmatic").none() = true,
          "Does once what every run repeats; the result launches any number of times.\n\n"
          "Parameters are those of run. A kernel that needs workspace on a GPU is launched on the\n"
          "stream it is bound to alone, since launches share that memory: bind once for each\n"
          "stream. ValueError for another.")
      .def_static("generate_kernels",
                  [](const nb::args&, const nb::kwargs&) -> nb::object {
                    fail_missing_method(
                        "a kernel class written in Python must have a static method "
                        "generate_kernels(metadata_filter, epilogue_args=None, cc=None)");
                  })
      .def(
          "__eq__",
          [](const PyKernel& self, nb::handle other) {
            PyKernel* given = nullptr;
            if (!nb::try_cast(other, given, false) || given == nullptr) return false;
            if (self.native && given->native) return *self.native == *given->native;
            return &self == given;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](nb::handle_t<PyKernel> self) { return nb::hash(nb::cast(name_of_kernel(self))); })
      .def("__repr__",
           [](nb::handle_t<PyKernel> self) { return "<Kernel " + name_of_kernel(self) + ">"; });
}

nb::object compiled_object(const PyArtifact& self) {
  if (self.compiled_obj.is_valid()) return self.compiled_obj;
  const CompiledCode* code = self.native ? self.native->code() : nullptr;
  if (code == nullptr) return nb::none();
  return nb::bytes(code->bytes.data(), code->bytes.size());
}

void bind_artifact(nb::module_& module) {
  nb::class_<PyArtifact>(
      module, "CompiledArtifact", nb::type_slots(artifact_slots),
      "The result of Kernel.compile.\n\n"
      "Parameters\n----------\n"
      "compiled_obj : whatever compiling gave; bytes for a kernel of the library\n"
      "kernel : Kernel")
      .def(
          "__init__",
          [](PyArtifact* self, nb::object compiled_obj, nb::object kernel) {
            new (self) PyArtifact{std::nullopt, std::move(compiled_obj), std::move(kernel)};
          },
          nb::arg("compiled_obj").none(), nb::arg("kernel"))
      .def_prop_ro("compiled_obj", &compiled_object)
      .def_prop_ro("kernel", [](const PyArtifact& self) { return self.kernel; })
      .def_prop_ro(
          "target",
          [](const PyArtifact& self) -> nb::object {
            return self.native ? nb::object(nb::cast(self.native->target().name())) : nb::none();
          },
          "\"cpu\", \"sm_90a\"; None where the author of the kernel did not say.")
      .def("__repr__", [](const PyArtifact& self) {
        return "<CompiledArtifact of " + name_of_kernel(self.kernel) +
               (self.native ? " for " + self.native->target().name() : "") + ">";
      });
  nb::class_<PyBound>(module, "BoundKernel", "A kernel bound to arguments, ready to launch.")
      .def("launch", &launch, nb::arg("stream") = nb::none())
      .def("__call__", &launch, nb::arg("stream") = nb::none())
      .def("_time", &time_launches, nb::arg("count"), nb::arg("stream") = nb::none())
      .def_prop_ro("kernel", [](const PyBound& self) { return self.kernel; })
      .def_prop_ro(
          "args", [](const PyBound& self) { return self.arguments; }, "What it was bound to.")
      .def("__repr__",
           [](const PyBound& self) { return "<BoundKernel " + name_of_kernel(self.kernel) + ">"; });
}

}  // namespace

const Artifact& native_artifact(nb::handle artifact) {
  PyArtifact* given = nullptr;
  if (!nb::try_cast(artifact, given, false) || given == nullptr) {
    fail_type("compiled_artifact: expected an estoc.CompiledArtifact, got " + class_name(artifact));
  }
  if (!given->native) {
    fail_value(
        "compiled_artifact: expected one of a kernel of the library, got one of a class in Python");
  }
  return *given->native;
}

nb::object wrap_kernel(const Kernel& kernel) {
  if (nb::object written = kernel_of_python(kernel); written.is_valid()) return written;
  const nb::object type = kernel_type(std::string(kernel.kernel_class().name()));
  nb::object made = nb::inst_alloc(type);
  new (nb::inst_ptr<PyKernel>(made)) PyKernel{kernel, nb::object()};
  nb::inst_mark_ready(made);
  return made;
}

Kernel kernel_again(const std::string& name, const std::string& epilogue) {
  Kernel kernel = kernel_by_name(name);
  return epilogue.empty() ? kernel : kernel.with_epilogue(parse_epilogue_graph(epilogue));
}

PyKernel& kernel_behind(nb::handle object) {
  if (!nb::inst_ready(object)) {
    fail_type(class_name(object) + ": expected __init__ to call super().__init__(metadata)");
  }
  return *nb::inst_ptr<PyKernel>(object);
}

nb::object metadata_of(PyKernel& kernel) {
  if (!kernel.metadata.is_valid()) {
    kernel.metadata =
        kernel.native ? nb::cast(wrap_metadata(kernel.native->metadata())) : nb::none();
  }
  return kernel.metadata;
}

std::optional<Target> to_target(nb::handle cc, nb::handle target) {
  if (!target.is_none()) {
    if (!cc.is_none()) fail_value("target: expected either cc or target, got both");
    const auto name = nb::cast<std::string>(nb::str(target));
    if (const auto parsed = Target::parse(name)) return parsed;
    fail_value("target: expected \"cpu\" or an architecture such as \"sm_90a\", got \"" + name +
               "\"");
  }
  if (cc.is_none()) return std::nullopt;
  const std::int64_t number = whole_number(cc, "cc");
  if (number > 0 && number < 1000) {
    const int small = static_cast<int>(number);
    for (const Target wanted : {Target::sm(small, small >= 90), Target::sm(small)}) {
      for (const Target known : known_targets()) {
        if (known == wanted) return wanted;
      }
    }
  }
  fail_value("cc: expected a compute capability such as 80, 90 or 100, got " +
             std::to_string(number));
}

void bind_kernels(nb::module_& module) {
  module.def(
      "_check_supports",
      [](nb::handle_t<PyKernel> kernel, const PyArguments& args, nb::handle cc, nb::handle target) {
        return check_supports(kernel, args, to_target(cc, target));
      },
      nb::arg("kernel"), nb::arg("args"), nb::arg("cc").none(), nb::arg("target").none());
  bind_kernel(module);
  bind_artifact(module);
}

}  // namespace estoc::python
