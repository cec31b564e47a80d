// Text files that appear whole or not at all.
#pragma once

#include <string>
#include <string_view>

namespace estoc {

/// Writes `text` to the file at `path`: to a temporary in the same folder, then renamed. On any
/// failure nothing is left and the path keeps what it held. Throws Error{io | not_found}.
void save_text(const std::string& path, std::string_view text);

}  // namespace estoc
