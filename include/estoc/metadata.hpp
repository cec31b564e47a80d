// What is known of a kernel without compiling it, and filters over that.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "estoc/arguments.hpp"
#include "estoc/target.hpp"

namespace estoc {

/// Which mode of an operand must be contiguous: last (t), next-to-last (n), or none in particular.
enum class LayoutConstraint : char { t = 't', n = 'n', any = 'x' };

/// What a kernel expects of one operand.
struct TensorAttributes {
  Dtype dtype = Dtype::f32;
  LayoutConstraint layout = LayoutConstraint::any;
  /// Pointer and strides must be multiples of this many bytes; 1 when any will do.
  int alignment = 1;

  /// Elements that `alignment` bytes hold, at least 1.
  int divisibility() const;
  bool operator==(const TensorAttributes&) const = default;
};

/// Of products: gemm and grouped_gemm.
struct GemmOperandsMetadata {
  TensorAttributes a, b, out;
  Dtype accumulator_type = Dtype::f32;
  bool operator==(const GemmOperandsMetadata&) const = default;
};

struct ElementwiseOperandsMetadata {
  TensorAttributes a, b, out;
  ElementwiseOp op = ElementwiseOp::identity;
  bool operator==(const ElementwiseOperandsMetadata&) const = default;
};

using OperandsMetadata = std::variant<GemmOperandsMetadata, ElementwiseOperandsMetadata>;

/// An extent in the modes M, N, K.
struct Shape3 {
  int m = 1, n = 1, k = 1;
  bool operator==(const Shape3&) const = default;
};

/// How a kernel is built; what a class does not choose stays at its default.
struct DesignMetadata {
  std::optional<Shape3> tile;         ///< of out and K that a CTA (or task) works on at a time
  Shape3 cluster;                     ///< CTAs of a cluster
  std::optional<Shape3> instruction;  ///< of the tensor-core instruction
  int stages = 1;                     ///< depth of the shared-memory pipeline
  std::string schedule;               ///< "pingpong", "cooperative", ...; empty: none named
  int split = 1;                      ///< parts that K is divided into
  bool operator==(const DesignMetadata&) const = default;
};

/// Everything a filter can test about a kernel. `name` is unique and stable.
struct KernelMetadata {
  std::string name;
  std::string kernel_class;
  std::string provider;
  Operation operation = Operation::gemm;
  int min_cc = 0;               ///< ten times the compute capability; 0 for the host
  std::vector<Target> targets;  ///< what it can be compiled for
  OperandsMetadata operands;
  DesignMetadata design;
  std::string epilogue;  ///< canonical text; empty for out = accumulator

  /// Null when the kernel computes no product.
  const GemmOperandsMetadata* gemm() const { return std::get_if<GemmOperandsMetadata>(&operands); }
  const ElementwiseOperandsMetadata* elementwise() const {
    return std::get_if<ElementwiseOperandsMetadata>(&operands);
  }
};

/// A choice of kernels by their metadata; the default accepts all.
class MetadataFilter {
 public:
  using Predicate = std::function<bool(const KernelMetadata&)>;

  MetadataFilter() = default;
  MetadataFilter(Predicate predicate) : predicate_(std::move(predicate)) {}  // NOLINT: intended

  /// From text: terms `key=value` or `key!=value` separated by blanks, all of which must hold;
  /// a value may list alternatives, `a=bf16,f16`, and end in `*`, `name=sm90*`. Keys: name class
  /// provider operation target min_cc a b out acc layouts op tile cluster instruction stages
  /// schedule split align_a align_b align_out epilogue. Throws Error{value} with the column for an
  /// unknown key, a key or value that is missing, a value that its key cannot have ("a=bf17").
  /// Grammar: docs/kernels_and_filters.md.
  static MetadataFilter parse(std::string_view text);

  bool accepts_all() const { return !predicate_; }
  bool operator()(const KernelMetadata& metadata) const {
    return !predicate_ || predicate_(metadata);
  }

 private:
  Predicate predicate_;
};

}  // namespace estoc
