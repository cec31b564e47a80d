// Reads and writes the file of tuned kernels.
#include "records/database.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>

#include "core/cache_folder.h"
#include "core/env.h"
#include "core/fork.h"
#include "core/posix.h"
#include "records/json.h"
#include "records/sqlite.h"
#include "records/valid.h"

namespace estoc::records {
namespace {

namespace fs = std::filesystem;
using Access = Connection::Access;

constexpr int kSchema = 1;
constexpr int kApplication = 0x4573746f;  // "Esto"
constexpr std::chrono::milliseconds kPatience{10'000};

constexpr const char* kCreate =
    "CREATE TABLE tuned (device TEXT NOT NULL, cc INTEGER NOT NULL, driver TEXT NOT NULL,"
    " library TEXT NOT NULL, signature TEXT NOT NULL, problem TEXT NOT NULL, kernel TEXT NOT NULL,"
    " knobs TEXT NOT NULL, seconds REAL NOT NULL, predicted_seconds REAL,"
    " runner_up TEXT NOT NULL, runner_up_seconds REAL NOT NULL, noise REAL NOT NULL,"
    " candidates INTEGER NOT NULL, rounds INTEGER NOT NULL, time INTEGER NOT NULL,"
    " PRIMARY KEY (device, cc, driver, library, signature)) WITHOUT ROWID";

constexpr const char* kSelect =
    "SELECT device, cc, driver, library, signature, problem, kernel, knobs,"
    " seconds, predicted_seconds, runner_up, runner_up_seconds, noise, candidates, rounds,"
    " time FROM tuned ORDER BY device, cc, problem, signature, time DESC";

std::mutex& one_at_a_time() {
  static std::mutex& mutex = []() -> std::mutex& {
    auto* const made = new std::mutex;
    core::hold_at_fork({made, 1});
    return *made;
  }();
  return mutex;
}

template <class Number>
Number clamped(std::int64_t number) {
  return static_cast<Number>(
      std::clamp<std::int64_t>(number, 0, std::numeric_limits<Number>::max()));
}

/// Knobs that make no sense leave the record without a kernel, which is no valid one.
void read_knobs(const std::string& text, TunedKernel& record) {
  try {
    record.knobs = parse_knobs(text);
  } catch (const Error&) {
    record.kernel.clear();
  }
}

TunedKernel read_record(Statement& row) {
  TunedKernel record;
  record.device = row.text();
  record.cc = clamped<int>(row.integer());
  record.driver = row.text();
  record.library = row.text();
  record.signature = row.text();
  record.problem = row.text();
  record.kernel = row.text();
  read_knobs(row.text(), record);
  record.seconds = row.real();
  record.predicted_seconds = row.optional_real();
  record.runner_up = row.text();
  record.runner_up_seconds = row.real();
  record.noise = row.real();
  record.candidates = clamped<int>(row.integer());
  record.rounds = clamped<int>(row.integer());
  record.time = row.integer();
  return record;
}

void bind_key(Statement& statement, const TunedKernel& record) {
  statement.bind(record.device).bind(std::int64_t{record.cc}).bind(record.driver);
  statement.bind(record.library).bind(record.signature);
}

void write_record(Connection& connection, const TunedKernel& record) {
  const std::string knobs = knobs_text(record.knobs);
  Statement statement(connection,
                      "INSERT OR REPLACE INTO tuned VALUES"
                      " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  bind_key(statement, record);
  statement.bind(record.problem).bind(record.kernel).bind(knobs);
  statement.bind(record.seconds).bind(record.predicted_seconds);
  statement.bind(record.runner_up).bind(record.runner_up_seconds).bind(record.noise);
  statement.bind(std::int64_t{record.candidates}).bind(std::int64_t{record.rounds});
  statement.bind(record.time).step();
}

/// Rounds and time of the record of the same key.
std::optional<std::pair<std::int64_t, std::int64_t>> standing(Connection& connection,
                                                              const TunedKernel& record) {
  Statement statement(connection,
                      "SELECT rounds, time FROM tuned WHERE device = ? AND cc = ? AND driver = ?"
                      " AND library = ? AND signature = ?");
  bind_key(statement, record);
  if (!statement.step()) return std::nullopt;
  const std::int64_t rounds = statement.integer();
  return std::pair(rounds, statement.integer());
}

/// Whether the file has our table; a new file is empty. Throws for a file of another program, and
/// for one of a later version.
bool has_table(Connection& connection) {
  const std::int64_t schema = connection.number("PRAGMA user_version");
  const std::int64_t application = connection.number("PRAGMA application_id");
  const std::int64_t tables = connection.number("SELECT count(*) FROM sqlite_schema");
  if (tables == 0) return false;
  if (application != kApplication) {
    connection.fail(
        "it is a database of another program; name another file in "
        "ESTOC_TUNED");
  }
  if (schema > kSchema) {
    connection.fail(
        fmt::format("it is of a later version of Estoc: expected a schema of at most {}, got {}",
                    kSchema, schema));
  }
  return true;
}

void make_table(Connection& connection) {
  if (has_table(connection)) return;
  connection.execute(kCreate);
  connection.execute(fmt::format("PRAGMA application_id = {}", kApplication).c_str());
  connection.execute(fmt::format("PRAGMA user_version = {}", kSchema).c_str());
}

bool is_there(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored);
}

void make_folder(const fs::path& file) {
  const fs::path folder = file.parent_path();
  if (folder.empty() || is_there(folder)) return;
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  // As the kernel cache, whose folder it is, has it. What failed shows when the file is opened.
  (void)::mkdir(folder.c_str(), 0700);
}

/// Removes rows in a transaction; none where there is no file.
template <class Remove>
std::size_t removed(const fs::path& file, const Remove& remove) {
  if (!is_there(file)) return 0;
  Connection connection(file, Access::write, kPatience);
  Transaction transaction(connection);
  if (!has_table(connection)) return 0;
  remove(connection);
  const std::int64_t count = connection.number("SELECT changes()");
  transaction.commit();
  return static_cast<std::size_t>(count);
}

}  // namespace

DatabaseLock::DatabaseLock() : lock_(one_at_a_time()) {}

std::optional<fs::path> Database::default_file() {
  if (auto file = core::env("ESTOC_TUNED")) {
    return *file == "off" ? std::nullopt : std::optional<fs::path>(*file);
  }
  const auto folder = core::cache_folder();
  return folder ? std::optional(*folder / "tuned.db") : std::nullopt;
}

std::optional<FileVersion> Database::version(const DatabaseLock& /*lock*/) const {
  constexpr off_t kChangeCounter = 24;  // in the header, 32 bits, big-endian
  const core::FileDescriptor descriptor = core::open_file(file_, O_RDONLY | O_NONBLOCK);
  struct stat info {};
  if (!descriptor || ::fstat(descriptor.get(), &info) != 0) return std::nullopt;
  FileVersion version{static_cast<std::int64_t>(info.st_ino),
                      info.st_mtim.tv_sec * 1'000'000'000 + info.st_mtim.tv_nsec};
  std::array<unsigned char, 4> bytes{};
  if (::pread(descriptor.get(), bytes.data(), bytes.size(), kChangeCounter) == 4) {
    for (const unsigned char byte : bytes)
      version.changes = version.changes << 8 | byte;
  }
  return version;
}

std::vector<TunedKernel> Database::load(const DatabaseLock& /*lock*/,
                                        std::chrono::milliseconds patience) const {
  std::vector<TunedKernel> records;
  if (!is_there(file_)) return records;
  Connection connection(file_, Access::read, patience);
  const Transaction transaction(connection);
  if (!has_table(connection)) return records;
  Statement rows(connection, kSelect);
  while (rows.step()) {
    TunedKernel record = read_record(rows);
    if (problem_of(record).empty()) records.push_back(std::move(record));
  }
  return records;
}

TunedMerge Database::store(const DatabaseLock& /*lock*/, std::span<const TunedKernel> records,
                           bool overwrite) const {
  make_folder(file_);
  Connection connection(file_, Access::write, kPatience);
  Transaction transaction(connection);
  make_table(connection);
  TunedMerge merge;
  for (const TunedKernel& record : records) {
    const auto known = standing(connection, record);
    if (known && !overwrite &&
        *known >= std::pair<std::int64_t, std::int64_t>(record.rounds, record.time)) {
      ++merge.kept;
      continue;
    }
    write_record(connection, record);
    ++(known ? merge.replaced : merge.added);
  }
  transaction.commit();
  return merge;
}

std::size_t Database::forget(const DatabaseLock& /*lock*/, const Place& place,
                             const std::string& signature) const {
  return removed(file_, [&](Connection& connection) {
    Statement statement(connection,
                        "DELETE FROM tuned WHERE device = ? AND cc = ? AND signature = ?");
    statement.bind(place.device).bind(std::int64_t{place.cc}).bind(signature).step();
  });
}

std::size_t Database::forget_all(const DatabaseLock& /*lock*/) const {
  return removed(file_, [](Connection& connection) { connection.execute("DELETE FROM tuned"); });
}

}  // namespace estoc::records
