// SQLite's connections and statements as objects, and its failures as errors.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace estoc::records {

/// An open database. Every failure throws Error{io} that names the file and says what to do.
class Connection {
 public:
  enum class Access : std::uint8_t { read, write };

  /// Opens a file that is there, or for writing makes one. Waits so long for other processes.
  Connection(const std::filesystem::path& file, Access access, std::chrono::milliseconds patience);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void execute(const char* sql);
  /// The whole number that a statement gives.
  std::int64_t number(const char* sql);

  Access access() const { return access_; }
  sqlite3* handle() const { return handle_; }
  [[noreturn]] void fail(int code) const;
  [[noreturn]] void fail(std::string_view why) const;

 private:
  std::filesystem::path file_;
  Access access_;
  sqlite3* handle_ = nullptr;
};

/// A prepared statement; values are bound, and columns read, in order.
class Statement {
 public:
  Statement(Connection& connection, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text);
  Statement& bind(std::int64_t number);
  Statement& bind(double number);
  /// Nothing is NULL.
  Statement& bind(const std::optional<double>& number);

  /// The next row; false when there is none.
  bool step();

  std::string text();
  std::int64_t integer();
  double real();
  std::optional<double> optional_real();

 private:
  void check(int code);

  Connection& connection_;
  sqlite3_stmt* handle_ = nullptr;
  int bound_ = 0;
  int column_ = 0;
};

/// Every statement sees the file in one state, and changes are undone unless they are committed. A
/// connection that writes locks others out from the start, one that reads from its first statement.
class Transaction {
 public:
  explicit Transaction(Connection& connection) : connection_(connection) {
    const bool writes = connection_.access() == Connection::Access::write;
    connection_.execute(writes ? "BEGIN IMMEDIATE" : "BEGIN");
  }
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  void commit();

 private:
  Connection& connection_;
  bool open_ = true;
};

}  // namespace estoc::records
