// out = a @ b in one call: the plan of a signature, found once and given the operands of each call.
#include <fmt/format.h>

#include <algorithm>

#include "discovery/registry.h"
#include "estoc/background_tuner.hpp"
#include "estoc/device.hpp"
#include "run/plan_cache.h"

namespace estoc {
namespace {

using run::PlanCache;
using run::Remembered;
using run::Signature;

void launch(Plan& plan, const MatmulOptions& options) {
  Workspace workspace;
  const std::size_t bytes = options.workspace ? plan.workspace_size() : 0;
  if (bytes > 0) workspace = options.workspace(bytes);
  plan.run(options.stream, workspace);
}

GemmArguments arguments_of(const TensorView& a, const TensorView& b, const TensorView& out,
                           const MatmulOptions& options) {
  const Dtype accumulator =
      options.accumulator_type.value_or(default_accumulator_type(a.dtype(), b.dtype()));
  return {a,
          b,
          out,
          accumulator,
          options.controls,
          EpilogueArguments(options.epilogue, {options.operands.begin(), options.operands.end()})};
}

/// The options of a call that is captured and has no workspace of the caller's, where there is a
/// kernel that needs none: the graph would keep the library's workspace for good.
std::optional<MatmulOptions> without_workspace(const TensorView& a, const TensorView& b,
                                               const TensorView& out, const MatmulOptions& options,
                                               std::size_t bytes) {
  if (bytes == 0 || options.workspace || options.controls.workspace_limit == 0) return std::nullopt;
  if (!out.device().is_cuda() || !is_capturing(options.stream, out.device())) return std::nullopt;
  MatmulOptions limited = options;
  limited.controls.workspace_limit = 0;
  if (get_kernels(arguments_of(a, b, out, limited)).empty()) return std::nullopt;
  return limited;
}

std::optional<Dtype> result_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
    case Dtype::f32:
    case Dtype::f16:
    case Dtype::bf16:
    case Dtype::i32:
      return dtype;
    case Dtype::i8:
    case Dtype::u8:
    case Dtype::i4:
    case Dtype::u4:
      return Dtype::i32;
    case Dtype::e4m3:
    case Dtype::e5m2:
      return Dtype::bf16;
    case Dtype::tf32:
      return Dtype::f32;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool matmul(const TensorView& a, const TensorView& b, const TensorView& out,
            const MatmulOptions& options) {
  const std::uint64_t generation = discovery::Registry::instance().generation();
  const std::optional<Signature> signature = Signature::of(a, b, out, options);
  if (signature) {
    const auto known = PlanCache::instance().find(*signature, generation);
    if (known != nullptr && known->matches(options)) {
      Remembered::Lease lease(*known);
      const std::size_t bytes = lease.plan().workspace_size();
      if (const auto other = without_workspace(a, b, out, options, bytes))
        return matmul(a, b, out, *other);
      lease.plan().rebind(a.data(), b.data(), out.data(), options.operands, options.ask_device);
      launch(lease.plan(), options);
      return false;
    }
  }
  const GemmArguments arguments = arguments_of(a, b, out, options);
  const PlanOptions plan_options{
      .query = {}, .threads = options.threads, .programmatic = options.programmatic};
  const KernelList kernels = get_kernels(arguments);
  const std::size_t bytes = kernels.front().workspace_size(arguments);
  if (const auto other = without_workspace(a, b, out, options, bytes))
    return matmul(a, b, out, *other);
  const Artifact artifact = kernels.front().compile(arguments);
  const auto found =
      std::make_shared<Remembered>(artifact, arguments, plan_options, options.epilogue, generation);
  {
    Remembered::Lease lease(*found);
    launch(lease.plan(), options);
  }
  if (signature) PlanCache::instance().insert(*signature, found);
  if (options.tuner != nullptr) options.tuner->add(arguments);
  return true;
}

Dtype result_dtype(Dtype a, Dtype b) {
  for (const Dtype dtype : {a, b}) {
    if (result_of(dtype)) continue;
    throw Error(ErrorKind::type,
                fmt::format("out: expected a dtype for a product of {} and {}, got none",
                            dtype_name(a), dtype_name(b)));
  }
  return *result_of(a);
}

std::vector<std::int64_t> result_shape(const TensorView& a, const TensorView& b) {
  const auto is_matrix = [](const TensorView& view) {
    return view.rank() == 2 || view.rank() == 3;
  };
  if (!is_matrix(a) || !is_matrix(b)) {
    throw Error(ErrorKind::value,
                fmt::format("a, b: expected tensors of two or three modes, got {} and {}", a.rank(),
                            b.rank()));
  }
  std::vector<std::int64_t> shape{a.shape(a.rank() - 2), b.shape(b.rank() - 1)};
  if (a.rank() == 2 && b.rank() == 2) return shape;
  const std::int64_t batches =
      std::max(a.rank() == 3 ? a.shape(0) : 0, b.rank() == 3 ? b.shape(0) : 0);
  shape.insert(shape.begin(), batches);
  return shape;
}

}  // namespace estoc
