#pragma once

/// The keys of a table's rows, from which a Gate is built and with which it is kept in step.
///
/// A source is a table, its key column, and a condition over a row's own columns. It delivers the multiset of keys of
/// the rows that satisfy the condition: first a snapshot, then a stream of changes, each once, in the order of commits,
/// with a growing position.
///
/// Order of calls: install, snapshot | start(position), next…, acknowledge, next… | uninstall. Only install and
/// uninstall change the database; acknowledge lets it discard changes.

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

/// The settings of a source, stored beside the gate's file (source_settings.hpp).
struct RowSourceSettings {
  std::string source;     ///< "sqlite:PATH" or "postgres:DSN", without a password
  std::string table;      ///< as in SQL, with a schema where needed: baskets, shop.baskets
  std::string key;        ///< a column
  std::string where;      ///< a condition in the database's SQL over the row's own columns; empty: every row
  std::string installed;  ///< name of what install makes in the database: letters, digits and '_'

  friend bool operator==(const RowSourceSettings&, const RowSourceSettings&) = default;
};

/// A position in a source's changes.
struct RowPosition {
  std::uint64_t number = 0;
  /// Distinguishes it from the same number in another copy of the database, such as a restored backup. A gate stores
  /// it. Up to 10 printable characters without spaces; empty for sources that never reuse numbers.
  std::string mark = {};

  friend bool operator==(const RowPosition&, const RowPosition&) = default;
};

/// Keys in one block of memory.
class KeyList {
 public:
  void add(std::string_view key);
  void clear() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
  /// Valid until the list is changed. Cost: 16 bytes per key, in memory that is reused.
  [[nodiscard]] std::span<const std::string_view> views();

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> views_;
};

/// One transaction, or several in the order of their commits. Inserted and erased are multisets: a key may be in both.
/// Intermediate changes of a row within a transaction may be omitted if the result is the same.
struct RowChanges {
  bool clears = false;  ///< the table was emptied; the lists are what changed after that
  KeyList inserted;
  KeyList erased;
  std::uint64_t position = 0;      ///< after the last of these transactions
  std::string mark;                ///< of that position
  std::uint64_t transactions = 0;  ///< their number, if known; else 0
  std::optional<Time> committed;   ///< time of the last commit, if known

  void clear() noexcept;
};

/// How far a source is ahead of a position.
struct SourceLag {
  std::uint64_t newest = 0;  ///< position of the source's last change
  std::uint64_t behind = 0;  ///< 0: everything is applied
  std::string_view unit;     ///< of `behind`: "changes" or "bytes"; static
};

/// See the top of this file.
///
/// Errors:  io when the database cannot be reached, and locked when another client is in the way, are temporary: a
/// retry
///          with a new source may succeed. All others are permanent and say what to do: not_found (a table, a column, a
///          file, or what install made), invalid_argument (an invalid condition, unsuitable settings of the database,
///          or a call out of order), corrupt (an invalid message).
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

  /// Makes in the database what the stream needs, under the name in the settings, after checking the requirements.
  /// After an error it is removed again if the database can be reached. Errors: invalid_argument if the name exists.
  [[nodiscard]] virtual Result<void> install() = 0;
  /// Returns whether this object has installed something and not uninstalled it.
  [[nodiscard]] virtual bool is_installed() const noexcept = 0;
  /// Removes what install made and returns the number of things removed; missing ones are no error.
  [[nodiscard]] virtual Result<std::size_t> uninstall() = 0;

  /// Returns about how many keys a snapshot has, to size the gate. Only after install.
  [[nodiscard]] virtual Result<std::uint64_t> count_keys() = 0;
  /// Passes all keys of a snapshot to `take`, in pieces, and returns its position, where the stream continues without
  /// gap or overlap. Only after install, by the same object. Errors: also those of `take`.
  [[nodiscard]] virtual Result<RowPosition> snapshot(const TakeKeys& take) = 0;

  /// Begins the stream after this position. Errors: not_found when nothing is installed, the source has discarded what
  /// follows, or the position is of another copy of the database: then the gate must be built again.
  [[nodiscard]] virtual Result<void> start(const RowPosition& position) = 0;
  /// Fills `changes` with the next complete transactions, up to some megabytes, and waits at most `patience` for the
  /// first one. False if there is none. A transaction is delivered only when a query that begins then sees it: a gate's
  /// memo depends on that. It may be only a position, after changes of other rows.
  [[nodiscard]] virtual Result<bool> next(RowChanges& changes, Duration patience) = 0;
  /// Tells the source that everything up to here is durable in the gate: the source may discard it.
  [[nodiscard]] virtual Result<void> acknowledge(std::uint64_t position) = 0;

  /// Returns a position after everything that was committed before the call, which the stream reaches soon even without
  /// further changes: the target for catching up. Only after start.
  [[nodiscard]] virtual Result<std::uint64_t> mark() = 0;

  /// Returns how far the source is ahead of a position. Needs no start. Errors: as start's.
  [[nodiscard]] virtual Result<SourceLag> lag(const RowPosition& position) = 0;
  /// Returns a position as the database writes it, such as "0/16B3748" or "1234".
  [[nodiscard]] virtual std::string position_text(std::uint64_t position) const = 0;

  /// Makes the current or next call of `next` return false soon, and other calls that wait for the database fail with
  /// io and EINTR. Threads: any; safe in a signal handler.
  virtual void stop() noexcept = 0;
  /// Sets a function that waiting calls poll: once it returns true, they end as after `stop`. Call it first.
  virtual void stop_when(std::function<bool()> should_stop) = 0;
};

/// Makes the source that the settings name, without connecting. Errors: invalid_argument for a source that is neither
/// "sqlite:" nor "postgres:", or has a password in it.
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_row_source(const RowSourceSettings& settings);

}  // namespace mankai
