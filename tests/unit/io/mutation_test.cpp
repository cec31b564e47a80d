// Property: whatever happens to the bytes of a file, it is refused with an Error or read within
// its bounds; nothing else.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <span>
#include <string>

#include "estoc/tensor.hpp"
#include "files.h"
#include "io/npy.h"
#include "io/safetensors.h"

namespace estoc::test {
namespace {

std::string mutate(std::string bytes) {
  const int changes = *rc::gen::inRange(1, 5);
  for (int i = 0; i < changes && !bytes.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, bytes.size());
    const char value = *rc::gen::oneOf(rc::gen::arbitrary<char>(),
                                       rc::gen::elementOf(std::string("0123456789-,:[]{}()'\" ")));
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        bytes[at] = value;
        break;
      case 1:
        bytes.insert(at, 1, value);
        break;
      case 2:
        bytes.erase(at, *rc::gen::inRange<std::size_t>(1, 9));
        break;
      default:
        bytes.insert(at, bytes.substr(at, *rc::gen::inRange<std::size_t>(1, 40)));
        break;
    }
  }
  return bytes;
}

std::span<const std::byte> as_bytes(const std::string& text) {
  return std::as_bytes(std::span(text));
}

RC_GTEST_PROP(MutatedFile, npy_is_refused_or_within_bounds, ()) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }    \n";
  const char version = *rc::gen::elementOf(std::string{1, 2, 3});
  const std::string bytes = mutate(npy_bytes(header, std::string(24, 'x'), version));
  try {
    const io::NpyHeader read = io::parse_npy(as_bytes(bytes), "x");
    std::int64_t elements = 1;
    for (const std::int64_t extent : read.shape)
      elements *= extent;
    RC_ASSERT(read.shape.size() <= kMaxRank);
    RC_ASSERT(static_cast<std::size_t>(storage_bytes(read.dtype, elements)) + read.data_offset ==
              bytes.size());
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::value);
  }
}

RC_GTEST_PROP(MutatedFile, safetensors_is_refused_or_within_bounds, ()) {
  const std::string header =
      R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
      R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}})";
  const std::string bytes = mutate(safetensors_bytes(header, std::string(22, 'x')));
  try {
    std::size_t total = 0;
    for (const io::SafetensorsEntry& entry : io::parse_safetensors(as_bytes(bytes), "x")) {
      RC_ASSERT(entry.begin <= entry.end);
      RC_ASSERT(entry.end <= bytes.size());
      total += entry.end - entry.begin;
    }
    RC_ASSERT(total <= bytes.size());
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::value);
  }
}

}  // namespace
}  // namespace estoc::test
