// Reading files into memory, and the refusal of what is not a file.
#include "core/read_file.h"

#include <gtest/gtest.h>

#include "estoc/status.hpp"
#include "temp_folder.h"

namespace estoc::core {
namespace {

TEST(ReadFile, GivesTheContents) {
  const test::TempFolder folder;
  const std::string contents = std::string(10'000, 'x') + std::string("\0end", 4);
  test::write_text(folder / "file", contents);
  test::write_text(folder / "empty", "");
  EXPECT_EQ(read_file(folder / "file"), contents);
  EXPECT_EQ(read_file(folder / "empty"), "");
}

TEST(ReadFile, ReadsFilesThatSayTheyAreEmpty) {
  EXPECT_NE(read_file("/proc/self/status").find("Name:"), std::string::npos);
}

TEST(ReadFile, RefusesWhatIsNoFile) {
  const test::TempFolder folder;
  for (const auto& [path, kind] :
       {std::pair(folder.path(), ErrorKind::io), std::pair(folder / "none", ErrorKind::not_found),
        std::pair(std::filesystem::path("/dev/zero"), ErrorKind::io)}) {
    try {
      (void)read_file(path);
      ADD_FAILURE() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
    }
  }
}

}  // namespace
}  // namespace estoc::core
