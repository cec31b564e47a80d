// Writes and reads tuned kernels as JSON.
#include "records/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "estoc/status.hpp"
#include "records/knobs_json.h"
#include "records/valid.h"

namespace estoc::records {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFileSchema = 1;

Json json_of(const TunedKernel& record) {
  const auto& predicted = record.predicted_seconds;
  return {{"device", record.device},
          {"cc", record.cc},
          {"driver", record.driver},
          {"library", record.library},
          {"signature", record.signature},
          {"problem", record.problem},
          {"kernel", record.kernel},
          {"knobs", to_json(record.knobs)},
          {"seconds", record.seconds},
          {"predicted_seconds", predicted ? Json(*predicted) : Json(nullptr)},
          {"runner_up", record.runner_up},
          {"runner_up_seconds", record.runner_up_seconds},
          {"noise", record.noise},
          {"candidates", record.candidates},
          {"rounds", record.rounds},
          {"time", record.time}};
}

[[noreturn]] void fail(const std::string& message) {
  throw Error(ErrorKind::value, "tuned kernels: " + message);
}

template <class Number>
Number integer(const Json& json, const char* name) {
  if (const auto value = as_integer<Number>(json.at(name))) return *value;
  fail(fmt::format("expected a whole number that fits as {}", name));
}

double real(const Json& json, const char* name) {
  const Json& value = json.at(name);
  if (!value.is_number()) fail(fmt::format("expected a number as {}", name));
  return value.get<double>();
}

TunedKernel record_of(const Json& json) {
  TunedKernel record;
  for (const auto& [name, text] : {std::pair("device", &TunedKernel::device),
                                   {"driver", &TunedKernel::driver},
                                   {"library", &TunedKernel::library},
                                   {"signature", &TunedKernel::signature},
                                   {"problem", &TunedKernel::problem},
                                   {"kernel", &TunedKernel::kernel},
                                   {"runner_up", &TunedKernel::runner_up}})
    record.*text = json.at(name).get<std::string>();
  record.cc = integer<int>(json, "cc");
  record.knobs = knobs_of(json.at("knobs"));
  record.seconds = real(json, "seconds");
  if (!json.at("predicted_seconds").is_null()) {
    record.predicted_seconds = real(json, "predicted_seconds");
  }
  record.runner_up_seconds = real(json, "runner_up_seconds");
  record.noise = real(json, "noise");
  record.candidates = integer<int>(json, "candidates");
  record.rounds = integer<int>(json, "rounds");
  record.time = integer<std::int64_t>(json, "time");
  if (const std::string problem = problem_of(record); !problem.empty()) fail(problem);
  return record;
}

Json parse_file(std::string_view text) {
  Json json = parse_json(text);
  const auto schema = integer<int>(json, "schema");
  if (schema != kFileSchema) fail(fmt::format("expected schema {}, got {}", kFileSchema, schema));
  if (!json.at("tuned").is_array()) fail("expected a list as tuned");
  return json;
}

}  // namespace

std::string to_json(const std::vector<TunedKernel>& records) {
  Json json{{"schema", kFileSchema}, {"tuned", Json::array()}};
  for (const TunedKernel& record : records)
    json["tuned"].push_back(json_of(record));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + '\n';
}

std::vector<TunedKernel> from_json(std::string_view text) {
  std::vector<TunedKernel> records;
  std::size_t number = 0;
  try {
    const Json json = parse_file(text);
    for (const Json& each : json.at("tuned")) {
      ++number;
      records.push_back(record_of(each));
    }
  } catch (const Json::exception& error) {
    fail(number == 0 ? std::string(error.what())
                     : fmt::format("record {}: {}", number, error.what()));
  } catch (const Error& error) {
    if (number == 0) throw;
    throw Error(ErrorKind::value, fmt::format("record {}: {}", number, error.what()));
  }
  return records;
}

}  // namespace estoc::records
