// The JSON forms of what the library describes.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "estoc/check.hpp"
#include "estoc/kernel.hpp"

namespace estoc::cli {

/// Keeps the order in which members are added.
using Json = nlohmann::ordered_json;

Json to_json(const KernelMetadata& metadata);
Json to_json(const Knobs& knobs);
Json to_json(const CheckResult& check);

/// Indented text that ends in a newline; bytes that are no UTF-8 are replaced.
std::string dump(const Json& json);
/// The same on one line, without the newline.
std::string dump_line(const Json& json);

}  // namespace estoc::cli
