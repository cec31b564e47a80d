// estoc.Plan: a kernel chosen once and called with tensors, by one vectorcall.
#include <sched.h>

#include <algorithm>
#include <array>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "addresses.h"
#include "dlpack.h"
#include "epilogue.h"
#include "errors.h"
#include "numbers.h"
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

/// Arguments that the plan's kernel supports and that have data, with the launch bound to them.
struct Settled {
  explicit Settled(GemmArguments given) : arguments(std::move(given)) {}

  const GemmArguments arguments;
  bool needs_no_workspace = false;
  std::mutex one_at_a_time{};          ///< guards the rest; never waited for
  std::optional<BoundKernel> bound{};  ///< made by the second launch
  Addresses bound_at{};                ///< which may be others than those of `arguments`
};
using SettledPointer = std::shared_ptr<Settled>;

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
  SettledPointer kept{};       ///< `arguments`, once they were run
  SettledPointer last{};       ///< of a call with tensors; used with the GIL held
  Addresses before{};  ///< of the last call whose tensors were elsewhere than those of `last`
  std::vector<void*> awaited{};  ///< the streams that have the work on the epilogue's tensors
  bool programmatic = false;
};

/// Host threads of a plan for the CPU: the system is not asked in every call.
int threads_for(Device device, int wished) {
  if (wished > 0 || device.is_cuda()) return wished;
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

struct PlanObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Planned* planned;
};

PyObject* plan_type = nullptr;  // borrowed: the module holds it

Planned& planned_of(PyObject* self) {
  return *reinterpret_cast<PlanObject*>(self)->planned;
}

Addresses addresses_of(const GemmArguments& arguments) {
  return {arguments.a().tensor().data(), arguments.b().tensor().data(), arguments.out().data()};
}

bool lies_at(const GemmArguments& arguments, const Addresses& where) {
  return addresses_of(arguments) == where;
}

/// Where a call's result goes: the tensor, and what says on which stream.
struct Goal {
  const Tensor& out;
  nb::handle stream;
  std::span<void* const> awaited;

  void* find_stream() const { return stream_for(out, stream, awaited); }
};

/// `like`: arguments that these are like, so that what holds for them is not asked again, or null.
void launch(const Planned& plan, const RuntimeArguments& arguments, const Goal& goal,
            const Settled* like) {
  void* const where = arguments.has_data() ? goal.find_stream() : nullptr;
  const HeldWorkspace workspace =
      like != nullptr && like->needs_no_workspace
          ? HeldWorkspace()
          : provide_workspace(plan.workspace, plan.kernel, arguments, goal.out, where);
  const RunOptions options{.stream = where,
                           .workspace = workspace.native,
                           .threads = plan.threads,
                           .assume_supported_args = like != nullptr,
                           .programmatic = plan.programmatic};
  const nb::gil_scoped_release unlocked;
  plan.kernel.run(arguments, plan.artifact, options);
}

/// Has what is bound work on `arguments`, which are those of `settled` or others that it covers;
/// false where others would take a new bind.
bool aim(const Planned& plan, Settled& settled, const GemmArguments& arguments,
         const RunOptions& options) {
  if (!settled.bound) {  // to those that are aligned least
    settled.bound.emplace(plan.kernel.bind(settled.arguments, plan.artifact, options));
    settled.bound_at = addresses_of(settled.arguments);
  }
  const Addresses where = addresses_of(arguments);
  if (settled.bound_at == where) return true;
  if (!settled.bound->move_to(arguments)) return false;
  settled.bound_at = where;
  return true;
}

/// By what is bound, unless another thread is using it. A driver that refuses, as after its context
/// is gone or in a forked process, is asked once more for everything.
void launch_bound(const Planned& plan, Settled& settled, const GemmArguments& arguments,
                  void* stream) {
  const RunOptions options{.stream = stream,
                           .threads = plan.threads,
                           .assume_supported_args = true,
                           .programmatic = plan.programmatic};
  const std::unique_lock lock(settled.one_at_a_time, std::try_to_lock);
  if (lock.owns_lock()) {
    try {
      if (aim(plan, settled, arguments, options)) {
        settled.bound->launch(stream);
        return;
      }
    } catch (const Error& error) {
      settled.bound.reset();
      if (error.kind() != ErrorKind::driver) throw;
    }
  }
  plan.kernel.run(arguments, plan.artifact, options);
}

void launch_again(const Planned& plan, Settled& settled, const Goal& goal) {
  if (!settled.needs_no_workspace) {
    launch(plan, settled.arguments, goal, &settled);
    return;
  }
  void* const where = goal.find_stream();
  const nb::gil_scoped_release unlocked;
  launch_bound(plan, settled, settled.arguments, where);
}

/// The first launch on these arguments; `like` as of launch().
SettledPointer settle(const Planned& plan, GemmArguments arguments, const Goal& goal,
                      const Settled* like) {
  auto settled = std::make_shared<Settled>(std::move(arguments));
  launch(plan, settled->arguments, goal, like);
  settled->needs_no_workspace = like != nullptr
                                    ? like->needs_no_workspace
                                    : plan.kernel.workspace_size(settled->arguments) == 0;
  return settled;
}

bool same_layout(const TensorView& one, const TensorView& other) {
  return one.dtype() == other.dtype() && one.device() == other.device() &&
         one.described() == other.described() && std::ranges::equal(one.shape(), other.shape()) &&
         std::ranges::equal(one.strides(), other.strides());
}

/// Whether what holds for `known` holds for these: seen in the same way, and aligned as well.
bool covers(const GemmArguments& known, const TensorView& a, const TensorView& b,
            const TensorView& out) {
  auto covered = [](const TensorView& of, const TensorView& view) {
    return same_layout(of, view) && of.alignment() <= view.alignment();
  };
  return covered(known.a().tensor(), a) && covered(known.b().tensor(), b) &&
         covered(known.out(), out);
}

void call_on(Planned& plan, const Tensor& a, const Tensor& b, const Tensor& out,
             nb::handle stream) {
  if (out.read_only) fail_value("out: expected a tensor that can be written, got a read-only one");
  std::vector<void*> awaited = plan.awaited;
  for (const Tensor* tensor : {&a, &b, &out})
    add_awaited(awaited, *tensor);
  const Goal goal{out, stream, awaited};
  const SettledPointer last = plan.last;
  const bool known = last != nullptr && covers(last->arguments, a.view, b.view, out.view);
  if (known && lies_at(last->arguments, {a.view.data(), b.view.data(), out.view.data()})) {
    launch_again(plan, *last, goal);
    return;
  }
  plan.last = settle(
      plan,
      GemmArguments(a.view, b.view, out.view, plan.accumulator_type, plan.controls, plan.epilogue),
      goal, known ? last.get() : nullptr);
}

bool aligned_as(const GemmArguments& known, const GemmArguments& arguments) {
  return known.a_matrix().alignment <= arguments.a_matrix().alignment &&
         known.b_matrix().alignment <= arguments.b_matrix().alignment &&
         known.out_matrix().alignment <= arguments.out_matrix().alignment;
}

/// On plain tensors of torch that are seen as those of `last` are.
void call_at(Planned& plan, const SettledPointer& last, const Addresses& where, nb::handle object,
             nb::handle stream, bool supported) {
  const GemmArguments& known = last->arguments;
  Tensor out;
  out.framework = Framework::torch;
  const Goal goal{out, stream, plan.awaited};
  if (lies_at(known, where)) {
    out.view = known.out();
    if (!last->needs_no_workspace) out.source = nb::borrow(object);
    launch_again(plan, *last, goal);
    return;
  }
  // torch has told the device of each, as it did of those of `last`.
  GemmArguments arguments = known.moved(where.a, where.b, where.out, GemmArguments::AskDevice::no);
  out.view = arguments.out();
  const Settled* const like = supported ? last.get() : nullptr;
  if (where == std::exchange(plan.before, where)) {
    out.source = nb::borrow(object);
    plan.last = settle(plan, std::move(arguments), goal, like);
  } else if (supported && last->needs_no_workspace && aligned_as(known, arguments)) {
    // What is not seen again need not be kept.
    void* const target = goal.find_stream();
    const nb::gil_scoped_release unlocked;
    launch_bound(plan, *last, arguments, target);
  } else {
    out.source = nb::borrow(object);
    launch(plan, arguments, goal, like);
  }
}

/// The address of a plain tensor of torch that is seen as `view` is and aligned as well; else null.
void* address_like(nb::handle object, const TensorView& view) {
  dlpack::Tensor seen{};
  if (!see_torch(object, seen) || !is_like(seen, view)) return nullptr;
  void* const data = dlpack::data_of(seen);
  const auto alignment = static_cast<std::uintptr_t>(view.alignment());
  return address_of(data) % alignment == 0 ? data : nullptr;
}

/// A call on torch's tensors of the layouts of the last call; false where these are not.
bool call_alike(Planned& plan, PyObject* const* tensors, nb::handle stream) {
  const SettledPointer last = plan.last;
  if (last == nullptr) return false;
  const GemmArguments& known = last->arguments;
  void* const out = address_like(tensors[2], known.out());
  if (out == nullptr) return false;
  void* const a = address_like(tensors[0], known.a().tensor());
  void* const b = a == nullptr ? nullptr : address_like(tensors[1], known.b().tensor());
  if (b == nullptr) return false;
  call_at(plan, last, {a, b, out}, tensors[2], stream, true);
  return true;
}

void call_with(Planned& plan, PyObject* const* tensors, nb::handle stream) {
  if (call_alike(plan, tensors, stream)) return;
  const Tensor a = import_tensor(tensors[0], "A");
  const Tensor b = import_tensor(tensors[1], "B");
  call_on(plan, a, b, import_tensor(tensors[2], "out"), stream);
}

void call_kept(Planned& plan, nb::handle stream) {
  if (plan.arguments.is_none()) {
    fail_type("plan: expected the tensors A, B and out, got none, and the plan keeps none");
  }
  const auto& arguments = nb::cast<const PyGemmArguments&>(plan.arguments);
  const Goal goal{arguments.out(), stream, arguments.awaited()};
  if (const SettledPointer kept = plan.kept) {
    launch_again(plan, *kept, goal);
  } else {
    plan.kept = settle(plan, arguments.gemm(), goal, nullptr);
  }
}

/// The keyword `stream`, the only one there is.
PyObject* stream_argument(PyObject* const* arguments, Py_ssize_t positional, PyObject* names) {
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
  if (keywords == 0) return Py_None;
  PyObject* const name = PyTuple_GetItem(names, 0);
  if (keywords > 1 || PyUnicode_CompareWithASCIIString(name, "stream") != 0) {
    fail_type("plan: expected no keyword but stream, got " + shown_text(name));
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
                     nb::object workspace, nb::handle threads, nb::handle programmatic,
                     nb::handle keep) {
  const PyKernel& native = kernel_behind(kernel);
  const auto& given = nb::cast<const PyGemmArguments&>(arguments);
  const auto& compiled = nb::cast<const PyArtifact&>(artifact);
  if (!native.native || !compiled.native) {
    fail_type("kernel: expected one of the library, got " + class_name(kernel));
  }
  if (given.gemm().a().is_scaled() || given.gemm().b().is_scaled()) {
    fail_type("A: expected plain tensors, got a ScaledTensor");
  }
  const int wished = whole_int(threads, "threads");
  const bool overlaps = truth(programmatic, "programmatic");
  const bool keeps = truth(keep, "keep");
  const nb::object epilogue = given.epilogue();
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
                              threads_for(given.device(), wished),
                              kernel,
                              keeps ? std::move(arguments) : nb::none(),
                              std::move(workspace),
                              epilogue};
  if (!epilogue.is_none()) {
    plan->planned->awaited = nb::cast<const PyEpilogue&>(epilogue).awaited();
  }
  plan->planned->programmatic = overlaps;
  return made;
}

}  // namespace

void run_plan(nb::handle plan, const Tensor& a, const Tensor& b, const Tensor& out,
              nb::handle stream) {
  call_on(planned_of(plan.ptr()), a, b, out, stream);
}

void run_plan_like_last(nb::handle plan, const Addresses& where, nb::handle out_object,
                        nb::handle stream, bool aligned) {
  Planned& planned = planned_of(plan.ptr());
  call_at(planned, SettledPointer(planned.last), where, out_object, stream, aligned);
}

void bind_plans(nb::module_& module) {
  const nb::object type = make_type();
  plan_type = type.ptr();
  module.attr("Plan") = type;
  module.def("_make_plan", &make_plan, nb::arg("kernel"), nb::arg("args"), nb::arg("artifact"),
             nb::arg("workspace").none(), nb::arg("threads").none(), nb::arg("programmatic").none(),
             nb::arg("keep").none());
}

}  // namespace estoc::python
