// The expert layer: two grouped products, and the steps around them.
#include "estoc/moe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "estoc/discovery.hpp"
#include "estoc/plan.hpp"
#include "jit/driver.h"
#include "jit/stream.h"
#include "jit/workspace.h"
#include "moe/layout.h"
#include "moe/operands.h"
#include "moe/steps.h"

namespace estoc {
namespace {

constexpr std::size_t kAlignment = 256;
constexpr std::array<std::string_view, 5> kActivationNames{"swiglu", "geglu", "relu", "gelu",
                                                           "silu"};

TensorView described(const TensorView& view) {
  return TensorView::describe(view.dtype(), view.shape(), view.strides(), view.device(),
                              view.alignment());
}

MoeOperands described(const MoeOperands& operands) {
  return {described(operands.x),       described(operands.expert_ids),
          described(operands.weights), described(operands.w_gate_up),
          described(operands.w_down),  described(operands.out)};
}

unsigned long long address_of(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data);
}

/// Whether each row begins at a multiple of 16 bytes.
bool has_wide_rows(const TensorView& view) {
  return view.alignment() >= abi::kMoeVectorBytes;
}

/// The activation as the epilogue of the product with the first weights.
std::string activation_text(const MoeOptions& options) {
  if (!is_gated(options.activation)) {
    return fmt::format("D = {}(accum)", moe_activation_name(options.activation));
  }
  const std::string_view function = options.activation == MoeActivation::swiglu ? "silu" : "gelu";
  return options.interleaved ? fmt::format("D = {}(even(accum)) * odd(accum)", function)
                             : fmt::format("D = {}(left(accum)) * right(accum)", function);
}

/// What the kernel that is found first for the arguments takes; none where there is no kernel.
std::optional<double> seconds_of_first(const RuntimeArguments& arguments) {
  const KernelList kernels = get_kernels(arguments);
  if (kernels.empty()) return std::nullopt;
  const Kernel& first = kernels.front();
  return first.tuned_seconds() ? first.tuned_seconds() : first.predicted_seconds();
}

void check_workspace(const Workspace& workspace, std::size_t bytes) {
  if (workspace.bytes < bytes) {
    throw Error(ErrorKind::value, fmt::format("workspace: expected at least {} bytes, got {}",
                                              bytes, workspace.bytes));
  }
  if (address_of(workspace.data) % kAlignment != 0) {
    throw Error(ErrorKind::value,
                fmt::format("workspace: expected an address that is a multiple of {} bytes, got {}",
                            kAlignment, fmt::ptr(workspace.data)));
  }
}

struct FreeAligned {
  void operator()(void* data) const { ::operator delete (data, std::align_val_t{kAlignment}); }
};

/// The work of a run on a GPU: in the context of its stream, with workspace of the caller's or the
/// library's.
class DeviceScope {
 public:
  DeviceScope(int device, void* stream, const Workspace& given, std::size_t bytes)
      : scope_(device, stream),
        lease_(given, bytes, device, stream),
        use_(lease_, static_cast<jit::CUstream>(stream)) {}

  const Workspace& workspace() const { return lease_.workspace(); }

 private:
  jit::LaunchScope scope_;
  jit::WorkspaceLease lease_;
  jit::WorkspaceUse use_;
};

}  // namespace

std::string_view moe_activation_name(MoeActivation activation) {
  return kActivationNames[static_cast<std::size_t>(activation)];
}

std::optional<MoeActivation> parse_moe_activation(std::string_view name) {
  const auto found = std::ranges::find(kActivationNames, name);
  if (found == kActivationNames.end()) return std::nullopt;
  return static_cast<MoeActivation>(found - kActivationNames.begin());
}

struct Moe::State {
  State(const MoeOperands& operands, const MoeOptions& requested)
      : extents(experts::checked_extents(operands, requested)),
        options(requested),
        planned(described(operands)),
        device(operands.x.device()),
        layout(experts::Layout::of(extents, operands.x.dtype(), is_gated(requested.activation))),
        steps(make_steps()) {
    if (!has_products()) return;
    has_gate = !activates_in_product();
    if (!has_gate) layout = experts::Layout::of(extents, operands.x.dtype(), false);
    first.emplace(planned_product(has_gate ? plain_first() : activated_first()));
    second.emplace(planned_product(
        product(layout.inner_stride, planned.w_down, layout.hidden_stride, extents.hidden, "")));
    layout.add_kernels(std::max(first->workspace_size(), second->workspace_size()));
  }

  bool has_output() const { return extents.tokens > 0 && extents.hidden > 0; }
  bool has_products() const { return has_output() && extents.inner > 0 && extents.experts > 0; }

  /// The first product alone, of gate and up, and with its activation.
  GroupedGemmArguments plain_first() const {
    return product(layout.hidden_stride, planned.w_gate_up, layout.product_stride,
                   planned.w_gate_up.shape(2), "");
  }
  GroupedGemmArguments activated_first() const {
    return product(layout.hidden_stride, planned.w_gate_up, layout.inner_stride, extents.inner,
                   activation_text(options));
  }

  /// Whether the first product applies the activation. A gate is a step of its own where no kernel
  /// has it, or where those that do are slower by more than predictions err and such a step takes:
  /// about as long as an elementwise product, which moves as much.
  bool activates_in_product() const {
    if (!is_gated(options.activation)) return true;
    const std::optional<double> together = seconds_of_first(activated_first());
    if (!together) return false;
    const TensorView inner = rows_of(extents.inner, layout.inner_stride);
    const std::optional<double> alone = seconds_of_first(plain_first());
    const std::optional<double> step =
        seconds_of_first(ElementwiseArguments(ElementwiseOp::mul, inner, inner, inner));
    constexpr double kPredicted = 1.05;
    return !alone || !step || *together <= kPredicted * *alone + *step;
  }

  std::unique_ptr<const experts::Steps> make_steps() const {
    const experts::StepOptions code{planned.x.dtype(), options.activation, options.interleaved};
    return device.is_cuda() ? experts::device_steps(code, device) : experts::host_steps(code);
  }

  /// A row of workspace for each slot.
  TensorView rows_of(std::int64_t columns, std::int64_t stride) const {
    return TensorView::describe(planned.x.dtype(), std::array{extents.slots(), columns},
                                std::array{stride, std::int64_t{1}}, device);
  }

  /// The rows in workspace times the weights of their experts.
  GroupedGemmArguments product(std::int64_t stride, const TensorView& weights,
                               std::int64_t out_stride, std::int64_t out_columns,
                               const std::string& epilogue) const {
    const TensorView ends = TensorView::describe(Dtype::i32, std::array{extents.experts},
                                                 std::array{std::int64_t{1}}, device);
    EpilogueArguments applied;
    if (!epilogue.empty()) applied = EpilogueArguments(epilogue, {});
    return {rows_of(weights.shape(1), stride),
            weights,
            rows_of(out_columns, out_stride),
            Dtype::f32,
            {.offsets = ends},
            options.controls,
            std::move(applied)};
  }

  Plan planned_product(const GroupedGemmArguments& arguments) const {
    return plan(arguments, {.query = {}, .threads = options.threads, .programmatic = true});
  }

  void run(const MoeOperands& operands, const Workspace& given, void* stream) {
    if (!has_output()) return;
    if (given.data != nullptr) check_workspace(given, layout.bytes);
    if (device.is_cpu()) {
      launch(operands, given.data != nullptr ? given : own_workspace(), stream);
      return;
    }
    const DeviceScope scope(device.index, stream, given, layout.bytes);
    launch(operands, scope.workspace(), stream);
  }

  void launch(const MoeOperands& operands, const Workspace& workspace, void* stream) {
    const experts::StepParameters parameters = parameters_of(operands, workspace);
    if (!has_products()) {
      steps->combine(parameters, stream);
      return;
    }
    const Workspace rest{at(workspace, layout.kernels), layout.bytes - layout.kernels};
    const auto multiply = [&](Plan& product, std::size_t rows, const TensorView& weights,
                              std::size_t out) {
      const std::array<const void*, 4> addresses{at(workspace, rows), weights.data(),
                                                 at(workspace, out), at(workspace, layout.ends)};
      product.rebind(addresses, {}, RuntimeArguments::CheckDevice::no);
      product.run(stream, rest.bytes > 0 ? rest : Workspace{});
    };
    steps->gather(parameters, stream);
    multiply(*first, layout.gathered, operands.w_gate_up, has_gate ? layout.product : layout.inner);
    if (has_gate) steps->activate(parameters, stream);
    multiply(*second, layout.inner, operands.w_down, layout.gathered);
    steps->combine(parameters, stream);
  }

  experts::StepParameters parameters_of(const MoeOperands& operands,
                                        const Workspace& workspace) const;

  /// Of a run on the CPU without the caller's.
  Workspace own_workspace() {
    if (own == nullptr) {
      own.reset(
          ::operator new (std::max<std::size_t>(layout.bytes, 1), std::align_val_t{kAlignment}));
    }
    return {own.get(), layout.bytes};
  }

  static std::byte* at(const Workspace& workspace, std::size_t offset) {
    return static_cast<std::byte*>(workspace.data) + offset;
  }

  MoeExtents extents;
  MoeOptions options;
  MoeOperands planned;
  Device device;
  experts::Layout layout;
  std::unique_ptr<const experts::Steps> steps;
  bool has_gate = false;  ///< a step of its own applies the gate
  std::optional<Plan> first{};
  std::optional<Plan> second{};
  std::unique_ptr<void, FreeAligned> own{};
};

experts::StepParameters Moe::State::parameters_of(const MoeOperands& operands,
                                                  const Workspace& workspace) const {
  const auto section = [&](std::size_t offset) { return address_of(at(workspace, offset)); };
  const experts::RouteCut cut = experts::RouteCut::of(extents.slots());
  const auto top_k = static_cast<int>(extents.top_k);
  const auto experts = static_cast<int>(extents.experts);
  const std::int64_t element = dtype_bits(planned.x.dtype()) / 8;
  const std::size_t last = static_cast<std::size_t>(std::max(experts - 1, 0)) * 4;
  int expert_bits = 0;
  while (((experts - 1) >> expert_bits) > 0)
    ++expert_bits;
  return {
      .route = {.ids = address_of(operands.expert_ids.data()),
                .token_stride = operands.expert_ids.stride(0),
                .choice_stride = operands.expert_ids.stride(1),
                .counts = cut.ctas > 1 ? section(layout.counts) : 0,
                .ends = section(layout.ends),
                .rows = section(layout.rows),
                .slots = static_cast<int>(extents.slots()),
                .top_k = top_k,
                .experts = experts,
                .expert_bits = expert_bits,
                .slots_per_cta = cut.slots_per_cta},
      .gather = {.from = address_of(operands.x.data()),
                 .to = section(layout.gathered),
                 .rows = section(layout.rows),
                 .from_stride = operands.x.stride(0),
                 .to_stride = layout.hidden_stride,
                 .columns = extents.hidden,
                 .top_k = top_k,
                 .wide = has_wide_rows(operands.x)},
      .gate = {.from = section(layout.product),
               .to = section(layout.inner),
               .last_end = section(layout.ends + last),
               .from_stride = layout.product_stride,
               .to_stride = layout.inner_stride,
               .columns = extents.inner,
               .wide = extents.inner * element % abi::kMoeVectorBytes == 0},
      .combine = {.from = section(layout.gathered),
                  .to = address_of(operands.out.data()),
                  .rows = section(layout.rows),
                  .weights = address_of(operands.weights.data()),
                  .token_stride = operands.weights.stride(0),
                  .choice_stride = operands.weights.stride(1),
                  .from_stride = layout.hidden_stride,
                  .to_stride = operands.out.stride(0),
                  .columns = extents.hidden,
                  .top_k = has_products() ? top_k : 0,
                  .wide = has_wide_rows(operands.out)},
      .tokens = extents.tokens,
      .route_ctas = cut.ctas,
  };
}

Moe::Moe(const MoeOperands& operands, const MoeOptions& options)
    : state_(std::make_unique<State>(operands, options)) {}
Moe::~Moe() = default;
Moe::Moe(Moe&& other) noexcept = default;
Moe& Moe::operator=(Moe&& other) noexcept = default;

const MoeExtents& Moe::extents() const {
  return state_->extents;
}

Device Moe::device() const {
  return state_->device;
}

std::size_t Moe::workspace_size() const {
  return state_->has_output() ? state_->layout.bytes : 0;
}

const Kernel* Moe::first_kernel() const {
  return state_->first ? &state_->first->kernel() : nullptr;
}

const Kernel* Moe::second_kernel() const {
  return state_->second ? &state_->second->kernel() : nullptr;
}

void Moe::run(const MoeOperands& operands, const Workspace& workspace, void* stream,
              RuntimeArguments::CheckDevice check) {
  experts::check_like(state_->planned, operands, check);
  state_->run(operands, workspace, stream);
}

}  // namespace estoc
