// estoc.matmul: the plan of a signature, found and run in one call.
#include <array>
#include <string>
#include <unordered_map>

#include "dtypes.h"
#include "errors.h"
#include "plan.h"
#include "streams.h"

namespace estoc::python {
namespace {

constexpr std::size_t kNumbers = 26;
constexpr std::size_t kMostPlans = 512;

/// Everything that a choice of kernel depends on: layouts, devices, alignments, switches.
struct Signature {
  std::array<std::int64_t, kNumbers> numbers{};
  std::string epilogue;
  bool operator==(const Signature&) const = default;
};

struct SignatureHash {
  std::size_t operator()(const Signature& signature) const {
    const auto* bytes = reinterpret_cast<const char*>(signature.numbers.data());
    return std::hash<std::string_view>()({bytes, sizeof signature.numbers}) ^
           std::hash<std::string>()(signature.epilogue);
  }
};

using Plans = std::unordered_map<Signature, nb::object, SignatureHash>;

/// Used with the GIL held. Never destroyed: Python may be gone by then.
Plans& plans() {
  static auto* const map = new Plans;
  return *map;
}

std::size_t add_view(Signature& signature, std::size_t at, const TensorView& view) {
  auto& numbers = signature.numbers;
  const Device device = view.device();
  numbers[at++] = static_cast<std::int64_t>(view.dtype()) | view.rank() << 8 |
                  static_cast<std::int64_t>(device.kind) << 16 |
                  static_cast<std::int64_t>(device.index) << 24;
  numbers[at++] = view.alignment();
  for (int mode = 0; mode < 3; ++mode) {
    numbers[at++] = mode < view.rank() ? view.shape(mode) : 0;
    numbers[at++] = mode < view.rank() ? view.stride(mode) : 0;
  }
  return at;
}

Signature signature_of(const Tensor& a, const Tensor& b, const Tensor& out, nb::handle accumulator,
                       nb::handle epilogue) {
  Signature signature;
  std::size_t at = 0;
  for (const Tensor* tensor : {&a, &b, &out})
    at = add_view(signature, at, tensor->view);
  signature.numbers[at++] =
      accumulator.is_none() ? -1
                            : static_cast<std::int64_t>(to_dtype(accumulator, "accumulator_type"));
  if (out.framework == Framework::torch && out.view.device().is_cuda()) {
    const PerformanceControls controls = torch_controls();
    signature.numbers[at] = (controls.allow_tf32 ? 1 : 0) | (controls.deterministic ? 2 : 0);
  }
  if (!epilogue.is_none()) signature.epilogue = nb::cast<std::string>(epilogue);
  return signature;
}

/// A function of estoc.planning, kept once found.
const nb::object& planning(const char* name, const nb::object*& cached) {
  if (cached == nullptr) {
    cached = new nb::object(nb::module_::import_("estoc.planning").attr(name));
  }
  return *cached;
}

/// One dtype in, the same out: torch's own allocation, without a look at Python's rules for it.
nb::object allocate(nb::handle object, const Tensor& a, const Tensor& b) {
  static const nb::object* cached = nullptr;
  const Dtype dtype = a.view.dtype();
  const bool same =
      dtype == Dtype::f32 || dtype == Dtype::f16 || dtype == Dtype::bf16 || dtype == Dtype::f64;
  if (a.framework == Framework::torch && same && a.view.rank() == 2 && b.view.rank() == 2 &&
      a.source.is(object)) {
    return object.attr("new_empty")(nb::make_tuple(a.view.shape(0), b.view.shape(1)));
  }
  return planning("_empty", cached)(object, a, b);
}

nb::object plan_for(const Tensor& a, const Tensor& b, const Tensor& out, nb::handle accumulator,
                    nb::handle epilogue) {
  static const nb::object* cached = nullptr;
  return planning("_plan_once", cached)(a, b, out, accumulator, epilogue);
}

nb::object matmul(nb::handle a, nb::handle b, nb::handle out, nb::handle accumulator,
                  nb::handle epilogue, nb::handle stream) {
  const Tensor left = import_tensor(a, "a");
  const Tensor right = import_tensor(b, "b");
  nb::object made = out.is_none() ? allocate(a, left, right) : nb::borrow(out);
  const Tensor result = import_tensor(made, "out");
  if (result.read_only) {
    fail_value("out: expected a tensor that can be written, got a read-only one");
  }
  const bool keyed = (epilogue.is_none() || nb::isinstance<nb::str>(epilogue)) &&
                     left.view.rank() <= 3 && right.view.rank() <= 3 && result.view.rank() <= 3;
  if (!keyed) {  // it holds tensors, or is a function
    run_plan(plan_for(left, right, result, accumulator, epilogue), left, right, result, stream);
    return made;
  }
  Signature signature = signature_of(left, right, result, accumulator, epilogue);
  const auto known = plans().find(signature);
  if (known != plans().end()) {
    const nb::object plan = known->second;
    run_plan(plan, left, right, result, stream);
    return made;
  }
  const nb::object plan = plan_for(left, right, result, accumulator, epilogue);
  if (plans().size() >= kMostPlans) Plans().swap(plans());
  plans().insert_or_assign(std::move(signature), plan);
  run_plan(plan, left, right, result, stream);
  return made;
}

}  // namespace

void bind_matmul(nb::module_& module) {
  module.def(
      "matmul", &matmul, nb::arg("a").none(), nb::arg("b").none(),
      nb::arg("out").none() = nb::none(), nb::kw_only(),
      nb::arg("accumulator_type").none() = nb::none(), nb::arg("epilogue").none() = nb::none(),
      nb::arg("stream").none() = nb::none(),
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
      "UnsupportedError\n    When no kernel supports the arguments, with the reasons.");
}

}  // namespace estoc::python
