// Prints records and searches.
#include "tune_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "table.h"
#include "text.h"

namespace estoc::cli {
namespace {

constexpr std::size_t kShown = 5;

}  // namespace

std::string knobs_line(const Knobs& knobs) {
  const std::string tiles =
      knobs.split_tiles > 0 ? fmt::format(" split_tiles={}", knobs.split_tiles) : "";
  return fmt::format("raster={} swizzle={} split={}{}{}",
                     knobs.raster == Knobs::Raster::along_m ? "m" : "n", knobs.swizzle, knobs.split,
                     tiles, knobs.zigzag ? " zigzag" : "");
}

std::string time_cell(double seconds) {
  return seconds > 0 ? format_seconds(seconds) : "-";
}

std::string search_evidence(const TuneResult& result) {
  const TunedKernel& record = result.record;
  if (result.was_known) return "recorded before; --force searches again";
  return fmt::format("{} in {}, noise {:.1f} %{}",
                     counted(static_cast<std::size_t>(record.candidates), "candidate"),
                     format_seconds(result.seconds), 100 * record.noise,
                     result.kept_first ? "; the kernel that was first before stays" : "");
}

Json to_json(const TunedKernel& record) {
  const auto& predicted = record.predicted_seconds;
  return {{"problem", record.problem},
          {"kernel", record.kernel},
          {"knobs", to_json(record.knobs)},
          {"seconds", record.seconds},
          {"predicted_seconds", predicted ? Json(*predicted) : Json(nullptr)},
          {"runner_up", record.runner_up},
          {"runner_up_seconds", record.runner_up_seconds},
          {"noise", record.noise},
          {"candidates", record.candidates},
          {"rounds", record.rounds},
          {"time", record.time},
          {"device", record.device},
          {"cc", record.cc},
          {"driver", record.driver},
          {"library", record.library}};
}

Json to_json(const TuneResult& result) {
  Json candidates = Json::array();
  for (const TuneCandidate& each : result.candidates) {
    candidates.push_back({{"kernel", each.kernel},
                          {"provider", each.provider},
                          {"knobs", to_json(each.knobs)},
                          {"seconds", each.seconds > 0 ? Json(each.seconds) : Json(nullptr)},
                          {"rounds", each.rounds},
                          {"problem", each.problem}});
  }
  return {{"record", to_json(result.record)},
          {"was_known", result.was_known},
          {"kept_first", result.kept_first},
          {"search_seconds", result.seconds},
          {"candidates", std::move(candidates)}};
}

void print_records(Output& output, const std::vector<TunedKernel>& records) {
  using enum Table::Align;
  if (!records.empty()) {
    Table table(output,
                {{"tuned", right}, {"predicted", right}, {"kernel"}, {"problem"}, {"device"}});
    for (const TunedKernel& record : records) {
      table.add_row({format_seconds(record.seconds),
                     time_cell(record.predicted_seconds.value_or(0)), printable(record.kernel),
                     printable(record.problem), printable(record.device)});
    }
    output.print(table.take());
  }
  output.print(counted(records.size(), "record") + " in " + tuned_path() + "\n");
}

void print_search(Output& output, const TuneResult& result) {
  const TunedKernel& record = result.record;
  output.print(labelled_line(output, "problem", record.problem));
  output.print(labelled_line(output, "kernel", record.kernel));
  output.print(labelled_line(output, "tuned", format_seconds(record.seconds)));
  output.print(labelled_line(output, "search", search_evidence(result)));
  if (result.candidates.size() < 2) return;
  using enum Table::Align;
  Table table(output, {{"time", right}, {"slices", right}, {"kernel"}, {"provider"}, {"knobs"}});
  const std::size_t rows = std::min(kShown, result.candidates.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const TuneCandidate& each = result.candidates[i];
    table.add_row({time_cell(each.seconds), std::to_string(each.rounds), each.kernel, each.provider,
                   each.problem.empty() ? knobs_line(each.knobs) : printable(each.problem)});
  }
  output.print(table.take());
}

}  // namespace estoc::cli
