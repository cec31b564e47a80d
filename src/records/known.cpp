// Keeps the records in memory as long as the file does not change.
#include "records/known.h"

#include <algorithm>

#include "core/log.h"
#include "estoc/status.hpp"

namespace estoc::records {
namespace {

// A query should rather do without the records than wait for a writer that hangs.
constexpr std::chrono::milliseconds kReadPatience{500};

constexpr std::chrono::seconds kPause{5};

}  // namespace

Table::Table(std::vector<TunedKernel> records) {
  for (TunedKernel& record : records) {
    auto& same = records_[record.signature];
    same.push_back(std::move(record));
  }
}

const TunedKernel* Table::find(const Place& place, const std::string& signature) const {
  const auto found = records_.find(signature);
  if (found == records_.end()) return nullptr;
  const TunedKernel* best = nullptr;
  for (const TunedKernel& record : found->second) {
    if (!place.has_device(record)) continue;
    if (place.is_of(record)) return &record;
    if (best == nullptr || record.time > best->time) best = &record;
  }
  return best;
}

Known& Known::instance() {
  static Known& known = *new Known;
  return known;
}

bool Known::refresh() {
  bool differs = false;
  std::string problem;
  {
    const DatabaseLock lock;
    problem = read_anew(lock, differs);
  }
  if (!problem.empty()) {
    core::log(LogLevel::warning, "{}; kernels are chosen without them", problem);
  }
  return differs;
}

/// Returns why it could not be read.
std::string Known::read_anew(const DatabaseLock& lock, bool& differs) {
  auto file = Database::default_file();
  std::optional<FileVersion> version;
  if (file) version = Database(*file).version(lock);
  const auto now = std::chrono::steady_clock::now();
  if (file == file_ && version == version_ && (!try_again_ || now < *try_again_)) return {};
  std::string problem;
  std::vector<TunedKernel> records;
  try {
    if (version) records = Database(*file).load(lock, kReadPatience);
  } catch (const Error& error) {
    problem = error.what();
  }
  try_again_ = problem.empty() ? std::nullopt : std::optional(now + kPause);
  file_ = std::move(file);
  version_ = version;
  auto table = std::make_shared<const Table>(std::move(records));
  const std::lock_guard table_lock(mutex_);
  differs = !table->empty() || !table_->empty();
  table_.swap(table);
  return problem;
}

std::shared_ptr<const Table> Known::table() const {
  const std::lock_guard lock(mutex_);
  return table_;
}

}  // namespace estoc::records
