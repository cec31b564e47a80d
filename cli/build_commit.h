// The commit that was built; defined in a source that cmake/write_commit.cmake makes.
#pragma once

namespace estoc::cli {

/// Abbreviated; "-dirty" follows when files had been changed. Empty when it is not known.
const char* build_commit();

}  // namespace estoc::cli
