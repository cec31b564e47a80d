// Judges records, which come from files.
#include "records/valid.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <utility>

#include "records/knobs_json.h"

namespace estoc::records {

std::string problem_of(const TunedKernel& record) {
  const std::array<std::pair<const char*, const std::string*>, 3> texts{
      {{"device", &record.device}, {"signature", &record.signature}, {"kernel", &record.kernel}}};
  for (const auto& [name, text] : texts) {
    if (text->empty()) return fmt::format("{}: expected a text, got none", name);
  }
  if (!std::isfinite(record.seconds) || record.seconds <= 0) {
    return fmt::format("seconds: expected more than 0, got {}", record.seconds);
  }
  return problem_of(record.knobs);
}

}  // namespace estoc::records
