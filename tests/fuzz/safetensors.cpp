// Fuzzes .safetensors headers: any bytes are refused with an Error{value} or name tensors that
// divide the bytes after the header among them.
#include "io/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "estoc/status.hpp"
#include "expect.h"
#include "io/file_format.h"

namespace {

using estoc::fuzz::expect;
using estoc::io::SafetensorsEntry;

void check_entry(const SafetensorsEntry& entry, std::size_t size) {
  expect(entry.begin >= 8);
  expect(entry.begin <= entry.end);
  expect(entry.end <= size);
  const auto dtype = estoc::io::parse_safetensors_dtype(entry.dtype);
  if (!dtype) return;
  const std::int64_t elements = estoc::io::count_elements(entry.shape);
  expect(elements >= 0);
  expect(static_cast<std::size_t>(estoc::storage_bytes(*dtype, elements)) ==
         entry.end - entry.begin);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    std::size_t total = 0;
    const auto entries =
        estoc::io::parse_safetensors(std::as_bytes(std::span(data, size)), "input");
    for (const SafetensorsEntry& entry : entries) {
      check_entry(entry, size);
      total += entry.end - entry.begin;
    }
    expect(total <= size);
  } catch (const estoc::Error& error) {
    expect(error.kind() == estoc::ErrorKind::value);
  }
  return 0;
}
