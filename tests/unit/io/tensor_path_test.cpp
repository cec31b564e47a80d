// Tests of what a path to a tensor may be, and of operands that are no regular files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "estoc/numeric.hpp"
#include "estoc/tensor_file.hpp"
#include "files.h"

namespace estoc::test {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kNpy = "{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}";
constexpr std::string_view kOneTensor = R"({"x":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})";

class Open : public FileTest {
 protected:
  static Error failure(const std::string& path) {
    const auto error = error_of([&] { FileTensor::open(path); });
    return error ? *error : Error(ErrorKind::value, "accepted " + path);
  }
};

TEST_F(Open, a_path_without_a_known_suffix_is_refused) {
  for (const std::string path : {"", "x", "x.bin", "x.NPY", "x.npy:w", "x.safetensors2", "npy"}) {
    const Error error = failure(path);
    EXPECT_EQ(error.kind(), ErrorKind::value);
    EXPECT_THAT(error.what(), HasSubstr("expected FILE.npy or FILE.safetensors:TENSOR")) << path;
  }
  EXPECT_THAT(failure("x.safetensors:").what(), HasSubstr("expected a tensor's name after ':'"));
}

TEST_F(Open, colons_elsewhere_belong_to_the_name) {
  const std::string npy = write("a:b.npy", npy_bytes(kNpy, "\1\2"));
  EXPECT_EQ(FileTensor::open(npy).view().elements(), 2);
  const std::string one = write("a:b.safetensors", safetensors_bytes(kOneTensor, "\1\2"));
  EXPECT_EQ(FileTensor::open(one).view().elements(), 2);
  EXPECT_EQ(FileTensor::open(one + ":x").view().elements(), 2);
}

TEST_F(Open, the_first_suffix_with_a_colon_ends_the_name_of_the_file) {
  const std::string file =
      write("m.safetensors",
            safetensors_bytes(
                R"({"a.safetensors:b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", "\1\2"));
  EXPECT_EQ(FileTensor::open(file + ":a.safetensors:b").view().elements(), 2);
}

TEST_F(Open, a_missing_file_is_not_found) {
  for (const std::string name : {"x.npy", "x.safetensors", "x.safetensors:w", "no/x.npy"}) {
    const Error error = failure(path(name));
    EXPECT_EQ(error.kind(), ErrorKind::not_found) << name;
    EXPECT_THAT(error.what(), HasSubstr(path("")));
  }
}

TEST_F(Open, a_folder_is_refused) {
  std::filesystem::create_directory(path("d.npy"));
  std::filesystem::create_directory(path("d.safetensors"));
  for (const std::string name : {"d.npy", "d.safetensors", "d.safetensors:w"}) {
    const Error error = failure(path(name));
    EXPECT_EQ(error.kind(), ErrorKind::io) << name;
    EXPECT_THAT(error.what(), HasSubstr("it is a folder"));
  }
}

TEST_F(Open, devices_pipes_and_sockets_are_refused_without_waiting) {
  std::filesystem::create_symlink("/dev/zero", path("zero.npy"));
  std::filesystem::create_symlink("/dev/null", path("null.safetensors"));
  ASSERT_EQ(::mkfifo(path("pipe.npy").c_str(), 0600), 0);
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path("socket.npy").c_str(), sizeof address.sun_path - 1);
  ASSERT_EQ(::bind(server, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  for (const std::string name : {"zero.npy", "null.safetensors", "pipe.npy", "socket.npy"}) {
    const Error error = failure(path(name));
    EXPECT_EQ(error.kind(), ErrorKind::io) << name;
    EXPECT_THAT(error.what(), HasSubstr("not a regular file"));
  }
  ::close(server);
}

TEST_F(Open, a_link_that_goes_nowhere_or_round_is_an_error) {
  std::filesystem::create_symlink(path("nothing"), path("broken.npy"));
  std::filesystem::create_symlink(path("round.npy"), path("round.npy"));
  EXPECT_EQ(failure(path("broken.npy")).kind(), ErrorKind::not_found);
  EXPECT_EQ(failure(path("round.npy")).kind(), ErrorKind::io);
}

TEST_F(Open, an_unreadable_file_is_refused) {
  const std::string name = write("x.npy", npy_bytes(kNpy, "\1\2"));
  ASSERT_EQ(::chmod(name.c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  const Unprivileged nobody;
  const Error error = failure(name);
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_THAT(error.what(), HasSubstr(name));
}

TEST_F(Open, nan_and_infinity_come_through_unchanged) {
  const std::string payload("\x01\x00\xC0\x7F\x00\x00\x80\xFF", 8);  // a NaN with payload, -inf
  const auto tensor = FileTensor::open(write(
      "x.npy", npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", payload)));
  EXPECT_EQ(std::memcmp(tensor.view().data(), payload.data(), 8), 0);
}

TEST_F(Open, the_example_data_of_the_repository_opens) {
  const std::string folder = ESTOC_SOURCE_DIR "/examples/data/";
  const FileTensor images = FileTensor::open(folder + "digits_images.npy");
  EXPECT_EQ(images.view().dtype(), Dtype::f16);
  EXPECT_EQ(images.view().rank(), 2);
  const std::string file = folder + "digits_classifier.safetensors";
  for (const std::string& name : safetensors_names(file)) {
    const auto weights = FileTensor::open(fmt::format("{}:{}", file, name));
    EXPECT_EQ(weights.view().dtype(), Dtype::bf16);
  }
}

}  // namespace
}  // namespace estoc::test
