// The C functions that twins and plain CUDA code call. Of <cmath>, which takes longer to compile
// than a kernel, nothing.
#pragma once
#pragma GCC system_header

// NOLINTBEGIN: in libstdc++ these are <cmath> and <cstdlib> otherwise
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#include <stdlib.h>
#include <string.h>
#undef _GLIBCXX_INCLUDE_NEXT_C_HEADERS
// NOLINTEND
