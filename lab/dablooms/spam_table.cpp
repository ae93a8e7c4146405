#include "lab/dablooms/spam_table.hpp"

#include <optional>

#include "lab/traffic/url_generator.hpp"

namespace mankai::lab::spam {
namespace {

std::string_view text(sqlite3_stmt* row) {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(row, 0));
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(row, 0))};
}

}  // namespace

Result<SpamTable> SpamTable::create(const std::string& path, Times times) {
  MANKAI_ASSIGN(auto database, Sqlite::create(path));
  MANKAI_TRY(database.run(times == Times::stored
                              ? "CREATE TABLE spam (url TEXT PRIMARY KEY, added INTEGER) WITHOUT ROWID"
                              : "CREATE TABLE spam (url TEXT PRIMARY KEY) WITHOUT ROWID"));
  return SpamTable(std::move(database), times);
}

Result<void> SpamTable::insert(const std::vector<std::string>& urls,
                               const std::function<std::uint64_t(std::uint64_t)>& added) {
  const bool has_times = times_ == Times::stored;
  MANKAI_ASSIGN(auto statement,
                database_.prepare(has_times ? "INSERT INTO spam VALUES (?, ?)" : "INSERT INTO spam VALUES (?)"));
  sqlite3_stmt* const insert = statement.get();
  MANKAI_TRY(begin());
  for (std::size_t i = 0; i < urls.size(); ++i) {
    bind_text(insert, 1, urls[i]);
    if (has_times) {
      sqlite3_bind_int64(insert, 2, static_cast<sqlite3_int64>(added(i)));
    }
    if (sqlite3_step(insert) != SQLITE_DONE) {
      return database_.failed();
    }
    sqlite3_reset(insert);
  }
  return commit();
}

Result<void> SpamTable::for_each(const std::function<void(std::string_view, std::uint64_t)>& row) {
  MANKAI_ASSIGN(auto statement, database_.prepare("SELECT url, added FROM spam ORDER BY added"));
  int code = sqlite3_step(statement.get());
  for (; code == SQLITE_ROW; code = sqlite3_step(statement.get())) {
    row(text(statement.get()), static_cast<std::uint64_t>(sqlite3_column_int64(statement.get(), 1)));
  }
  return code == SQLITE_DONE ? Result<void>{} : database_.failed();
}

Result<std::uint64_t> SpamTable::time_of(const std::string& url) {
  MANKAI_ASSIGN(const auto time, number_of(time_of_, "SELECT added FROM spam WHERE url = ?", url));
  if (!time) {
    return fail(ErrorCode::not_found, "the database does not have a URL that was inserted");
  }
  return *time;
}

Result<bool> SpamTable::contains(const std::string& url) {
  MANKAI_ASSIGN(const auto found, number_of(contains_, "SELECT 1 FROM spam WHERE url = ?", url));
  return found.has_value();
}

Result<std::uint64_t> SpamTable::erase(const std::string& url) {
  const bool has_times = times_ == Times::stored;
  MANKAI_ASSIGN(const auto time, number_of(erase_,
                                           has_times ? "DELETE FROM spam WHERE url = ? RETURNING added"
                                                     : "DELETE FROM spam WHERE url = ? RETURNING 0",
                                           url));
  if (!time) {
    return fail(ErrorCode::not_found, "the database does not have a URL that was inserted");
  }
  return *time;
}

Result<std::uint64_t> SpamTable::packed_bytes() {
  MANKAI_TRY(database_.run("VACUUM"));
  MANKAI_ASSIGN(auto statement,
                database_.prepare("SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"));
  if (sqlite3_step(statement.get()) != SQLITE_ROW) {
    return database_.failed();
  }
  return static_cast<std::uint64_t>(sqlite3_column_int64(statement.get(), 0));
}

Result<std::optional<std::uint64_t>> SpamTable::number_of(SqliteStatement& kept, const char* statement,
                                                          const std::string& url) {
  if (!kept) {
    MANKAI_ASSIGN(kept, database_.prepare(statement));
  }
  bind_text(kept.get(), 1, url);
  std::optional<std::uint64_t> number;
  int code = sqlite3_step(kept.get());
  for (; code == SQLITE_ROW; code = sqlite3_step(kept.get())) {
    number = static_cast<std::uint64_t>(sqlite3_column_int64(kept.get(), 0));
  }
  sqlite3_reset(kept.get());
  return code == SQLITE_DONE ? Result<std::optional<std::uint64_t>>(number) : database_.failed();
}

Result<std::vector<std::string>> make_urls(std::uint64_t count, const Context& context) {
  MANKAI_ASSIGN(const auto generator, UrlGenerator::create({.count = count, .seed = context.seed}));
  std::vector<std::string> urls(count);
  for (std::uint64_t number = 0; number < count; ++number) {
    generator.append_url(number, urls[number]);
  }
  return urls;
}

}  // namespace mankai::lab::spam
