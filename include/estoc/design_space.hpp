// A kernel class's space of kernels, stated once: dimensions, their values, and constraints.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "estoc/metadata.hpp"

namespace estoc {

/// Limits of a design space.
inline constexpr int kMaxDimensions = 16;
inline constexpr int kMaxValues = 255;

/// What a dimension decides about a kernel. The roles from a_dtype to op are compared with the
/// arguments by the library; the others describe the design and fit every argument.
enum class Role : std::uint8_t {
  a_dtype,
  b_dtype,
  accumulator_type,
  out_dtype,
  layouts,      ///< of A, B, out together: "ttt" ... "nnn", x for any
  a_alignment,  ///< bytes
  b_alignment,
  out_alignment,
  op,
  tile,
  cluster,
  instruction,
  stages,
  schedule,
  split,
  other,  ///< named by its key; compared by the class itself
};

/// One value of a dimension: its text in names and filters, and up to three numbers. The numbers
/// are the value of the Dtype or ElementwiseOp, the three letters of layouts, the bytes of an
/// alignment, m n k of a shape, the whole number, or the position among the choices.
struct DesignValue {
  std::string text;
  std::array<int, 3> numbers{};
};

/// One dimension: in a name, a value appears as `prefix` + its text.
struct Dimension {
  Role role = Role::other;
  std::string key;
  std::string prefix;
  std::vector<DesignValue> values;
};

class DesignSpace;

/// One kernel of a design space: an index into the values of each dimension.
class DesignPoint {
 public:
  DesignPoint() = default;
  explicit DesignPoint(const DesignSpace* space) : space_(space) {}

  const DesignSpace& space() const { return *space_; }
  int index(int dimension) const { return indices_[static_cast<std::size_t>(dimension)]; }
  /// Of all dimensions; 0 behind the last one.
  const std::array<std::uint8_t, kMaxDimensions>& indices() const { return indices_; }
  void set_index(int dimension, int index) {
    indices_[static_cast<std::size_t>(dimension)] = static_cast<std::uint8_t>(index);
  }

  /// The value in the dimension of that role or key. Throws Error{value} when the space has no such
  /// dimension or the point no value there, as in a constraint that did not name the dimension.
  const DesignValue& value(Role role) const;
  const DesignValue& value(std::string_view key) const;
  Dtype dtype(Role role) const;
  int integer(Role role) const;
  Shape3 shape(Role role) const;

  /// What KernelClass::decode made of the kernel; null as long as nothing did.
  const void* decoded() const { return decoded_.get(); }
  void set_decoded(std::shared_ptr<const void> decoded) { decoded_ = std::move(decoded); }

  /// The index of a dimension that has no value yet.
  static constexpr int kNoValue = kMaxValues;

  bool operator==(const DesignPoint& other) const {
    return space_ == other.space_ && indices_ == other.indices_;
  }

 private:
  friend class DesignSpace;
  [[noreturn]] void fail_value_of(Role role) const;

  const DesignSpace* space_ = nullptr;
  std::array<std::uint8_t, kMaxDimensions> indices_{};
  std::shared_ptr<const void> decoded_;
};

/// For each dimension, which of its values are wanted.
class Selection {
 public:
  explicit Selection(const DesignSpace& space);
  /// Keeps only the values of `dimension` for which keep(value) is true; false when none is left.
  bool restrict(int dimension, const std::function<bool(const DesignValue&)>& keep);
  /// Keeps the one value.
  void fix(int dimension, int index);
  bool allows(int dimension, int index) const {
    return allowed_[static_cast<std::size_t>(dimension)][static_cast<std::size_t>(index)];
  }
  bool operator==(const Selection&) const = default;

 private:
  const DesignSpace* space_;
  std::array<std::bitset<kMaxValues>, kMaxDimensions> allowed_{};
};

/// A described set of kernels. Enumeration, counting, naming, name -> kernel and selection all
/// come from the dimensions and constraints given to the Builder. Immutable; points refer to it by
/// address, so it is held by a shared pointer.
///
/// Built as a decision diagram (Knuth, TAOCP 4A 7.1.4, with one level a dimension): equal
/// remainders are shared and every edge carries its count, so that size() and at() cost nothing
/// that grows with the number of kernels, and enumeration of a selection meets no dead ends.
class DesignSpace {
 public:
  class Builder;

  std::span<const Dimension> dimensions() const { return dimensions_; }
  /// Position of the dimension with that role or key; -1 when there is none, and for Role::other.
  int find(Role role) const { return by_role_[static_cast<std::size_t>(role)]; }
  int find(std::string_view key) const;
  /// Whether there are dimensions of Role::other.
  bool has_others() const { return has_others_; }

  /// Number of kernels.
  std::uint64_t size() const;
  /// Kernel number `index` in lexicographic order of the values. Throws Error{value} past the end.
  DesignPoint at(std::uint64_t index) const;
  /// True when the constraints allow the point.
  bool contains(const DesignPoint& point) const;

  /// The part of a kernel's name after the class: "-bf16-bf16-f32-bf16-tnt-tile128x256x64".
  std::string suffix(const DesignPoint& point) const;
  /// The point of that suffix; nullopt when it is none of this space's.
  std::optional<DesignPoint> parse(std::string_view suffix) const;

  /// Calls visit(point) for each kernel of the selection, in order, until it returns false.
  void visit(const Selection& selection,
             const std::function<bool(const DesignPoint&)>& visit) const;
  /// Number of kernels of the selection.
  std::uint64_t count(const Selection& selection) const;

 private:
  class Contents;
  friend class Builder;
  DesignSpace();

  std::vector<Dimension> dimensions_;
  std::array<std::int8_t, 16> by_role_{};
  bool has_others_ = false;
  std::unique_ptr<const Contents> contents_;

 public:
  ~DesignSpace();
  DesignSpace(const DesignSpace&) = delete;
  DesignSpace& operator=(const DesignSpace&) = delete;
};

// Inline, because a query reads a dozen of them of each kernel.
inline const DesignValue& DesignPoint::value(Role role) const {
  const int position = space_->find(role);
  if (position < 0) fail_value_of(role);
  const auto dimension = static_cast<std::size_t>(position);
  const std::vector<DesignValue>& values = space_->dimensions()[dimension].values;
  // Compared as an address: the number of values takes a division.
  const DesignValue* const value = values.data() + indices_[dimension];
  if (value >= values.data() + values.size()) fail_value_of(role);
  return *value;
}
inline Dtype DesignPoint::dtype(Role role) const {
  return static_cast<Dtype>(value(role).numbers[0]);
}
inline int DesignPoint::integer(Role role) const {
  return value(role).numbers[0];
}
inline Shape3 DesignPoint::shape(Role role) const {
  const auto& n = value(role).numbers;
  return {n[0], n[1], n[2]};
}

/// States a design space. Dimensions appear in names in the order they are added. A function throws
/// Error{value} for a role it does not take and for values that the role cannot have.
class DesignSpace::Builder {
 public:
  using Constraint = std::function<bool(const DesignPoint&)>;

  Builder();
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// a_dtype, b_dtype, accumulator_type or out_dtype.
  Builder& dtypes(Role role, std::span<const Dtype> values);
  Builder& dtypes(Role role, std::initializer_list<Dtype> values);
  /// Texts such as "tnt" or "xxx", letters for A, B, out.
  Builder& layouts(std::span<const std::string_view> values);
  Builder& layouts(std::initializer_list<std::string_view> values);
  /// Bytes, powers of two.
  Builder& alignments(Role role, std::span<const int> values);
  Builder& alignments(Role role, std::initializer_list<int> values);
  Builder& ops(std::span<const ElementwiseOp> values);
  /// tile, cluster or instruction.
  Builder& shapes(Role role, std::initializer_list<Shape3> values);
  Builder& shapes(Role role, std::span<const Shape3> values);
  /// stages or split, or any further whole number with another key.
  Builder& integers(Role role, std::span<const int> values);
  Builder& integers(Role role, std::initializer_list<int> values);
  Builder& integers(std::string key, std::span<const int> values);
  /// schedule, or any further choice with another key; texts of letters, digits, '_' '.'.
  Builder& choices(Role role, std::span<const std::string_view> values);
  Builder& choices(Role role, std::initializer_list<std::string_view> values);
  Builder& choices(std::string key, std::span<const std::string_view> values);
  Builder& choices(std::string key, std::initializer_list<std::string_view> values);

  /// Only points for which `holds` is true belong to the space. `holds` may look at the dimensions
  /// named by `keys` and no others: it is called when these have values, the rest has none. Keys
  /// are those of the text filter (a b acc out layouts align_a align_b align_out op tile cluster
  /// instruction stages schedule split, or the caller's keys).
  Builder& require(std::span<const std::string_view> keys, Constraint holds);
  Builder& require(std::initializer_list<std::string_view> keys, Constraint holds);

  /// Throws Error{value}: a dimension twice, no or too many values, a text twice or with
  /// characters that names do not have, an unknown key in a constraint, a constraint that looks at
  /// a dimension it did not name, more than 2^64 - 1 kernels. What a constraint throws comes out.
  std::shared_ptr<const DesignSpace> build();
  /// The same without working the space out: that is done when, and as far as, it is needed, and
  /// what a constraint throws comes out there. For spaces that are known to be right, and large.
  std::shared_ptr<const DesignSpace> build_lazily();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace estoc
