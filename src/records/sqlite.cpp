// Calls SQLite.
#include "records/sqlite.h"

#include <fmt/format.h>

#include "estoc/status.hpp"
#include "estoc_sqlite.h"

namespace estoc::records {
namespace {

std::string_view reason_of(int code, const char* said) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another process has locked it for too long";
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return "it is damaged or no database; remove it, or name another file in ESTOC_TUNED";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "the file or its folder cannot be written";
    case SQLITE_CANTOPEN:
      return "the file or its folder cannot be opened";
    case SQLITE_FULL:
      return "the disk is full";
    default:
      return said;
  }
}

}  // namespace

Connection::Connection(const std::filesystem::path& file, Access access,
                       std::chrono::milliseconds patience)
    : file_(file), access_(access) {
  // To read needs to write as well where a process that died left half a transaction.
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE |
                    (access == Access::write ? SQLITE_OPEN_CREATE : 0);
  const int code = sqlite3_open_v2(file.c_str(), &handle_, flags, nullptr);
  try {
    if (code != SQLITE_OK) fail(code);
    sqlite3_busy_timeout(handle_, static_cast<int>(patience.count()));
    // What the file says is not trusted; the memory serves for what would be temporary files.
    execute("PRAGMA trusted_schema = OFF; PRAGMA temp_store = MEMORY");
  } catch (...) {
    sqlite3_close(handle_);
    throw;
  }
}

Connection::~Connection() {
  sqlite3_close(handle_);
}

void Connection::fail(int code) const {
  fail(reason_of(code, handle_ != nullptr ? sqlite3_errmsg(handle_) : "out of memory"));
}

void Connection::fail(std::string_view why) const {
  throw Error(ErrorKind::io,
              fmt::format("cannot {} the tuned kernels in '{}': {}",
                          access_ == Access::read ? "read" : "write", file_.string(), why));
}

void Connection::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) fail(code);
}

std::int64_t Connection::number(const char* sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer() : 0;
}

Statement::Statement(Connection& connection, const char* sql) : connection_(connection) {
  check(sqlite3_prepare_v2(connection.handle(), sql, -1, &handle_, nullptr));
}

Statement::~Statement() {
  sqlite3_finalize(handle_);
}

void Statement::check(int code) {
  if (code != SQLITE_OK) connection_.fail(code);
}

Statement& Statement::bind(const std::string& text) {
  // nullptr for a destructor: the text outlives the statement.
  check(sqlite3_bind_text(handle_, ++bound_, text.data(), static_cast<int>(text.size()), nullptr));
  return *this;
}

Statement& Statement::bind(std::int64_t number) {
  check(sqlite3_bind_int64(handle_, ++bound_, number));
  return *this;
}

Statement& Statement::bind(double number) {
  check(sqlite3_bind_double(handle_, ++bound_, number));
  return *this;
}

Statement& Statement::bind(const std::optional<double>& number) {
  if (number) return bind(*number);
  ++bound_;
  return *this;
}

bool Statement::step() {
  column_ = 0;
  const int code = sqlite3_step(handle_);
  if (code != SQLITE_ROW && code != SQLITE_DONE) connection_.fail(code);
  return code == SQLITE_ROW;
}

std::string Statement::text() {
  const unsigned char* const text = sqlite3_column_text(handle_, column_++);
  return text == nullptr ? "" : reinterpret_cast<const char*>(text);
}

std::int64_t Statement::integer() {
  return sqlite3_column_int64(handle_, column_++);
}

double Statement::real() {
  return sqlite3_column_double(handle_, column_++);
}

std::optional<double> Statement::optional_real() {
  if (sqlite3_column_type(handle_, column_) != SQLITE_NULL) return real();
  ++column_;
  return std::nullopt;
}

Transaction::~Transaction() {
  // Of no use where SQLite has undone it already, or cannot: then it is undone when it is closed.
  if (open_) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace estoc::records
