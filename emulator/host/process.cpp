// Runs a program and keeps what it says.
#include "process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/posix.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace estoc::emulator {
namespace {

/// What a new process is to do first.
class Actions {
 public:
  Actions() { ::posix_spawn_file_actions_init(&actions_); }
  ~Actions() { ::posix_spawn_file_actions_destroy(&actions_); }
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;
  posix_spawn_file_actions_t* get() { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::string read_all(int file) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t bytes = ::read(file, buffer.data(), buffer.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(bytes));
  }
}

}  // namespace

Ended run_program(std::vector<std::string> words, const std::filesystem::path& folder) {
  Ended ended;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return ended;
  const core::FileDescriptor out(ends[0]);
  core::FileDescriptor in(ends[1]);
  Actions actions;
  ::posix_spawn_file_actions_addopen(actions.get(), STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(actions.get(), ends[1], STDERR_FILENO);
  ::posix_spawn_file_actions_addchdir_np(actions.get(), folder.c_str());
  std::vector<char*> pointers;
  for (std::string& word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t child = -1;
  if (::posix_spawnp(&child, pointers[0], actions.get(), nullptr, pointers.data(), environ) != 0) {
    return ended;
  }
  in.close();
  ended.started = true;
  ended.output = read_all(out.get());
  int status = -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  ended.succeeded = status == 0;
  return ended;
}

}  // namespace estoc::emulator
