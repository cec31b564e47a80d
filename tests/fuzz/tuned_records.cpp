// Fuzzes files of tuned kernels: any text is read or refused with an Error{value}; what is read is
// the same when it is written and read again.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "estoc/status.hpp"
#include "expect.h"
#include "records/json.h"

namespace {

using estoc::TunedKernel;
using estoc::fuzz::expect;

std::optional<std::vector<TunedKernel>> read(std::string_view text) {
  try {
    return estoc::records::from_json(text);
  } catch (const estoc::Error& error) {
    expect(error.kind() == estoc::ErrorKind::value);
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto records = read({reinterpret_cast<const char*>(data), size});
  if (records) expect(read(estoc::records::to_json(*records)) == records);
  return 0;
}
