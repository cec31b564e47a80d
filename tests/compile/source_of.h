// The one place where this test reaches into the cuda provider: the text of a kernel.
#pragma once

#include <string>

#include "estoc/kernel.hpp"

namespace estoc::compile_test {

/// The CUDA C++ that is compiled for a kernel of the cuda provider.
std::string source_of(const Kernel& kernel);

}  // namespace estoc::compile_test
