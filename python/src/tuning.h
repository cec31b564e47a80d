// A tuner in the background, as Python holds it.
#pragma once

#include <memory>

#include "binding.h"
#include "estoc/background_tuner.hpp"

namespace estoc::python {

struct PyTuner {
  explicit PyTuner(std::unique_ptr<BackgroundTuner> tuner) : native(std::move(tuner)) {}
  ~PyTuner();
  PyTuner(const PyTuner&) = delete;
  PyTuner& operator=(const PyTuner&) = delete;

  /// Throws Error{value} once it is closed.
  BackgroundTuner& get() const;
  void close();

  std::unique_ptr<BackgroundTuner> native;
};

}  // namespace estoc::python
