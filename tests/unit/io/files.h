// Helpers of the file tests: a folder that vanishes, files made of bytes, errors as values.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "estoc/status.hpp"

namespace estoc::test {

/// A folder of its own for each test.
class FileTest : public ::testing::Test {
 protected:
  FileTest() {
    std::string name = (std::filesystem::temp_directory_path() / "estoc-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    folder_ = name;
  }
  ~FileTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string path(std::string_view name) const { return (folder_ / name).string(); }

  std::string write(std::string_view name, std::string_view bytes) const {
    std::ofstream file(path(name), std::ios::binary);
    file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path(name);
  }

  std::string read(std::string_view name) const {
    std::ifstream file(path(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  /// Names of all files in the folder, to see that nothing was left there.
  std::vector<std::string> listing() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
      names.push_back(entry.path().filename().string());
    return names;
  }

  std::filesystem::path folder_;
};

/// While it lives, root acts as a user without privileges, who owns nothing.
class Unprivileged {
 public:
  Unprivileged() { active_ = ::geteuid() == 0 && ::seteuid(65534) == 0; }
  ~Unprivileged() {
    if (active_) static_cast<void>(!::seteuid(0));
  }
  Unprivileged(const Unprivileged&) = delete;
  Unprivileged& operator=(const Unprivileged&) = delete;

 private:
  bool active_ = false;
};

/// What `action` throws, or nullopt. Anything but an Error passes through.
template <class Action>
std::optional<Error> error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  return std::nullopt;
}

/// `number` in `bytes` little-endian bytes.
inline std::string little_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i)
    text += static_cast<char>(number >> (8 * i) & 0xFF);
  return text;
}

/// A .npy file with that header and data; the length field is true.
inline std::string npy_bytes(std::string_view header, std::string_view data, char major = 1) {
  std::string file("\x93NUMPY", 6);
  file += {major, 0};
  return file + little_endian(header.size(), major == 1 ? 2 : 4) + std::string(header) +
         std::string(data);
}

/// A .safetensors file with that header and data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return little_endian(header.size(), 8) + std::string(header) + std::string(data);
}

}  // namespace estoc::test
