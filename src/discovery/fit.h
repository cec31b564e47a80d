// Whether the values of a design space fit some arguments, and what to say when they do not.
#pragma once

#include <optional>
#include <vector>

#include "discovery/class_info.h"
#include "model/same_dimensions.h"

namespace estoc::discovery {

/// True when a kernel with this value in the requirement's dimension fits the signature.
bool fits(const Requirement& requirement, const DesignValue& value, const Signature& signature);

/// The values that fit the signature, dimension by dimension; the requirement `except`, one of the
/// class's, is not compared. nullopt when a dimension has no such value.
std::optional<Selection> select(const ClassInfo& info, const Signature& signature,
                                const Requirement* except = nullptr);

/// Takes layouts from the selection with which no alignment that it allows holds; false when none
/// is left.
bool drop_misaligned(const ClassInfo& info, const Signature& signature, Selection& selection);

/// Whether there can be misaligned() kernels in the selection.
bool has_misaligned(const ClassInfo& info, const Signature& signature, const Selection& selection);

/// The alignment that the point requires and that holds for the operand as another layout alone;
/// null when there is none. It takes two dimensions to see, so that selections tell it in part
/// alone.
const Requirement* misaligned(const ClassInfo& info, const DesignPoint& point,
                              const Signature& signature);

/// Tells the misaligned() kernels of a class from the others, for many of them, quickly where one
/// is like the one before it.
class AlignedKernels {
 public:
  AlignedKernels(const ClassInfo& info, const Signature& signature);
  bool contains(const DesignPoint& point) {
    if (!same_(point)) holds_ = looks_aligned(point);
    return holds_;
  }

 private:
  bool looks_aligned(const DesignPoint& point) const;
  struct Bound {
    std::size_t dimension;
    const DesignValue* values;  ///< of the dimension
    std::vector<int> most;      ///< bytes, by the number of the layouts
  };
  std::size_t layouts_;
  std::vector<Bound> bounds_;
  model::SameInDimensions same_;
  bool holds_ = true;
};

/// What misaligned() finds, in words.
Status check_alignments(const ClassInfo& info, const DesignPoint& point,
                        const Signature& signature);

/// What no design space describes: scales of blocks, which few classes take.
Status check_extras(const ClassInfo& info, const Signature& signature);

/// Compares one kernel with the arguments. On success it allocates nothing.
Status check_point(const ClassInfo& info, const DesignPoint& point,
                   const RuntimeArguments& arguments, const Signature& signature);

/// Fails unless the class can be compiled for `target`.
Status check_target(const ClassInfo& info, Target target);

/// Fails for a class that needs a device of `target` on a machine that has none.
Status check_presence(const KernelClass& kernel_class, Target target);

/// Why no kernel of the class has fitting values: all mismatches, joined by "; ". Success when some
/// kernel has. Counts in the design space, so it is not for hot paths.
Status check_class(const ClassInfo& info, const RuntimeArguments& arguments,
                   const Signature& signature);

}  // namespace estoc::discovery
