// Writes text files by way of AtomicFile.
#include "estoc/text_file.hpp"

#include "core/atomic_file.h"

namespace estoc {

void save_text(const std::string& path, std::string_view text) {
  core::AtomicFile file(path);
  file.write(text);
  file.commit();
}

}  // namespace estoc
