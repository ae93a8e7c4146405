#pragma once

/// The keys of a table's rows: the source from which a gate is built and kept in step.
///
/// A source is a table, its key column, and a condition over a row's own columns. It delivers the multiset of keys of
/// the rows that satisfy the condition: a snapshot, then a stream of changes, each once, in commit order.
///
/// Order of calls: install, snapshot | start(position), next…, acknowledge, next… | uninstall. Only install and
/// uninstall change the database; acknowledge lets it discard changes.

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

/// The settings of a source, stored beside the gate file (source_settings.hpp).
struct RowSourceSettings {
  std::string source;     ///< "sqlite:PATH" or "postgres:DSN", without a password
  std::string table;      ///< as in SQL, with a schema if needed: baskets, shop.baskets
  std::string key;        ///< name of a column
  std::string where;      ///< a condition in the database's SQL over the row's own columns; empty: all rows
  std::string installed;  ///< name of what install makes in the database: letters, digits and '_'

  friend bool operator==(const RowSourceSettings&, const RowSourceSettings&) = default;
};

/// A position in a source's changes.
struct RowPosition {
  std::uint64_t number = 0;
  /// Distinguishes the position from the same number in another copy of the database, such as a restored backup. Up to
  /// 10 printable characters without spaces; empty for sources that never reuse numbers.
  std::string mark = {};

  friend bool operator==(const RowPosition&, const RowPosition&) = default;
};

/// A list of keys in one block of memory.
class KeyList {
 public:
  void add(std::string_view key);
  void clear() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
  /// Valid until the list changes. Cost: 16 bytes per key, in memory that is reused.
  [[nodiscard]] std::span<const std::string_view> views();

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> views_;
};

/// The changes of one or more transactions, in commit order. Both lists are multisets: a key may be in both. A source
/// may omit intermediate changes of a row within a transaction if the result is the same.
struct RowChanges {
  bool clears = false;  ///< the table was emptied; the lists hold what changed after that
  KeyList inserted;
  KeyList erased;
  std::uint64_t position = 0;      ///< after the last of these transactions
  std::string mark;                ///< of that position
  std::uint64_t transactions = 0;  ///< number of transactions; 0 if unknown
  std::optional<Time> committed;   ///< time of the last commit, if known

  void clear() noexcept;
};

/// How far a source is ahead of a position.
struct SourceLag {
  std::uint64_t newest = 0;  ///< position of the source's last change
  std::uint64_t behind = 0;  ///< distance; 0: everything is applied
  std::string_view unit;     ///< of `behind`: "changes" or "bytes"; static
};

/// Errors:  io (the database cannot be reached) and locked (another client is in the way) are temporary: a retry with a
///          new source may succeed. All others are permanent and say what to do: not_found (a table, a column, a file,
///          or what install made), invalid_argument (an invalid condition, unsuitable settings of the database, or a
///          call out of order), corrupt (an invalid message).
/// Threads: one at a time, except `stop`.
class RowSource {
 public:
  using TakeKeys = std::function<Result<void>(std::span<const std::string_view>)>;

  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  RowSource(RowSource&&) = delete;
  RowSource& operator=(RowSource&&) = delete;
  virtual ~RowSource() = default;

  /// Checks the requirements, and makes in the database what the stream needs, under the name in the settings. After an
  /// error that is removed again if the database can be reached. Errors: invalid_argument if the name exists.
  [[nodiscard]] virtual Result<void> install() = 0;
  /// Whether this object has installed something and not uninstalled it.
  [[nodiscard]] virtual bool is_installed() const noexcept = 0;
  /// Removes what install made and returns the number of removed parts; missing parts are no error.
  [[nodiscard]] virtual Result<std::size_t> uninstall() = 0;

  /// Returns an estimate of the number of keys in a snapshot, to size the gate. Pre: installed.
  [[nodiscard]] virtual Result<std::uint64_t> count_keys() = 0;
  /// Passes all keys of a snapshot to `take` in pieces, and returns its position, where the stream continues without
  /// gap or overlap. Errors: also those of `take`. Pre: installed by this object.
  [[nodiscard]] virtual Result<RowPosition> snapshot(const TakeKeys& take) = 0;

  /// Begins the stream after this position. Errors: not_found if nothing is installed, the source has discarded later
  /// changes, or the position is from another copy of the database: build the gate again.
  [[nodiscard]] virtual Result<void> start(const RowPosition& position) = 0;
  /// Fills `changes` with the next complete transactions, up to some megabytes; waits at most `patience` for the first
  /// one. Returns false if there is none. Delivers a transaction only when a new query sees it, which a gate's memo
  /// requires. After changes of other rows there may be only a position.
  [[nodiscard]] virtual Result<bool> next(RowChanges& changes, Duration patience) = 0;
  /// Tells the source that the gate has everything up to this position on disk: the source may discard it.
  [[nodiscard]] virtual Result<void> acknowledge(std::uint64_t position) = 0;

  /// Returns a position after all earlier commits, which the stream reaches soon even without changes. Pre: started.
  [[nodiscard]] virtual Result<std::uint64_t> mark() = 0;

  /// Returns how far the source is ahead of a position. Can be called before start. Errors: as start.
  [[nodiscard]] virtual Result<SourceLag> lag(const RowPosition& position) = 0;
  /// Formats a position as the database does, such as "0/16B3748" or "1234".
  [[nodiscard]] virtual std::string position_text(std::uint64_t position) const = 0;

  /// Makes the current or next `next` return false soon, and other waiting calls fail with io and EINTR. Threads: any;
  /// safe in a signal handler.
  virtual void stop() noexcept = 0;
  /// Sets a function that waiting calls poll; once it returns true, they end as after `stop`. Call this first.
  virtual void stop_when(std::function<bool()> should_stop) = 0;
};

/// Whether a call of a RowSource failed because of `stop`.
[[nodiscard]] inline bool was_stopped(const Error& error) noexcept {
  return error.code == ErrorCode::io && error.os_error == EINTR;
}

/// Makes the source that the settings name, without connecting. Errors: invalid_argument for a source that is neither
/// "sqlite:" nor "postgres:", or has a password in it.
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_row_source(const RowSourceSettings& settings);

}  // namespace mankai
