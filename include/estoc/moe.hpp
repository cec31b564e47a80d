// Moe, the expert layer of a transformer planned once, and moe, the layer in one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "estoc/arguments.hpp"
#include "estoc/kernel.hpp"

namespace estoc {

/// What an expert applies to the product with its first weights. The gated ones multiply half of
/// that product, the up projection, by a function of the other half, the gate.
enum class MoeActivation : std::uint8_t {
  swiglu,  ///< silu(gate) * up
  geglu,   ///< gelu(gate) * up, the erf form
  relu,    ///< these are not gated
  gelu,    ///< the erf form
  silu
};

/// "swiglu", "geglu", "relu", "gelu", "silu".
std::string_view moe_activation_name(MoeActivation activation);
std::optional<MoeActivation> parse_moe_activation(std::string_view name);
constexpr bool is_gated(MoeActivation activation) {
  return activation <= MoeActivation::geglu;
}

/// The operands of an expert layer: T tokens of H features, each routed to K of E experts, whose
/// inner width is I.
///
/// out[t] = sum over j of weights[t, j] * (f(x[t] @ w_gate_up[e]) @ w_down[e]), e =
/// expert_ids[t, j], in the order of j. A slot (t, j) whose id is not in 0..E-1 is dropped: it adds
/// nothing, whatever its weight.
struct MoeOperands {
  TensorView x;           ///< (T, H), contiguous along H; f32, f16 or bf16
  TensorView expert_ids;  ///< (T, K), i32
  TensorView weights;     ///< (T, K), f32
  /// (E, H, 2 I), or (E, H, I) without a gate; the dtype of x.
  TensorView w_gate_up;
  TensorView w_down;  ///< (E, I, H); the dtype of x
  TensorView out;     ///< (T, H), contiguous along H; the dtype of x
};

struct MoeOptions {
  MoeActivation activation = MoeActivation::swiglu;
  /// Columns 2 i and 2 i + 1 of w_gate_up are gate and up of feature i; otherwise columns i and
  /// I + i are.
  bool interleaved = false;
  /// Of the two products.
  PerformanceControls controls{};
  int threads = 0;  ///< as of RunOptions, for the products
};

/// The sizes of an expert layer.
struct MoeExtents {
  std::int64_t tokens = 0;
  std::int64_t hidden = 0;
  std::int64_t inner = 0;
  std::int64_t experts = 0;
  std::int64_t top_k = 0;

  /// Rows that the experts multiply at most: one for each token and each of its experts.
  std::int64_t slots() const { return tokens * top_k; }

  bool operator==(const MoeExtents&) const = default;
};

/// An expert layer whose kernels are found and compiled, to be run any number of times. Movable;
/// used by one thread at a time.
///
/// On a GPU nothing waits for the host, and a run can be captured into a CUDA graph that is
/// replayed with other ids. The results of the two products and the gathered tokens are of x's
/// dtype, everything between is computed in f32, and equal operands give equal bits where the
/// products' kernels do (PerformanceControls::deterministic).
class Moe {
 public:
  /// The operands may be descriptions (TensorView::describe).
  ///
  /// Throws Error{value | type}, naming the operand, where shapes, dtypes, strides or devices do
  /// not fit, K is 0, T K passes 2^31 - 1, or there are more than 16384 experts;
  /// Error{unsupported} where no kernel supports a product, Error{compile}.
  explicit Moe(const MoeOperands& operands, const MoeOptions& options = {});
  ~Moe();
  Moe(Moe&& other) noexcept;
  Moe& operator=(Moe&& other) noexcept;

  const MoeExtents& extents() const;
  Device device() const;
  /// Bytes of workspace that run() needs, on the operands' device.
  std::size_t workspace_size() const;
  /// The kernels of the two products; null where the layer has no element to multiply.
  const Kernel* first_kernel() const;
  const Kernel* second_kernel() const;

  /// Computes the layer on `stream` (a CUstream; ignored on the CPU) from operands that are like
  /// those of the constructor but for their addresses. With workspace of the caller's this
  /// allocates nothing but, on the CPU, what the products' kernels do; left out, it is the
  /// library's, which a call that is captured cannot use.
  ///
  /// Throws Error{value}, naming the operand: an operand differs, has no data or, with
  /// CheckDevice::yes, is no memory of its device; out overlaps another operand than x; the
  /// workspace is too small or not aligned to 256 bytes; a capture without workspace.
  /// Error{unsupported} where weights are aligned less well and a product's kernel needs more.
  void run(const MoeOperands& operands, const Workspace& workspace = {}, void* stream = nullptr,
           RuntimeArguments::CheckDevice check = RuntimeArguments::CheckDevice::yes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Options of a call of moe.
struct MoeCallOptions {
  MoeOptions layer{};
  void* stream = nullptr;  ///< as of Moe::run
  /// Gives workspace of at least so many bytes; where there is no function, the library's own is
  /// used.
  std::function<Workspace(std::size_t bytes)> workspace{};
  /// `no` where the caller knows that every pointer is of the device that its view names.
  RuntimeArguments::CheckDevice check_device = RuntimeArguments::CheckDevice::yes;
};

/// The layer in one call. Thread-safe. Plans are remembered, 64 of them, by dtypes, shapes,
/// strides, alignments, device and options; registering and taking away kernel classes forgets
/// them.
///
/// Returns whether a plan had to be made. Throws as Moe's constructor and Moe::run do.
bool moe(const MoeOperands& operands, const MoeCallOptions& options = {});

}  // namespace estoc
