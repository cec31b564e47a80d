// Runs code in a child process that has a tiny file system of its own.
#pragma once

#include <functional>
#include <string>

namespace estoc::test {

/// How run_on_tmpfs ended.
enum class TmpfsOutcome { passed, failed, cannot_mount };

/// Mounts a tmpfs of `kilobytes` on `folder`, in a mount namespace that only a child process sees,
/// and calls `body` there, which writes what is wrong to its argument. `read_only` mounts it so
/// after the mount. Needs root or unprivileged user namespaces.
TmpfsOutcome run_on_tmpfs(const std::string& folder, int kilobytes, bool read_only,
                          const std::function<void(std::string&)>& body);

}  // namespace estoc::test
