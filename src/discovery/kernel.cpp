// Kernel handles: metadata, the check of arguments, compilation, binding and launch.
#include "estoc/kernel.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "core/ranges.h"
#include "discovery/device_target.h"
#include "discovery/fit.h"
#include "discovery/kernel_packs.h"
#include "discovery/kernel_state.h"
#include "discovery/summation.h"

namespace estoc {
namespace {

constexpr std::size_t kWorkspaceAlignment = 256;

struct FreeWorkspace {
  void operator()(void* memory) const {
    ::operator delete (memory, std::align_val_t{kWorkspaceAlignment});
  }
};
using OwnedWorkspace = std::unique_ptr<void, FreeWorkspace>;

/// A launch that keeps the workspace it was bound with, and its kernel class.
class OwningLaunch final : public Launch {
 public:
  OwningLaunch(std::unique_ptr<Launch> launch, OwnedWorkspace workspace,
               std::shared_ptr<const KernelAccess::State> state)
      : state_(std::move(state)), workspace_(std::move(workspace)), launch_(std::move(launch)) {}
  void launch(void* stream) override { launch_->launch(stream); }
  bool move_to(const RuntimeArguments& arguments) override { return launch_->move_to(arguments); }

 private:
  std::shared_ptr<const KernelAccess::State> state_;
  OwnedWorkspace workspace_;
  std::unique_ptr<Launch> launch_;
};

Status check_all(const KernelAccess::State& state, const Knobs& knobs,
                 const RuntimeArguments& arguments, Target target) {
  const discovery::Signature signature(arguments);
  Status status = discovery::check_point(state.info(), state.point, arguments, signature);
  if (status.ok()) status = discovery::check_epilogue(state, arguments);
  if (status.ok()) status = discovery::check_beyond_space(state, arguments, target);
  if (status.ok()) status = discovery::check_workspace(state, knobs, arguments);
  return status;
}

Status no_device(Device device) {
  return Status::fail(Reason::device,
                      fmt::format("target: expected the CUDA device that the operands are on, got "
                                  "none at {}",
                                  device.name()));
}

/// Whether what was found for `found_for` runs where `arguments` have their data.
Status check_device(const RuntimeArguments& arguments, Target found_for, Target actual) {
  if (discovery::runs_on(found_for, actual)) return Status::success();
  return Status::fail(
      Reason::device,
      fmt::format("operands: expected memory that a kernel for {} can reach, got {}{}",
                  found_for.name(), arguments.device().name(),
                  actual.is_cpu() ? "" : ", which is " + actual.name()));
}

/// The failure for a class that broke its promise not to throw; even words may be unaffordable.
Status threw(const std::string& name, const char* message) noexcept {
  try {
    return Status::fail(Reason::other, fmt::format("kernel class {}: {}", name, message));
  } catch (...) {
    return Status::fail(Reason::other, "out of memory");
  }
}

std::string epilogue_text(const EpilogueGraph* epilogue) {
  return epilogue == nullptr ? "none" : fmt::format("\"{}\"", epilogue->canonical);
}

Target resolve_target(const RuntimeArguments& arguments, std::optional<Target> target) {
  if (!target) target = discovery::target_of(arguments.device());
  if (target) return *target;
  throw Error(ErrorKind::driver, no_device(arguments.device()).error());
}

void require(const Status& status, const std::string& kernel) {
  if (!status.ok()) {
    throw Error(ErrorKind::unsupported, fmt::format("kernel {}: {}", kernel, status.error()));
  }
}

void require_data(const RuntimeArguments& arguments) {
  if (arguments.has_data()) return;
  for (const EpilogueOperand& operand : arguments.epilogue().operands()) {
    if (operand.tensor() == nullptr || !operand.tensor()->described()) continue;
    throw Error(ErrorKind::value,
                fmt::format("{}: expected a tensor with data, got a description", operand.name));
  }
  for (const NamedOperand& operand : arguments.operands()) {
    if (!operand.tensor->described()) continue;
    throw Error(ErrorKind::value,
                fmt::format("{}: expected a tensor with data, got a description", operand.name));
  }
  throw Error(ErrorKind::value,
              "operands: expected tensors and scales with data, got a description");
}

void require_device(const RuntimeArguments& arguments, Target target) {
  if (arguments.device().is_cpu() == target.is_cpu()) return;
  throw Error(ErrorKind::value,
              fmt::format("operands: expected memory that a kernel for {} can reach, got {}",
                          target.name(), arguments.device().name()));
}

void require_workspace(const Workspace& workspace, std::size_t bytes) {
  if (workspace.bytes < bytes) {
    throw Error(ErrorKind::value, fmt::format("workspace: expected at least {} bytes, got {}",
                                              bytes, workspace.bytes));
  }
  if (reinterpret_cast<std::uintptr_t>(workspace.data) % kWorkspaceAlignment != 0) {
    throw Error(ErrorKind::value, fmt::format("workspace: expected an address that is a multiple "
                                              "of {} bytes, got {}",
                                              kWorkspaceAlignment, fmt::ptr(workspace.data)));
  }
}

/// The caller's workspace, or host memory made for a cpu kernel that came without; for a kernel
/// on a device its class provides.
std::pair<Workspace, OwnedWorkspace> provide_workspace(const Workspace& given, std::size_t bytes,
                                                       Target target) {
  if (given.data != nullptr || bytes == 0) {
    require_workspace(given, bytes);
    return {given, nullptr};
  }
  if (!target.is_cpu()) return {given, nullptr};
  OwnedWorkspace owned(::operator new (bytes, std::align_val_t{kWorkspaceAlignment}));
  const Workspace workspace{owned.get(), bytes};
  return {workspace, std::move(owned)};
}

BindOptions bind_options(const RunOptions& options, const Workspace& workspace) {
  return {.workspace = workspace,
          .stream = options.stream,
          .threads = options.threads,
          .programmatic = options.programmatic};
}

}  // namespace

namespace discovery {

bool same_epilogue(const EpilogueGraph* first, const EpilogueGraph* second) {
  if (first == nullptr || second == nullptr) return first == second;
  return first == second || first->canonical == second->canonical;
}

Status check_epilogue(const KernelAccess::State& state, const RuntimeArguments& arguments) {
  const EpilogueBinding* const binding = arguments.epilogue_binding();
  const EpilogueGraph* const wanted = binding != nullptr ? binding->graph.get() : nullptr;
  if (same_epilogue(state.epilogue().get(), wanted)) return Status::success();
  const bool is_text_shown = state.epilogue() == nullptr && !arguments.epilogue().empty();
  return Status::fail(
      Reason::epilogue,
      fmt::format("epilogue: expected {}, got {}", epilogue_text(state.epilogue().get()),
                  is_text_shown ? fmt::format("\"{}\"", arguments.epilogue().text())
                                : epilogue_text(wanted)));
}

Status check_beyond_space(const KernelAccess::State& state, const RuntimeArguments& arguments,
                          Target target) {
  Status status = check_target(state.info(), target);
  if (status.ok() && state.epilogue() != nullptr) {
    status =
        state.info().kernel_class->supports_epilogue(state.decoded(), *state.epilogue(), target);
  }
  if (status.ok() && needs_summation(arguments)) status = check_promise(state.summation());
  if (!status.ok()) return status;
  return state.info().kernel_class->supports(state.decoded(), arguments, target);
}

Status check_workspace(const KernelAccess::State& state, const Knobs& knobs,
                       const RuntimeArguments& arguments) {
  const std::optional<std::int64_t> limit = arguments.controls().workspace_limit;
  if (!limit) return Status::success();
  const std::size_t bytes =
      state.info().kernel_class->workspace_size(state.point, knobs, arguments);
  if (*limit >= 0 && bytes <= static_cast<std::uint64_t>(*limit)) return Status::success();
  return Status::fail(Reason::controls,
                      fmt::format("workspace: expected at most {} bytes, got {}", *limit, bytes));
}

}  // namespace discovery

Kernel::Kernel(std::shared_ptr<const KernelClass> kernel_class, std::string provider,
               const DesignPoint& point) {
  if (kernel_class == nullptr) {
    throw Error(ErrorKind::value, "kernel_class: expected a kernel class, got null");
  }
  auto info = discovery::describe_class(std::move(kernel_class), std::move(provider));
  if (!info->space->contains(point)) {
    throw Error(ErrorKind::value,
                fmt::format("point: expected one of the design space of kernel class {}, got "
                            "another",
                            info->name));
  }
  state_ = discovery::single_state(std::move(info), point);
}

const KernelMetadata& Kernel::metadata() const {
  return state_->metadata();
}

const KernelClass& Kernel::kernel_class() const {
  return *state_->info().kernel_class;
}

const DesignPoint& Kernel::point() const {
  return state_->decoded();
}

Kernel Kernel::with_knobs(const Knobs& knobs) const {
  Kernel kernel = *this;
  if (!(knobs == knobs_)) {
    kernel.predicted_seconds_.reset();
    kernel.tuned_seconds_.reset();
  }
  kernel.knobs_ = knobs;
  return kernel;
}

const std::shared_ptr<const EpilogueGraph>& Kernel::epilogue() const {
  return state_->epilogue();
}

Kernel Kernel::with_epilogue(std::shared_ptr<const EpilogueGraph> epilogue) const {
  if (discovery::same_epilogue(epilogue.get(), state_->epilogue().get())) return *this;
  Kernel kernel(discovery::single_state(state_->group->info, state_->point, std::move(epilogue)));
  kernel.knobs_ = knobs_;
  kernel.target_ = target_;
  return kernel;
}

bool Kernel::operator==(const Kernel& other) const {
  return &kernel_class() == &other.kernel_class() && point() == other.point() &&
         discovery::same_epilogue(epilogue().get(), other.epilogue().get()) &&
         knobs_ == other.knobs_;
}

Status Kernel::supports(const RuntimeArguments& arguments,
                        std::optional<Target> target) const noexcept {
  try {
    if (target) return check_all(*state_, knobs_, arguments, *target);
    if (target_ && !arguments.has_data()) return check_all(*state_, knobs_, arguments, *target_);
    const std::optional<Target> actual = discovery::target_of(arguments.device());
    if (!actual) return no_device(arguments.device());
    const Target chosen = target_.value_or(*actual);
    if (Status status = check_device(arguments, chosen, *actual); !status) return status;
    return check_all(*state_, knobs_, arguments, chosen);
  } catch (const std::exception& error) {
    return threw(state_->info().name, error.what());
  } catch (...) {
    return threw(state_->info().name, "threw something that is no std::exception");
  }
}

std::vector<PredictionPart> Kernel::prediction_parts(const RuntimeArguments& arguments,
                                                     std::optional<Target> target) const {
  if (!target) target = target_ ? target_ : discovery::target_of(arguments.device());
  if (!target || !supports(arguments, target)) return {};
  return kernel_class().predict_parts(point(), arguments, *target);
}

std::size_t Kernel::workspace_size(const RuntimeArguments& arguments) const {
  return kernel_class().workspace_size(point(), knobs_, arguments);
}

std::size_t Kernel::workspace_bound(const RuntimeArguments& largest) const {
  return kernel_class().workspace_bound(point(), knobs_, largest);
}

Artifact Kernel::compile(const RuntimeArguments& arguments, std::optional<Target> target,
                         const CompileOptions& options) const {
  if (!target) target = target_;
  require(supports(arguments, target), name());
  return compile_supported(resolve_target(arguments, target), options);
}

Status Kernel::check_compiles(Target target) const {
  Status status = discovery::check_target(state_->info(), target);
  if (!status.ok() || epilogue() == nullptr) return status;
  return kernel_class().supports_epilogue(point(), *epilogue(), target);
}

Artifact Kernel::compile(Target target, const CompileOptions& options) const {
  require(check_compiles(target), name());
  return compile_supported(target, options);
}

Artifact Kernel::compile_supported(Target target, const CompileOptions& options) const {
  const CompileRequest request{point(), target, options, epilogue().get()};
  if (!(options == CompileOptions{})) return {*this, target, kernel_class().compile(request)};
  const auto take_or_compile = [&] {
    const core::Range range([&] { return "estoc compile " + name(); });
    auto packed = discovery::packed_object(kernel_class(), name(), request);
    return packed != nullptr ? packed : kernel_class().compile(request);
  };
  return {*this, target, state_->compiled().get_or_compile(target, take_or_compile)};
}

std::string Kernel::emit(Emission what, Target target, const CompileOptions& options) const {
  require(check_compiles(target), name());
  return kernel_class().emit({point(), target, options, epilogue().get()}, what);
}

void Kernel::run(const RuntimeArguments& arguments, const RunOptions& options) const {
  if (!options.assume_supported_args) require(supports(arguments), name());
  require_data(arguments);
  run_supported(arguments, compile_supported(resolve_target(arguments, target_)), options);
}

void Kernel::run(const RuntimeArguments& arguments, const Artifact& artifact,
                 const RunOptions& options) const {
  check_run(arguments, artifact, options);
  run_supported(arguments, artifact, options);
}

void Kernel::run_supported(const RuntimeArguments& arguments, const Artifact& artifact,
                           const RunOptions& options) const {
  const core::Range range([&]() -> const std::string& { return name(); });
  require_device(arguments, artifact.target());
  const auto [workspace, owned] =
      provide_workspace(options.workspace, workspace_size(arguments), artifact.target());
  kernel_class().run(point(), knobs_, arguments, artifact.compiled_object(),
                     bind_options(options, workspace));
}

void Kernel::check_run(const RuntimeArguments& arguments, const Artifact& artifact,
                       const RunOptions& options) const {
  const Kernel& compiled = artifact.kernel();
  const bool same = compiled.state_ == state_ ||
                    (&compiled.kernel_class() == &kernel_class() && compiled.point() == point());
  if (!same) {
    throw Error(ErrorKind::value, fmt::format("artifact: expected one of kernel {}, got one of {}",
                                              name(), compiled.name()));
  }
  if (!discovery::same_epilogue(compiled.epilogue().get(), epilogue().get())) {
    throw Error(
        ErrorKind::value,
        fmt::format("artifact: expected one with epilogue {}, got one with {}",
                    epilogue_text(epilogue().get()), epilogue_text(compiled.epilogue().get())));
  }
  if (!options.assume_supported_args) require(supports(arguments, artifact.target()), name());
  require_data(arguments);
}

BoundKernel Kernel::bind(const RuntimeArguments& arguments, const Artifact& artifact,
                         const RunOptions& options) const {
  check_run(arguments, artifact, options);
  require_device(arguments, artifact.target());
  auto [workspace, owned] =
      provide_workspace(options.workspace, workspace_size(arguments), artifact.target());
  std::unique_ptr<Launch> launch = kernel_class().bind(
      point(), knobs_, arguments, artifact.compiled_object(), bind_options(options, workspace));
  if (launch == nullptr) {
    throw Error(ErrorKind::value,
                fmt::format("kernel class {}: expected bind to give a launch, got null",
                            state_->info().name));
  }
  // Host kernels do not plan again when they move.
  if (owned == nullptr && artifact.target().is_cpu()) return BoundKernel(std::move(launch));
  return BoundKernel(std::make_unique<OwningLaunch>(std::move(launch), std::move(owned), state_));
}

}  // namespace estoc
