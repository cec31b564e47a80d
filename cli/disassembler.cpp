// Runs nvdisasm on the code of an artifact.
#include "disassembler.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "estoc/text_file.hpp"
#include "failure.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX wants it declared

namespace estoc::cli {
namespace {

/// A file with an unpredictable name, removed at the end.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& folder, std::string_view bytes)
      : path_((std::filesystem::path(folder) / ".estoc-XXXXXX.cubin").string()) {
    constexpr int kEnding = 6;
    const int file = ::mkostemps(path_.data(), kEnding, O_CLOEXEC);
    if (file < 0) throw std::system_error(errno, std::generic_category(), "--emit sass: " + folder);
    ::close(file);
    save_text(path_, bytes);
  }
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Output of a program with one argument, and how it ended: -1 where it could not be started.
struct Ended {
  int status = -1;
  std::string output;
};

Ended run_program(const char* program, const std::string& argument) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  std::string name = program;
  std::string path = argument;
  std::array<char*, 3> words{name.data(), path.data(), nullptr};
  pid_t child = -1;
  const int failed = ::posix_spawnp(&child, program, &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Ended ended;
  std::array<char, 65536> buffer{};
  for (ssize_t n = 0; failed == 0 && (n = ::read(ends[0], buffer.data(), buffer.size())) != 0;) {
    if (n < 0 && errno != EINTR) break;
    if (n > 0) ended.output.append(buffer.data(), static_cast<std::size_t>(n));
  }
  ::close(ends[0]);
  if (failed == 0) {
    while (::waitpid(child, &ended.status, 0) < 0 && errno == EINTR) {
    }
  }
  return ended;
}

constexpr std::array kPrograms{"nvdisasm", "/usr/local/cuda/bin/nvdisasm"};

[[noreturn]] void fail_without_disassembler() {
  throw Failure(Exit::not_found, "--emit sass: nvdisasm was not found, or failed",
                "it comes with the CUDA toolkit; put its folder on PATH");
}

}  // namespace

void require_disassembler() {
  for (const char* program : kPrograms) {
    if (run_program(program, "--version").status == 0) return;
  }
  fail_without_disassembler();
}

std::string disassemble(const Artifact& artifact, const std::string& folder) {
  const CompiledCode* code = artifact.code();
  if (code == nullptr || code->format != "cubin") {
    throw Failure(Exit::not_found, "--emit sass: " + artifact.kernel().name() + " has no cubin",
                  "");
  }
  const TemporaryFile cubin(folder.empty() ? "." : folder, code->bytes);
  for (const char* program : kPrograms) {
    Ended ended = run_program(program, cubin.path());
    if (ended.status == 0) return std::move(ended.output);
  }
  fail_without_disassembler();
}

}  // namespace estoc::cli
