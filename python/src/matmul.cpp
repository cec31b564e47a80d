// estoc.matmul: the plan of a signature, found and run in one call.
#include <memory>
#include <string>
#include <unordered_map>

#include "addresses.h"
#include "dlpack.h"
#include "dtypes.h"
#include "errors.h"
#include "plan.h"
#include "remembered_lists.h"
#include "results.h"
#include "signature.h"
#include "streams.h"

namespace estoc::python {
namespace {

constexpr std::size_t kMostPlans = 512;

/// What was found for a signature.
struct Found {
  nb::object plan;
  nb::object epilogue;  ///< None or text: its hash is part of the signature
  Results results;
  TensorView out;                ///< of the call that was planned
  std::uint64_t registry_state;  ///< at that time: another class may have the kernel to use by now
};
using FoundPointer = std::shared_ptr<const Found>;
using Plans = std::unordered_map<Signature, FoundPointer, SignatureHash>;

/// Used with the GIL held. Never destroyed: Python may be gone by then.
Plans& plans() {
  static auto* const map = new Plans;
  return *map;
}

/// What the last call found, which the next one often wants as well. Used with the GIL held.
struct Latest {
  Signature signature;
  FoundPointer found;
};

Latest& latest() {
  static auto* const one = new Latest;
  return *one;
}

/// What matmul was called with; None where an argument was left out.
struct Call {
  nb::handle a;
  nb::handle b;
  nb::handle out = nb::none();
  nb::handle accumulator_type = nb::none();
  nb::handle epilogue = nb::none();
  nb::handle stream = nb::none();

  bool makes_out() const { return out.is_none(); }
  /// Results of other than the current stream take the long way, by which memory is of that stream.
  bool is_on_own_stream(bool on_gpu) const { return on_gpu && !stream.is_none(); }
  /// An epilogue that holds tensors, or is a function, is worked out each time.
  bool is_remembered() const { return epilogue.is_none() || PyUnicode_Check(epilogue.ptr()); }
};

/// torch's switches that a kernel for these operands may depend on.
std::uint64_t switches(bool on_gpu_of_torch, bool multiplies_f32) {
  if (!on_gpu_of_torch) return 0;
  const PerformanceControls controls = torch_controls(multiplies_f32);
  return (controls.allow_tf32 ? 1U : 0U) | (controls.deterministic ? 2U : 0U);
}

/// The part of a signature that is not about tensors; `way` keeps those of torch and others apart.
void add_wishes(Signature& signature, const Call& call, std::uint64_t way, bool on_gpu_of_torch,
                bool multiplies_f32) {
  const std::uint64_t accumulator =
      call.accumulator_type.is_none()
          ? 0xff
          : static_cast<std::uint64_t>(to_dtype(call.accumulator_type, "accumulator_type"));
  signature.add(way | accumulator << 8 | switches(on_gpu_of_torch, multiplies_f32) << 16 |
                (call.makes_out() ? 1ULL : 0ULL) << 24);
  if (call.epilogue.is_none()) return;
  signature.add(static_cast<std::uint64_t>(PyObject_Hash(call.epilogue.ptr())));
}

bool same_text(nb::handle known, nb::handle given) {
  return known.is(given) || (!known.is_none() && !given.is_none() && known.equal(given));
}

FoundPointer find(const Signature& signature, const Call& call) {
  Latest& last = latest();
  FoundPointer found;  // a copy: what is forgotten here may run code that calls matmul
  if (last.found != nullptr && last.signature == signature) {
    found = last.found;
  } else {
    const auto place = plans().find(signature);
    if (place == plans().end()) return nullptr;
    found = place->second;
    last = {signature, found};
  }
  if (found->registry_state != registry_state()) return nullptr;
  return same_text(found->epilogue, call.epilogue) ? found : nullptr;
}

void remember(const Signature& signature, const Call& call, nb::object plan, const Tensor& out,
              std::uint64_t state) {
  if (plans().size() >= kMostPlans) Plans().swap(plans());
  latest().found = nullptr;
  const bool makes = call.makes_out() && out.framework != Framework::other;
  plans().insert_or_assign(signature, std::make_shared<const Found>(Found{
                                          std::move(plan), nb::borrow(call.epilogue),
                                          makes ? Results(out) : Results(), out.view, state}));
}

/// Runs on a new `out`; false where the plan does not support it because it is aligned less well
/// than the one that was planned for.
template <typename Run>
bool run_on_new(const TensorView& planned, const void* out, Run&& run) {
  const bool aligned = address_of(out) % static_cast<std::uintptr_t>(planned.alignment()) == 0;
  try {
    run(aligned);
  } catch (const Error& error) {
    if (aligned || error.kind() != ErrorKind::unsupported) throw;
    return false;
  }
  return true;
}

bool is_f32(const dlpack::Tensor& tensor) {
  return tensor.dtype.code == dlpack::kFloat && tensor.dtype.bits == 32;
}

/// A call on plain tensors of torch.
struct TorchCall {
  dlpack::Tensor a{};
  dlpack::Tensor b{};
  dlpack::Tensor out{};
  Signature signature;

  /// False where these are no such tensors, or two of them are on different devices.
  bool read(const Call& call) {
    if (!call.is_remembered() || !see_torch(call.a, a) || !see_torch(call.b, b) ||
        !(call.makes_out() || see_torch(call.out, out))) {
      return false;
    }
    if (!signature.add(a) || !signature.add(b)) return false;
    if (!call.makes_out() && !signature.add(out)) return false;
    add_wishes(signature, call, 1, a.device.type == dlpack::kCuda, is_f32(a) || is_f32(b));
    return true;
  }
};

/// A function of estoc.planning, kept once found.
const nb::object& planning(const char* name, const nb::object*& cached) {
  if (cached == nullptr) {
    cached = new nb::object(nb::module_::import_("estoc.planning").attr(name));
  }
  return *cached;
}

/// The operands of a call in full.
struct Operands {
  Tensor a;
  Tensor b;
  nb::object made;  ///< out as the caller gets it
  Tensor out;

  explicit Operands(const Call& call)
      : a(import_tensor(call.a, "a")), b(import_tensor(call.b, "b")) {
    if (!call.makes_out()) take(nb::borrow(call.out));
  }

  void take(nb::object given) {
    made = std::move(given);
    out = import_tensor(made, "out");
    if (out.read_only) {
      fail_value("out: expected a tensor that can be written, got a read-only one");
    }
  }

  nb::object empty(const Call& call) const {
    static const nb::object* cached = nullptr;
    return planning("_empty", cached)(call.a, a, b, call.stream);
  }

  void make_out(const Call& call) {
    if (call.makes_out()) take(empty(call));
  }

  nb::object plan(const Call& call) const {
    static const nb::object* cached = nullptr;
    return planning("_plan_once", cached)(a, b, out, call.accumulator_type, call.epilogue);
  }

  void run(nb::handle plan, const Call& call) const { run_plan(plan, a, b, out, call.stream); }

  bool fit_signature() const {
    auto fits = [](const Tensor& tensor) { return tensor.view.rank() <= Signature::kMostModes; };
    return fits(a) && fits(b) && fits(out);
  }
  bool on_gpu_of_torch() const {
    return a.framework == Framework::torch && a.view.device().is_cuda();
  }
  bool multiply_f32() const { return a.view.dtype() == Dtype::f32 || b.view.dtype() == Dtype::f32; }
};

/// Null where the signature is new, or `out` turns out otherwise than before.
nb::object call_again(const Call& call, TorchCall& torch) {
  const FoundPointer found = find(torch.signature, call);
  if (found == nullptr) return {};
  auto run = [&](nb::handle out, bool aligned) {
    run_plan_like_last(
        found->plan,
        {dlpack::data_of(torch.a), dlpack::data_of(torch.b), dlpack::data_of(torch.out)}, out,
        call.stream, aligned);
  };
  if (!call.makes_out()) {
    run(call.out, true);
    return nb::borrow(call.out);
  }
  nb::object out = call.is_on_own_stream(torch.a.device.type == dlpack::kCuda)
                       ? Operands(call).empty(call)
                       : found->results.make();
  if (!out.is_valid() || !see_torch(out, torch.out) || !is_like(torch.out, found->out)) return {};
  const bool done =
      run_on_new(found->out, dlpack::data_of(torch.out), [&](bool aligned) { run(out, aligned); });
  return done ? out : nb::object();
}

nb::object plan_and_run(const Call& call, Operands& operands, const Signature* signature) {
  operands.make_out(call);
  const std::uint64_t state = registry_state();  // which may be another one when all is done
  const nb::object plan = operands.plan(call);
  operands.run(plan, call);
  if (signature != nullptr) remember(*signature, call, plan, operands.out, state);
  return operands.made;
}

/// False where `results` makes no tensors, or the plan does not support what it made.
bool run_on_made(const Call& call, Operands& operands, const Found& found) {
  nb::object made = call.is_on_own_stream(operands.a.view.device().is_cuda())
                        ? operands.empty(call)
                        : found.results.make();
  if (!made.is_valid()) return false;
  operands.take(std::move(made));
  return run_on_new(found.out, operands.out.view.data(),
                    [&](bool /*aligned*/) { operands.run(found.plan, call); });
}

nb::object call_others(const Call& call) {
  Operands operands(call);
  // Other frameworks' results depend on more than the signature, such as the type of `a`.
  const bool makes_alike =
      operands.a.framework == Framework::numpy || operands.a.framework == Framework::cupy;
  if (call.makes_out() && !makes_alike) operands.make_out(call);
  if (!call.is_remembered() || !operands.fit_signature()) {
    return plan_and_run(call, operands, nullptr);
  }
  Signature signature;
  signature.add(operands.a.view);
  signature.add(operands.b.view);
  if (operands.made.is_valid()) signature.add(operands.out.view);
  add_wishes(signature, call, 2 + static_cast<std::uint64_t>(operands.a.framework),
             operands.on_gpu_of_torch(), operands.multiply_f32());
  const FoundPointer found = find(signature, call);
  if (found == nullptr) return plan_and_run(call, operands, &signature);
  if (operands.made.is_valid()) {
    operands.run(found->plan, call);
  } else if (!run_on_made(call, operands, *found)) {
    return plan_and_run(call, operands, &signature);
  }
  return operands.made;
}

nb::object matmul(const Call& call) {
  TorchCall torch;
  if (!torch.read(call)) return call_others(call);
  nb::object out = call_again(call, torch);
  if (out.is_valid()) return out;
  Operands operands(call);
  return plan_and_run(call, operands, &torch.signature);
}

void set_keyword(Call& call, nb::handle name, nb::handle value) {
  struct Keyword {
    const char* name;
    nb::handle Call::*place;
  };
  static constexpr Keyword kKeywords[] = {
      {"a", &Call::a},
      {"b", &Call::b},
      {"out", &Call::out},
      {"accumulator_type", &Call::accumulator_type},
      {"epilogue", &Call::epilogue},
      {"stream", &Call::stream},
  };
  for (const Keyword& keyword : kKeywords) {
    if (PyUnicode_CompareWithASCIIString(name.ptr(), keyword.name) != 0) continue;
    if ((call.*keyword.place).is_valid() && !(call.*keyword.place).is_none()) {
      fail_type(std::string("matmul: expected each argument once, got ") + keyword.name + " twice");
    }
    call.*keyword.place = value;
    return;
  }
  fail_type(std::string("matmul: expected out, accumulator_type, epilogue or stream, got ") +
            shown_text(name));
}

Call parse(PyObject* const* arguments, Py_ssize_t positional, PyObject* names) {
  constexpr Py_ssize_t kPositional = 3;
  Call call;
  if (positional > kPositional) {
    fail_type("matmul: expected at most a, b and out without their names, got " +
              std::to_string(positional));
  }
  if (positional > 0) call.a = arguments[0];
  if (positional > 1) call.b = arguments[1];
  if (positional > 2) call.out = arguments[2];
  const Py_ssize_t keywords = names == nullptr ? 0 : PyTuple_Size(names);
  for (Py_ssize_t i = 0; i < keywords; ++i)
    set_keyword(call, PyTuple_GetItem(names, i), arguments[positional + i]);
  if (!call.a.is_valid() || !call.b.is_valid()) {
    fail_type("matmul: expected the tensors a and b, got " + std::to_string(positional));
  }
  return call;
}

PyObject* matmul_function(PyObject* /*module*/, PyObject* const* arguments, Py_ssize_t positional,
                          PyObject* names) {
  nb::object out;
  guarded([&] { out = matmul(parse(arguments, positional, names)); });
  return out.release().ptr();
}

constexpr const char* kDocumentation =
    "matmul($module, a, b, out=None, *, accumulator_type=None, epilogue=None, stream=None)\n--\n\n"
    "out = a @ b, with the kernel to use first. No gradient is recorded.\n\n"
    "Parameters\n----------\n"
    "a : tensor of shape (M, K) or (L, M, K)\n"
    "b : tensor of shape (K, N) or (L, K, N)\n"
    "out : tensor of shape (M, N) or (L, M, N), optional\n"
    "    Left out, made by the framework of `a` (NumPy, torch, CuPy), rows contiguous: i32 for\n"
    "    integers, bf16 for floats of eight bits, else the dtype of `a`.\n"
    "accumulator_type : dtype, optional\n"
    "epilogue : str, function or EpilogueArguments, optional\n"
    "    What is applied to the accumulator. The kernel is remembered for text alone.\n"
    "stream : optional\n    As of Kernel.run.\n\n"
    "Returns\n-------\n"
    "tensor\n    `out`.\n\n"
    "Raises\n------\n"
    "ValueError\n    Shapes, strides or devices that do not fit.\n"
    "UnsupportedError\n    When no kernel supports the arguments, with the reasons.";

}  // namespace

void bind_matmul(nb::module_& module) {
  // nanobind's own way to a function takes as long as everything that this one does.
  static PyMethodDef method{
      "matmul", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(matmul_function)),
      METH_FASTCALL | METH_KEYWORDS, kDocumentation};
  const nb::object name = module.attr("__name__");
  module.attr("matmul") = nb::steal(PyCFunction_NewEx(&method, module.ptr(), name.ptr()));
}

}  // namespace estoc::python
