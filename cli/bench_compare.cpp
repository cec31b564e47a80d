// Compares two result files.
#include "bench_compare.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench_report.h"
#include "failure.h"
#include "table.h"
#include "text.h"

namespace estoc::cli {
namespace {

std::string name_of(Change::Verdict verdict) {
  if (verdict == Change::Verdict::same) return "same";
  return verdict == Change::Verdict::faster ? "faster" : "slower";
}

const KernelRecord* fastest(const BenchRecord& record) {
  return fastest(record, [](const KernelRecord&) { return true; });
}

const BenchRecord* find_same(const std::vector<BenchRecord>& records, const BenchRecord& wanted) {
  const auto found = std::ranges::find_if(records, [&](const BenchRecord& each) {
    return each.problem == wanted.problem && each.sustained == wanted.sustained;
  });
  return found == records.end() ? nullptr : &*found;
}

void warn_of_devices(const BenchRecord& before, const BenchRecord& after) {
  const std::string& old_device = before.surroundings.device;
  const std::string& new_device = after.surroundings.device;
  if (old_device != new_device)
    warn(fmt::format("{}: the devices are {} and {}", before.problem, old_device, new_device));
}

}  // namespace

Change::Verdict Change::verdict() const {
  if (relative() > allowed) return Verdict::slower;
  return relative() < -allowed ? Verdict::faster : Verdict::same;
}

std::vector<Change> compare_files(const std::string& before, const std::string& after,
                                  double tolerance) {
  const std::vector<BenchRecord> old_records = read_result_file(before);
  std::vector<Change> changes;
  for (const BenchRecord& record : read_result_file(after)) {
    const BenchRecord* old_record = find_same(old_records, record);
    if (old_record == nullptr) continue;
    const KernelRecord* old_kernel = fastest(*old_record);
    const KernelRecord* new_kernel = fastest(record);
    if (old_kernel == nullptr || new_kernel == nullptr || old_kernel->times->median <= 0) continue;
    warn_of_devices(*old_record, record);
    const double noise = std::max(old_record->noise.value_or(0), record.noise.value_or(0));
    changes.push_back({record.problem, record.sustained, old_kernel->times->median,
                       new_kernel->times->median, std::max(tolerance, noise)});
  }
  if (!changes.empty()) return changes;
  throw Failure(Exit::not_found,
                fmt::format("{} and {} have no timed problem in common", before, after));
}

Json to_json(const std::vector<Change>& changes) {
  Json json = Json::array();
  for (const Change& change : changes) {
    json.push_back({{"problem", change.problem},
                    {"mode", change.sustained ? "sustained" : "burst"},
                    {"seconds", {{"before", change.before}, {"after", change.after}}},
                    {"change", change.relative()},
                    {"allowed", change.allowed},
                    {"verdict", name_of(change.verdict())}});
  }
  return json;
}

void print_changes(Output& output, const std::vector<Change>& changes) {
  using enum Table::Align;
  Table table(output, {{"problem"},
                       {"before", right},
                       {"after", right},
                       {"change", right},
                       {"allowed", right},
                       {""}});
  for (const Change& change : changes) {
    table.add_row({brief_problem(change.problem) + (change.sustained ? " (sustained)" : ""),
                   format_seconds(change.before), format_seconds(change.after),
                   fmt::format("{:+.1f}%", 100 * change.relative()),
                   fmt::format("{:.1f}%", 100 * change.allowed), name_of(change.verdict())});
  }
  output.print(table.take());
}

void require_no_regression(const std::vector<Change>& changes) {
  std::vector<const Change*> slower;
  for (const Change& change : changes) {
    if (change.verdict() == Change::Verdict::slower) slower.push_back(&change);
  }
  if (slower.empty()) return;
  throw Failure(
      Exit::wrong,
      fmt::format("{} of {} problems are slower; the first, by {:.1f}%: {}", slower.size(),
                  changes.size(), 100 * slower.front()->relative(), slower.front()->problem));
}

}  // namespace estoc::cli
