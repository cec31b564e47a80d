// Fuzzes problem text: any text parses or is refused with an Error; what parses prints as a text
// that parses to the same problem, and completes or is refused.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "estoc/problem.hpp"
#include "estoc/status.hpp"
#include "expect.h"

namespace {

using estoc::Error;
using estoc::Problem;

std::optional<Problem> parse(std::string_view text) {
  try {
    return Problem::parse(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

void describe(Problem problem) {
  try {
    problem.complete();
    const auto arguments = problem.arguments();
    static_cast<void>(Problem::of(*arguments).to_string());
  } catch (const Error&) {
    // Extents that do not fit each other, outputs that overlap themselves: refused as they should.
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::optional<Problem> problem = parse({reinterpret_cast<const char*>(data), size});
  if (!problem) return 0;
  const std::string text = problem->to_string();
  const std::optional<Problem> again = parse(text);
  estoc::fuzz::expect(again.has_value());
  estoc::fuzz::expect(*again == *problem);
  estoc::fuzz::expect(again->to_string() == text);
  describe(*problem);
  return 0;
}
