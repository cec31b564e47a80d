// New tensors for results, made the shortest way that their framework has.
#pragma once

#include "binding.h"
#include "tensors.h"

namespace estoc::python {

/// Makes tensors like one that a framework made: of the same dtype, shape, strides and device.
class Results {
 public:
  /// Makes none.
  Results() = default;
  /// `like` is a tensor of torch's own type, of NumPy or of CuPy, with its rows contiguous. Where
  /// the framework lacks the functions that this needs, the object makes none.
  explicit Results(const Tensor& like);

  /// A new tensor; null, with no Python error left, where none can be made so.
  nb::object make() const;

 private:
  bool on_current_device() const;

  nb::object function_;
  nb::object shape_;
  nb::object strides_;  ///< null: the function takes none
  nb::object dtype_;
  nb::object current_device_;  ///< null: it need not be asked for
  int device_ = 0;
};

}  // namespace estoc::python
