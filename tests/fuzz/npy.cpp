// Fuzzes .npy headers: any bytes are refused with an Error{value} or describe data within them.
#include "io/npy.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "estoc/status.hpp"
#include "expect.h"
#include "io/file_format.h"

namespace {

using estoc::fuzz::expect;

void check_header(const estoc::io::NpyHeader& header, std::size_t size) {
  const std::int64_t elements = estoc::io::count_elements(header.shape);
  expect(elements >= 0);
  const auto bytes = static_cast<std::size_t>(estoc::storage_bytes(header.dtype, elements));
  expect(header.data_offset + bytes == size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    check_header(estoc::io::parse_npy(std::as_bytes(std::span(data, size)), "input"), size);
  } catch (const estoc::Error& error) {
    expect(error.kind() == estoc::ErrorKind::value);
  }
  return 0;
}
