#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>

#include "mankai/base/error.hpp"

namespace mankai::lab {

struct CloseSqlite {
  void operator()(sqlite3* handle) const noexcept { sqlite3_close(handle); }
  void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using SqliteStatement = std::unique_ptr<sqlite3_stmt, CloseSqlite>;

/// A database in a new file. Errors: io, of all functions.
class Sqlite {
 public:
  [[nodiscard]] static Result<Sqlite> create(const std::string& path) {
    sqlite3* opened = nullptr;
    const int code = sqlite3_open(path.c_str(), &opened);
    Sqlite made(opened);
    if (code != SQLITE_OK) {
      return fail(ErrorCode::io, "SQLite cannot open a file in the temporary folder");
    }
    return made;
  }

  [[nodiscard]] Result<void> run(const std::string& statements) const {
    const int code = sqlite3_exec(get(), statements.c_str(), nullptr, nullptr, nullptr);
    return code == SQLITE_OK ? Result<void>{} : failed();
  }
  [[nodiscard]] Result<SqliteStatement> prepare(const char* statement) const {
    sqlite3_stmt* prepared = nullptr;
    if (sqlite3_prepare_v2(get(), statement, -1, &prepared, nullptr) != SQLITE_OK) {
      return failed();
    }
    return SqliteStatement(prepared);
  }
  /// The error of the last call.
  [[nodiscard]] std::unexpected<Error> failed() const {
    return fail(ErrorCode::io, std::string("SQLite: ") + sqlite3_errmsg(get()));
  }
  [[nodiscard]] sqlite3* get() const noexcept { return handle_.get(); }

 private:
  explicit Sqlite(sqlite3* handle) noexcept : handle_(handle) {}

  std::unique_ptr<sqlite3, CloseSqlite> handle_;
};

/// Binds a text that outlives the step, so that SQLite need not copy it.
inline void bind_text(sqlite3_stmt* statement, int place, const std::string& text) {
  sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()), nullptr);
}

}  // namespace mankai::lab
