// New tensors for results, made the shortest way that their framework has.
#pragma once

#include <cstdint>
#include <span>

#include "binding.h"
#include "tensors.h"

namespace estoc::python {

/// Makes tensors like one that a framework made: of the same dtype and device, rows contiguous.
class Results {
 public:
  /// Makes none.
  Results() = default;
  /// `like` is a tensor of torch's own type, of NumPy or of CuPy. Where the framework lacks the
  /// functions that this needs, the object makes none.
  explicit Results(const Tensor& like);

  /// A new tensor; null, with no Python error left, where none can be made so.
  nb::object make(std::span<const std::int64_t> shape) const;

 private:
  bool on_current_device() const;

  nb::object function_;
  nb::object dtype_;
  bool takes_strides_ = false;
  nb::object current_device_;  ///< null: it is not looked up
  int device_ = 0;
};

}  // namespace estoc::python
