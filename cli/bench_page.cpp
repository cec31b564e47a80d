// Puts the charts of results and their figures on a page.
#include "bench_page.h"

#include <fmt/format.h>

#include <set>
#include <vector>

#include "bench_charts.h"
#include "bench_peaks.h"
#include "page.h"
#include "text.h"

namespace estoc::cli {
namespace {

using PageRow = std::vector<std::string>;

const std::vector<Page::Column> kPageColumns{{"problem"},       {"kernel"},       {"provider"},
                                             {"median", true},  {"spread", true}, {"rate", true},
                                             {"of peak", true}, {"speed", true},  {"check"}};

std::string check_verdict(const KernelRecord& kernel) {
  if (!kernel.check.passed) return "wrong: " + printable(kernel.check.worst);
  return kernel.times ? "right" : "right; not timed: " + printable(kernel.failure);
}

PageRow page_row(const BenchRecord& record, const KernelRecord& kernel,
                 const Comparison& comparison) {
  PageRow row{record.problem,       kernel.kernel, kernel.provider, "-", "-", "-", "-", "-",
              check_verdict(kernel)};
  if (!kernel.times) return row;
  const Work work = work_of(record);
  row[3] = format_seconds(kernel.times->median);
  row[4] = fmt::format("{:.1f} %", 100 * kernel.times->spread);
  row[5] = format_number(work.rate(kernel.times->median)) + " " + work.unit;
  row[6] = peak_cell(least_seconds(record), kernel.times->median);
  if (comparison.baseline != nullptr && kernel.times->median > 0) {
    row[7] = fmt::format("{:.2f}", comparison.baseline->times->median / kernel.times->median);
  }
  return row;
}

/// "NVIDIA H200, driver 13.0, Estoc 0.1.0, burst, 2026-11-21T14:47:35Z"
std::string taken_where(const BenchRecord& record) {
  const Surroundings& there = record.surroundings;
  std::string text = there.device.empty() ? record.target : there.device;
  if (!there.driver.empty()) text += ", driver " + there.driver;
  if (!there.cublaslt.empty()) text += ", cuBLASLt " + there.cublaslt;
  if (!there.version.empty()) text += ", Estoc " + there.version;
  text += record.sustained ? ", sustained" : ", burst";
  return there.date.empty() ? text : text + ", " + there.date.substr(0, there.date.find('T'));
}

}  // namespace

std::string bench_page(std::span<const BenchRecord> records, const std::string& against) {
  Page page("Estoc: kernels against each other");
  std::set<std::string> places;
  std::vector<PageRow> rows;
  for (const BenchRecord& record : records) {
    places.insert(taken_where(record));
    const Comparison comparison = compare(record, against);
    for (const KernelRecord& kernel : record.kernels)
      rows.push_back(page_row(record, kernel, comparison));
  }
  for (const std::string& place : places)
    page.paragraph(place);
  page.heading("Speed");
  page.picture(ratio_chart(records, against));
  page.heading("Operations a second over operations a byte");
  page.picture(roofline_chart(records, against));
  page.heading("Every kernel");
  page.paragraph("Speed is a multiple of the baseline's, which is " +
                 (against.empty() ? "the kernel ranked first" : "the fastest of " + against) +
                 ". Of peak is the time that the GPU's units take at least, as a part of the median"
                 ". Spread is the distance between the quartiles, as a part of the median.");
  page.table(kPageColumns, rows);
  return page.take();
}

}  // namespace estoc::cli
