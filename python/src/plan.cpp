// estoc.Plan: a kernel chosen once and called with tensors, by one vectorcall.
#include <algorithm>
#include <array>
#include <memory>
#include <string>

#include "errors.h"
#include "plan.h"
#include "streams.h"
#include "workspaces.h"

#if PY_VERSION_HEX < 0x030c0000
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

namespace estoc::python {
namespace {

/// What is known of arguments before a launch.
struct Known {
  bool supported = false;
  bool needs_no_workspace = false;
};

/// What a plan has settled; holds no tensors unless it was asked to keep them.
struct Planned {
  Kernel kernel;
  Artifact artifact;
  Dtype accumulator_type;
  PerformanceControls controls;
  EpilogueArguments epilogue;
  int threads = 0;
  nb::object kernel_object;
  nb::object arguments;  ///< of plan() without tensors; None where none are kept
  nb::object workspace;
  nb::object epilogue_object;  ///< keeps the epilogue's tensors
  Known kept{};                ///< of `arguments`
  /// Of the last call, which was found to be supported; used with the GIL held.
  std::shared_ptr<const GemmArguments> last{};
  Known last_known{};
};

struct PlanObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Planned* planned;
};

PyObject* plan_type = nullptr;  // borrowed: the module holds it

Planned& planned_of(PyObject* self) {
  return *reinterpret_cast<PlanObject*>(self)->planned;
}

void launch(const Planned& plan, const RuntimeArguments& arguments, const Tensor& out,
            nb::handle stream, const Known& known) {
  void* const where =
      arguments.has_data() ? stream_on(out.view.device(), out.framework, stream) : nullptr;
  const HeldWorkspace workspace =
      known.needs_no_workspace
          ? HeldWorkspace()
          : provide_workspace(plan.workspace, plan.kernel, arguments, out, where);
  const RunOptions options{.stream = where,
                           .workspace = workspace.native,
                           .threads = plan.threads,
                           .assume_supported_args = known.supported};
  const nb::gil_scoped_release unlocked;
  plan.kernel.run(arguments, plan.artifact, options);
}

bool same_view(const TensorView& one, const TensorView& other) {
  return one.data() == other.data() && one.dtype() == other.dtype() &&
         one.device() == other.device() && one.described() == other.described() &&
         std::ranges::equal(one.shape(), other.shape()) &&
         std::ranges::equal(one.strides(), other.strides());
}

/// Whether the last call was on the same memory, seen in the same way.
bool is_last(const GemmArguments* last, const Tensor& a, const Tensor& b, const Tensor& out) {
  return last != nullptr && same_view(last->a().tensor(), a.view) &&
         same_view(last->b().tensor(), b.view) && same_view(last->out(), out.view);
}

void call_on(Planned& plan, const Tensor& a, const Tensor& b, const Tensor& out,
             nb::handle stream) {
  if (out.read_only) fail_value("out: expected a tensor that can be written, got a read-only one");
  if (const auto last = plan.last; is_last(last.get(), a, b, out)) {
    launch(plan, *last, out, stream, plan.last_known);
    return;
  }
  auto arguments = std::make_shared<const GemmArguments>(
      a.view, b.view, out.view, plan.accumulator_type, plan.controls, plan.epilogue);
  launch(plan, *arguments, out, stream, {});
  plan.last_known = {true, plan.kernel.workspace_size(*arguments) == 0};
  plan.last = std::move(arguments);
}

/// A call on torch's tensors that lie as those of the last call did; false where these do not.
bool call_again(const Planned& plan, PyObject* const* tensors, nb::handle stream) {
  const auto last = plan.last;
  if (last == nullptr || !plan.last_known.needs_no_workspace || !lies_as(tensors[2], last->out()) ||
      !lies_as(tensors[0], last->a().tensor()) || !lies_as(tensors[1], last->b().tensor())) {
    return false;
  }
  Tensor out;
  out.view = last->out();
  out.framework = Framework::torch;
  launch(plan, *last, out, stream, plan.last_known);
  return true;
}

void call_with(Planned& plan, PyObject* const* tensors, nb::handle stream) {
  if (call_again(plan, tensors, stream)) return;
  const Tensor a = import_tensor(tensors[0], "A");
  const Tensor b = import_tensor(tensors[1], "B");
  call_on(plan, a, b, import_tensor(tensors[2], "out"), stream);
}

void call_kept(const Planned& plan, nb::handle stream) {
  if (plan.arguments.is_none()) {
    fail_type("plan: expected the tensors A, B and out, got none, and the plan keeps none");
  }
  const auto& arguments = nb::cast<const PyArguments&>(plan.arguments);
  launch(plan, *arguments.native(), *arguments.operands().back().second, stream, plan.kept);
}

/// The keyword `stream`, the only one there is.
PyObject* stream_argument(PyObject* const* arguments, Py_ssize_t positional, PyObject* names) {
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
  if (keywords == 0) return Py_None;
  const nb::str name = nb::borrow<nb::str>(PyTuple_GetItem(names, 0));
  if (keywords > 1 || std::string_view(name.c_str()) != "stream") {
    fail_type(std::string("plan: expected no keyword but stream, got ") + name.c_str());
  }
  return arguments[positional];
}

void call(Planned& plan, PyObject* const* arguments, Py_ssize_t positional, PyObject* names) {
  const nb::handle stream = stream_argument(arguments, positional, names);
  if (positional == 3) {
    call_with(plan, arguments, stream);
  } else if (positional == 0) {
    call_kept(plan, stream);
  } else {
    fail_type("plan: expected the tensors A, B and out, or none, got " +
              std::to_string(positional));
  }
}

/// Runs what may throw where Python calls directly; false with a Python exception set.
template <typename Function>
bool guarded(Function&& function) noexcept {
  try {
    function();
    return true;
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const Error& error) {
    set_python_error(error);
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return false;
}

PyObject* vectorcall(PyObject* self, PyObject* const* arguments, std::size_t flags,
                     PyObject* names) {
  const Py_ssize_t positional = PyVectorcall_NARGS(flags);
  if (!guarded([&] { call(planned_of(self), arguments, positional, names); })) return nullptr;
  Py_RETURN_NONE;
}

void deallocate(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<PlanObject*>(self)->planned;
  const auto release = reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free));
  release(self);
  Py_DECREF(type);
}

PyObject* represent(PyObject* self) {
  const std::string text = "<Plan of " + planned_of(self).kernel.name() + ">";
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

PyObject* get_kernel(PyObject* self, void* /*closure*/) {
  return nb::object(planned_of(self).kernel_object).release().ptr();
}

PyObject* get_arguments(PyObject* self, void* /*closure*/) {
  return nb::object(planned_of(self).arguments).release().ptr();
}

nb::object make_type() {
  static std::array<PyMemberDef, 2> members{
      {{"__vectorcalloffset__", Py_T_PYSSIZET,
        static_cast<Py_ssize_t>(offsetof(PlanObject, vectorcall)), Py_READONLY, nullptr},
       {}}};
  static std::array<PyGetSetDef, 3> properties{
      {{"kernel", get_kernel, nullptr, "The kernel that was chosen.", nullptr},
       {"args", get_arguments, nullptr, "The arguments of a call without tensors.", nullptr},
       {}}};
  static const char* const doc =
      "A kernel chosen and compiled for one GEMM; estoc.plan makes it.\n\n"
      "plan(A, B, out, stream=None) runs it on tensors of the same dtypes, layouts, alignments "
      "and\n"
      "device, which are checked, and of any sizes that the kernel supports; plan() on those it\n"
      "was made with.";
  std::array<PyType_Slot, 7> slots{{{Py_tp_dealloc, reinterpret_cast<void*>(deallocate)},
                                    {Py_tp_repr, reinterpret_cast<void*>(represent)},
                                    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
                                    {Py_tp_members, members.data()},
                                    {Py_tp_getset, properties.data()},
                                    {Py_tp_doc, const_cast<char*>(doc)},
                                    {0, nullptr}}};
  PyType_Spec spec{
      "estoc._estoc.Plan", sizeof(PlanObject), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
      slots.data()};
  return nb::steal(PyType_FromSpec(&spec));
}

nb::object make_plan(const nb::object& kernel, nb::object arguments, nb::handle artifact,
                     nb::object workspace, int threads, bool keep) {
  const PyKernel& native = kernel_behind(kernel);
  const auto& given = nb::cast<const PyGemmArguments&>(arguments);
  const auto& compiled = nb::cast<const PyArtifact&>(artifact);
  if (!native.native || !compiled.native) {
    fail_type("kernel: expected one of the library, got " + class_name(kernel));
  }
  if (given.gemm().a().is_scaled() || given.gemm().b().is_scaled()) {
    fail_type("A: expected plain tensors, got a ScaledTensor");
  }
  const auto allocate = reinterpret_cast<allocfunc>(
      PyType_GetSlot(reinterpret_cast<PyTypeObject*>(plan_type), Py_tp_alloc));
  nb::object made = nb::steal(allocate(reinterpret_cast<PyTypeObject*>(plan_type), 0));
  if (!made.is_valid()) throw nb::python_error();
  auto* plan = reinterpret_cast<PlanObject*>(made.ptr());
  plan->vectorcall = vectorcall;
  plan->planned = new Planned{*native.native,
                              *compiled.native,
                              given.gemm().accumulator_type(),
                              given.controls(),
                              given.gemm().epilogue(),
                              threads,
                              kernel,
                              keep ? std::move(arguments) : nb::none(),
                              std::move(workspace),
                              given.epilogue(),
                              {native.native->supports(*given.native()).ok(),
                               native.native->workspace_size(*given.native()) == 0}};
  return made;
}

}  // namespace

void run_plan(nb::handle plan, const Tensor& a, const Tensor& b, const Tensor& out,
              nb::handle stream) {
  call_on(planned_of(plan.ptr()), a, b, out, stream);
}

void bind_plans(nb::module_& module) {
  const nb::object type = make_type();
  plan_type = type.ptr();
  module.attr("Plan") = type;
  module.def("_make_plan", &make_plan, nb::arg("kernel"), nb::arg("args"), nb::arg("artifact"),
             nb::arg("workspace").none(), nb::arg("threads"), nb::arg("keep"));
}

}  // namespace estoc::python
