// Shapes, addresses and memory of the operands of a GEMM's epilogue.
#include "epilogue/bind.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "epilogue/binder.h"
#include "model/fail.h"
#include "model/operand_checks.h"

namespace estoc::epilogue {
namespace {

using model::fail_value;
using model::NamedView;

/// A tensor as (l, m, n): extents of modes that it does not have are 1, their strides 0.
struct Modes {
  std::array<std::int64_t, 3> extents{1, 1, 1};
  std::array<std::int64_t, 3> strides{};
};

Modes modes_of(const TensorView& view) {
  Modes modes;
  const int missing = 3 - view.rank();
  for (int mode = 0; mode < view.rank(); ++mode) {
    const auto at = static_cast<std::size_t>(missing) + static_cast<std::size_t>(mode);
    modes.extents[at] = view.shape(mode);
    modes.strides[at] = view.stride(mode);
  }
  return modes;
}

/// The program of arguments that have none.
const EpilogueArguments& accumulator_alone() {
  static const EpilogueArguments epilogue("D = accum");
  return epilogue;
}

class GemmBinder final : public Binder {
 public:
  explicit GemmBinder(const GemmArguments& arguments)
      : Binder(arguments.epilogue().empty() ? accumulator_alone() : arguments.epilogue(),
               arguments.accumulator_type(), arguments.out(), arguments.result_dtype(),
               arguments.controls()),
        arguments_(arguments),
        extents_{arguments.extents().l, arguments.extents().m, arguments.extents().n},
        named_out_{&arguments.out(), "out"} {
    add_factors(arguments.a().scaled());
    add_factors(arguments.b().scaled());
  }

 private:
  /// Scales of a tensor and of rows; those of blocks are in the accumulator.
  void add_factors(const ScaledTensor* scaled) {
    if (scaled == nullptr) return;
    if (scaled->tensor_scale) add_factor(*scaled->tensor_scale, {});
    if (scaled->mode == ScaleMode::tensorwise) add_factor(scaled->scale, {});
    if (scaled->mode == ScaleMode::rowwise) {
      add_factor(scaled->scale, varies_of(scaled->scale, modes_of(scaled->scale)));
    }
  }

  // ------------------------------------------------------------------ shapes

  [[noreturn]] void fail_shape(const EpilogueOperand& operand, const char* suffix) const {
    fail_value("{}.shape: expected (L, M, N) = ({}){}, got ({})", operand.name,
               fmt::join(extents_, ", "), suffix, fmt::join(operand.tensor()->shape(), ", "));
  }

  /// The modes that an input varies in. An input of one element is a scalar, except where out also
  /// has one element, or where it has one for each row and the kernel must serve any M.
  Varies broadcast(const EpilogueOperand& operand) const override {
    const TensorView& view = *operand.tensor();
    if (view.rank() > 3) fail_shape(operand, " or fewer modes");
    const Modes modes = modes_of(view);
    for (std::size_t mode = 0; mode < 3; ++mode) {
      if (modes.extents[mode] != extents_[mode] && modes.extents[mode] != 1) {
        fail_shape(operand, " or extents of 1");
      }
    }
    return varies_of(view, modes);
  }

  Varies varies_of(const TensorView& view, const Modes& modes) const {
    const bool one = modes.extents[0] == 1 && modes.extents[1] == 1 && modes.extents[2] == 1;
    const bool one_part = extents_[2] == 1 || controls_.batch_invariant;
    if (one && !(view.rank() >= 2 && extents_[1] == 1 && one_part)) return {};
    Varies varies;
    varies.m = view.rank() >= 2 && modes.extents[1] == extents_[1];
    varies.n = view.rank() >= 1 && modes.extents[2] == extents_[2];
    // A stride costs nothing, and one kernel then serves one batch and many.
    varies.l = varies.m || varies.n || modes.extents[0] != 1;
    return varies;
  }

  Part output_part(const EpilogueAssignment& target,
                   const EpilogueOperand& operand) const override {
    Part part;
    part.dtype = dtype_byte(operand);
    if (operand.tensor()->rank() > 3) fail_shape(operand, " or fewer modes");
    part.varies = target.reduction ? kept_modes(operand) : Varies{true, true, true};
    if (!target.reduction) check_whole(operand);
    return part;
  }

  void check_whole(const EpilogueOperand& operand) const {
    const bool fits =
        modes_of(*operand.tensor()).extents == extents_ && operand.tensor()->rank() >= 2;
    if (!fits) fail_shape(operand, "");
  }

  Varies kept_modes(const EpilogueOperand& operand) const {
    const TensorView& view = *operand.tensor();
    const Modes modes = modes_of(view);
    const auto& [l, m, n] = extents_;
    for (std::size_t mode = 0; mode < 3; ++mode) {
      if (modes.extents[mode] != extents_[mode] && modes.extents[mode] != 1) {
        fail_shape(operand, " with extents of 1 where it is reduced");
      }
    }
    Varies keeps;
    keeps.n = n != 1 && modes.extents[2] == n;
    keeps.m =
        !keeps.n ? view.rank() >= 2 && modes.extents[1] == m : m != 1 && modes.extents[1] == m;
    if (keeps.m && keeps.n) fail_shape(operand, " with an extent of 1 where it is reduced");
    // With one batch it makes no difference; so one kernel serves one batch and many.
    keeps.l = l == 1 ? keeps.m || keeps.n : modes.extents[0] == l;
    return keeps;
  }

  EpilogueAddress address_of(const TensorView& view, Varies varies) const override {
    const Modes modes = modes_of(view);
    EpilogueAddress address;
    address.data = view.data();
    if (varies.l && modes.extents[0] != 1) address.batch_stride = modes.strides[0];
    if (varies.m) address.row_stride = modes.strides[1];
    if (varies.n) address.column_stride = modes.strides[2];
    address.alignment = view.alignment();
    return address;
  }

  // ------------------------------------------------------------------ memory

  void check_memory() const override {
    for (const EpilogueOperand& operand : state_.operands) {
      if (operand.tensor() == nullptr) continue;
      const NamedView named{operand.tensor(), operand.name.c_str()};
      model::check_device(named, named_out_);
      model::check_pointer(named);
    }
    const NamedView a{&arguments_.a().tensor(), "A"};
    const NamedView b{&arguments_.b().tensor(), "B"};
    for (std::size_t i = 0; i < program_.assignments.size(); ++i) {
      const std::int16_t operand = state_.assignment_operands[i];
      if (operand < 0 || program_.assignments[i].name == "D") continue;
      const NamedView output = named(operand);
      model::check_self_overlap(output);
      model::check_overlap(output, a);
      model::check_overlap(output, b);
      model::check_overlap(output, named_out_);
      for (std::size_t other = 0; other < i; ++other) {
        if (state_.assignment_operands[other] < 0 || program_.assignments[other].name == "D") {
          continue;
        }
        model::check_overlap(output, named(state_.assignment_operands[other]));
      }
      check_inputs(output, !program_.assignments[i].reduction);
      check_scales(output, arguments_.a(), "A.scale", "A.tensor_scale");
      check_scales(output, arguments_.b(), "B.scale", "B.tensor_scale");
      if (const ScaledTensor* quantised = arguments_.out_scaled()) {
        model::check_overlap(output, {&quantised->scale, "out.scale"});
      }
    }
    check_inputs(named_out_, true);
  }

  static void check_scales(NamedView output, const Operand& operand, const char* name,
                           const char* second) {
    if (!operand.is_scaled()) return;
    model::check_overlap(output, {&operand.scaled()->scale, name});
    const auto& tensor_scale = operand.scaled()->tensor_scale;
    if (tensor_scale) model::check_overlap(output, {&*tensor_scale, second});
  }

  NamedView named(std::int16_t operand) const {
    return {operand_at(operand).tensor(), operand_at(operand).name.c_str()};
  }

  /// Inputs may be where an output of the product's shape is, element for element.
  void check_inputs(NamedView output, bool in_place) const {
    for (const std::int16_t operand : state_.input_operands) {
      if (operand < 0 || operand_at(operand).tensor() == nullptr) continue;
      const NamedView input = named(operand);
      const model::Overlap found = model::find_overlap(*output.view, *input.view);
      if (found == model::Overlap::none) continue;
      if (in_place && is_element_for_element(*output.view, *input.view)) continue;
      model::fail_overlap(output, input, found);
    }
  }

  static bool is_element_for_element(const TensorView& output, const TensorView& input) {
    const Modes x = modes_of(output);
    const Modes y = modes_of(input);
    if (output.data() != input.data() || output.dtype() != input.dtype()) return false;
    for (std::size_t mode = 0; mode < 3; ++mode) {
      if (x.extents[mode] != y.extents[mode]) return false;
      if (x.extents[mode] > 1 && x.strides[mode] != y.strides[mode]) return false;
    }
    return true;
  }

  const GemmArguments& arguments_;
  std::array<std::int64_t, 3> extents_;  ///< l, m, n
  NamedView named_out_;
};

}  // namespace

std::shared_ptr<EpilogueBinding> bind(const GemmArguments& arguments,
                                      std::shared_ptr<EpilogueBinding> used) {
  return GemmBinder(arguments).bind(std::move(used));
}

}  // namespace estoc::epilogue
