#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "lab/sqlite.hpp"

namespace mankai::lab::basket {

/// A table of keys with values in an SQLite file, for reading.
class Table {
 public:
  /// Creates it with the pairs of a map. Errors: io, as of all functions here.
  template <class Map>
  [[nodiscard]] static Result<Table> create(const std::string& path, const Map& pairs) {
    MANKAI_ASSIGN(auto table, begin(path));
    for (const auto& [key, value] : pairs) {
      MANKAI_TRY(table.insert(key, value));
    }
    MANKAI_TRY(table.finish());
    return table;
  }

  [[nodiscard]] Result<std::optional<std::string>> value_of(const std::string& key);
  /// Limits the pages in memory, from now on.
  [[nodiscard]] Result<void> set_cache(int pages);
  /// The number of pages read from the file so far.
  [[nodiscard]] std::uint64_t pages_read() const;
  /// The number of queries so far, as SQLite counts them.
  [[nodiscard]] std::uint64_t queries() const;

 private:
  Table(Sqlite database, SqliteStatement statement) noexcept
      : database_(std::move(database)), statement_(std::move(statement)) {}
  [[nodiscard]] static Result<Table> begin(const std::string& path);
  [[nodiscard]] Result<void> insert(const std::string& key, const std::string& value);
  [[nodiscard]] Result<void> finish();

  Sqlite database_;
  SqliteStatement statement_;
};

}  // namespace mankai::lab::basket
