// Prints results.
#include "bench_print.h"

#include <fmt/format.h>

#include "bench_peaks.h"
#include "table.h"
#include "text.h"

namespace estoc::cli {
namespace {

/// What all rows of a record share.
struct RowFigures {
  Work work;
  double best = 0;              ///< seconds
  std::optional<double> least;  ///< seconds
};

void add_row(Table& table, const KernelRecord& kernel, const RowFigures& scale) {
  if (!kernel.times) {
    const std::string verdict =
        kernel.check.passed ? "ok; " + kernel.failure : "WRONG: " + kernel.check.worst;
    table.add_row({kernel.kernel, "-", "-", "-", "-", "-", "-", verdict});
    return;
  }
  const Times& times = *kernel.times;
  table.add_row({kernel.kernel, format_seconds(times.median),
                 fmt::format("{:.1f}%", times.spread * 100), format_seconds(times.min),
                 format_number(scale.work.rate(times.median)), peak_cell(scale.least, times.median),
                 scale.best > 0 ? fmt::format("{:.2f}", times.median / scale.best) : "-", "ok"});
}

/// A CSV field in quotes, as problem texts hold blanks and may hold commas.
std::string quoted(const std::string& text) {
  std::string field = "\"";
  for (const char c : text)
    field += c == '"' ? "\"\"" : std::string(1, c);
  return field + '"';
}

/// The value of a key of a canonical problem text, in which only the epilogue has quotes.
std::string value_of(const std::string& problem, const std::string& key) {
  const std::string text = ' ' + problem.substr(0, problem.find('"')) + ' ';
  const std::size_t start = text.find(' ' + key + '=');
  if (start == std::string::npos) return "";
  const std::size_t value = start + key.size() + 2;
  return text.substr(value, text.find(' ', value) - value);
}

/// What tables sort by: the problem's parts, and where the figures were taken.
std::string csv_end(const BenchRecord& record) {
  std::string text;
  for (const char* key : {"m", "n", "k", "l", "a", "b", "out", "acc"})
    text += ',' + quoted(value_of(record.problem, key));
  return fmt::format("{},{},{},{},{}\n", text, record.target, quoted(record.surroundings.device),
                     record.sustained ? "sustained" : "burst", record.surroundings.commit);
}

}  // namespace

void print_record(Output& output, const BenchRecord& record) {
  using enum Table::Align;
  const KernelRecord* best = fastest(record, [](const KernelRecord&) { return true; });
  const RowFigures scale{.work = work_of(record),
                         .best = best != nullptr ? best->times->median : 0,
                         .least = least_seconds(record)};
  output.print(labelled_line(output, "problem", record.problem));
  Table table(output, {{"kernel"},
                       {"median", right},
                       {"spread", right},
                       {"best", right},
                       {scale.work.unit, right},
                       {"of peak", right},
                       {"to best", right},
                       {"check"}});
  for (const KernelRecord& kernel : record.kernels)
    add_row(table, kernel, scale);
  output.print(table.take());
  if (record.noise) {
    output.print(labelled_line(
        output, "noise",
        fmt::format("{:.1f}% between two timings of one kernel", *record.noise * 100)));
  }
  if (record.gpu.watts > 0) {
    output.print(
        labelled_line(output, "GPU",
                      fmt::format("{:.0f} MHz, {:.0f} W, {:.0f} degrees Celsius",
                                  record.gpu.sm_clock_mhz, record.gpu.watts, record.gpu.celsius)));
  }
}

std::string csv_text(std::span<const BenchRecord> records) {
  std::string text =
      "problem,kernel,median_seconds,min_seconds,max_seconds,spread,rate,unit,error,bound,passed,"
      "m,n,k,l,a,b,out,acc,target,device,mode,commit\n";
  for (const BenchRecord& record : records) {
    const Work work = work_of(record);
    for (const KernelRecord& kernel : record.kernels) {
      const Times times = kernel.times.value_or(Times{});
      text += fmt::format("{},{},{},{},{},{},{},{},{},{},{}", quoted(record.problem), kernel.kernel,
                          times.median, times.min, times.max, times.spread, work.rate(times.median),
                          work.unit, kernel.check.error, kernel.check.bound, kernel.check.passed) +
              csv_end(record);
    }
  }
  return text;
}

}  // namespace estoc::cli
