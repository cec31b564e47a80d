// out = a @ b in one call, in groups or not: the plan of a signature, found once and given the
// operands of each call.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <utility>

#include "discovery/registry.h"
#include "estoc/background_tuner.hpp"
#include "estoc/device.hpp"
#include "model/dtype_rules.h"
#include "run/plan_cache.h"

namespace estoc {
namespace {

using run::MatmulOperand;
using run::PlanCache;
using run::Remembered;
using run::Signature;

void launch(Plan& plan, const MatmulOptions& options) {
  Workspace workspace;
  const std::size_t bytes = options.workspace ? plan.workspace_size() : 0;
  if (bytes > 0) workspace = options.workspace(bytes);
  plan.run(options.stream, workspace);
}

Operand operand_of(const MatmulOperand& given) {
  return given.scaled != nullptr ? Operand(*given.scaled) : Operand(given.tensor);
}

MatmulOperand as_given(const Operand& operand) {
  return {operand.tensor(), operand.scaled()};
}

/// The operands of a call.
struct Operands {
  MatmulOperand a;
  MatmulOperand b;
  MatmulOperand out;
  const GroupOptions* groups;  ///< null for a plain product

  std::unique_ptr<RuntimeArguments> arguments(const MatmulOptions& options) const {
    const Dtype accumulator =
        options.accumulator_type.value_or(default_accumulator_type(operand_of(a), operand_of(b)));
    EpilogueArguments epilogue(options.epilogue,
                               {options.operands.begin(), options.operands.end()});
    if (groups == nullptr) {
      return std::make_unique<GemmArguments>(operand_of(a), operand_of(b), operand_of(out),
                                             accumulator, options.controls, std::move(epilogue));
    }
    return std::make_unique<GroupedGemmArguments>(operand_of(a), operand_of(b), out.tensor,
                                                  accumulator, *groups, options.controls,
                                                  std::move(epilogue));
  }

  bool has_scales() const {
    return a.scaled != nullptr || b.scaled != nullptr || out.scaled != nullptr;
  }

  void rebind(Plan& plan, const MatmulOptions& options) const {
    if (has_scales()) return plan.rebind(*arguments(options));
    const bool has_offsets = groups != nullptr && groups->offsets;
    const bool has_rows = has_offsets && groups->rows;
    const std::array<const void*, 5> addresses{a.tensor.data(), b.tensor.data(), out.tensor.data(),
                                               has_offsets ? groups->offsets->data() : nullptr,
                                               has_rows ? groups->rows->data() : nullptr};
    const std::size_t count = has_rows ? 5 : has_offsets ? 4 : 3;
    plan.rebind(std::span(addresses.data(), count), options.operands, options.check_device);
  }
};

/// The options of a call that is captured and has no workspace of the caller's, where there is a
/// kernel that needs none: the graph would keep the library's workspace for good.
std::optional<MatmulOptions> without_workspace(const Operands& operands,
                                               const MatmulOptions& options, std::size_t bytes) {
  if (bytes == 0 || options.workspace || options.controls.workspace_limit == 0) return std::nullopt;
  const Device device = operands.out.tensor.device();
  if (!device.is_cuda() || !is_capturing(options.stream, device)) return std::nullopt;
  MatmulOptions limited = options;
  limited.controls.workspace_limit = 0;
  if (get_kernels(*operands.arguments(limited)).empty()) return std::nullopt;
  return limited;
}

void require_matrices(const TensorView& a, const TensorView& b) {
  const auto is_matrix = [](const TensorView& view) {
    return view.rank() == 2 || view.rank() == 3;
  };
  if (is_matrix(a) && is_matrix(b)) return;
  throw Error(ErrorKind::value,
              fmt::format("a, b: expected tensors of two or three modes, got {} and {}", a.rank(),
                          b.rank()));
}

bool multiply(const Operands& operands, const MatmulOptions& options) {
  const std::uint64_t generation = discovery::Registry::instance().generation();
  const std::optional<Signature> signature =
      Signature::of(operands.a, operands.b, operands.out, operands.groups, options);
  if (signature) {
    const auto known = PlanCache::instance().find(*signature, generation);
    if (known != nullptr && known->matches(options)) {
      Remembered::Lease lease(*known);
      const std::size_t bytes = lease.plan().workspace_size();
      if (const auto other = without_workspace(operands, options, bytes))
        return multiply(operands, *other);
      operands.rebind(lease.plan(), options);
      launch(lease.plan(), options);
      return false;
    }
  }
  const auto arguments = operands.arguments(options);
  const PlanOptions plan_options{
      .query = {}, .threads = options.threads, .programmatic = options.programmatic};
  const KernelList kernels = get_kernels(*arguments);
  const std::size_t bytes = kernels.front().workspace_size(*arguments);
  if (const auto other = without_workspace(operands, options, bytes))
    return multiply(operands, *other);
  const Artifact artifact = kernels.front().compile(*arguments);
  const auto found = std::make_shared<Remembered>(artifact, *arguments, plan_options,
                                                  options.epilogue, generation);
  {
    Remembered::Lease lease(*found);
    launch(lease.plan(), options);
  }
  if (signature) PlanCache::instance().insert(*signature, found);
  if (options.tuner != nullptr) options.tuner->add(*arguments);
  return true;
}

}  // namespace

bool matmul(const TensorView& a, const TensorView& b, const TensorView& out,
            const MatmulOptions& options) {
  return multiply({{a}, {b}, {out}, nullptr}, options);
}

bool matmul(const Operand& a, const Operand& b, const Operand& out, const MatmulOptions& options) {
  return multiply({as_given(a), as_given(b), as_given(out), nullptr}, options);
}

bool grouped_mm(const TensorView& a, const TensorView& b, const TensorView& out,
                const GroupOptions& groups, const MatmulOptions& options) {
  return multiply({{a}, {b}, {out}, &groups}, options);
}

bool grouped_mm(const Operand& a, const Operand& b, const TensorView& out,
                const GroupOptions& groups, const MatmulOptions& options) {
  return multiply({as_given(a), as_given(b), {out}, &groups}, options);
}

std::vector<std::int64_t> grouped_result_shape(const TensorView& a, const TensorView& b,
                                               std::int64_t groups) {
  require_matrices(a, b);
  const std::int64_t m = a.shape(a.rank() - 2);
  const std::int64_t n = b.shape(b.rank() - 1);
  if (a.rank() != b.rank()) return {m, n};
  return {a.rank() == 3 ? a.shape(0) : groups, m, n};
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
  require_matrices(a, b);
  std::vector<std::int64_t> shape{a.shape(a.rank() - 2), b.shape(b.rank() - 1)};
  if (a.rank() == 2 && b.rank() == 2) return shape;
  const std::int64_t batches =
      std::max(a.rank() == 3 ? a.shape(0) : 0, b.rank() == 3 ? b.shape(0) : 0);
  shape.insert(shape.begin(), batches);
  return shape;
}

}  // namespace estoc
