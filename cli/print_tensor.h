// Shows the first elements of a tensor.
#pragma once

#include <string>

#include "estoc/tensor.hpp"
#include "output.h"

namespace estoc::cli {

/// A line that names the part shown, then at most four rows of four elements of a tensor on the
/// host: those of its last two modes, at index 0 of the others.
std::string first_elements(const Output& output, const TensorView& tensor);

}  // namespace estoc::cli
