// What of some arguments identifies their record.
#pragma once

#include <optional>
#include <string>

#include "estoc/arguments.hpp"

namespace estoc::records {

/// Problem text without the values of scalars, which may be others each time. Of a product the
/// epilogue stands behind it in canonical form, however it was spelled. nullopt for arguments that
/// problem text cannot describe.
std::optional<std::string> signature_of(const RuntimeArguments& arguments);

}  // namespace estoc::records
