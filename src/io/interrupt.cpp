// The public name of the removal of half-written files.
#include "estoc/interrupt.hpp"

#include "core/atomic_file.h"

namespace estoc {

void discard_partial_files() noexcept {
  core::unlink_pending_files();
}

}  // namespace estoc
