// estoc.Plan: a kernel chosen once and called with tensors, by one vectorcall.
#include "estoc/plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "dlpack.h"
#include "epilogue.h"
#include "errors.h"
#include "kernels.h"
#include "numbers.h"
#include "plans.h"
#include "streams.h"
#include "workspaces.h"

#if PY_VERSION_HEX < 0x030c0000
#include <structmember.h>
#define Py_T_PYSSIZET T_PYSSIZET
#define Py_READONLY READONLY
#endif

namespace estoc::python {
namespace {

/// The state of a plan; holds no tensors except where it keeps them.
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

/// Where the operands of a call are, in order.
struct Addresses {
  std::array<const void*, kMaxOperands> data{};
  std::size_t size = 0;
  RuntimeArguments::CheckDevice check = RuntimeArguments::CheckDevice::yes;

  void add(const void* address) { data[size++] = address; }
  std::span<const void* const> get() const { return {data.data(), size}; }
};

/// All operands of the epilogue, those of the call before those of the plan.
std::vector<EpilogueOperand> operands_of(const Planned& plan, const Keywords& keywords) {
  const auto kept = plan.epilogue.operands();
  std::vector<EpilogueOperand> operands(kept.begin(), kept.end());
  for (const EpilogueOperand& given : keywords.operands)
    std::ranges::find(operands, given.name, &EpilogueOperand::name)->value = given.value;
  return operands;
}

/// Gives the plan other operands, with the GIL, by which other threads may look at those of now,
/// and launches it, without. A copy takes its place while another thread is using it.
template <typename Rebind>
void launch_plan(Planned& plan, const Keywords& keywords, void* stream, const Workspace& workspace,
                 Rebind&& rebind) {
  if (plan.is_used.exchange(true, std::memory_order_acquire)) {
    Plan copy(plan.native.artifact(), plan.native.arguments(), plan.options);
    rebind(copy, true);
    const nb::gil_scoped_release unlocked;
    copy.run(stream, workspace);
    return;
  }
  struct Release {
    std::atomic<bool>& is_used;
    ~Release() { is_used.store(false, std::memory_order_release); }
  } const release{plan.is_used};
  rebind(plan.native, plan.has_other_operands);
  plan.has_other_operands = !keywords.operands.empty();
  const nb::gil_scoped_release unlocked;
  plan.native.run(stream, workspace);
}

/// On tensors that are like those of the plan's last call.
void launch_at(Planned& plan, const Addresses& where, const Goal& goal, const Keywords& keywords) {
  void* const stream = goal.find_stream();
  HeldWorkspace workspace;
  if (plan.native.workspace_size() > 0) {
    workspace = provide_workspace(plan.workspace, plan.native.kernel(), plan.native.arguments(),
                                  goal.out, stream);
  }
  launch_plan(plan, keywords, stream, workspace.native, [&](Plan& native, bool has_others) {
    std::vector<EpilogueOperand> operands;
    if (has_others || !keywords.operands.empty()) operands = operands_of(plan, keywords);
    native.rebind(where.get(), operands, where.check);
  });
}

/// On tensors of other sizes.
void launch_others(Planned& plan, const std::vector<Operand>& operands, const Goal& goal,
                   const Keywords& keywords) {
  const auto arguments =
      plan.native.arguments().with_operands(operands, operands_of(plan, keywords));
  void* const stream = arguments->has_data() ? goal.find_stream() : nullptr;
  const HeldWorkspace workspace =
      provide_workspace(plan.workspace, plan.native.kernel(), *arguments, goal.out, stream);
  launch_plan(plan, keywords, stream, workspace.native,
              [&](Plan& native, bool /*has_others*/) { native.rebind(*arguments); });
}

/// The place of the output.
std::size_t place_of_output(const OperandList& operands) {
  const auto* const output = std::ranges::find(operands, OperandRole::output, &NamedOperand::role);
  return static_cast<std::size_t>(output - operands.begin());
}

bool is_alike(const TensorView& known, const TensorView& view) {
  return known.dtype() == view.dtype() && known.device() == view.device() && !view.described() &&
         std::ranges::equal(known.shape(), view.shape()) &&
         std::ranges::equal(known.strides(), view.strides());
}

/// `views`: one for each operand.
void call_on(Planned& plan, std::span<const TensorView* const> views, const Goal& goal,
             const Keywords& keywords) {
  const OperandList known = plan.native.arguments().operands();
  const bool alike = std::ranges::equal(known, views, [](const auto& operand, const auto* view) {
    return is_alike(*operand.tensor, *view);
  });
  if (alike) {
    Addresses where;
    for (const TensorView* const view : views)
      where.add(view->data());
    launch_at(plan, where, goal, keywords);
    return;
  }
  std::vector<Operand> operands;
  for (const TensorView* const view : views)
    operands.emplace_back(*view);
  launch_others(plan, operands, goal, keywords);
}

/// A call on torch's tensors of the layouts of the last call; false where these are not.
bool call_alike(Planned& plan, PyObject* const* tensors, const Keywords& keywords,
                std::span<void* const> awaited) {
  const OperandList known = plan.native.arguments().operands();
  Addresses where;
  where.check = RuntimeArguments::CheckDevice::no;  // torch has told the device of each
  for (const NamedOperand& operand : known) {
    dlpack::Tensor seen{};
    if (!see_torch(tensors[where.size], seen) || !is_like(seen, *operand.tensor)) return false;
    where.add(dlpack::data_of(seen));
  }
  Tensor out;
  out.framework = Framework::torch;
  const std::size_t place = place_of_output(known);
  out.view = *known[place].tensor;
  if (plan.native.workspace_size() > 0) out.source = nb::borrow(tensors[place]);
  launch_at(plan, where, {out, keywords.stream, awaited}, keywords);
  return true;
}

void call_with(Planned& plan, PyObject* const* given, const Keywords& keywords) {
  if (keywords.awaited.empty() && call_alike(plan, given, keywords, plan.awaited)) return;
  std::vector<void*> awaited = plan.awaited;
  awaited.insert(awaited.end(), keywords.awaited.begin(), keywords.awaited.end());
  const OperandList operands = plan.native.arguments().operands();
  std::array<std::optional<Tensor>, kMaxOperands> tensors;
  std::array<const TensorView*, kMaxOperands> views{};
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const NamedOperand& operand = operands[i];
    const Tensor& tensor = tensors[i].emplace(import_tensor(given[i], operand.name));
    if (operand.role == OperandRole::output && tensor.read_only) {
      fail_value(std::string(operand.name) +
                 ": expected a tensor that can be written, got a read-only one");
    }
    add_awaited(awaited, tensor);
    views[i] = &tensor.view;
  }
  Tensor& out = *tensors[place_of_output(operands)];
  // Of groups by pointers the table says by whose framework the stream is known.
  if (out.view.described()) out.framework = tensors[operands.size() - 1]->framework;
  call_on(plan, {views.data(), operands.size()}, {out, keywords.stream, awaited}, keywords);
}

/// "A, B and out".
std::string operand_names(const Planned& plan) {
  const OperandList operands = plan.native.arguments().operands();
  std::string names;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (i > 0) names += i + 1 < operands.size() ? ", " : " and ";
    names += operands[i].name;
  }
  return names;
}

void call_kept(Planned& plan, const Keywords& keywords) {
  if (plan.arguments.is_none()) {
    fail_type("plan: expected the tensors " + operand_names(plan) +
              ", got none, and the plan keeps none");
  }
  const auto& arguments = nb::cast<const PyArguments&>(plan.arguments);
  std::vector<void*> awaited(arguments.awaited().begin(), arguments.awaited().end());
  awaited.insert(awaited.end(), keywords.awaited.begin(), keywords.awaited.end());
  const OperandList operands = arguments.require_native().operands();
  std::array<const TensorView*, kMaxOperands> views{};
  std::ranges::transform(operands, views.begin(), &NamedOperand::tensor);
  call_on(plan, {views.data(), operands.size()}, {arguments.out(), keywords.stream, awaited},
          keywords);
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
  const auto expected = static_cast<Py_ssize_t>(plan.native.arguments().operands().size());
  if (positional == expected) {
    call_with(plan, arguments, keywords);
  } else if (positional == 0) {
    call_kept(plan, keywords);
  } else {
    fail_type("plan: expected the tensors " + operand_names(plan) + ", or none, got " +
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
      "A kernel chosen and compiled for one operation; estoc.plan makes it.\n\n"
      "plan(A, B, out, stream=None) runs a GEMM on tensors of the same dtypes, layouts, "
      "alignments\n"
      "and device, which are checked, and of any sizes that the kernel supports; plan() on those\n"
      "it was made with. Other operations take one tensor for each of their operands. Operands of\n"
      "the epilogue that are others in this call are given by name: plan(A, B, out, bias=other).";
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

nb::object make_plan(nb::object arguments, nb::handle artifact, nb::object workspace,
                     nb::handle threads, nb::handle programmatic, nb::handle keep) {
  const PyArguments& given = to_arguments(arguments);
  const RuntimeArguments& described = given.require_native();
  const PlanOptions options{.threads = whole_int(threads, "threads"),
                            .programmatic = truth(programmatic, "programmatic")};
  const bool keeps = truth(keep, "keep");
  const Artifact* const chosen = artifact.is_none() ? nullptr : &native_artifact(artifact);
  Plan native = [&] {
    const QueryScope scope(given);
    const nb::gil_scoped_release unlocked;
    return chosen != nullptr ? Plan(*chosen, described, options) : estoc::plan(described, options);
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
                              .epilogue = described.epilogue(),
                              .epilogue_object = epilogue};
  if (!epilogue.is_none()) {
    plan->planned->awaited = nb::cast<const PyEpilogue&>(epilogue).awaited();
  }
  return made;
}

}  // namespace

void run_plan(nb::handle plan, const std::vector<Operand>& operands, const Tensor& out,
              std::span<void* const> awaited) {
  if (PyObject_TypeCheck(plan.ptr(), reinterpret_cast<PyTypeObject*>(plan_type)) == 0) {
    fail_type("plan: expected an estoc.Plan, got " + class_name(plan));
  }
  launch_others(planned_of(plan.ptr()), operands, {out, nb::none(), awaited}, {});
}

void bind_plans(nb::module_& module) {
  const nb::object type = make_type();
  plan_type = type.ptr();
  module.attr("Plan") = type;
  module.def("_make_plan", &make_plan, nb::arg("args"), nb::arg("compiled_artifact").none(),
             nb::arg("workspace").none(), nb::arg("threads").none(), nb::arg("programmatic").none(),
             nb::arg("keep").none());
}

}  // namespace estoc::python
