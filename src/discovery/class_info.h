// What the library reads once of a kernel class: its space, and what that requires.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "discovery/signature.h"
#include "estoc/kernel_class.hpp"

namespace estoc::discovery {

/// What a requirement compares.
enum class Aspect : std::uint8_t { op, dtype, accumulator_type, layout, alignment };

/// How the required dtype follows from a dimension's value: it is that, or the accumulator that
/// products of such inputs have by default.
enum class DtypeRule : std::uint8_t { same, accumulator_of };

/// One comparison of a dimension's value with the arguments' signature.
struct Requirement {
  Aspect aspect = Aspect::dtype;
  int dimension = 0;
  std::size_t operand = 0;  ///< of dtype, layout and alignment: its place in the schema
  DtypeRule rule = DtypeRule::same;
  int second = -1;  ///< of accumulator_of: the dimension of the second input, where it has one
};

/// For each dimension and value, where the value's text comes in the alphabet of the dimension's.
using NameOrder = std::array<std::array<std::uint8_t, kMaxValues>, kMaxDimensions>;

/// A kernel's place in the alphabet of its class: keys compare as names do.
using NameKey = std::array<std::uint64_t, kMaxDimensions / 8>;

/// A kernel class with everything that discovery needs of it more than once.
struct ClassInfo {
  std::shared_ptr<const KernelClass> kernel_class;
  std::shared_ptr<const DesignSpace> space;
  std::string provider;
  std::string name;
  std::vector<Target> targets;
  int min_cc = 0;
  Operation operation = Operation::gemm;
  /// In the order in which mismatches are reported; every operand's dtype is among them.
  std::vector<Requirement> requirements;
  NameOrder name_order{};

  const DesignValue& value(const DesignPoint& point, int dimension) const {
    const auto& values = space->dimensions()[static_cast<std::size_t>(dimension)].values;
    return values[static_cast<std::size_t>(point.index(dimension))];
  }
  const operations::OperationSchema& schema() const { return operations::schema_of(operation); }
  bool has_target(Target target) const;
};

/// Gives kernels of a class their keys, quickly where a kernel is like the one before it.
class NameKeys {
 public:
  explicit NameKeys(const ClassInfo& info) : order_(info.name_order) {}
  const NameKey& of(const DesignPoint& point);

 private:
  const NameOrder& order_;
  std::array<std::uint64_t, kMaxDimensions / 8> indices_{};  ///< of the point before
  NameKey key_{};
  bool any_ = false;
};

/// Reads the class; passes on what it throws. Throws Error{value} when its space is null, has no
/// dimension of role a_dtype (elementwise: or op), or targets() is empty.
std::shared_ptr<const ClassInfo> describe_class(std::shared_ptr<const KernelClass> kernel_class,
                                                std::string provider);

/// The dtype that a kernel with this value expects; `second` is the dtype of its second input where
/// the requirement names that's dimension.
Dtype required_dtype(const Requirement& requirement, const DesignValue& value, Dtype second);

}  // namespace estoc::discovery
