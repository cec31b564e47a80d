// The operations of epilogues: their names, how many inputs they take, and of which types.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "estoc/epilogue_graph.hpp"

namespace estoc::epilogue {

/// Which type an operation computes in and what it gives.
enum class TypeRule : std::uint8_t {
  leaf,
  same,        ///< whole numbers stay whole, else the floating type
  floating,    ///< the floating type
  comparison,  ///< inputs as for `same`; gives a boolean
  choice,      ///< a boolean, then as for `same`
  logical,     ///< booleans
  cast,
  dropout,  ///< two of the floating type, two whole numbers
};

struct OpInfo {
  std::string_view name;
  std::uint8_t inputs;
  TypeRule rule;
  bool commutes = false;
};

inline constexpr std::size_t kOpCount = static_cast<std::size_t>(EpilogueOp::dropout) + 1;
inline constexpr int kReductionCount = 5;

const OpInfo& op_info(EpilogueOp op);

/// A function of the language.
struct FunctionInfo {
  std::string_view name;
  EpilogueOp op;
  std::uint8_t least;        ///< inputs that must be given
  double default_input = 0;  ///< what stands for the last input where it is left out
};

/// Null when the language has no operation of that name (casts and reductions aside).
const FunctionInfo* find_function(std::string_view name);
std::optional<EpilogueReduction> find_reduction(std::string_view name);
/// The type that a call of that name rounds to.
std::optional<Dtype> find_cast(std::string_view name);
bool is_cast_goal(Dtype dtype);

/// The nearest name of a function, reduction or cast, for messages.
std::optional<std::string> nearest_function(std::string_view name);

}  // namespace estoc::epilogue
