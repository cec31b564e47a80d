// estoc.matmul and the work of estoc.grouped_mm: the library's functions on tensors of any
// framework, and their results as tensors of theirs.
#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "arguments.h"
#include "dtypes.h"
#include "epilogue.h"
#include "errors.h"
#include "estoc/plan.hpp"
#include "numbers.h"
#include "plans.h"
#include "results.h"
#include "streams.h"
#include "tuning.h"
#include "workspaces.h"

namespace estoc::python {
namespace {

/// What matmul was called with; None where an argument was left out.
struct Call {
  nb::handle a;
  nb::handle b;
  nb::handle out = nb::none();
  nb::handle accumulator_type = nb::none();
  nb::handle epilogue = nb::none();
  nb::handle stream = nb::none();
  nb::handle tuner = nb::none();
  nb::handle out_dtype = nb::none();
};

/// A function of estoc.planning, kept once found.
const nb::object& planning(const char* name, const nb::object*& cached) {
  if (cached == nullptr) {
    cached = new nb::object(nb::module_::import_("estoc.planning").attr(name));
  }
  return *cached;
}

/// Ways to results of one dtype on one device. Used with the GIL held. Never destroyed: Python may
/// be gone by then.
Results& results_like(const Tensor& a) {
  static auto* const known = new std::unordered_map<std::uint64_t, Results>;
  const Device device = a.view.device();
  return (*known)[static_cast<std::uint64_t>(a.framework) |
                  static_cast<std::uint64_t>(a.view.dtype()) << 8 |
                  static_cast<std::uint64_t>(device.kind) << 16 |
                  static_cast<std::uint64_t>(device.index) << 32];
}

/// Whether results are those of the framework, whatever the type of the tensor.
bool makes_plain(const Call& call, const Tensor& a) {
  return a.framework == Framework::numpy || a.framework == Framework::cupy ||
         (a.framework == Framework::torch && is_plain_torch(call.a));
}

nb::object empty_result(const Call& call, const Tensor& a, const Tensor& b) {
  static const nb::object* cached = nullptr;
  return planning("_empty", cached)(call.a, a, b, call.stream);
}

/// A new tensor for the product. Those of other than the current stream take the long way, by which
/// memory is of that stream.
nb::object make_result(const Call& call, const Tensor& a, const Tensor& b) {
  const bool on_own_stream = a.view.device().is_cuda() && !call.stream.is_none();
  if (on_own_stream || !makes_plain(call, a)) return empty_result(call, a, b);
  Results& results = results_like(a);
  nb::object made = results.make(result_shape(a.view, b.view));
  if (made.is_valid()) return made;
  made = empty_result(call, a, b);
  results = Results(import_tensor(made, "out"));
  return made;
}

/// The epilogue of a call, and what it refers to.
struct Epilogue {
  explicit Epilogue(nb::handle given) {
    if (given.is_none()) return;
    if (const auto program = epilogue_program(given)) {
      text = *program;
      return;
    }
    if (!nb::isinstance<PyEpilogue>(given) && read_before(given)) return;
    owner = to_epilogue(given);
    const auto& held = nb::cast<const PyEpilogue&>(owner);
    text = held.native().text();
    operands = held.native().operands();
    awaited = held.awaited();
  }

  std::string_view text;
  std::span<const EpilogueOperand> operands;
  std::vector<void*> awaited;
  nb::object owner;

 private:
  /// A function whose program is known and needs no operands.
  bool read_before(nb::handle function) {
    static const nb::object* cached = nullptr;
    if (cached == nullptr) {
      cached = new nb::object(nb::module_::import_("estoc.epilogue").attr("_text_alone"));
    }
    nb::object found = (*cached)(function);
    const auto program = epilogue_program(found);
    if (!program) return false;
    owner = std::move(found);
    text = *program;
    return true;
  }
};

/// Whether the epilogue has accumulators in pairs, so that B has two columns for each of out.
bool has_pairs(std::string_view epilogue) {
  constexpr std::array<std::string_view, 4> kFunctions{"left", "right", "even", "odd"};
  const bool may_have = std::ranges::any_of(kFunctions, [&](std::string_view function) {
    return epilogue.find(function) != std::string_view::npos;
  });
  return may_have && EpilogueProgram::parse(epilogue).pairs() != AccumulatorPairs::none;
}

/// A description of B with the columns of out, for a result that is made.
Tensor with_columns_of_out(const Tensor& b, const Epilogue& epilogue) {
  Tensor described = b;
  if (!has_pairs(epilogue.text) || b.view.rank() < 2) return described;
  const TensorView& view = b.view;
  std::vector<std::int64_t> shape(view.shape().begin(), view.shape().end());
  shape.back() /= 2;
  described.view = TensorView::describe(view.dtype(), shape, view.strides(), view.device());
  return described;
}

/// torch's switches that a kernel for these operands may depend on.
PerformanceControls controls_of(const Tensor& a, const Tensor& b) {
  if (a.framework != Framework::torch || !a.view.device().is_cuda()) return {};
  return torch_controls(a.view.dtype() == Dtype::f32 || b.view.dtype() == Dtype::f32);
}

BackgroundTuner& tuner_of(nb::handle given) {
  const PyTuner* tuner = nullptr;
  if (nb::try_cast(given, tuner) && tuner != nullptr) return tuner->get();
  fail_type("tuner: expected a BackgroundTuner, got " + shown_text(given));
}

/// The tensors of a call.
struct Operands {
  const Tensor& a;
  const Tensor& b;
  const Tensor& out;
  const Tensor* offsets = nullptr;
  const GroupOptions* groups = nullptr;  ///< null for a plain product
  const Tensor* rows = nullptr;
};

/// Whether a kernel had to be found.
bool multiply(const Call& call, const Operands& operands, Epilogue& epilogue) {
  const auto& [a, b, out, offsets, groups, rows] = operands;
  if (out.read_only) fail_value("out: expected a tensor that can be written, got a read-only one");
  for (const Tensor* tensor : {&a, &b, &out})
    add_awaited(epilogue.awaited, *tensor);
  for (const Tensor* index : {offsets, rows})
    if (index != nullptr) add_awaited(epilogue.awaited, *index);
  MatmulOptions options{
      .controls = controls_of(a, b), .epilogue = epilogue.text, .operands = epilogue.operands};
  if (!call.accumulator_type.is_none()) {
    options.accumulator_type = to_dtype(call.accumulator_type, "accumulator_type");
  }
  if (!call.tuner.is_none()) options.tuner = &tuner_of(call.tuner);
  const bool pointers = groups != nullptr && groups->layout == GroupLayout::pointers;
  if (!out.view.described() || pointers)
    options.stream = stream_for(out, call.stream, epilogue.awaited);
  HeldWorkspace workspace;
  const auto take_workspace = [&, &output = operands.out](std::size_t bytes) {
    const nb::gil_scoped_acquire locked;
    workspace = provide_workspace(nb::none(), bytes, output, options.stream);
    return workspace.native;
  };
  options.workspace = std::ref(take_workspace);
  const nb::gil_scoped_release unlocked;
  if (groups != nullptr) return estoc::grouped_mm(a.view, b.view, out.view, *groups, options);
  return estoc::matmul(a.view, b.view, out.view, options);
}

void warn_of_gradients(const Tensor& a, const Tensor& b) {
  static const nb::object* cached = nullptr;
  planning("_warn_of_gradients", cached)(a, b);
}

/// What is told of each product for which a kernel had to be found: a function, or None.
nb::object& problem_log() {
  static auto* const log = new nb::object(nb::none());
  return *log;
}

bool has_matrix_modes(const Tensor& tensor) {
  return tensor.view.rank() == 2 || tensor.view.rank() == 3;
}

/// The product of vectors, or with more batch modes.
nb::object product_of_modes(const Call& call) {
  static const nb::object* cached = nullptr;
  return planning("_matmul_of_modes", cached)(call.a, call.b, call.out, call.accumulator_type,
                                              call.epilogue, call.stream, call.tuner,
                                              call.out_dtype);
}

/// `b` has the columns of out.
nb::object result_for(const Call& call, const Tensor& a, const Tensor& b) {
  if (!call.out.is_none() && !call.out_dtype.is_none()) {
    fail_type("out_dtype: expected None beside out, whose dtype holds");
  }
  if (!call.out.is_none()) return nb::borrow(call.out);
  if (call.out_dtype.is_none()) return make_result(call, a, b);
  static const nb::object* cached = nullptr;
  return planning("_empty_of", cached)(call.a, a, b, call.out_dtype, call.stream);
}

nb::object matmul(const Call& call) {
  const Tensor a = import_tensor(call.a, "a");
  const Tensor b = import_tensor(call.b, "b");
  if (!has_matrix_modes(a) || !has_matrix_modes(b)) return product_of_modes(call);
  Epilogue epilogue(call.epilogue);
  nb::object made = result_for(call, a, with_columns_of_out(b, epilogue));
  const Tensor out = import_tensor(made, "out");
  if (multiply(call, {a, b, out}, epilogue)) {
    warn_of_gradients(a, b);
    if (const nb::object log = problem_log(); !log.is_none()) {
      log(call.a, call.b, made, call.accumulator_type, call.epilogue);
    }
  }
  return made;
}

bool grouped_mm(nb::handle mat_a, nb::handle mat_b, nb::handle given_out, nb::handle offs,
                nb::handle epilogue, nb::handle zero_rest, nb::handle layout, nb::handle stream,
                nb::handle given_rows) {
  const Tensor a = import_tensor(mat_a, "mat_a");
  const Tensor b = import_tensor(mat_b, "mat_b");
  Tensor out = import_tensor(given_out, "out");
  GroupOptions groups{.offsets = std::nullopt,
                      .zero_rest = truth(zero_rest, "zero_rest"),
                      .layout = to_group_layout(layout)};
  std::optional<Tensor> offsets;
  if (!offs.is_none()) groups.offsets = offsets.emplace(import_tensor(offs, "offs")).view;
  std::optional<Tensor> rows;
  if (!given_rows.is_none()) groups.rows = rows.emplace(import_tensor(given_rows, "rows")).view;
  // By whose framework the stream is known.
  if (out.view.described() && offsets) out.framework = offsets->framework;
  Call call{.a = mat_a, .b = mat_b, .out = given_out};
  call.epilogue = epilogue;
  call.stream = stream;
  Epilogue applied(epilogue);
  const bool found = multiply(
      call, {a, b, out, offsets ? &*offsets : nullptr, &groups, rows ? &*rows : nullptr}, applied);
  if (found) warn_of_gradients(a, b);
  return found;
}

/// The same of arguments of a product, in groups or not, whose operands may have scales.
bool run_remembered(nb::handle object, nb::handle given_stream) {
  const PyArguments& arguments = to_arguments(object);
  const RuntimeArguments& native = arguments.require_native();
  MatmulOptions options{.controls = arguments.controls(),
                        .epilogue = native.epilogue().text(),
                        .operands = native.epilogue().operands()};
  if (native.has_data()) options.stream = stream_for(arguments, given_stream);
  HeldWorkspace workspace;
  const auto take_workspace = [&](std::size_t bytes) {
    const nb::gil_scoped_acquire locked;
    workspace = provide_workspace(nb::none(), bytes, arguments.out(), options.stream);
    return workspace.native;
  };
  options.workspace = std::ref(take_workspace);
  const auto operand = [&](std::size_t place) {
    const NamedOperand named = native.operands()[place];
    return named.scaled != nullptr ? Operand(*named.scaled) : Operand(*named.tensor);
  };
  const nb::gil_scoped_release unlocked;
  if (const auto* const grouped = dynamic_cast<const GroupedGemmArguments*>(&native)) {
    options.accumulator_type = grouped->accumulator_type();
    GroupOptions groups{
        .offsets = std::nullopt, .zero_rest = grouped->zero_rest(), .layout = grouped->layout()};
    if (grouped->offsets() != nullptr) groups.offsets = *grouped->offsets();
    if (grouped->rows() != nullptr) groups.rows = *grouped->rows();
    return estoc::grouped_mm(operand(0), operand(1), arguments.out().view, groups, options);
  }
  options.accumulator_type = dynamic_cast<const GemmArguments&>(native).accumulator_type();
  return estoc::matmul(operand(0), operand(1), operand(2), options);
}

/// The product of operands with scales of one level, on the current stream of the framework of out:
/// by a plan, or with the kernel to use first. Returns whether that one had to be found.
bool scaled_mm(nb::handle given_a, nb::handle given_b, nb::handle given_scale_a,
               nb::handle given_scale_b, nb::handle mode_a, nb::handle mode_b, nb::handle given_out,
               nb::handle fast_accumulation, nb::handle plan) {
  const Tensor a = import_tensor(given_a, "a");
  const Tensor b = import_tensor(given_b, "b");
  const Tensor scale_a = import_tensor(given_scale_a, "scale_a");
  const Tensor scale_b = import_tensor(given_scale_b, "scale_b");
  const Tensor out = import_tensor(given_out, "out");
  if (out.read_only) fail_value("out: expected a tensor that can be written, got a read-only one");
  std::vector<void*> awaited;
  for (const Tensor* tensor : {&a, &b, &scale_a, &scale_b, &out})
    add_awaited(awaited, *tensor);
  const Operand left(ScaledTensor{a.view, scale_a.view, to_scale_mode(mode_a)});
  const Operand right(ScaledTensor{b.view, scale_b.view, to_scale_mode(mode_b)});
  if (!plan.is_none()) {
    run_plan(plan, {left, right, Operand(out.view)}, out, awaited);
    return false;
  }
  MatmulOptions options{.controls = controls_of(a, b)};
  options.controls.fast_accumulation = truth(fast_accumulation, "fast_accumulation");
  options.stream = stream_for(out, nb::none(), awaited);
  HeldWorkspace workspace;
  const auto take_workspace = [&](std::size_t bytes) {
    const nb::gil_scoped_acquire locked;
    workspace = provide_workspace(nb::none(), bytes, out, options.stream);
    return workspace.native;
  };
  options.workspace = std::ref(take_workspace);
  const nb::gil_scoped_release unlocked;
  return estoc::matmul(left, right, Operand(out.view), options);
}

/// What a shape and a dtype are to Python.
nb::tuple described_result(const std::vector<std::int64_t>& extents, Dtype dtype) {
  nb::list shape;
  for (const std::int64_t extent : extents)
    shape.append(extent);
  return nb::make_tuple(nb::tuple(shape), dtype_name(dtype));
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
      {"tuner", &Call::tuner},
      {"out_dtype", &Call::out_dtype},
  };
  for (const Keyword& keyword : kKeywords) {
    if (PyUnicode_CompareWithASCIIString(name.ptr(), keyword.name) != 0) continue;
    if ((call.*keyword.place).is_valid() && !(call.*keyword.place).is_none()) {
      fail_type(std::string("matmul: expected each argument once, got ") + keyword.name + " twice");
    }
    call.*keyword.place = value;
    return;
  }
  fail_type(
      std::string(
          "matmul: expected out, accumulator_type, epilogue, stream, tuner or out_dtype, got ") +
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
    "matmul($module, a, b, out=None, *, accumulator_type=None, epilogue=None, stream=None, "
    "tuner=None, out_dtype=None)\n--\n\n"
    "out = a @ b, with the kernel to use first. No gradient is recorded.\n\n"
    "Parameters\n----------\n"
    "a : tensor of shape (M, K), (L, M, K), (..., M, K) or (K,)\n"
    "b : tensor of shape (K, N), (L, K, N), (..., K, N) or (K,)\n"
    "    Two batch modes and more are those of both operands, or of one of them. Vectors and more\n"
    "    than one batch mode are reshaped by the framework, which may copy.\n"
    "out : tensor of shape (M, N) or (L, M, N), optional\n"
    "    None for vectors and more batch modes. Left out, made by the framework of `a` (NumPy, "
    "torch, CuPy), rows contiguous: i32 for\n"
    "    integers, bf16 for floats of eight bits, else the dtype of `a`.\n"
    "accumulator_type : dtype, optional\n"
    "epilogue : str, function or EpilogueArguments, optional\n"
    "    What is applied to the accumulator.\n"
    "stream : optional\n    As of Kernel.run.\n"
    "tuner : BackgroundTuner, optional\n"
    "    Tunes the problem of a call that finds a kernel.\n"
    "out_dtype : dtype, optional\n"
    "    Of the result that is made: f64, f32, f16, bf16 or i32.\n\n"
    "Returns\n-------\n"
    "tensor\n    `out`; a number's array of no modes for two vectors.\n\n"
    "Raises\n------\n"
    "ValueError\n    Shapes, strides or devices that do not fit.\n"
    "UnsupportedError\n    When no kernel supports the arguments, with the reasons.";

}  // namespace

void bind_matmul(nb::module_& module) {
  module.def("_run_remembered", &run_remembered, nb::arg("args"), nb::arg("stream").none());
  module.def("_scaled_mm", &scaled_mm, nb::arg("a").none(), nb::arg("b").none(),
             nb::arg("scale_a").none(), nb::arg("scale_b").none(), nb::arg("mode_a").none(),
             nb::arg("mode_b").none(), nb::arg("out").none(), nb::arg("fast_accumulation").none(),
             nb::arg("plan").none());
  module.def("_result", [](const Tensor& a, const Tensor& b) {
    return described_result(result_shape(a.view, b.view),
                            result_dtype(a.view.dtype(), b.view.dtype()));
  });
  module.def(
      "_grouped_result",
      [](const Tensor& a, const Tensor& b, std::int64_t groups, nb::handle dtype) {
        return described_result(grouped_result_shape(a.view, b.view, groups),
                                dtype.is_none() ? result_dtype(a.view.dtype(), b.view.dtype())
                                                : to_dtype(dtype, "out_dtype"));
      },
      nb::arg("a"), nb::arg("b"), nb::arg("groups"), nb::arg("dtype").none());
  module.def(
      "_with_columns_of_out",
      [](const Tensor& b, nb::handle epilogue) {
        return with_columns_of_out(b, Epilogue(epilogue));
      },
      nb::arg("b"), nb::arg("epilogue").none());
  module.def("_grouped_mm", &grouped_mm, nb::arg("mat_a").none(), nb::arg("mat_b").none(),
             nb::arg("out").none(), nb::arg("offs").none(), nb::arg("epilogue").none(),
             nb::arg("zero_rest").none(), nb::arg("layout").none(), nb::arg("stream").none(),
             nb::arg("rows").none() = nb::none());
  module.def(
      "_log_problems", [](nb::handle function) { problem_log() = nb::borrow(function); },
      nb::arg("function").none());
  // nanobind's own way to a function takes as long as everything that this one does.
  static PyMethodDef method{
      "matmul", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(matmul_function)),
      METH_FASTCALL | METH_KEYWORDS, kDocumentation};
  const nb::object name = module.attr("__name__");
  module.attr("matmul") = nb::steal(PyCFunction_NewEx(&method, module.ptr(), name.ptr()));
}

}  // namespace estoc::python
