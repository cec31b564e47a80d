// Judges outputs on a CUDA device: the reference once, then a look at each output.
#include "estoc/device_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "check/agreement.h"
#include "check/blocks.h"
#include "check/sampling.h"
#include "estoc/device.hpp"
#include "estoc/status.hpp"
#include "operations/operation.h"
#include "tune/check_kernels.h"
#include "tune/device_reference.h"
#include "tune/host_copy.h"
#include "tune/output_look.h"

namespace estoc {
namespace {

using check::RowSample;

void require_device(const RuntimeArguments& arguments) {
  if (!arguments.device().is_cuda()) {
    throw Error(ErrorKind::value,
                fmt::format("DeviceCheck: expected operands on a CUDA device, got {}",
                            arguments.device().name()));
  }
  if (!arguments.has_data()) {
    throw Error(ErrorKind::value, "DeviceCheck: expected operands with data, got a description");
  }
  for (const NamedOperand& operand : arguments.operands()) {
    if (!operand.tensor->described()) continue;
    throw Error(ErrorKind::unsupported,
                fmt::format("DeviceCheck: {}: expected data that matrices of groups lie in, got a "
                            "description",
                            operand.name));
  }
}

RowSample sample(const GemmArguments& arguments, const DeviceCheckOptions& options,
                 std::int64_t elements) {
  const GemmExtents& e = arguments.extents();
  const std::int64_t rows = e.l * e.m;
  const std::uint64_t seed = options.host.seed;
  const RowSample by_products = check::sample_rows(rows, e.n, e.k, options.max_products, seed);
  // An element counts as 16 products there.
  const RowSample by_elements = check::sample_rows(rows, e.n, 1, 16 * elements, seed);
  return {rows, std::min(by_products.count(), by_elements.count()), seed};
}

/// Whether some output takes rows together, and so needs all of them.
bool mixes_rows(const GemmArguments& arguments) {
  if (arguments.epilogue_binding() == nullptr) return false;
  const auto& reduced = arguments.epilogue_binding()->graph->reduced;
  return std::ranges::any_of(reduced, [&](const EpilogueReducedStore& store) {
    return !store.keeps.m || (!store.keeps.l && arguments.extents().l > 1);
  });
}

RowSample sample_for(const GemmArguments& arguments, const DeviceCheckOptions& options) {
  const RowSample most = sample(arguments, options, options.max_elements);
  if (arguments.epilogue_binding() == nullptr) return most;
  if (mixes_rows(arguments) && most.count() == most.total()) return most;
  return sample(arguments, options, options.max_elements / 4);
}

/// Whether the host would check all rows, as reductions want it, and the device's sample does not.
bool host_sees_more(const GemmArguments& arguments, const RowSample& ours,
                    const DeviceCheckOptions& options) {
  if (!mixes_rows(arguments) || ours.count() == ours.total()) return false;
  const GemmExtents& e = arguments.extents();
  return check::sample_rows(e.l * e.m, e.n, e.k, options.host.max_products, options.host.seed)
             .count() == ours.total();
}

bool has_block_scales(const GemmArguments& gemm) {
  const auto has = [](const Operand& operand) {
    return operand.is_scaled() && operand.scaled()->has_blocks();
  };
  return has(gemm.a()) || has(gemm.b());
}

/// Empty when the reference can come from the device.
std::string reason_for_host(const RuntimeArguments& arguments, const DeviceCheckOptions& options) {
  if (arguments.operation() != Operation::gemm) {
    return fmt::format("the operation is {}", operation_name(arguments.operation()));
  }
  const auto& gemm = static_cast<const GemmArguments&>(arguments);
  if (is_packed(gemm.out().dtype())) {
    return fmt::format("out is {}", dtype_name(gemm.out().dtype()));
  }
  if (gemm.out_scaled() != nullptr) return "out is quantised";
  if (has_block_scales(gemm)) return "operands have scales of blocks";
  if (gemm.pairs() != AccumulatorPairs::none) return "accumulators are in pairs";
  if (host_sees_more(gemm, sample_for(gemm, options), options)) {
    return "a reduction needs all rows";
  }
  return "";
}

/// Whether a failure is one of making the reference, which the host can make as well.
bool is_for_want_of_means(const Error& error) {
  switch (error.kind()) {
    case ErrorKind::not_found:
    case ErrorKind::compile:
    case ErrorKind::unsupported:
    case ErrorKind::memory:
      return true;
    default:
      return false;
  }
}

}  // namespace

struct DeviceCheck::State {
  State(const RuntimeArguments& on_device, DeviceCheckOptions given)
      : options(std::move(given)), operands(on_device) {
    host_reason = reason_for_host(on_device, options);
    if (!host_reason.empty()) return;
    try {
      prepare();
    } catch (const Error& error) {
      if (!is_for_want_of_means(error)) throw;
      look.reset();
      expected.reset();
      host_reason = error.what();
    }
  }

  const GemmArguments& gemm_on_device() const {
    return static_cast<const GemmArguments&>(operands.on_device());
  }
  const GemmArguments& gemm_on_host() const {
    return static_cast<const GemmArguments&>(operands.on_host());
  }

  void prepare() {
    const GemmArguments& gemm = gemm_on_device();
    kernels.emplace(gemm.device());
    expected = tuning::expected_rows(gemm, sample_for(gemm, options), *kernels, options.host);
    check::require_agreement(gemm_on_host(), *expected, options.host);
    if (gemm.epilogue_binding() == nullptr) look.emplace(gemm, *expected, *kernels, options.host);
  }

  CheckResult judge_on_host() {
    operands.fetch_outputs();
    if (!expected) return check_output(operands.on_host(), options.host);
    return check::check_gemm(gemm_on_host(), options.host, &*expected);
  }

  DeviceCheckOptions options;
  tuning::HostCopy operands;
  std::string host_reason;
  std::optional<tuning::CheckKernels> kernels;
  std::optional<check::ExpectedRows> expected;
  std::optional<tuning::OutputLook> look;
};

DeviceCheck::DeviceCheck(const RuntimeArguments& on_device, const DeviceCheckOptions& options) {
  require_device(on_device);
  operations::schema_of(on_device).require_checkable(on_device);
  state_ = std::make_unique<State>(on_device, options);
}

DeviceCheck::~DeviceCheck() = default;
DeviceCheck::DeviceCheck(DeviceCheck&& other) noexcept = default;
DeviceCheck& DeviceCheck::operator=(DeviceCheck&& other) noexcept = default;

CheckResult DeviceCheck::check() {
  synchronize(state_->operands.on_device().device());
  if (!state_->look) return state_->judge_on_host();
  const std::optional<check::Tally> seen = state_->look->look(*state_->kernels);
  if (!seen) return state_->judge_on_host();
  CheckResult result = check::verdict(state_->gemm_on_device(), *seen);
  result.rows_checked = state_->expected->rows.count();
  result.rows_total = state_->expected->rows.total();
  return result;
}

const std::string& DeviceCheck::host_reason() const {
  return state_->host_reason;
}

}  // namespace estoc
