// Checks the operands of an expert layer, and that those of a run are like the planned ones.
#include "moe/operands.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "model/fail.h"

namespace estoc::experts {
namespace {

using model::fail;
using model::fail_value;
using model::NamedView;

constexpr std::int64_t kMaxExperts = 16384;
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 24;

std::string shape_text(const TensorView& view) {
  return fmt::format("({})", fmt::join(view.shape(), ", "));
}

void check_rank(NamedView operand, int rank) {
  if (operand.view->rank() == rank) return;
  fail_value("{}.shape: expected {} modes, got {}", operand.name, rank, operand.view->rank());
}

void check_dtype(NamedView operand, Dtype expected) {
  if (operand.view->dtype() == expected) return;
  fail(ErrorKind::type, "{}.dtype: expected {}, got {}", operand.name, dtype_name(expected),
       dtype_name(operand.view->dtype()));
}

void check_shape(NamedView operand, std::initializer_list<std::int64_t> expected) {
  if (std::ranges::equal(operand.view->shape(), expected)) return;
  fail_value("{}.shape: expected ({}), got {}", operand.name, fmt::join(expected, ", "),
             shape_text(*operand.view));
}

void check_rows(NamedView operand) {
  const TensorView& view = *operand.view;
  if (view.stride(1) == 1 || view.shape(1) <= 1) return;
  fail_value("{}.strides: expected 1 along H, got {}", operand.name, view.stride(1));
}

void check_limit(const char* what, std::int64_t extent, std::int64_t most) {
  if (extent <= most) return;
  fail_value("{}: expected at most {}, got {}", what, most, extent);
}

void check_limits(const MoeExtents& e) {
  if (e.top_k == 0) fail_value("expert_ids.shape: expected one expert a token or more, got (T, 0)");
  check_limit("experts", e.experts, kMaxExperts);
  check_limit("x.shape: H", e.hidden, kMaxWidth);
  check_limit("w_down.shape: I", e.inner, kMaxWidth);
  const std::int64_t most = std::numeric_limits<std::int32_t>::max();
  check_limit("expert_ids.shape: K", e.top_k, most);
  check_limit("expert_ids: elements", e.tokens <= most ? e.slots() : e.tokens, most);
}

bool is_like(const TensorView& planned, const TensorView& given) {
  return planned.dtype() == given.dtype() && planned.device() == given.device() &&
         std::ranges::equal(planned.shape(), given.shape()) &&
         std::ranges::equal(planned.strides(), given.strides());
}

/// Whether the bytes from the first to the last element of both meet.
bool meet(const TensorView& first, const TensorView& second) {
  const auto* const a = static_cast<const std::byte*>(first.data());
  const auto* const b = static_cast<const std::byte*>(second.data());
  return std::less<>()(a, b + second.span_bytes()) && std::less<>()(b, a + first.span_bytes());
}

}  // namespace

std::array<NamedView, 6> named(const MoeOperands& operands) {
  return {NamedView{&operands.x, "x"},    {&operands.expert_ids, "expert_ids"},
          {&operands.weights, "weights"}, {&operands.w_gate_up, "w_gate_up"},
          {&operands.w_down, "w_down"},   {&operands.out, "out"}};
}

MoeExtents checked_extents(const MoeOperands& operands, const MoeOptions& options) {
  const auto [x, ids, weights, gate_up, down, out] = named(operands);
  check_rank(x, 2);
  check_rank(ids, 2);
  check_rank(down, 3);
  const Dtype dtype = operands.x.dtype();
  if (dtype != Dtype::f32 && dtype != Dtype::f16 && dtype != Dtype::bf16) {
    fail(ErrorKind::type, "x.dtype: expected f32, f16 or bf16, got {}", dtype_name(dtype));
  }
  for (const NamedView operand : {gate_up, down, out})
    check_dtype(operand, dtype);
  check_dtype(ids, Dtype::i32);
  check_dtype(weights, Dtype::f32);
  const MoeExtents e{.tokens = operands.x.shape(0),
                     .hidden = operands.x.shape(1),
                     .inner = operands.w_down.shape(1),
                     .experts = operands.w_down.shape(0),
                     .top_k = operands.expert_ids.shape(1)};
  check_limits(e);
  check_shape(ids, {e.tokens, e.top_k});
  check_shape(weights, {e.tokens, e.top_k});
  check_shape(down, {e.experts, e.inner, e.hidden});
  check_shape(gate_up, {e.experts, e.hidden, is_gated(options.activation) ? 2 * e.inner : e.inner});
  check_shape(out, {e.tokens, e.hidden});
  check_rows(x);
  check_rows(out);
  check_self_overlap(out);
  for (const NamedView operand : named(operands))
    check_device(operand, x);
  return e;
}

void check_like(const MoeOperands& planned, const MoeOperands& given,
                RuntimeArguments::CheckDevice check) {
  const auto expected = named(planned);
  const auto operands = named(given);
  const NamedView out = operands.back();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorView& plan = *expected[i].view;
    const TensorView& view = *operands[i].view;
    const char* const name = operands[i].name;
    if (!is_like(plan, view)) {
      fail_value("{}: expected {}, got {}", name, plan.to_string(), view.to_string());
    }
    if (view.described()) fail_value("{}: expected a tensor with data, got a description", name);
    if (check == RuntimeArguments::CheckDevice::yes) check_pointer(operands[i]);
    if (i == 0 || i + 1 == operands.size() || !meet(view, *out.view)) continue;
    fail_value("out: expected memory apart from {}, got memory that it shares", name);
  }
}

}  // namespace estoc::experts
