#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/base/error.hpp"

namespace mankai::detail {

/// A prepared statement. Threads: one at a time, together with its database.
class SqliteStatement {
 public:
  explicit SqliteStatement(sqlite3_stmt* statement) noexcept : statement_(statement) {}

  /// Parameters are numbered from 1. Pre: the parameter exists.
  void bind(int parameter, std::int64_t value) noexcept;
  /// Returns whether there is another row. Errors: as SqliteDatabase::run.
  [[nodiscard]] Result<bool> step();
  /// Restarts the statement with the same parameters.
  void reset() noexcept { sqlite3_reset(statement_.get()); }

  [[nodiscard]] std::int64_t integer(int column) const noexcept;
  /// Valid until the next step.
  [[nodiscard]] std::string_view text(int column) const noexcept;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection. Waits some seconds for a lock that another connection holds.
class SqliteDatabase {
 public:
  /// Opens an existing file. Errors: not_found; io; corrupt if it is not a database.
  [[nodiscard]] static Result<SqliteDatabase> open(const std::string& path);

  /// Runs statements that return no rows. Errors, all with SQLite's own text: locked after waiting too long for another
  /// connection; not_found for an unknown table, column or collation; corrupt; out_of_space; io, also for a read-only
  /// database; invalid_argument for SQL that SQLite rejects.
  [[nodiscard]] Result<void> run(const std::string& sql);
  /// Compiles one statement. Errors: as run; invalid_argument if another statement follows.
  [[nodiscard]] Result<SqliteStatement> prepare(std::string_view sql);
  /// Whether a statement calls a function, also as an operator. Pre: the statement compiles.
  [[nodiscard]] Result<bool> calls(std::string_view sql, std::string_view function);
  /// Returns the collation of a column; BINARY unless the table sets another. Errors: as run.
  [[nodiscard]] Result<std::string> collation(const std::string& table, const std::string& column);
  /// Whether the path now names another file, or none.
  [[nodiscard]] bool was_moved() noexcept;
  /// Returns the first column of the first row. Errors: as run; corrupt if there is no row.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view sql);

 private:
  explicit SqliteDatabase(sqlite3* handle) noexcept : handle_(handle) {}

  struct Close {
    void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A transaction that is rolled back unless committed.
class SqliteTransaction {
 public:
  /// `how` is BEGIN's second word: DEFERRED or IMMEDIATE. Errors: as SqliteDatabase::run.
  [[nodiscard]] static Result<SqliteTransaction> begin(SqliteDatabase& database, std::string_view how);
  SqliteTransaction(SqliteTransaction&& other) noexcept : database_(std::exchange(other.database_, nullptr)) {}
  SqliteTransaction& operator=(SqliteTransaction&&) = delete;
  SqliteTransaction(const SqliteTransaction&) = delete;
  SqliteTransaction& operator=(const SqliteTransaction&) = delete;
  ~SqliteTransaction();

  [[nodiscard]] Result<void> commit();

 private:
  explicit SqliteTransaction(SqliteDatabase& database) noexcept : database_(&database) {}

  SqliteDatabase* database_;
};

[[nodiscard]] std::string sql_name(std::string_view name);
[[nodiscard]] std::string sql_text(std::string_view text);

}  // namespace mankai::detail
