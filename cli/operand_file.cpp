// Opens the files of operands.
#include "operand_file.h"

#include <filesystem>
#include <string_view>

#include "failure.h"

namespace estoc::cli {
namespace {

bool names_a_file(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error) ||
         std::filesystem::exists(path.substr(0, path.rfind(':')), error);
}

/// The form of a path is no help for a file that is there.
std::string hint_for(const std::string& path, std::string_view message) {
  if (message.find("big-endian") != std::string_view::npos)
    return "numpy.save(path, x.astype(x.dtype.newbyteorder('<'))) writes it little-endian";
  return names_a_file(path) ? "" : "an operand is a FILE.npy or FILE.safetensors:TENSOR";
}

}  // namespace

FileTensor open_operand_file(const std::string& path) {
  try {
    return FileTensor::open(path);
  } catch (const Error& error) {
    throw Failure(error.kind() == ErrorKind::memory ? Exit::memory : Exit::file, error.what(),
                  hint_for(path, error.what()));
  }
}

}  // namespace estoc::cli
