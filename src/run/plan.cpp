// A kernel for one operation: bound, launched, and given other operands.
#include "estoc/plan.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "core/ranges.h"
#include "operations/operation.h"

namespace estoc {
namespace {

/// Launches on the same operands before the kernel is bound to them.
constexpr int kLaunchesBeforeBind = 8;

/// Host threads of a plan on the CPU, found once and not at every launch.
int threads_for(Device device, int requested) {
  if (requested > 0 || device.is_cuda()) return requested;
  cpu_set_t cores;
  return sched_getaffinity(0, sizeof cores, &cores) == 0 ? CPU_COUNT(&cores) : 0;
}

void require(const Status& status, const Kernel& kernel) {
  if (status.ok()) return;
  throw Error(ErrorKind::unsupported, fmt::format("kernel {}: {}", kernel.name(), status.error()));
}

bool is_alike(const TensorView& known, const TensorView& view) {
  return known.dtype() == view.dtype() && known.device() == view.device() &&
         known.described() == view.described() && std::ranges::equal(known.shape(), view.shape()) &&
         std::ranges::equal(known.strides(), view.strides());
}

bool is_alike(const ScaledTensor& known, const ScaledTensor& given) {
  const auto& first = known.tensor_scale;
  const auto& second = given.tensor_scale;
  return known.mode == given.mode && known.swizzle == given.swizzle &&
         known.powers_of_two == given.powers_of_two && is_alike(known.scale, given.scale) &&
         first.has_value() == second.has_value() && (!first || is_alike(*first, *second));
}

bool is_alike(const NamedOperand& known, const NamedOperand& given) {
  if (!is_alike(*known.tensor, *given.tensor)) return false;
  if (known.scaled == nullptr || given.scaled == nullptr) return known.scaled == given.scaled;
  return is_alike(*known.scaled, *given.scaled);
}

/// Calls with the data of an operand, then its scales.
template <class Use>
void for_each_tensor(const NamedOperand& operand, const Use& use) {
  use(*operand.tensor);
  if (operand.scaled == nullptr) return;
  use(operand.scaled->scale);
  if (operand.scaled->tensor_scale) use(*operand.scaled->tensor_scale);
}

bool is_alike(const RuntimeArguments& known, const RuntimeArguments& given) {
  return known.operation() == given.operation() &&
         std::ranges::equal(known.operands(), given.operands(),
                            [](const auto& a, const auto& b) { return is_alike(a, b); }) &&
         operations::schema_of(known).attributes(known) ==
             operations::schema_of(given).attributes(given) &&
         known.controls() == given.controls() && known.epilogue() == given.epilogue();
}

using Addresses = std::array<const void*, kMaxOperands>;

Addresses addresses_of(const OperandList& operands) {
  Addresses addresses{};
  std::ranges::transform(operands, addresses.begin(),
                         [](const NamedOperand& operand) { return operand.tensor->data(); });
  return addresses;
}

bool has_addresses(const OperandList& operands, std::span<const void* const> addresses) {
  return std::ranges::equal(operands, addresses, {},
                            [](const NamedOperand& operand) { return operand.tensor->data(); });
}

bool has_scales(const OperandList& operands) {
  return std::ranges::any_of(operands,
                             [](const NamedOperand& each) { return each.scaled != nullptr; });
}

/// The operands at other addresses, and the epilogue's as they are.
std::unique_ptr<RuntimeArguments> rebuild(const RuntimeArguments& arguments,
                                          std::span<void* const> data) {
  std::vector<Operand> operands;
  for (const NamedOperand& operand : arguments.operands()) {
    void* const address = data[operands.size()];
    operands.push_back(operand_with(operand, [&](const TensorView& view) {
      return &view == operand.tensor ? view.moved(address, operand.name) : view;
    }));
  }
  const auto epilogue = arguments.epilogue().operands();
  return arguments.with_operands(operands, {epilogue.begin(), epilogue.end()});
}

/// The alignments that a kernel was found to support.
class Alignments {
 public:
  explicit Alignments(const RuntimeArguments& arguments) {
    for (const NamedOperand& operand : arguments.operands()) {
      for_each_tensor(operand,
                      [&](const TensorView& view) { of_operands_[count_++] = view.alignment(); });
    }
    for (const EpilogueOperand& operand : arguments.epilogue().operands())
      of_epilogue_.push_back(alignment_of(operand));
  }

  /// Whether these arguments, which differ in addresses alone, are aligned as well.
  bool cover(const RuntimeArguments& arguments) const {
    std::size_t place = 0;
    bool covered = true;
    for (const NamedOperand& operand : arguments.operands()) {
      for_each_tensor(operand, [&](const TensorView& view) {
        covered = covered && of_operands_[place++] <= view.alignment();
      });
    }
    return covered && std::ranges::equal(of_epilogue_, arguments.epilogue().operands(),
                                         std::less_equal<>(), {}, &alignment_of);
  }

 private:
  static int alignment_of(const EpilogueOperand& operand) {
    return operand.tensor() != nullptr ? operand.tensor()->alignment() : 0;
  }

  std::array<int, 3 * kMaxOperands> of_operands_{};  // each with its scales
  std::size_t count_ = 0;
  std::vector<int> of_epilogue_;
};

}  // namespace

struct Plan::State {
  State(const Artifact& compiled, const RuntimeArguments& given, const PlanOptions& requested)
      : artifact(compiled),
        options{.threads = threads_for(given.device(), requested.threads),
                .assume_supported_args = true,
                .programmatic = requested.programmatic},
        arguments(given.clone()),
        spare(given.clone()),
        supported(given) {
    // Checks the copy: a class may be user code, and `given` may change while it runs.
    require(kernel().supports(*arguments, artifact.target()), kernel());
    workspace_bytes = kernel().workspace_size(*arguments);
  }

  const Kernel& kernel() const { return artifact.kernel(); }

  /// Has run() work on `spare`, which differs from `arguments` in addresses and values alone.
  void take_spare() {
    if (!supported.cover(*spare)) accept(*spare);
    std::swap(arguments, spare);
    is_bound_here = bound && bound->move_to(*arguments);
    launches = 0;
  }

  /// Checks that the kernel supports arguments that differ in more, or are aligned less well.
  void accept(const RuntimeArguments& given) {
    require(kernel().supports(given, artifact.target()), kernel());
    workspace_bytes = kernel().workspace_size(given);
    supported = Alignments(given);
    bound.reset();
    is_bound_here = false;
    launches = 0;
  }

  bool launch_bound(void* stream) {
    if (!is_bound_here) {
      if (++launches < kLaunchesBeforeBind) return false;
      bound.emplace(kernel().bind(*arguments, artifact, at(stream)));
      is_bound_here = true;
    }
    try {
      const core::Range range([&]() -> const std::string& { return kernel().name(); });
      bound->launch(stream);
    } catch (const Error& error) {
      // The driver refuses when the context is gone, and in a forked process.
      bound.reset();
      is_bound_here = false;
      launches = 0;
      if (error.kind() != ErrorKind::driver) throw;
      return false;
    }
    return true;
  }

  RunOptions at(void* stream) const {
    RunOptions here = options;
    here.stream = stream;
    return here;
  }

  Artifact artifact;
  RunOptions options;
  std::unique_ptr<RuntimeArguments> arguments;
  std::unique_ptr<RuntimeArguments>
      spare;  ///< where rebind() puts operands before it knows that they fit
  Alignments supported;
  std::size_t workspace_bytes = 0;
  std::optional<BoundKernel> bound{};
  bool is_bound_here = false;  ///< to `arguments`, not to earlier ones
  /// On `arguments`, as long as it is not bound to them; the first launch of a plan binds.
  int launches = kLaunchesBeforeBind;
};

Plan::Plan(const Artifact& artifact, const RuntimeArguments& arguments, const PlanOptions& options)
    : state_(std::make_unique<State>(artifact, arguments, options)) {}
Plan::~Plan() = default;
Plan::Plan(Plan&& other) noexcept = default;
Plan& Plan::operator=(Plan&& other) noexcept = default;

const Kernel& Plan::kernel() const {
  return state_->kernel();
}

const Artifact& Plan::artifact() const {
  return state_->artifact;
}

const RuntimeArguments& Plan::arguments() const {
  return *state_->arguments;
}

std::size_t Plan::workspace_size() const {
  return state_->workspace_bytes;
}

void Plan::run(void* stream, const Workspace& workspace) {
  State& state = *state_;
  // A bound launch uses the workspace of one stream.
  if (state.workspace_bytes == 0 && state.launch_bound(stream)) return;
  RunOptions options = state.at(stream);
  options.workspace = workspace;
  state.kernel().run(*state.arguments, state.artifact, options);
}

void Plan::rebind(std::span<const void* const> operands, std::span<const EpilogueOperand> epilogue,
                  RuntimeArguments::CheckDevice check) {
  State& state = *state_;
  const OperandList known = state.arguments->operands();
  if (operands.size() != known.size()) {
    throw Error(ErrorKind::value, fmt::format("operands: expected {} addresses, got {}",
                                              known.size(), operands.size()));
  }
  if (epilogue.empty() && state.arguments->has_data() && has_addresses(known, operands)) return;
  RuntimeArguments& next = *state.spare;
  if (!next.epilogue_.empty()) {
    next.epilogue_.replace(state.arguments->epilogue().operands());
    next.epilogue_.replace(epilogue);
  } else if (!epilogue.empty()) {
    throw Error(
        ErrorKind::value,
        fmt::format("{}: expected no operand, as the plan has no epilogue", epilogue.front().name));
  }
  // Inputs are not written; views have one kind of pointer for all operands.
  std::array<void*, kMaxOperands> data{};
  std::ranges::transform(operands, data.begin(),
                         [](const void* address) { return const_cast<void*>(address); });
  const std::span<void* const> addresses(data.data(), operands.size());
  if (!next.move(addresses, check)) state.spare = rebuild(next, addresses);
  state.take_spare();
}

void Plan::rebind(std::span<const EpilogueOperand> epilogue) {
  if (epilogue.empty()) return;
  const OperandList operands = state_->arguments->operands();
  const Addresses addresses = addresses_of(operands);
  rebind(std::span(addresses.data(), operands.size()), epilogue);
}

void Plan::rebind(const RuntimeArguments& arguments) {
  State& state = *state_;
  if (!is_alike(*state.arguments, arguments)) {
    state.accept(arguments);
    state.arguments = arguments.clone();
    state.spare = arguments.clone();
    return;
  }
  const OperandList operands = arguments.operands();
  const Addresses addresses = addresses_of(operands);
  const std::span given(addresses.data(), operands.size());
  if (!has_scales(operands) && state.arguments->has_data() &&
      has_addresses(state.arguments->operands(), given)) {
    return;
  }
  state.spare = arguments.clone();
  state.take_spare();
}

Plan plan(const RuntimeArguments& arguments, const PlanOptions& options) {
  const Kernel kernel = get_kernels(arguments, options.query).front();
  return {kernel.compile(arguments), arguments, options};
}

}  // namespace estoc
