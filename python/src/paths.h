// Paths of files that Python gives.
#pragma once

#include <string>

#include "binding.h"

namespace estoc::python {

/// What a str or an object with a path says. Throws Error{type} for other objects.
std::string path_text(nb::handle path);

}  // namespace estoc::python
