#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lab/lab.hpp"

struct sqlite3;
struct sqlite3_stmt;

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
  [[nodiscard]] Result<void> begin() { return run("BEGIN"); }
  [[nodiscard]] Result<void> commit() { return run("COMMIT"); }
  /// Packs the file, whose pages are filled to different shares after insertions in any order, and returns its size.
  [[nodiscard]] Result<std::uint64_t> packed_bytes();

 private:
  struct Close {
    void operator()(sqlite3* handle) const noexcept;
    void operator()(sqlite3_stmt* statement) const noexcept;
  };
  using Statement = std::unique_ptr<sqlite3_stmt, Close>;

  explicit SpamTable(sqlite3* handle) noexcept : handle_(handle) {}
  [[nodiscard]] Result<void> run(const char* statement);
  [[nodiscard]] std::unexpected<Error> failed() const;
  [[nodiscard]] Result<Statement> prepare(const char* statement);
  /// Runs a statement on a URL, and returns the number in its first column; nothing without a row.
  [[nodiscard]] Result<std::optional<std::uint64_t>> number_of(Statement& kept, const char* statement,
                                                               const std::string& url);

  std::unique_ptr<sqlite3, Close> handle_;
  Times times_ = Times::stored;
  Statement time_of_;
  Statement contains_;
  Statement erase_;
};

/// Errors: the generator's.
[[nodiscard]] Result<std::vector<std::string>> make_urls(std::uint64_t count, const Context& context);

}  // namespace mankai::lab::spam
