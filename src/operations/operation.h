// What the library has to know of an operation: its operands, its problem text, its reference.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <variant>

#include "estoc/check.hpp"
#include "estoc/design_space.hpp"
#include "estoc/metadata.hpp"
#include "estoc/problem.hpp"

namespace estoc::operations {

/// One operand of an operation.
struct OperandSchema {
  const char* name;  ///< in messages: "A"
  OperandRole role = OperandRole::input;
  std::string_view modes{};  ///< a letter each, outermost first: "lmk"
  /// Dimensions of design spaces that constrain it; `other` where none does.
  Role dtype_role = Role::other;
  Role alignment_role = Role::other;
  OperandSpec Problem::*spec = nullptr;  ///< in a problem
};

/// A, B and out with these modes, or of as many as each problem has.
constexpr std::array<OperandSchema, 3> a_b_and_out(std::string_view a_modes = {},
                                                   std::string_view b_modes = {},
                                                   std::string_view out_modes = {}) {
  return {{{"A", OperandRole::input, a_modes, Role::a_dtype, Role::a_alignment, &Problem::a},
           {"B", OperandRole::input, b_modes, Role::b_dtype, Role::b_alignment, &Problem::b},
           {"out", OperandRole::output, out_modes, Role::out_dtype, Role::out_alignment,
            &Problem::out}}};
}

/// Parts of a problem that have a separate grammar.
enum class TextField : std::uint8_t { op, shape, epilogue, workspace, along, sizes, layout };

/// What the value of a key sets: an extent, an operand, a dtype, a control, or a field.
using TextTarget = std::variant<std::optional<std::int64_t> Problem::*, OperandSpec Problem::*,
                                std::optional<Dtype> Problem::*, bool PerformanceControls::*,
                                bool Problem::*, TextField>;

/// A key of problem text.
struct TextKey {
  std::string_view name;
  TextTarget target;
};

/// What kernels are told apart by, besides dtypes and layouts.
struct Attributes {
  Dtype accumulator_type = Dtype::f32;         ///< f32 for an operation without accumulator
  ElementwiseOp op = ElementwiseOp::identity;  ///< identity for an operation without op

  bool operator==(const Attributes&) const = default;
};

/// An operation. A new one is a folder with one of these, and a line in operations.cpp.
struct OperationSchema {
  Operation operation;
  std::string_view name;
  /// Those that kernels are told apart by, in the order of layout letters; further operands of the
  /// arguments follow them. An operand that some arguments lack is the one before it.
  std::span<const OperandSchema> operands;
  /// Keys of its problem text, in the order in which they are printed.
  std::span<const TextKey> keys;
  /// Whether it sums products: kernels have a dtype of accumulators, and may round f32 inputs.
  bool accumulates = false;
  /// Whether kernels are of one ElementwiseOp each.
  bool has_op = false;

  /// Problem::complete, and Problem::arguments of a problem that is complete.
  void (*complete)(Problem& problem);
  std::unique_ptr<RuntimeArguments> (*arguments)(const Problem& problem, Device device);
  /// Problem::of, less the controls.
  Problem (*problem)(const RuntimeArguments& arguments);

  Attributes (*attributes)(const RuntimeArguments& arguments);
  /// One of `operands` for each operand.
  OperandsMetadata (*metadata)(std::span<const TensorAttributes> operands,
                               const Attributes& attributes);

  /// Throws Error{unsupported} for what the reference does not cover.
  void (*require_checkable)(const RuntimeArguments& arguments);
  /// check_output of arguments that are checkable.
  CheckResult (*check)(const RuntimeArguments& arguments, const CheckOptions& options);

  bool has_key(const TextTarget& target) const;
};

/// All operations, in the order of Operation's values.
std::span<const OperationSchema* const> all_operations();

const OperationSchema& schema_of(Operation operation);
inline const OperationSchema& schema_of(const RuntimeArguments& arguments) {
  return schema_of(arguments.operation());
}

}  // namespace estoc::operations
