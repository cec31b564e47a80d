// Plan, an operation that is launched again and again, and matmul, a GEMM in one call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/discovery.hpp"

namespace estoc {

/// How a plan finds its kernel and launches it.
struct PlanOptions {
  KernelQuery query{};
  int threads = 0;           ///< as of RunOptions
  bool programmatic = true;  ///< as of RunOptions
};

/// A kernel that is found, compiled and bound for one operation, to be launched any number of
/// times. Movable; used by one thread at a time.
///
/// A launch allocates nothing and takes no lock that others hold, but for the first one and for
/// one in a few of those on operands that have stayed where they were put.
class Plan {
 public:
  /// Of a kernel that is compiled already, such as one from a bundle. The operands may be
  /// descriptions; rebind() must then come before run(). Throws Error{unsupported} with the reason
  /// when the artifact's kernel does not support `arguments`.
  Plan(const Artifact& artifact, const RuntimeArguments& arguments,
       const PlanOptions& options = {});
  ~Plan();
  Plan(Plan&& other) noexcept;
  Plan& operator=(Plan&& other) noexcept;

  const Kernel& kernel() const;
  const Artifact& artifact() const;
  /// The operands that run() works on.
  const RuntimeArguments& arguments() const;
  /// Bytes of workspace that run() needs.
  std::size_t workspace_size() const;

  /// Launches on a stream as RunOptions::stream says, with workspace of the caller's or, left out,
  /// the library's. Throws what Kernel::run throws.
  void run(void* stream = nullptr, const Workspace& workspace = {});

  /// Has later launches work on operands at other addresses, of the same dtypes, shapes, strides
  /// and device: one address for each of arguments().operands(), of memory that may be written
  /// where it is an output's. `epilogue` holds those of the epilogue's operands that are others
  /// now, by name: tensors of the same dtype, shape, strides and device, and scalars of another
  /// value. For a GEMM this allocates nothing.
  ///
  /// Throws Error{value} as the arguments' constructor does of addresses, for another number of
  /// them, or for an operand of the epilogue that differs in more, Error{unsupported} where the
  /// kernel needs a better alignment; the message names the operand, and the plan is as it was.
  void rebind(std::span<const void* const> operands, std::span<const EpilogueOperand> epilogue = {},
              RuntimeArguments::CheckDevice check = RuntimeArguments::CheckDevice::yes);
  /// The same for the operands A, B and out.
  void rebind(const void* a, const void* b, void* out,
              std::span<const EpilogueOperand> epilogue = {},
              RuntimeArguments::CheckDevice check = RuntimeArguments::CheckDevice::yes) {
    const void* const operands[] = {a, b, out};
    rebind(operands, epilogue, check);
  }
  /// The same for operands of the epilogue alone.
  void rebind(std::span<const EpilogueOperand> epilogue);
  /// Has later launches work on any arguments that the kernel supports, of other sizes too. Throws
  /// Error{unsupported} with the reason.
  void rebind(const RuntimeArguments& arguments);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The plan of the kernel to use first. Throws Error{unsupported} with KernelList::why_empty() when
/// no kernel supports the arguments, Error{compile}.
Plan plan(const RuntimeArguments& arguments, const PlanOptions& options = {});

class BackgroundTuner;

/// Options of matmul and grouped_mm.
struct MatmulOptions {
  /// default_accumulator_type() of the operands, when left out.
  std::optional<Dtype> accumulator_type{};
  PerformanceControls controls{};
  /// The text of a program (docs/epilogues.md); empty: out is the accumulator.
  std::string_view epilogue{};
  /// The operands of the epilogue.
  std::span<const EpilogueOperand> operands{};
  void* stream = nullptr;    ///< as of RunOptions
  int threads = 0;           ///< as of RunOptions
  bool programmatic = true;  ///< as of RunOptions
  /// Gives workspace of at least so many bytes, for a kernel that needs some; where there is no
  /// function, the library's own is used. A call that is captured without a function takes a kernel
  /// that needs no workspace, where there is one: a graph keeps the library's for good.
  std::function<Workspace(std::size_t bytes)> workspace{};
  /// `no` where the caller knows that every pointer is of the device that its view names.
  GemmArguments::CheckDevice check_device = GemmArguments::CheckDevice::yes;
  /// Tunes the problem of a call that finds a kernel; null: it stays as it is.
  BackgroundTuner* tuner = nullptr;
};

/// out = a @ b, with the kernel to use first. Thread-safe.
///
/// Plans are remembered, 512 of them, by dtypes, shapes, strides, alignments, device, options, and
/// the epilogue's text and operands. A call like an earlier one gives a plan new addresses and
/// values and launches it. Registering and taking away kernel classes forgets them all.
///
/// Returns whether a kernel had to be found, as there was no plan. Throws as GemmArguments, plan()
/// and Plan::run do.
bool matmul(const TensorView& a, const TensorView& b, const TensorView& out,
            const MatmulOptions& options = {});

/// The same of operands that may have scales (ScaledTensor). A call like an earlier one with scales
/// builds arguments anew, which allocates.
bool matmul(const Operand& a, const Operand& b, const Operand& out,
            const MatmulOptions& options = {});

/// The product of groups, GroupedGemmArguments of these operands, with the kernel to use first. As
/// matmul, which also says what it returns, remembers and throws.
bool grouped_mm(const TensorView& a, const TensorView& b, const TensorView& out,
                const GroupOptions& groups, const MatmulOptions& options = {});
/// The same of operands that may have scales.
bool grouped_mm(const Operand& a, const Operand& b, const TensorView& out,
                const GroupOptions& groups, const MatmulOptions& options = {});
/// The shape of its out, for that many groups. Throws Error{value} unless a and b have two or three
/// modes each.
std::vector<std::int64_t> grouped_result_shape(const TensorView& a, const TensorView& b,
                                               std::int64_t groups);

/// The dtype of a product that names none: i32 of integers, bf16 of floats of eight bits, f32 of
/// tf32, else that of A. Throws Error{type} where A or B is of a dtype that has no product.
Dtype result_dtype(Dtype a, Dtype b);

/// The shape of a product, (M, N) or (L, M, N). Throws Error{value} for operands of other than two
/// or three modes.
std::vector<std::int64_t> result_shape(const TensorView& a, const TensorView& b);

}  // namespace estoc
