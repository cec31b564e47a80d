// Owned file descriptors, and which files are opened to be read.
#include "core/posix.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "estoc/status.hpp"
#include "temp_folder.h"

namespace estoc::core {
namespace {

bool is_open(int descriptor) {
  return ::fcntl(descriptor, F_GETFD) != -1;
}

TEST(FileDescriptor, ClosesWhatItOwnsOnce) {
  int number = -1;
  {
    FileDescriptor first = open_file("/dev/null", O_RDONLY);
    ASSERT_TRUE(first);
    number = first.get();
    EXPECT_NE(::fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
    const FileDescriptor second = std::move(first);
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): what is left is what this is about
    EXPECT_EQ(second.get(), number);
  }
  EXPECT_FALSE(is_open(number));
  FileDescriptor none;
  EXPECT_EQ(none.close(), 0);
  FileDescriptor bad(1 << 20);
  EXPECT_EQ(bad.close(), EBADF);
  EXPECT_FALSE(bad);
}

TEST(ThrowFileError, MissingFilesAreNotFound) {
  const auto kind_of = [](int error) {
    try {
      throw_file_error("read", "/a/b", error);
    } catch (const Error& thrown) {
      EXPECT_THAT(thrown.what(), testing::StartsWith("cannot read '/a/b': "));
      return thrown.kind();
    }
  };
  EXPECT_EQ(kind_of(ENOENT), ErrorKind::not_found);
  EXPECT_EQ(kind_of(ENOTDIR), ErrorKind::not_found);
  EXPECT_EQ(kind_of(EACCES), ErrorKind::io);
  EXPECT_EQ(kind_of(ENOSPC), ErrorKind::io);
}

TEST(OpenRegularFile, OpensFilesAndNothingElse) {
  const test::TempFolder folder;
  const auto file = folder.path() / "file";
  {
    const FileDescriptor made = open_file(file, O_WRONLY | O_CREAT, 0600);
    ASSERT_EQ(::write(made.get(), "12345", 5), 5);
  }
  EXPECT_EQ(open_regular_file(file).size, 5);
  const auto error_of = [](const std::filesystem::path& path) {
    try {
      open_regular_file(path);
    } catch (const Error& error) {
      return std::pair(error.kind(), std::string(error.what()));
    }
    return std::pair(ErrorKind::value, std::string("none"));
  };
  EXPECT_EQ(error_of(folder.path() / "missing").first, ErrorKind::not_found);
  const auto [kind, text] = error_of(folder.path());
  EXPECT_EQ(kind, ErrorKind::io);
  EXPECT_THAT(text, testing::EndsWith("it is a folder"));
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of(pipe).second, testing::EndsWith("not a regular file"));
}

}  // namespace
}  // namespace estoc::core
