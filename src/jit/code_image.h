// What compiled code is by its bytes, and whether it is whole: the driver is not told its size.
#pragma once

#include <string>
#include <string_view>

namespace estoc::jit {

/// "cubin", "fatbin", or "ptx" for anything else.
std::string_view code_format(std::string_view code);

/// Why the driver must not see the code: headers, sections or text that pass its end, or code of
/// another machine. One clause; empty when none of it does.
std::string code_problem(std::string_view code);

}  // namespace estoc::jit
