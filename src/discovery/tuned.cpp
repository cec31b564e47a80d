// The records of tuning as users see them: read, stored, merged and forgotten.
#include "estoc/tuned.hpp"

#include <fmt/format.h>

#include <ctime>

#include "core/atomic_file.h"
#include "core/read_file.h"
#include "discovery/tuned_first.h"
#include "estoc/problem.hpp"
#include "records/json.h"
#include "records/known.h"
#include "records/signature.h"
#include "records/valid.h"

namespace estoc {
namespace {

using records::Database;
using records::DatabaseLock;

// A call for the records themselves may take long.
constexpr std::chrono::milliseconds kPatience{10'000};

Database database() {
  auto file = Database::default_file();
  if (file) return Database(std::move(*file));
  throw Error(ErrorKind::io,
              "there is no file of tuned kernels: ESTOC_TUNED is off, or neither it, "
              "ESTOC_CACHE_DIR, XDG_CACHE_HOME nor HOME is set");
}

}  // namespace

TunedKernel tuned_record(const RuntimeArguments& arguments, const Kernel& kernel, double seconds) {
  const auto place = records::place_of(arguments.device());
  if (!place) {
    throw Error(ErrorKind::driver,
                fmt::format("operands: expected a device of this machine, got {}",
                            arguments.device().name()));
  }
  const Problem problem = Problem::of(arguments);
  TunedKernel record;
  record.device = place->device;
  record.cc = place->cc;
  record.driver = place->driver;
  record.library = place->library;
  record.signature = records::signature_of(arguments).value_or("");
  record.problem = problem.to_string();
  record.kernel = kernel.name();
  record.knobs = kernel.knobs();
  record.seconds = seconds;
  record.predicted_seconds = kernel.predicted_seconds();
  record.time = std::time(nullptr);
  return record;
}

std::string tuned_path() {
  const auto file = Database::default_file();
  return file ? file->string() : std::string();
}

std::vector<TunedKernel> tuned_kernels() {
  const auto file = Database::default_file();
  if (!file) return {};
  const DatabaseLock lock;
  return Database(*file).load(lock, kPatience);
}

std::optional<TunedKernel> find_tuned(const RuntimeArguments& arguments) {
  discovery::refresh_tuned();
  const auto place = records::place_of(arguments.device());
  const auto signature = records::signature_of(arguments);
  if (!place || !signature) return std::nullopt;
  const auto table = records::Known::instance().table();
  const TunedKernel* const record = table->find(*place, *signature);
  return record != nullptr ? std::optional(*record) : std::nullopt;
}

TunedMerge store_tuned(std::span<const TunedKernel> records, bool overwrite) {
  for (std::size_t i = 0; i < records.size(); ++i) {
    const std::string problem = records::problem_of(records[i]);
    if (!problem.empty()) {
      throw Error(ErrorKind::value, fmt::format("record {}: {}", i + 1, problem));
    }
  }
  const Database file = database();
  TunedMerge merge;
  {
    const DatabaseLock lock;
    merge = file.store(lock, records, overwrite);
  }
  discovery::refresh_tuned();
  return merge;
}

std::size_t forget_tuned(const RuntimeArguments& arguments) {
  const auto place = records::place_of(arguments.device());
  const auto signature = records::signature_of(arguments);
  if (!place || !signature) return 0;
  const Database file = database();
  std::size_t count = 0;
  {
    const DatabaseLock lock;
    count = file.forget(lock, *place, *signature);
  }
  discovery::refresh_tuned();
  return count;
}

std::size_t forget_all_tuned() {
  const Database file = database();
  std::size_t count = 0;
  {
    const DatabaseLock lock;
    count = file.forget_all(lock);
  }
  discovery::refresh_tuned();
  return count;
}

void export_tuned(const std::string& path) {
  core::AtomicFile file(path);
  file.write(records::to_json(tuned_kernels()));
  file.commit();
}

TunedMerge import_tuned(const std::string& path) {
  return store_tuned(records::from_json(core::read_file(path)));
}

}  // namespace estoc
