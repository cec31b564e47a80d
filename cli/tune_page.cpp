// Puts searches on a page: a summary, then each with its candidates.
#include "tune_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "bars.h"
#include "page.h"
#include "text.h"
#include "tune_print.h"

namespace estoc::cli {
namespace {

using TuneRow = std::vector<std::string>;

constexpr std::size_t kMaxBars = 12;

/// "NVIDIA H200, driver 13.0, Estoc 0.1.0"
std::string searched_where(const TunedKernel& record) {
  const std::string driver = record.driver.empty() ? "" : ", driver " + record.driver;
  return record.device + driver + ", Estoc " + record.library;
}

std::string part_of(double fastest, double seconds) {
  return seconds > 0 ? fmt::format("{:.2f}", fastest / seconds) : "-";
}

TuneRow summary_row(const TuneResult& result) {
  const TunedKernel& record = result.record;
  return {printable(record.problem),      printable(record.kernel),
          format_seconds(record.seconds), time_cell(record.predicted_seconds.value_or(0)),
          printable(record.runner_up),    part_of(record.seconds, record.runner_up_seconds)};
}

std::string speed_bars(const TuneResult& result) {
  const double fastest = result.candidates.front().seconds;
  std::vector<Bar> bars;
  for (const TuneCandidate& each : result.candidates) {
    if (each.seconds <= 0 || bars.size() == kMaxBars) break;
    bars.push_back({each.kernel, fastest / each.seconds, format_seconds(each.seconds)});
  }
  return bar_chart("speed of the fastest candidates, and their times", bars);
}

std::vector<TuneRow> candidate_rows(const TuneResult& result) {
  const double fastest = result.candidates.front().seconds;
  std::vector<TuneRow> rows;
  for (const TuneCandidate& each : result.candidates) {
    rows.push_back({time_cell(each.seconds), part_of(fastest, each.seconds),
                    std::to_string(each.rounds), each.kernel, each.provider, knobs_line(each.knobs),
                    printable(each.problem)});
  }
  return rows;
}

}  // namespace

std::string tune_page(std::span<const TuneResult> results) {
  Page page("Estoc: the fastest kernels, measured");
  std::set<std::string> places;
  std::vector<TuneRow> summary;
  for (const TuneResult& result : results) {
    places.insert(printable(searched_where(result.record)));
    summary.push_back(summary_row(result));
  }
  for (const std::string& place : places)
    page.paragraph(place);
  page.heading("What was found");
  page.paragraph("The runner-up's speed is a part of the kernel's.");
  page.table({{"problem"},
              {"kernel"},
              {"tuned", true},
              {"predicted", true},
              {"runner-up"},
              {"its speed", true}},
             summary);
  for (const TuneResult& result : results) {
    page.heading(result.record.problem);
    page.paragraph(result.record.kernel + ": " + search_evidence(result) + ".");
    if (result.candidates.empty()) continue;
    page.picture(speed_bars(result));
    page.table({{"time", true},
                {"speed", true},
                {"slices", true},
                {"kernel"},
                {"provider"},
                {"knobs"},
                {"why it is out"}},
               candidate_rows(result));
  }
  return page.take();
}

}  // namespace estoc::cli
