// Words the failures of the shared checks.
#include "model/operand_checks.h"

#include <fmt/ranges.h>

#include "core/pointer_device.h"
#include "model/fail.h"

namespace estoc::model {

void check_packed(NamedView operand) {
  const TensorView& view = *operand.view;
  if (!is_packed(view.dtype())) return;
  for (int mode = 0; mode < view.rank(); ++mode) {
    if (view.stride(mode) == 1 && view.shape(mode) > 1 && view.shape(mode) % 2 != 0) {
      fail_value("{}.shape: expected an even extent in the contiguous mode of packed {}, got {}",
                 operand.name, dtype_name(view.dtype()), view.shape(mode));
    }
  }
}

void check_device(NamedView operand, NamedView reference) {
  if (operand.view->device() == reference.view->device()) return;
  fail_value("{}.device: expected {} like {}, got {}", operand.name,
             reference.view->device().name(), reference.name, operand.view->device().name());
}

void check_pointer(NamedView operand) {
  const TensorView& view = *operand.view;
  if (view.device().is_cpu() || view.data() == nullptr || view.span_bytes() == 0) return;
  const Status status = core::check_pointer_device(view.data(), view.device());
  if (!status) fail_value("{}.data: {}", operand.name, status.error());
}

void fail_overlap(NamedView out, Overlap found) {
  if (found == Overlap::undecided) {
    fail_value(
        "{}.strides: expected elements that do not coincide, but that could not be decided within "
        "{} steps for extents ({}) and strides ({})",
        out.name, kOverlapSteps, fmt::join(out.view->shape(), ", "),
        fmt::join(out.view->strides(), ", "));
  }
  fail_value(
      "{}.strides: expected elements that do not coincide, got extents ({}) with strides ({})",
      out.name, fmt::join(out.view->shape(), ", "), fmt::join(out.view->strides(), ", "));
}

void fail_overlap(NamedView out, NamedView input, Overlap found) {
  if (found == Overlap::undecided) {
    fail_value(
        "{}: expected memory apart from {}'s, but whether elements coincide could not be decided "
        "within {} steps",
        out.name, input.name, kOverlapSteps);
  }
  fail_value("{}: expected memory apart from {}'s, got elements that coincide", out.name,
             input.name);
}

}  // namespace estoc::model
