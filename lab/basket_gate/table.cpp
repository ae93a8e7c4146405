#include "lab/basket_gate/table.hpp"

#include <sqlite3.h>

namespace mankai::lab::basket {
namespace {

// The text outlives the step, so SQLite need not copy it.
void bind_text(sqlite3_stmt* statement, int place, const std::string& text) {
  sqlite3_bind_text(statement, place, text.data(), static_cast<int>(text.size()), nullptr);
}

}  // namespace

void Table::Close::operator()(sqlite3* handle) const noexcept { sqlite3_close(handle); }
void Table::Close::operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }

Result<Table> Table::begin(const std::string& path) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open(path.c_str(), &opened);
  Table table(opened);
  if (code != SQLITE_OK) {
    return fail(ErrorCode::io, "SQLite cannot open a file in the temporary folder");
  }
  MANKAI_TRY(table.run("PRAGMA synchronous = OFF; CREATE TABLE pairs (key TEXT PRIMARY KEY, value TEXT); BEGIN"));
  MANKAI_TRY(table.prepare("INSERT INTO pairs VALUES (?, ?)"));
  return table;
}

Result<void> Table::insert(const std::string& key, const std::string& value) {
  bind_text(statement_.get(), 1, key);
  bind_text(statement_.get(), 2, value);
  const int code = sqlite3_step(statement_.get());
  sqlite3_reset(statement_.get());
  return code == SQLITE_DONE ? Result<void>{} : failed();
}

Result<void> Table::finish() {
  MANKAI_TRY(run("COMMIT"));
  return prepare("SELECT value FROM pairs WHERE key = ?");
}

Result<std::optional<std::string>> Table::value_of(const std::string& key) {
  sqlite3_stmt* const query = statement_.get();
  bind_text(query, 1, key);
  std::optional<std::string> value;
  int code = sqlite3_step(query);
  for (; code == SQLITE_ROW; code = sqlite3_step(query)) {
    value.emplace(reinterpret_cast<const char*>(sqlite3_column_text(query, 0)),
                  static_cast<std::size_t>(sqlite3_column_bytes(query, 0)));
  }
  sqlite3_reset(query);
  if (code != SQLITE_DONE) {
    return failed();
  }
  return value;
}

Result<void> Table::set_cache(int pages) { return run("PRAGMA cache_size = " + std::to_string(pages)); }

std::uint64_t Table::pages_read() const {
  int read = 0;
  int highest = 0;
  sqlite3_db_status(handle_.get(), SQLITE_DBSTATUS_CACHE_MISS, &read, &highest, 0);
  return static_cast<std::uint64_t>(read);
}

std::uint64_t Table::queries() const {
  return static_cast<std::uint64_t>(sqlite3_stmt_status(statement_.get(), SQLITE_STMTSTATUS_RUN, 0));
}

Result<void> Table::run(const std::string& statement) {
  if (sqlite3_exec(handle_.get(), statement.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failed();
  }
  return {};
}

Result<void> Table::prepare(const char* statement) {
  sqlite3_stmt* prepared = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), statement, -1, &prepared, nullptr) != SQLITE_OK) {
    return failed();
  }
  statement_.reset(prepared);
  return {};
}

std::unexpected<Error> Table::failed() const {
  return fail(ErrorCode::io, std::string("SQLite: ") + sqlite3_errmsg(handle_.get()));
}

}  // namespace mankai::lab::basket
