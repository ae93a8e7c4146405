#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "mankai/base/error.hpp"

namespace mankai::detail {

/// A prepared statement. Threads: one at a time, as its database.
class SqliteStatement {
 public:
  explicit SqliteStatement(sqlite3_stmt* statement) noexcept : statement_(statement) {}

  /// Numbered from 1. Pre: there is such a parameter.
  void bind(int parameter, std::int64_t value) noexcept;
  /// True while there is a row. Errors: as SqliteDatabase::run.
  [[nodiscard]] Result<bool> step();
  /// To be stepped through again, with what is bound.
  void reset() noexcept { sqlite3_reset(statement_.get()); }

  [[nodiscard]] std::int64_t integer(int column) const noexcept;
  /// Stands until the next step.
  [[nodiscard]] std::string_view text(int column) const noexcept;

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

/// A connection. Who is in the way is waited for some seconds.
class SqliteDatabase {
 public:
  /// Opens a file that is there. Errors: not_found; io; corrupt for what is no database.
  [[nodiscard]] static Result<SqliteDatabase> open(const std::string& path);

  /// Runs statements that return no rows. Errors: locked when somebody else was in the way too long; not_found for a
  /// unknown table, column or collation; corrupt; out_of_space; io, also where nothing may be written;
  /// invalid_argument for what SQLite does not understand. All with SQLite's own words.
  [[nodiscard]] Result<void> run(const std::string& sql);
  /// Compiles one statement. Errors: as run; invalid_argument when more follows it.
  [[nodiscard]] Result<SqliteStatement> prepare(std::string_view sql);
  /// Whether a statement, which compiles, calls a function, also as an operator.
  [[nodiscard]] Result<bool> calls(std::string_view sql, std::string_view function);
  /// By what a column compares: BINARY unless its table says otherwise. Errors: as run.
  [[nodiscard]] Result<std::string> collation(const std::string& table, const std::string& column);
  /// Whether the path names another file by now, or none.
  [[nodiscard]] bool was_moved() noexcept;
  /// The first column of the first row. Errors: as run; corrupt without a row.
  [[nodiscard]] Result<std::int64_t> integer(std::string_view sql);

 private:
  explicit SqliteDatabase(sqlite3* handle) noexcept : handle_(handle) {}

  struct Close {
    void operator()(sqlite3* handle) const noexcept { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> handle_;
};

/// A transaction, which is given up unless it was committed.
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

/// An identifier or a string as SQL writes it.
[[nodiscard]] std::string sql_name(std::string_view name);
[[nodiscard]] std::string sql_text(std::string_view text);

}  // namespace mankai::detail
