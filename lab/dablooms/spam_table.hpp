#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/lab.hpp"
#include "lab/sqlite.hpp"

namespace mankai::lab::spam {

/// The database of listed URLs, in an SQLite file, with or without the times at which they were added.
class SpamTable {
 public:
  enum class Times : std::uint8_t { stored, none };

  /// Errors: io, as of all functions here.
  static Result<SpamTable> create(const std::string& path, Times times = Times::stored);
  [[nodiscard]] Result<void> insert(const std::vector<std::string>& urls,
                                    const std::function<std::uint64_t(std::uint64_t)>& added);
  /// Calls `row` for all rows, the oldest first. Pre: times are stored.
  [[nodiscard]] Result<void> for_each(const std::function<void(std::string_view, std::uint64_t)>& row);
  /// Errors: not_found.
  [[nodiscard]] Result<std::uint64_t> time_of(const std::string& url);
  [[nodiscard]] Result<bool> contains(const std::string& url);
  /// Deletes a row, and returns its time if it is stored; else 0. Errors: not_found.
  [[nodiscard]] Result<std::uint64_t> erase(const std::string& url);
  /// Makes the changes between the two one transaction.
  [[nodiscard]] Result<void> begin() { return database_.run("BEGIN"); }
  [[nodiscard]] Result<void> commit() { return database_.run("COMMIT"); }
  /// Packs the file, whose pages are filled to different shares after insertions in any order, and returns its size.
  [[nodiscard]] Result<std::uint64_t> packed_bytes();

 private:
  SpamTable(Sqlite database, Times times) noexcept : database_(std::move(database)), times_(times) {}
  /// Runs a statement on a URL, and returns the number in its first column; nothing without a row.
  [[nodiscard]] Result<std::optional<std::uint64_t>> number_of(SqliteStatement& kept, const char* statement,
                                                               const std::string& url);

  Sqlite database_;
  Times times_;
  SqliteStatement time_of_;
  SqliteStatement contains_;
  SqliteStatement erase_;
};

/// Errors: the generator's.
[[nodiscard]] Result<std::vector<std::string>> make_urls(std::uint64_t count, const Context& context);

}  // namespace mankai::lab::spam
