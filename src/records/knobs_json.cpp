// Writes and reads knobs as JSON.
#include "records/knobs_json.h"

#include <fmt/format.h>

#include "estoc/status.hpp"
#include "estoc/tuned.hpp"

namespace estoc {
namespace records {
namespace {

using Json = nlohmann::ordered_json;

/// Knobs that were written before there was this one do not have it.
template <class Number>
Number whole_knob(const Json& json, const char* name, std::optional<Number> missing = {}) {
  if (missing && !json.contains(name)) return *missing;
  if (const auto value = as_integer<Number>(json.at(name))) return *value;
  throw Error(ErrorKind::value, fmt::format("knobs: expected a whole number as {}", name));
}

}  // namespace

Json parse_json(std::string_view text) {
  constexpr int kMaxDepth = 6;
  return Json::parse(text, [](int depth, Json::parse_event_t /*event*/, Json& /*value*/) {
    if (depth <= kMaxDepth) return true;
    throw Error(ErrorKind::value, "tuned kernels: expected records, got text that nests deeper");
  });
}

Json to_json(const Knobs& knobs) {
  return {{"raster", knobs.raster == Knobs::Raster::along_m ? "m" : "n"},
          {"swizzle", knobs.swizzle},
          {"split", knobs.split},
          {"split_tiles", knobs.split_tiles},
          {"zigzag", knobs.zigzag}};
}

Knobs knobs_of(const Json& json) {
  const auto raster = json.at("raster").get<std::string>();
  if (raster != "m" && raster != "n") {
    throw Error(ErrorKind::value, "knobs: expected a raster of m or n, got '" + raster + "'");
  }
  const Knobs knobs{.raster = raster == "m" ? Knobs::Raster::along_m : Knobs::Raster::along_n,
                    .swizzle = whole_knob<std::int16_t>(json, "swizzle"),
                    .split = whole_knob<std::int16_t>(json, "split"),
                    .split_tiles = whole_knob<std::int32_t>(json, "split_tiles", 0),
                    .zigzag = json.value("zigzag", false)};
  if (const std::string problem = problem_of(knobs); !problem.empty()) {
    throw Error(ErrorKind::value, problem);
  }
  return knobs;
}

std::string problem_of(const Knobs& knobs) {
  if (knobs.swizzle < 1 || knobs.split < 1) {
    return fmt::format("knobs: expected swizzle and split of at least 1, got {} and {}",
                       knobs.swizzle, knobs.split);
  }
  if (knobs.split_tiles < 0) {
    return fmt::format("knobs: expected split_tiles of at least 0, got {}", knobs.split_tiles);
  }
  return {};
}

}  // namespace records

std::string knobs_text(const Knobs& knobs) {
  return records::to_json(knobs).dump();
}

Knobs parse_knobs(std::string_view text) {
  try {
    return records::knobs_of(records::parse_json(text));
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::value, fmt::format("knobs: {}", error.what()));
  }
}

}  // namespace estoc
