// Mapping of files, and the refusal of what is not a file.
#include "core/mapped_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <functional>
#include <utility>

#include "estoc/status.hpp"
#include "temp_folder.h"

namespace estoc::core {
namespace {

using test::TempFolder;
using testing::HasSubstr;

/// What opening the path throws: its kind, and a message that names the path.
ErrorKind error_of(const std::filesystem::path& path, const std::string& reason) {
  try {
    const MappedFile file(path);
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("'" + path.native() + "'"));
    EXPECT_THAT(error.what(), HasSubstr(reason));
    return error.kind();
  }
  ADD_FAILURE() << path << " was mapped";
  return ErrorKind::value;
}

TEST(MappedFile, ShowsTheContents) {
  const TempFolder folder;
  const std::string contents = std::string(10'000, 'x') + std::string("\0end", 4);
  test::write_text(folder / "file", contents);
  const MappedFile file(folder / "file");
  EXPECT_EQ(file.size(), 10'004);
  EXPECT_EQ(file.text(), contents);
  EXPECT_EQ(file.bytes().size(), contents.size());
}

TEST(MappedFile, AnEmptyFileHasNoBytes) {
  const TempFolder folder;
  test::write_text(folder / "empty", "");
  const MappedFile file(folder / "empty");
  EXPECT_EQ(file.size(), 0);
  EXPECT_TRUE(file.text().empty());
}

TEST(MappedFile, MovesItsMapping) {
  const TempFolder folder;
  test::write_text(folder / "a", "first");
  test::write_text(folder / "b", "second");
  MappedFile a(folder / "a");
  MappedFile b = std::move(a);
  EXPECT_EQ(b.text(), "first");
  b = MappedFile(folder / "b");
  EXPECT_EQ(b.text(), "second");
}

TEST(MappedFile, KeepsTheOldContentsWhenTheFileIsReplaced) {
  const TempFolder folder;
  test::write_text(folder / "file", "old");
  const MappedFile file(folder / "file");
  test::write_text(folder / "new", "new!");
  std::filesystem::rename(folder / "new", folder / "file");
  EXPECT_EQ(file.text(), "old");
}

TEST(MappedFile, FollowsALink) {
  const TempFolder folder;
  test::write_text(folder / "file", "text");
  std::filesystem::create_symlink("file", folder / "link");
  EXPECT_EQ(MappedFile(folder / "link").text(), "text");
}

TEST(MappedFile, AMissingFileIsNotFound) {
  const TempFolder folder;
  EXPECT_EQ(error_of(folder / "none", "No such file"), ErrorKind::not_found);
  test::write_text(folder / "file", "");
  EXPECT_EQ(error_of(folder / "file/below", "Not a directory"), ErrorKind::not_found);
}

TEST(MappedFile, RefusesAFolder) {
  const TempFolder folder;
  EXPECT_EQ(error_of(folder.path(), "it is a folder"), ErrorKind::io);
}

TEST(MappedFile, RefusesADevice) {
  EXPECT_EQ(error_of("/dev/null", "not a regular file"), ErrorKind::io);
}

TEST(MappedFile, RefusesAPipeWithoutWaitingForItsWriter) {
  const TempFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(error_of(folder / "pipe", "not a regular file"), ErrorKind::io);
}

}  // namespace
}  // namespace estoc::core
