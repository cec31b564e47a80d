// What the public interface says of a cache that does not work as the environment asks.
#include "estoc/kernel_cache.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "unit/core/temp_folder.h"

namespace estoc {
namespace {

/// kernel_cache_problem() in a process with these variables.
std::string problem_with(const std::string& folder, const char* limit) {
  int ends[2];  // NOLINT: pipe wants an array
  if (::pipe(ends) != 0) return "no pipe";
  const pid_t child = ::fork();
  if (child == 0) {
    ::unsetenv("XDG_CACHE_HOME");
    ::unsetenv("HOME");
    ::setenv("ESTOC_CACHE_DIR", folder.c_str(), 1);
    ::setenv("ESTOC_CACHE_LIMIT", limit, 1);
    const std::string problem = kernel_cache_problem();
    const ssize_t written = ::write(ends[1], problem.data(), problem.size());
    ::_exit(written < 0 ? 1 : 0);
  }
  ::close(ends[1]);
  std::string text(4096, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text.substr(0, got < 0 ? 0 : static_cast<std::size_t>(got));
}

TEST(KernelCache, SaysWhatIsWrongWithItsSettings) {
  const test::TempFolder folder;
  const std::string good = (folder / "cache").string();
  EXPECT_EQ(problem_with(good, ""), "");
  EXPECT_EQ(problem_with(good, "512M"), "");
  EXPECT_EQ(problem_with(good, "abc"),
            "ESTOC_CACHE_LIMIT: expected a size such as 512M or 8G, got 'abc'");
  EXPECT_EQ(problem_with("/proc/none", "").rfind("kernel cache /proc/none: it cannot be made: ", 0),
            0U);
  EXPECT_NE(problem_with("", "").find("neither ESTOC_CACHE_DIR"), std::string::npos);
}

}  // namespace
}  // namespace estoc
