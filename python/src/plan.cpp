// estoc.Plan: a kernel chosen once and called with tensors, by one vectorcall.
#include "estoc/plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dlpack.h"
#include "epilogue.h"
#include "errors.h"
#include "kernels.h"
#include "numbers.h"
#include "streams.h"
#include "workspaces.h"

#if PY_VERSION_HEX < 0x030c0000
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

namespace estoc::python {
namespace {

/// What a plan has settled; holds no tensors unless it was asked to keep them.
struct Planned {
  Plan native;
  std::atomic<bool> is_used = false;  ///< by one thread at a time, never waited for
  PlanOptions options;
  nb::object kernel_object;
  nb::object arguments;  ///< of plan() without tensors; None where none are kept
  nb::object workspace;
  EpilogueArguments epilogue;
  nb::object epilogue_object;       ///< keeps the epilogue's tensors
  std::vector<void*> awaited{};     ///< the streams that have the work on the epilogue's tensors
  bool has_other_operands = false;  ///< of the epilogue, given for one call
};

struct PlanObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  Planned* planned;
};

PyObject* plan_type = nullptr;  // borrowed: the module holds it

Planned& planned_of(PyObject* self) {
  return *reinterpret_cast<PlanObject*>(self)->planned;
}

/// The keywords of a call.
struct Keywords {
  nb::handle stream = nb::none();
  std::vector<EpilogueOperand> operands{};  ///< of the epilogue
  std::vector<nb::object> owners{};         ///< of their memory
  std::vector<void*> awaited{};             ///< the streams that have the work on them
};

/// Where a call's result goes: the tensor, and what says on which stream.
struct Goal {
  const Tensor& out;
  nb::handle stream;
  std::span<void* const> awaited;

  void* find_stream() const { return stream_for(out, stream, awaited); }
};

/// Where the tensors of a call are.
struct Addresses {
  void* a = nullptr;
  void* b = nullptr;
  void* out = nullptr;
  GemmArguments::AskDevice ask = GemmArguments::AskDevice::yes;
};

/// All operands of the epilogue, those of the call before those of the plan.
std::vector<EpilogueOperand> operands_of(const Planned& plan, const Keywords& keywords) {
  const auto kept = plan.epilogue.operands();
  std::vector<EpilogueOperand> operands(kept.begin(), kept.end());
  for (const EpilogueOperand& given : keywords.operands)
    std::ranges::find(operands, given.name, &EpilogueOperand::name)->value = given.value;
  return operands;
}

EpilogueArguments epilogue_of(const Planned& plan, const Keywords& keywords) {
  if (keywords.operands.empty()) return plan.epilogue;
  return {plan.epilogue.program(), operands_of(plan, keywords)};
}

GemmArguments arguments_of(const Planned& plan, const TensorView& a, const TensorView& b,
                           const TensorView& out, const Keywords& keywords) {
  const GemmArguments& known = plan.native.arguments();
  return {a, b, out, known.accumulator_type(), known.controls(), epilogue_of(plan, keywords)};
}

void launch_now(const Planned& plan, const GemmArguments& arguments, void* stream,
                const Workspace& workspace) {
  const RunOptions options{.stream = stream,
                           .workspace = workspace,
                           .threads = plan.options.threads,
                           .programmatic = plan.options.programmatic};
  const nb::gil_scoped_release unlocked;
  plan.native.kernel().run(arguments, plan.native.artifact(), options);
}

/// Gives the plan other operands, with the GIL, by which other threads may look at those of now,
/// and launches it, without. False where another thread is using the plan.
template <typename Rebind>
bool launch_plan(Planned& plan, void* stream, const Workspace& workspace, Rebind&& rebind) {
  if (plan.is_used.exchange(true, std::memory_order_acquire)) return false;
  struct Release {
    std::atomic<bool>& is_used;
    ~Release() { is_used.store(false, std::memory_order_release); }
  } const release{plan.is_used};
  rebind(plan.native);
  const nb::gil_scoped_release unlocked;
  plan.native.run(stream, workspace);
  return true;
}

/// On tensors that are like those of the plan's last call.
void launch_at(Planned& plan, const Addresses& where, const Goal& goal, const Keywords& keywords) {
  void* const stream = goal.find_stream();
  HeldWorkspace workspace;
  if (plan.native.workspace_size() > 0) {
    workspace = provide_workspace(plan.workspace, plan.native.kernel(), plan.native.arguments(),
                                  goal.out, stream);
  }
  const bool launched = launch_plan(plan, stream, workspace.native, [&](Plan& native) {
    std::vector<EpilogueOperand> operands;
    if (plan.has_other_operands || !keywords.operands.empty()) {
      operands = operands_of(plan, keywords);
    }
    native.rebind(where.a, where.b, where.out, operands, where.ask);
    plan.has_other_operands = !keywords.operands.empty();
  });
  if (launched) return;
  const GemmArguments& known = plan.native.arguments();
  launch_now(plan,
             arguments_of(plan, known.a().tensor().moved(where.a, "A"),
                          known.b().tensor().moved(where.b, "B"),
                          known.out().moved(where.out, "out"), keywords),
             stream, workspace.native);
}

void launch_others(Planned& plan, const GemmArguments& arguments, const Goal& goal,
                   const Keywords& keywords) {
  void* const stream = arguments.has_data() ? goal.find_stream() : nullptr;
  const HeldWorkspace workspace =
      provide_workspace(plan.workspace, plan.native.kernel(), arguments, goal.out, stream);
  const bool launched = launch_plan(plan, stream, workspace.native, [&](Plan& native) {
    native.rebind(arguments);
    native.rebind(keywords.operands);
    plan.has_other_operands = !keywords.operands.empty();
  });
  if (launched) return;
  launch_now(
      plan,
      arguments_of(plan, arguments.a().tensor(), arguments.b().tensor(), arguments.out(), keywords),
      stream, workspace.native);
}

bool is_alike(const TensorView& known, const TensorView& view) {
  return known.dtype() == view.dtype() && known.device() == view.device() && !view.described() &&
         std::ranges::equal(known.shape(), view.shape()) &&
         std::ranges::equal(known.strides(), view.strides());
}

void call_on(Planned& plan, const TensorView& a, const TensorView& b, const Goal& goal,
             const Keywords& keywords) {
  const TensorView& out = goal.out.view;
  const GemmArguments& known = plan.native.arguments();
  if (is_alike(known.a().tensor(), a) && is_alike(known.b().tensor(), b) &&
      is_alike(known.out(), out)) {
    launch_at(plan, {a.data(), b.data(), out.data()}, goal, keywords);
  } else {
    launch_others(plan, arguments_of(plan, a, b, out, {}), goal, keywords);
  }
}

/// A call on torch's tensors of the layouts of the last call; false where these are not.
bool call_alike(Planned& plan, PyObject* const* tensors, const Keywords& keywords,
                std::span<void* const> awaited) {
  const GemmArguments& known = plan.native.arguments();
  const TensorView* const views[] = {&known.a().tensor(), &known.b().tensor(), &known.out()};
  std::array<void*, 3> data{};
  for (std::size_t i = 0; i < data.size(); ++i) {
    dlpack::Tensor seen{};
    if (!see_torch(tensors[i], seen) || !is_like(seen, *views[i])) return false;
    data[i] = dlpack::data_of(seen);
  }
  Tensor out;
  out.framework = Framework::torch;
  out.view = known.out();
  if (plan.native.workspace_size() > 0) out.source = nb::borrow(tensors[2]);
  // torch has told the device of each.
  launch_at(plan, {data[0], data[1], data[2], GemmArguments::AskDevice::no},
            {out, keywords.stream, awaited}, keywords);
  return true;
}

void call_with(Planned& plan, PyObject* const* tensors, const Keywords& keywords) {
  if (keywords.awaited.empty() && call_alike(plan, tensors, keywords, plan.awaited)) return;
  const Tensor a = import_tensor(tensors[0], "A");
  const Tensor b = import_tensor(tensors[1], "B");
  const Tensor out = import_tensor(tensors[2], "out");
  if (out.read_only) fail_value("out: expected a tensor that can be written, got a read-only one");
  std::vector<void*> awaited = plan.awaited;
  awaited.insert(awaited.end(), keywords.awaited.begin(), keywords.awaited.end());
  for (const Tensor* tensor : {&a, &b, &out})
    add_awaited(awaited, *tensor);
  call_on(plan, a.view, b.view, {out, keywords.stream, awaited}, keywords);
}

void call_kept(Planned& plan, const Keywords& keywords) {
  if (plan.arguments.is_none()) {
    fail_type("plan: expected the tensors A, B and out, got none, and the plan keeps none");
  }
  const auto& arguments = nb::cast<const PyGemmArguments&>(plan.arguments);
  std::vector<void*> awaited(arguments.awaited().begin(), arguments.awaited().end());
  awaited.insert(awaited.end(), keywords.awaited.begin(), keywords.awaited.end());
  call_on(plan, arguments.gemm().a().tensor(), arguments.gemm().b().tensor(),
          {arguments.out(), keywords.stream, awaited}, keywords);
}

/// The stream, and operands of the epilogue by their names.
Keywords keywords_of(const Planned& plan, PyObject* const* values, PyObject* names) {
  Keywords keywords;
  const Py_ssize_t count = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* const given = PyTuple_GetItem(names, i);
    if (PyUnicode_CompareWithASCIIString(given, "stream") == 0) {
      keywords.stream = values[i];
      continue;
    }
    std::string name;
    if (!nb::try_cast(nb::handle(given), name) || plan.epilogue.find(name) == nullptr) {
      fail_type("plan: expected no keyword but stream" +
                std::string(plan.epilogue.empty() ? "" : " and operands of the epilogue") +
                ", got " + shown_text(given));
    }
    keywords.owners.push_back(nb::borrow(values[i]));
    keywords.operands.push_back(epilogue_operand(name, keywords.owners.back(), keywords.awaited));
  }
  return keywords;
}

void call(Planned& plan, PyObject* const* arguments, Py_ssize_t positional, PyObject* names) {
  const Keywords keywords = keywords_of(plan, arguments + positional, names);
  if (positional == 3) {
    call_with(plan, arguments, keywords);
  } else if (positional == 0) {
    call_kept(plan, keywords);
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
  const std::string text = "<Plan of " + planned_of(self).native.kernel().name() + ">";
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
      "was made with. Operands of the epilogue that are others in this call are given by name:\n"
      "plan(A, B, out, bias=other).";
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

nb::object make_plan(nb::object arguments, nb::object workspace, nb::handle threads,
                     nb::handle programmatic, nb::handle keep) {
  const auto& given = nb::cast<const PyGemmArguments&>(arguments);
  const PlanOptions options{.threads = whole_int(threads, "threads"),
                            .programmatic = truth(programmatic, "programmatic")};
  const bool keeps = truth(keep, "keep");
  Plan native = [&] {
    const nb::gil_scoped_release unlocked;
    return estoc::plan(given.gemm(), options);
  }();
  const nb::object kernel = wrap_kernel(native.kernel());
  const nb::object epilogue = given.epilogue();
  const auto allocate = reinterpret_cast<allocfunc>(
      PyType_GetSlot(reinterpret_cast<PyTypeObject*>(plan_type), Py_tp_alloc));
  nb::object made = nb::steal(allocate(reinterpret_cast<PyTypeObject*>(plan_type), 0));
  if (!made.is_valid()) throw nb::python_error();
  auto* plan = reinterpret_cast<PlanObject*>(made.ptr());
  plan->vectorcall = vectorcall;
  plan->planned = new Planned{.native = std::move(native),
                              .options = options,
                              .kernel_object = kernel,
                              .arguments = keeps ? std::move(arguments) : nb::none(),
                              .workspace = std::move(workspace),
                              .epilogue = given.gemm().epilogue(),
                              .epilogue_object = epilogue};
  if (!epilogue.is_none()) {
    plan->planned->awaited = nb::cast<const PyEpilogue&>(epilogue).awaited();
  }
  return made;
}

}  // namespace

void bind_plans(nb::module_& module) {
  const nb::object type = make_type();
  plan_type = type.ptr();
  module.attr("Plan") = type;
  module.def("_make_plan", &make_plan, nb::arg("args"), nb::arg("workspace").none(),
             nb::arg("threads").none(), nb::arg("programmatic").none(), nb::arg("keep").none());
}

}  // namespace estoc::python
