// Files that appear whole or not at all: commits, failures of every step, signals.
#include "core/atomic_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "estoc/status.hpp"
#include "temp_folder.h"

namespace estoc::core {
namespace {

namespace fs = std::filesystem;
using test::read_text;
using test::TempFolder;
using testing::HasSubstr;

/// Runs `action`, which must throw an Error of that kind whose message has these parts.
void expect_error(ErrorKind kind, const fs::path& path, const std::string& reason,
                  const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "no error for " << path;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    EXPECT_THAT(error.what(), HasSubstr("'" + path.native() + "'"));
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

void write_and_commit(const fs::path& path, std::string_view text,
                      FileAccess access = FileAccess::everybody) {
  AtomicFile file(path, access);
  file.write(text);
  file.commit();
}

unsigned mode_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 0777U;
}

/// Acts as the user `nobody` while it lives, if it may.
class WithoutRoot {
 public:
  WithoutRoot() : was_root_(::geteuid() == 0) {
    if (was_root_ && ::seteuid(65534) != 0) throw std::runtime_error("seteuid failed");
  }
  ~WithoutRoot() {
    if (was_root_ && ::seteuid(0) != 0) ADD_FAILURE() << "still not root";
  }

 private:
  bool was_root_;
};

/// A file system of 64 KiB mounted on a folder, where this process may mount one.
class TinyDisk {
 public:
  explicit TinyDisk(const fs::path& folder)
      : folder_(folder),
        mounted_(::mount("estoc-test", folder_.c_str(), "tmpfs", 0, "size=64k") == 0) {}
  ~TinyDisk() {
    if (mounted_) ::umount2(folder_.c_str(), MNT_DETACH);
  }
  explicit operator bool() const { return mounted_; }

 private:
  fs::path folder_;
  bool mounted_;
};

TEST(AtomicFile, AppearsAtCommitWithAllItsBytes) {
  const TempFolder folder;
  AtomicFile file(folder / "out");
  file.write("one ");
  file.write(std::string_view("two\0", 4));
  EXPECT_FALSE(fs::exists(folder / "out"));
  file.commit();
  EXPECT_EQ(read_text(folder / "out"), std::string("one two\0", 8));
  EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicFile, LeavesNothingWithoutCommit) {
  const TempFolder folder;
  test::write_text(folder / "out", "old");
  {
    AtomicFile file(folder / "out");
    file.write("new");
    EXPECT_EQ(folder.entries(), 2);
  }
  EXPECT_EQ(read_text(folder / "out"), "old");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicFile, ReplacesAnExistingFile) {
  const TempFolder folder;
  test::write_text(folder / "out", "something longer");
  write_and_commit(folder / "out", "new");
  EXPECT_EQ(read_text(folder / "out"), "new");
}

TEST(AtomicFile, MayBeEmpty) {
  const TempFolder folder;
  write_and_commit(folder / "out", "");
  EXPECT_EQ(fs::file_size(folder / "out"), 0U);
}

TEST(AtomicFile, HasTheModeAskedFor) {
  const TempFolder folder;
  const mode_t mask = ::umask(022);
  write_and_commit(folder / "private", "x", FileAccess::owner);
  write_and_commit(folder / "public", "x");
  ::umask(mask);
  EXPECT_EQ(mode_of(folder / "private"), 0600U);
  EXPECT_EQ(mode_of(folder / "public"), 0644U);
}

TEST(AtomicFile, TakesARelativePathAndALongName) {
  const TempFolder folder;
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  write_and_commit("out", "text");
  write_and_commit(std::string(255, 'n'), "text");
  fs::current_path(before);
  EXPECT_EQ(read_text(folder / "out"), "text");
  EXPECT_EQ(folder.entries(), 2);
}

TEST(AtomicFile, FollowsALinkToAFileAndReplacesADanglingOne) {
  const TempFolder folder;
  test::write_text(folder / "real", "old");
  fs::create_symlink("real", folder / "link");
  fs::create_symlink("nowhere", folder / "dangling");
  write_and_commit(folder / "link", "new");
  write_and_commit(folder / "dangling", "here");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_text(folder / "real"), "new");
  EXPECT_FALSE(fs::is_symlink(folder / "dangling"));
  EXPECT_EQ(read_text(folder / "dangling"), "here");
}

TEST(AtomicFile, RefusesAFolderAsTarget) {
  const TempFolder folder;
  expect_error(ErrorKind::io, folder.path(), "it is a folder",
               [&] { const AtomicFile file(folder.path()); });
  const fs::path with_slash = folder.path().native() + "/";
  expect_error(ErrorKind::io, with_slash, "it is a folder",
               [&] { const AtomicFile file(with_slash); });
  EXPECT_EQ(folder.entries(), 0);
}

TEST(AtomicFile, AFolderMadeMeanwhileFailsAtCommit) {
  const TempFolder folder;
  AtomicFile file(folder / "out");
  fs::create_directory(folder / "out");
  expect_error(ErrorKind::io, folder / "out", "directory", [&] { file.commit(); });
}

TEST(AtomicFile, NeverReplacesADevice) {
  expect_error(ErrorKind::io, "/dev/null", "not a regular file",
               [] { const AtomicFile file("/dev/null"); });
}

TEST(AtomicFile, AMissingFolderIsNotFound) {
  const TempFolder folder;
  expect_error(ErrorKind::not_found, folder / "no/out", "No such file",
               [&] { const AtomicFile file(folder / "no/out"); });
}

TEST(AtomicFile, AnUnwritableFolderIsAnError) {
  const TempFolder folder;
  fs::permissions(folder.path(), static_cast<fs::perms>(0555));
  const WithoutRoot nobody;
  expect_error(ErrorKind::io, folder / "out", "Permission denied",
               [&] { const AtomicFile file(folder / "out"); });
}

TEST(AtomicFile, AFullDiskIsAnErrorAndLeavesTheOldFile_NeedsMount) {
  const TempFolder folder;
  fs::create_directory(folder / "disk");
  const TinyDisk disk(folder / "disk");
  if (!disk) GTEST_SKIP() << "this process may not mount a file system";
  const fs::path path = folder / "disk/out";
  write_and_commit(path, "old");
  expect_error(ErrorKind::io, path, "No space left",
               [&] { write_and_commit(path, std::string(1 << 20, 'x')); });
  EXPECT_EQ(read_text(path), "old");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder / "disk"), {}), 1);
}

TEST(AtomicFile, AFileLargerThanAllowedIsAnErrorAndLeavesTheOldFile) {
  const TempFolder folder;
  test::write_text(folder / "out", "old");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{4096, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ErrorKind::io, folder / "out", "File too large",
               [&] { write_and_commit(folder / "out", std::string(10'000, 'x')); });
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_text(folder / "out"), "old");
  EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicFile, ManyThreadsWritingOneFileLeaveOneOfTheContents) {
  const TempFolder folder;
  std::vector<std::thread> threads;
  for (char letter = 'a'; letter < 'e'; ++letter) {
    threads.emplace_back([&folder, letter] {
      for (int i = 0; i < 25; ++i)
        write_and_commit(folder / "out", std::string(9000, letter));
    });
  }
  for (std::thread& thread : threads)
    thread.join();
  const std::string text = read_text(folder / "out");
  ASSERT_EQ(text.size(), 9000U);
  EXPECT_EQ(text.find_first_not_of(text[0]), std::string::npos);
  EXPECT_EQ(folder.entries(), 1);
}

TEST(AtomicFile, MoreFilesThanSlotsCanBeOpen) {
  const TempFolder folder;
  std::vector<std::unique_ptr<AtomicFile>> files;
  files.reserve(100);
  for (int i = 0; i < 100; ++i) {
    files.push_back(std::make_unique<AtomicFile>(folder / std::to_string(i)));
  }
  for (const auto& file : files)
    file->commit();
  EXPECT_EQ(folder.entries(), 100);
}

TEST(AtomicFile, ASignalHandlerCanRemoveTheTemporaries) {
  const TempFolder folder;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::signal(SIGINT, [](int) {
      unlink_pending_files();
      ::_exit(130);
    });
    write_and_commit(folder / "done", "kept");
    AtomicFile one(folder / "one");
    AtomicFile two(folder / "two");
    one.write("half");
    std::raise(SIGINT);
    ::_exit(1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 130);
  EXPECT_EQ(folder.entries(), 1);
  EXPECT_EQ(read_text(folder / "done"), "kept");
}

TEST(AtomicFile, RemovedTemporariesMakeTheCommitFail) {
  const TempFolder folder;
  for (int i = 0; i < 100; ++i) {
    AtomicFile file(folder / "out");
    unlink_pending_files();
    EXPECT_THROW(file.commit(), Error);
  }
  EXPECT_EQ(folder.entries(), 0);
}

}  // namespace
}  // namespace estoc::core
