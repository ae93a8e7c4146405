#include "lab/basket_gate/table.hpp"

namespace mankai::lab::basket {

Result<Table> Table::begin(const std::string& path) {
  MANKAI_ASSIGN(auto database, Sqlite::create(path));
  MANKAI_TRY(database.run("PRAGMA synchronous = OFF; CREATE TABLE pairs (key TEXT PRIMARY KEY, value TEXT); BEGIN"));
  MANKAI_ASSIGN(auto insert, database.prepare("INSERT INTO pairs VALUES (?, ?)"));
  return Table(std::move(database), std::move(insert));
}

Result<void> Table::insert(const std::string& key, const std::string& value) {
  bind_text(statement_.get(), 1, key);
  bind_text(statement_.get(), 2, value);
  const int code = sqlite3_step(statement_.get());
  sqlite3_reset(statement_.get());
  return code == SQLITE_DONE ? Result<void>{} : database_.failed();
}

Result<void> Table::finish() {
  MANKAI_TRY(database_.run("COMMIT"));
  MANKAI_ASSIGN(statement_, database_.prepare("SELECT value FROM pairs WHERE key = ?"));
  return {};
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
    return database_.failed();
  }
  return value;
}

Result<void> Table::set_cache(int pages) { return database_.run("PRAGMA cache_size = " + std::to_string(pages)); }

std::uint64_t Table::pages_read() const {
  int read = 0;
  int highest = 0;
  sqlite3_db_status(database_.get(), SQLITE_DBSTATUS_CACHE_MISS, &read, &highest, 0);
  return static_cast<std::uint64_t>(read);
}

std::uint64_t Table::queries() const {
  return static_cast<std::uint64_t>(sqlite3_stmt_status(statement_.get(), SQLITE_STMTSTATUS_RUN, 0));
}

}  // namespace mankai::lab::basket
