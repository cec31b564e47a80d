// GemmArguments, ElementwiseArguments and GroupedGemmArguments from tensors of any framework.
#include "arguments.h"

#include <algorithm>
#include <string>

#include "dtypes.h"
#include "epilogue.h"
#include "errors.h"
#include "estoc/problem.hpp"
#include "numbers.h"
#include "streams.h"

namespace estoc::python {
namespace {

void require_writable(const Tensor& out) {
  if (out.read_only) fail_value("out: expected a tensor that can be written, got a read-only one");
}

/// Gives tensors without a device of their own that of the others, where these have one.
void place_together(std::initializer_list<Tensor*> tensors) {
  const Tensor* anchor = nullptr;
  for (const Tensor* tensor : tensors) {
    if (!tensor->placeless && anchor == nullptr) anchor = tensor;
  }
  if (anchor == nullptr) return;
  for (Tensor* tensor : tensors) {
    if (tensor->placeless) tensor->view = placed(tensor->view, anchor->view.device());
  }
}

/// A plain tensor, or the data of a scaled one.
Tensor import_operand(nb::handle object, const char* what,
                      std::unique_ptr<const PyScaledTensor>& scaled) {
  PyScaledTensor* given = nullptr;
  if (!is_plain_torch(object) && nb::try_cast(object, given, false) && given != nullptr) {
    scaled = std::make_unique<const PyScaledTensor>(*given);
    return given->base;
  }
  return import_tensor(object, what);
}

Tensor tensor_of(const TensorView& view) {
  Tensor tensor;
  tensor.view = view;
  tensor.source = nb::none();
  return tensor;
}

nb::object epilogue_object(const RuntimeArguments& native) {
  if (native.epilogue().empty()) return nb::none();
  return nb::cast(new PyEpilogue(native.epilogue()), nb::rv_policy::take_ownership);
}

std::unique_ptr<const PyScaledTensor> scaled_of(const Operand& operand) {
  const ScaledTensor* scaled = operand.scaled();
  if (scaled == nullptr) return nullptr;
  PyScaledTensor shown{tensor_of(scaled->data), tensor_of(scaled->scale), scaled->mode,
                       scaled->swizzle};
  if (scaled->tensor_scale) shown.tensor_scale = tensor_of(*scaled->tensor_scale);
  shown.powers_of_two = scaled->powers_of_two;
  return std::make_unique<const PyScaledTensor>(std::move(shown));
}

Operand operand_of(const Tensor& tensor, const PyScaledTensor* scaled) {
  return scaled ? Operand(scaled->native()) : Operand(tensor.view);
}

nb::object object_of(const Tensor& tensor, const PyScaledTensor* scaled) {
  return scaled ? nb::cast(*scaled) : nb::cast(tensor);
}

std::string repr_of(const PyArguments& arguments, const char* name) {
  std::string text = std::string(name) + "(";
  for (const auto& [operand, tensor] : arguments.operands()) {
    if (text.back() != '(') text += ", ";
    text += std::string(operand) + "=" + tensor->view.to_string();
  }
  return text;
}

/// `factors`: the tensors that are multiplied, which tf32 is about.
PerformanceControls controls_for(nb::handle given, const Tensor& out,
                                 std::initializer_list<const Tensor*> factors) {
  PerformanceControls* controls = nullptr;
  if (!given.is_none()) {
    if (nb::try_cast(given, controls, false) && controls != nullptr) return *controls;
    fail_type("performance: expected an estoc.PerformanceControls, got " + class_name(given));
  }
  if (out.framework != Framework::torch || !out.view.device().is_cuda()) return {};
  return torch_controls(std::ranges::any_of(
      factors, [](const Tensor* tensor) { return tensor->view.dtype() == Dtype::f32; }));
}

ElementwiseOp parse_op(const std::string& name) {
  if (const auto op = parse_elementwise_op(name)) return *op;
  fail_value("op: expected an elementwise operation such as \"add\" or \"relu\", got \"" + name +
             "\"");
}

void bind_controls(nb::module_& module) {
  nb::class_<PerformanceControls>(
      module, "PerformanceControls",
      "Options that trade exactness for speed; the defaults promise exact semantics.\n\n"
      "Parameters\n----------\n"
      "allow_tf32 : bool\n    f32 operands may be rounded to tf32 before they are multiplied.\n"
      "fast_accumulation : bool\n    Products of 8-bit floats may be summed with the bits that "
      "tensor cores keep.\n"
      "deterministic : bool\n    The same input gives the same bits on the same device.\n"
      "workspace_limit : int, optional\n    Leave out kernels that need more bytes of workspace.\n"
      "batch_invariant : bool\n    GEMM: the bits of a row of out depend on that row of A and on B "
      "alone.\n"
      "allow_bf16x6 : bool\n    GEMM: f32 operands may be split into three bf16 parts.")
      .def(
          "__init__",
          [](PerformanceControls* self, nb::handle allow_tf32, nb::handle fast_accumulation,
             nb::handle deterministic, nb::handle workspace_limit, nb::handle batch_invariant,
             nb::handle allow_bf16x6) {
            std::optional<std::int64_t> limit;
            if (!workspace_limit.is_none())
              limit = whole_number(workspace_limit, "workspace_limit");
            new (self) PerformanceControls{truth(allow_tf32, "allow_tf32"),
                                           truth(fast_accumulation, "fast_accumulation"),
                                           truth(deterministic, "deterministic"),
                                           truth(batch_invariant, "batch_invariant"),
                                           truth(allow_bf16x6, "allow_bf16x6"),
                                           limit};
          },
          nb::arg("allow_tf32").none() = false, nb::arg("fast_accumulation").none() = false,
          nb::arg("deterministic").none() = false, nb::arg("workspace_limit") = nb::none(),
          nb::arg("batch_invariant").none() = false, nb::arg("allow_bf16x6").none() = false)
      .def_ro("allow_tf32", &PerformanceControls::allow_tf32)
      .def_ro("fast_accumulation", &PerformanceControls::fast_accumulation)
      .def_ro("deterministic", &PerformanceControls::deterministic)
      .def_ro("workspace_limit", &PerformanceControls::workspace_limit)
      .def_ro("batch_invariant", &PerformanceControls::batch_invariant)
      .def_ro("allow_bf16x6", &PerformanceControls::allow_bf16x6)
      .def(
          "__eq__",
          [](const PerformanceControls& self, nb::handle other) {
            PerformanceControls* given = nullptr;
            return nb::try_cast(other, given, false) && given != nullptr && self == *given;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](const PerformanceControls& self) {
             return nb::hash(nb::make_tuple(self.allow_tf32, self.fast_accumulation,
                                            self.deterministic, self.workspace_limit,
                                            self.batch_invariant, self.allow_bf16x6));
           })
      .def("__reduce__",
           [](nb::handle_t<PerformanceControls> self) {
             const auto& controls = nb::cast<const PerformanceControls&>(self);
             return nb::make_tuple(self.type(),
                                   nb::make_tuple(controls.allow_tf32, controls.fast_accumulation,
                                                  controls.deterministic, controls.workspace_limit,
                                                  controls.batch_invariant, controls.allow_bf16x6));
           })
      .def("__repr__", [](const PerformanceControls& self) {
        return std::string("PerformanceControls(allow_tf32=") +
               (self.allow_tf32 ? "True" : "False") +
               ", fast_accumulation=" + (self.fast_accumulation ? "True" : "False") +
               ", deterministic=" + (self.deterministic ? "True" : "False") + ", workspace_limit=" +
               (self.workspace_limit ? std::to_string(*self.workspace_limit) : "None") +
               ", batch_invariant=" + (self.batch_invariant ? "True" : "False") +
               ", allow_bf16x6=" + (self.allow_bf16x6 ? "True" : "False") + ")";
      });
}

void bind_base(nb::module_& module) {
  nb::class_<PyArguments>(module, "RuntimeArguments",
                          "What is to be computed, and on which operands. Keeps its tensors alive.")
      .def_prop_ro(
          "operation",
          [](const PyArguments& self) {
            return std::string(operation_name(self.native()->operation()));
          },
          "\"gemm\", \"elementwise\" or \"grouped_gemm\".")
      .def_prop_ro(
          "device", [](const PyArguments& self) { return self.device().name(); },
          "\"cpu\" or \"cuda:0\".")
      .def_prop_ro("epilogue", &PyArguments::epilogue, "An EpilogueArguments, or None.")
      .def_prop_ro(
          "performance", [](const PyArguments& self) { return self.controls(); },
          "The PerformanceControls that hold.")
      .def_prop_ro(
          "problem",
          [](const PyArguments& self) { return Problem::of(self.require_native()).to_string(); },
          "The problem as one line of text, which the command line takes.")
      .def("__repr__", &PyArguments::describe);
}

void bind_gemm(nb::module_& module) {
  nb::class_<PyGemmArguments, PyArguments>(
      module, "GemmArguments",
      "out = A @ B, batched when the operands have three modes.\n\n"
      "Parameters\n----------\n"
      "A : tensor or ScaledTensor of shape (M, K) or (L, M, K)\n"
      "B : tensor or ScaledTensor of shape (K, N) or (L, K, N)\n"
      "out : tensor or ScaledTensor of shape (M, N) or (L, M, N)\n"
      "    Scales of out are written: it is quantised. A and B may have two modes, or a batch mode "
      "of 1, where out has three.\n"
      "accumulator_type : dtype, optional\n"
      "    f64, f32, f16 or i32. Left out: f64 where A or B is f64, i32 where both are integers,\n"
      "    else f32.\n"
      "epilogue : EpilogueArguments, str or function, optional\n"
      "    What is applied to the accumulator before it is stored.\n"
      "performance : PerformanceControls, optional\n"
      "    Left out, torch's own switches hold for tensors of torch on a GPU.\n\n"
      "Raises\n------\n"
      "ValueError\n    Shapes, strides or devices that do not fit; out overlaps itself or an "
      "input.\n"
      "TypeError\n    Something that is no tensor, or of a dtype that Estoc does not have.")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(),
           nb::arg("A").none(), nb::arg("B").none(), nb::arg("out").none(),
           nb::arg("accumulator_type").none() = nb::none(), nb::arg("epilogue") = nb::none(),
           nb::arg("performance") = nb::none())
      .def_prop_ro("A", &PyGemmArguments::a)
      .def_prop_ro("B", &PyGemmArguments::b)
      .def_prop_ro("out", &PyGemmArguments::result)
      .def_prop_ro(
          "accumulator_type",
          [](const PyGemmArguments& self) { return dtype_object(self.gemm().accumulator_type()); })
      .def_prop_ro(
          "extents",
          [](const PyGemmArguments& self) {
            const GemmExtents& extents = self.gemm().extents();
            return nb::make_tuple(extents.m, extents.n, extents.k, extents.l);
          },
          "M, N, K, L.");
}

void bind_elementwise(nb::module_& module) {
  nb::class_<PyElementwiseArguments, PyArguments>(
      module, "ElementwiseArguments",
      "out = op(A) or out = op(A, B), element by element; A and B broadcast as in NumPy.\n\n"
      "ElementwiseArguments(A, out, epilogue=...) computes the D of an epilogue whose accum is A,\n"
      "and whose tensors broadcast to out.\n\n"
      "Parameters\n----------\n"
      "op : str\n    Binary: add sub mul div maximum minimum. Unary: identity neg abs sqrt rsqrt\n"
      "    exp log reciprocal relu gelu silu sigmoid tanh.\n"
      "A : tensor\nB : tensor or None\n    None for a unary operation.\nout : tensor\n"
      "    May be the same tensor as A or B exactly.\n"
      "epilogue : EpilogueArguments, str or function\n"
      "    In place of op and B. D is its only output, without reductions and dropout.\n"
      "performance : PerformanceControls, optional")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle>(),
           nb::arg("op").none(), nb::arg("A").none(), nb::arg("B").none(), nb::arg("out").none(),
           nb::arg("performance") = nb::none())
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle>(), nb::arg("A").none(),
           nb::arg("out").none(), nb::kw_only(), nb::arg("epilogue").none(),
           nb::arg("performance") = nb::none())
      .def_prop_ro(
          "op",
          [](const PyElementwiseArguments& self) {
            return elementwise_op_name(self.elementwise().op());
          },
          "The operation's name; \"identity\" where there is an epilogue.")
      .def_prop_ro("A", [](const PyElementwiseArguments& self) { return self.a(); })
      .def_prop_ro("B",
                   [](const PyElementwiseArguments& self) -> nb::object {
                     return self.b() ? nb::cast(*self.b()) : nb::none();
                   })
      .def_prop_ro("out", [](const PyElementwiseArguments& self) { return self.out(); });
}

void bind_grouped(nb::module_& module) {
  nb::class_<PyGroupedGemmArguments, PyArguments>(
      module, "GroupedGemmArguments",
      "Products of groups, of which the device alone knows where they end.\n\n"
      "The numbers of modes of A and B say what is divided: A (M, K) and B (G, K, N) have groups\n"
      "of rows, out is (M, N); A (G, M, K) and B (K, N) of columns, out is (M, N); A (M, K) and\n"
      "B (K, N) of K, out is (G, M, N); with three modes each it is a batched product, out is\n"
      "(G, M, N). Group g goes from offsets[g - 1], or 0, to offsets[g].\n\n"
      "Parameters\n----------\n"
      "A, B : tensor or ScaledTensor\n"
      "    Scales have as many modes as the data: those of a matrix for each group G in front.\n"
      "out : tensor\n"
      "accumulator_type : dtype, optional\n    As of GemmArguments.\n"
      "offsets : tensor of shape (G,), dtype i32, optional\n"
      "    The ends of the groups; None for a batched product. Whatever it holds, nothing outside\n"
      "    the operands is read or written. Of another shape with another layout.\n"
      "zero_rest : bool\n"
      "    Rows or columns of no group are a product of zeros; else they are left as they are.\n"
      "epilogue, performance : optional\n    As of GemmArguments.\n"
      "layout : str\n"
      "    What offsets say: 'ends'; 'prefix', (G + 1,), where groups begin and the last one "
      "ends;\n"
      "    'masked', (G,), rows of each group, with A (G, M, K) and out (G, M, N); 'ranges', (G, "
      "2),\n"
      "    where each group begins and ends.\n"
      "rows : tensor of shape (M,), dtype i32, optional\n"
      "    Row i of the product's A is A[rows[i]], or zeros where A (R, K) has no such row; for\n"
      "    groups of rows that are not masked, without scales.\n\n"
      "Raises\n------\n"
      "ValueError\n    Shapes, strides or devices that do not fit.\n"
      "TypeError\n    Something that is no tensor, or offsets that are not i32.")
      .def(nb::init<nb::handle, nb::handle, nb::handle, nb::handle, nb::handle, nb::handle,
                    nb::handle, nb::handle, nb::handle, nb::handle>(),
           nb::arg("A").none(), nb::arg("B").none(), nb::arg("out").none(),
           nb::arg("accumulator_type").none() = nb::none(), nb::arg("offsets").none() = nb::none(),
           nb::arg("zero_rest").none() = false, nb::arg("epilogue") = nb::none(),
           nb::arg("performance") = nb::none(), nb::arg("layout").none() = "ends",
           nb::arg("rows").none() = nb::none())
      .def_prop_ro("A", &PyGroupedGemmArguments::a)
      .def_prop_ro("B", &PyGroupedGemmArguments::b)
      .def_prop_ro("out", [](const PyGroupedGemmArguments& self) { return self.out(); })
      .def_prop_ro("offsets",
                   [](const PyGroupedGemmArguments& self) -> nb::object {
                     return self.offsets() ? nb::cast(*self.offsets()) : nb::none();
                   })
      .def_prop_ro("rows",
                   [](const PyGroupedGemmArguments& self) -> nb::object {
                     return self.rows() ? nb::cast(*self.rows()) : nb::none();
                   })
      .def_prop_ro("zero_rest",
                   [](const PyGroupedGemmArguments& self) { return self.grouped().zero_rest(); })
      .def_prop_ro("layout",
                   [](const PyGroupedGemmArguments& self) {
                     return std::string(group_layout_name(self.grouped().layout()));
                   })
      .def_prop_ro("accumulator_type", [](const PyGroupedGemmArguments& self) {
        return dtype_object(self.grouped().accumulator_type());
      });
}

thread_local const PyArguments* queried = nullptr;

}  // namespace

GroupLayout to_group_layout(nb::handle name) {
  std::string text;
  if (!nb::try_cast(name, text)) fail_type("layout: expected a str, got " + shown_text(name));
  if (const auto layout = parse_group_layout(text)) return *layout;
  fail_value("layout: expected ends, prefix, masked, ranges or pointers, got '" + text + "'");
}

PyArguments::PyArguments(nb::object epilogue) : epilogue_(std::move(epilogue)) {
  if (!epilogue_.is_none()) awaited_ = nb::cast<const PyEpilogue&>(epilogue_).awaited();
}

void PyArguments::await(std::initializer_list<const Tensor*> tensors) {
  for (const Tensor* tensor : tensors)
    add_awaited(awaited_, *tensor);
}

QueryScope::QueryScope(const PyArguments& arguments) : outer_(std::exchange(queried, &arguments)) {}

QueryScope::~QueryScope() {
  queried = outer_;
}

nb::object arguments_of(const RuntimeArguments& arguments) {
  if (queried != nullptr && queried->native() == &arguments) return nb::find(*queried);
  if (const auto* gemm = dynamic_cast<const GemmArguments*>(&arguments)) {
    return nb::cast(new PyGemmArguments(*gemm), nb::rv_policy::take_ownership);
  }
  if (const auto* grouped = dynamic_cast<const GroupedGemmArguments*>(&arguments)) {
    return nb::cast(new PyGroupedGemmArguments(*grouped), nb::rv_policy::take_ownership);
  }
  const auto& elementwise = dynamic_cast<const ElementwiseArguments&>(arguments);
  return nb::cast(new PyElementwiseArguments(elementwise), nb::rv_policy::take_ownership);
}

const PyArguments& to_arguments(nb::handle object) {
  PyArguments* given = nullptr;
  if (nb::try_cast(object, given, false) && given != nullptr) return *given;
  fail_type("args: expected arguments such as estoc.GemmArguments, got " + class_name(object));
}

PyGemmArguments::PyGemmArguments(nb::handle a, nb::handle b, nb::handle out,
                                 nb::handle accumulator_type, nb::handle epilogue,
                                 nb::handle controls)
    : PyArguments(to_epilogue(epilogue)),
      a_(import_operand(a, "A", scaled_a_)),
      b_(import_operand(b, "B", scaled_b_)),
      out_(import_operand(out, "out", scaled_out_)) {
  require_writable(out_);
  if (scaled_out_) require_writable(scaled_out_->scale);
  if (a_.placeless || b_.placeless || out_.placeless) place_together({&a_, &b_, &out_});
  const Operand operand_a = operand_of(a_, scaled_a_.get());
  const Operand operand_b = operand_of(b_, scaled_b_.get());
  const Dtype accumulator = accumulator_type.is_none()
                                ? default_accumulator_type(operand_a, operand_b)
                                : to_dtype(accumulator_type, "accumulator_type");
  native_.emplace(operand_a, operand_b, operand_of(out_, scaled_out_.get()), accumulator,
                  controls_for(controls, out_, {&a_, &b_}), native_epilogue(this->epilogue()));
  await({&a_, &b_, &out_});
  for (const auto* scaled : {scaled_a_.get(), scaled_b_.get(), scaled_out_.get()}) {
    if (scaled == nullptr) continue;
    await({&scaled->scale});
    if (scaled->tensor_scale) await({&*scaled->tensor_scale});
  }
}

PyGemmArguments::PyGemmArguments(const GemmArguments& native)
    : PyArguments(epilogue_object(native)),
      scaled_a_(scaled_of(native.a())),
      scaled_b_(scaled_of(native.b())),
      scaled_out_(native.out_scaled() != nullptr ? scaled_of(Operand(*native.out_scaled()))
                                                 : nullptr),
      a_(tensor_of(native.a().tensor())),
      b_(tensor_of(native.b().tensor())),
      out_(tensor_of(native.out())),
      native_(native) {}

std::vector<std::pair<const char*, const Tensor*>> PyGemmArguments::operands() const {
  return {{"A", &a_}, {"B", &b_}, {"out", &out_}};
}

std::string PyGemmArguments::describe() const {
  return repr_of(*this, "GemmArguments") +
         ", accumulator_type=" + std::string(dtype_name(native_->accumulator_type())) + ")";
}

nb::object PyGemmArguments::a() const {
  return object_of(a_, scaled_a_.get());
}

nb::object PyGemmArguments::b() const {
  return object_of(b_, scaled_b_.get());
}

nb::object PyGemmArguments::result() const {
  return object_of(out_, scaled_out_.get());
}

PyElementwiseArguments::PyElementwiseArguments(nb::handle op, nb::handle a, nb::handle b,
                                               nb::handle out, nb::handle controls)
    : a_(import_tensor(a, "A")), out_(import_tensor(out, "out")) {
  const std::string name = text(op, "op");
  const ElementwiseOp operation = parse_op(name);
  require_writable(out_);
  if (!b.is_none()) b_ = import_tensor(b, "B");
  if (is_binary(operation) != b_.has_value()) {
    fail_value("B: expected " + std::string(b_ ? "None" : "a tensor") + " for " + name + ", got " +
               (b_ ? "a tensor" : "None"));
  }
  if (b_) {
    place_together({&a_, &*b_, &out_});
    native_.emplace(operation, a_.view, b_->view, out_.view, controls_for(controls, out_, {}));
  } else {
    place_together({&a_, &out_});
    native_.emplace(operation, a_.view, out_.view, controls_for(controls, out_, {}));
  }
  await({&a_, &out_});
  if (b_) await({&*b_});
}

PyElementwiseArguments::PyElementwiseArguments(nb::handle a, nb::handle out, nb::handle epilogue,
                                               nb::handle controls)
    : PyArguments(to_epilogue(epilogue)),
      a_(import_tensor(a, "A")),
      out_(import_tensor(out, "out")) {
  if (epilogue.is_none()) {
    fail_type("epilogue: expected an estoc.EpilogueArguments, text or a function, got None");
  }
  require_writable(out_);
  place_together({&a_, &out_});
  native_.emplace(a_.view, out_.view, native_epilogue(this->epilogue()),
                  controls_for(controls, out_, {}));
  await({&a_, &out_});
}

PyElementwiseArguments::PyElementwiseArguments(const ElementwiseArguments& native)
    : PyArguments(epilogue_object(native)),
      a_(tensor_of(native.a())),
      out_(tensor_of(native.out())),
      native_(native) {
  if (is_binary(native.op())) b_ = tensor_of(native.b());
}

std::vector<std::pair<const char*, const Tensor*>> PyElementwiseArguments::operands() const {
  if (!b_) return {{"A", &a_}, {"out", &out_}};
  return {{"A", &a_}, {"B", &*b_}, {"out", &out_}};
}

std::string PyElementwiseArguments::describe() const {
  const std::string what = epilogue().is_none()
                               ? "op=" + std::string(elementwise_op_name(native_->op()))
                               : "epilogue='" + native_->epilogue().text() + "'";
  return repr_of(*this, "ElementwiseArguments") + ", " + what + ")";
}

PyGroupedGemmArguments::PyGroupedGemmArguments(nb::handle a, nb::handle b, nb::handle out,
                                               nb::handle accumulator_type, nb::handle offsets,
                                               nb::handle zero_rest, nb::handle epilogue,
                                               nb::handle controls, nb::handle layout,
                                               nb::handle rows)
    : PyArguments(to_epilogue(epilogue)),
      a_(import_operand(a, "A", scaled_a_)),
      b_(import_operand(b, "B", scaled_b_)),
      out_(import_tensor(out, "out")) {
  require_writable(out_);
  GroupOptions groups{.offsets = std::nullopt,
                      .zero_rest = truth(zero_rest, "zero_rest"),
                      .layout = to_group_layout(layout)};
  if (offsets.is_none()) {
    place_together({&a_, &b_, &out_});
  } else {
    offsets_ = import_tensor(offsets, "offsets");
    place_together({&a_, &b_, &out_, &*offsets_});
    groups.offsets = offsets_->view;
    await({&*offsets_});
    // By whose framework the stream is known.
    if (out_.view.described()) out_.framework = offsets_->framework;
  }
  if (!rows.is_none()) {
    rows_ = import_tensor(rows, "rows");
    place_together({&b_, &*rows_});
    groups.rows = rows_->view;
    await({&*rows_});
  }
  const Operand operand_a = operand_of(a_, scaled_a_.get());
  const Operand operand_b = operand_of(b_, scaled_b_.get());
  const Dtype accumulator = accumulator_type.is_none()
                                ? default_accumulator_type(operand_a, operand_b)
                                : to_dtype(accumulator_type, "accumulator_type");
  native_.emplace(operand_a, operand_b, out_.view, accumulator, groups,
                  controls_for(controls, out_, {&a_, &b_}), native_epilogue(this->epilogue()));
  await({&a_, &b_, &out_});
  for (const auto* scaled : {scaled_a_.get(), scaled_b_.get()}) {
    if (scaled == nullptr) continue;
    await({&scaled->scale});
    if (scaled->tensor_scale) await({&*scaled->tensor_scale});
  }
}

PyGroupedGemmArguments::PyGroupedGemmArguments(const GroupedGemmArguments& native)
    : PyArguments(epilogue_object(native)),
      scaled_a_(scaled_of(native.a())),
      scaled_b_(scaled_of(native.b())),
      a_(tensor_of(native.a().tensor())),
      b_(tensor_of(native.b().tensor())),
      out_(tensor_of(native.out())),
      native_(native) {
  if (native.offsets() != nullptr) offsets_ = tensor_of(*native.offsets());
  if (native.rows() != nullptr) rows_ = tensor_of(*native.rows());
}

nb::object PyGroupedGemmArguments::a() const {
  return object_of(a_, scaled_a_.get());
}

nb::object PyGroupedGemmArguments::b() const {
  return object_of(b_, scaled_b_.get());
}

std::vector<std::pair<const char*, const Tensor*>> PyGroupedGemmArguments::operands() const {
  if (!offsets_) return {{"A", &a_}, {"B", &b_}, {"out", &out_}};
  if (!rows_) return {{"A", &a_}, {"B", &b_}, {"out", &out_}, {"offsets", &*offsets_}};
  return {{"A", &a_}, {"B", &b_}, {"out", &out_}, {"offsets", &*offsets_}, {"rows", &*rows_}};
}

std::string PyGroupedGemmArguments::describe() const {
  return repr_of(*this, "GroupedGemmArguments") +
         ", accumulator_type=" + std::string(dtype_name(native_->accumulator_type())) +
         (native_->zero_rest() ? ", zero_rest=True)" : ")");
}

void bind_arguments(nb::module_& module) {
  bind_controls(module);
  bind_base(module);
  bind_gemm(module);
  bind_elementwise(module);
  bind_grouped(module);
}

}  // namespace estoc::python
