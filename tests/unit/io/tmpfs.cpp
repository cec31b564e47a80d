// Implements the child process with a tiny file system.
#include "tmpfs.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <exception>

namespace estoc::test {
namespace {

constexpr int kCannotMount = 77;

bool mount_tmpfs(const std::string& folder, int kilobytes, bool read_only) {
  if (::unshare(CLONE_NEWNS) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  // Without this the mount would appear outside the namespace too.
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  const std::string options = "size=" + std::to_string(kilobytes) + "k";
  return ::mount("tmpfs", folder.c_str(), "tmpfs", read_only ? MS_RDONLY : 0, options.c_str()) == 0;
}

[[noreturn]] void run_child(const std::string& folder, int kilobytes, bool read_only,
                            const std::function<void(std::string&)>& body) {
  if (!mount_tmpfs(folder, kilobytes, read_only)) ::_exit(kCannotMount);
  std::string wrong;
  try {
    body(wrong);
  } catch (const std::exception& error) {
    wrong = error.what();
  }
  if (!wrong.empty()) std::fprintf(stderr, "%s\n", wrong.c_str());
  ::_exit(wrong.empty() ? 0 : 1);
}

}  // namespace

TmpfsOutcome run_on_tmpfs(const std::string& folder, int kilobytes, bool read_only,
                          const std::function<void(std::string&)>& body) {
  const pid_t child = ::fork();
  if (child == 0) run_child(folder, kilobytes, read_only, body);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return TmpfsOutcome::failed;
  if (!WIFEXITED(status)) return TmpfsOutcome::failed;
  if (WEXITSTATUS(status) == kCannotMount) return TmpfsOutcome::cannot_mount;
  return WEXITSTATUS(status) == 0 ? TmpfsOutcome::passed : TmpfsOutcome::failed;
}

}  // namespace estoc::test
