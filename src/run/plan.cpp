// A kernel that is settled for one GEMM: bound, launched, and given other operands.
#include "estoc/plan.hpp"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace estoc {
namespace {

/// Launches on the same operands until it is worth while to bind the kernel to them.
constexpr int kLaunchesBeforeBind = 8;

/// Host threads of a plan on the CPU: the system is not asked at every launch.
int threads_for(Device device, int wished) {
  if (wished > 0 || device.is_cuda()) return wished;
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

bool is_alike(const GemmArguments& known, const GemmArguments& given) {
  const bool plain = !known.a().is_scaled() && !known.b().is_scaled() && !given.a().is_scaled() &&
                     !given.b().is_scaled();
  return plain && is_alike(known.a().tensor(), given.a().tensor()) &&
         is_alike(known.b().tensor(), given.b().tensor()) && is_alike(known.out(), given.out()) &&
         known.accumulator_type() == given.accumulator_type() &&
         known.controls() == given.controls() && known.epilogue() == given.epilogue();
}

bool has_addresses(const GemmArguments& arguments, const void* a, const void* b, const void* out) {
  return arguments.a().tensor().data() == a && arguments.b().tensor().data() == b &&
         arguments.out().data() == out && arguments.has_data();
}

/// The alignments that a kernel was found to support.
class Alignments {
 public:
  explicit Alignments(const GemmArguments& arguments)
      : a_(arguments.a_matrix().alignment),
        b_(arguments.b_matrix().alignment),
        out_(arguments.out_matrix().alignment) {
    for (const EpilogueOperand& operand : arguments.epilogue().operands())
      operands_.push_back(alignment_of(operand));
  }

  /// Whether these arguments, which differ in addresses alone, are aligned as well.
  bool cover(const GemmArguments& arguments) const {
    return a_ <= arguments.a_matrix().alignment && b_ <= arguments.b_matrix().alignment &&
           out_ <= arguments.out_matrix().alignment &&
           std::ranges::equal(operands_, arguments.epilogue().operands(), std::less_equal<>(), {},
                              &alignment_of);
  }

 private:
  static int alignment_of(const EpilogueOperand& operand) {
    return operand.tensor() != nullptr ? operand.tensor()->alignment() : 0;
  }

  int a_;
  int b_;
  int out_;
  std::vector<int> operands_;
};

}  // namespace

struct Plan::State {
  State(const Artifact& compiled, const GemmArguments& given, const PlanOptions& wishes)
      : artifact(compiled),
        options{.threads = threads_for(given.device(), wishes.threads),
                .assume_supported_args = true,
                .programmatic = wishes.programmatic},
        arguments(given),
        spare(given),
        supported(given) {
    require(kernel().supports(given, artifact.target()), kernel());
    workspace_bytes = kernel().workspace_size(given);
  }

  const Kernel& kernel() const { return artifact.kernel(); }

  /// Has run() work on `spare`, which differs from `arguments` in addresses and values alone.
  void take_spare() {
    if (!supported.cover(spare)) accept(spare);
    std::swap(arguments, spare);
    is_bound_here = bound && bound->move_to(arguments);
    launches = 0;
  }

  /// Asks the kernel about arguments that differ in more, or are aligned less well.
  void accept(const GemmArguments& given) {
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
      bound.emplace(kernel().bind(arguments, artifact, at(stream)));
      is_bound_here = true;
    }
    try {
      bound->launch(stream);
    } catch (const Error& error) {
      // A driver may refuse as its context is gone, or in a forked process.
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
  GemmArguments arguments;
  GemmArguments spare;  ///< where rebind() puts operands before it knows that they fit
  Alignments supported;
  std::size_t workspace_bytes = 0;
  std::optional<BoundKernel> bound{};
  bool is_bound_here = false;  ///< to `arguments`, not to earlier ones
  /// On `arguments`, as long as it is not bound to them; the first launch of a plan binds.
  int launches = kLaunchesBeforeBind;
};

Plan::Plan(const Artifact& artifact, const GemmArguments& arguments, const PlanOptions& options)
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

const GemmArguments& Plan::arguments() const {
  return state_->arguments;
}

std::size_t Plan::workspace_size() const {
  return state_->workspace_bytes;
}

void Plan::run(void* stream, const Workspace& workspace) {
  State& state = *state_;
  // What is bound uses the workspace of one stream.
  if (state.workspace_bytes == 0 && state.launch_bound(stream)) return;
  RunOptions options = state.at(stream);
  options.workspace = workspace;
  state.kernel().run(state.arguments, state.artifact, options);
}

void Plan::rebind(const void* a, const void* b, void* out,
                  std::span<const EpilogueOperand> epilogue, GemmArguments::AskDevice ask) {
  State& state = *state_;
  if (epilogue.empty() && has_addresses(state.arguments, a, b, out)) return;
  GemmArguments& next = state.spare;
  if (!next.epilogue().empty()) {
    next.epilogue_.replace(state.arguments.epilogue().operands());
    next.epilogue_.replace(epilogue);
  } else if (!epilogue.empty()) {
    throw Error(
        ErrorKind::value,
        fmt::format("{}: expected no operand, as the plan has no epilogue", epilogue.front().name));
  }
  // Inputs are not written; views have one kind of pointer for all operands.
  next.move(const_cast<void*>(a), const_cast<void*>(b), out, ask);
  state.take_spare();
}

void Plan::rebind(std::span<const EpilogueOperand> epilogue) {
  if (epilogue.empty()) return;
  const GemmArguments& known = state_->arguments;
  rebind(known.a().tensor().data(), known.b().tensor().data(), known.out().data(), epilogue);
}

void Plan::rebind(const GemmArguments& arguments) {
  State& state = *state_;
  if (!is_alike(state.arguments, arguments)) {
    state.accept(arguments);
    state.arguments = arguments;
    state.spare = arguments;
    return;
  }
  if (has_addresses(state.arguments, arguments.a().tensor().data(), arguments.b().tensor().data(),
                    arguments.out().data())) {
    return;
  }
  state.spare = arguments;
  state.take_spare();
}

Plan plan(const GemmArguments& arguments, const PlanOptions& options) {
  const Kernel kernel = get_kernels(arguments, options.query).front();
  return {kernel.compile(arguments), arguments, options};
}

}  // namespace estoc
