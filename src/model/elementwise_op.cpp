// The names of elementwise operations.
#include <algorithm>
#include <array>

#include "estoc/arguments.hpp"

namespace estoc {
namespace {

constexpr std::array<std::string_view, 19> kOpNames{
    "add",   "sub", "mul", "div",        "maximum", "minimum", "identity", "neg",     "abs", "sqrt",
    "rsqrt", "exp", "log", "reciprocal", "relu",    "gelu",    "silu",     "sigmoid", "tanh"};
static_assert(kOpNames[static_cast<std::size_t>(ElementwiseOp::identity)] == "identity");
static_assert(kOpNames[static_cast<std::size_t>(ElementwiseOp::tanh)] == "tanh");

}  // namespace

std::string_view elementwise_op_name(ElementwiseOp op) {
  return kOpNames[static_cast<std::size_t>(op)];
}

std::optional<ElementwiseOp> parse_elementwise_op(std::string_view name) {
  const auto found = std::find(kOpNames.begin(), kOpNames.end(), name);
  if (found == kOpNames.end()) return std::nullopt;
  return static_cast<ElementwiseOp>(found - kOpNames.begin());
}

}  // namespace estoc
