// The C++ compiler of the host.
#pragma once

#include <string>

namespace estoc::emulator {

struct HostCompiler {
  std::string program;   ///< as it is to be started
  std::string identity;  ///< "c++-12.2.0-5f0c11d2"
};

/// ESTOC_HOST_COMPILER, else the first of c++, g++ and clang++ that PATH leads to. Throws
/// Error{not_found} when there is none.
HostCompiler host_compiler();

}  // namespace estoc::emulator
