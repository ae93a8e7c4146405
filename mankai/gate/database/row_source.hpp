#pragma once

/// The keys of a table's rows, as of one moment and as they change: what a Gate is built of and kept in step with.
///
/// A source is a table, a column of it, the key, and a condition over a row's own columns. It hands over the multiset
/// of keys of those rows for which the condition is true: first as of one moment (snapshot), then as it changes
/// (stream), each change once, in the order of commits, with a position that grows.
///
/// Life of one: install, snapshot | start(position), next…, acknowledge, next… | uninstall. Nothing but install and
/// uninstall changes what the database holds, and acknowledge lets it forget.

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

/// What keys of what rows of what database; kept beside the gate's file (source_settings.hpp).
struct RowSourceSettings {
  std::string source;     ///< "sqlite:PATH" or "postgres:DSN", without a password
  std::string table;      ///< as SQL names it, a schema in front where one is needed: baskets, shop.baskets
  std::string key;        ///< a column
  std::string where;      ///< a condition in the database's SQL over the row's own columns; empty: every row
  std::string installed;  ///< what install puts into the database is named by this: letters, digits and '_'

  friend bool operator==(const RowSourceSettings&, const RowSourceSettings&) = default;
};

/// A place in a source's changes.
struct RowPosition {
  std::uint64_t number = 0;
  /// Tells it from the same number in another copy of the database, as after a backup was put back: a gate keeps it,
  /// and gives it back. Up to 10 printable characters without blanks; empty for sources whose numbers never come again.
  std::string mark = {};

  friend bool operator==(const RowPosition&, const RowPosition&) = default;
};

/// Keys, in one piece of memory.
class KeyList {
 public:
  void add(std::string_view key);
  void clear() noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return ends_.size(); }
  [[nodiscard]] bool empty() const noexcept { return ends_.empty(); }
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_.size(); }
  /// They stand until the list is changed. Cost: 16 bytes per key, in memory that is used again.
  [[nodiscard]] std::span<const std::string_view> views();

 private:
  std::string bytes_;
  std::vector<std::size_t> ends_;
  std::vector<std::string_view> views_;
};

/// One transaction, or several in the order of their commits. Inserted and erased are multisets: a key may be in both.
/// What a transaction did to a row before it changed it again may be left out where it comes to the same.
struct RowChanges {
  bool clears = false;  ///< the table was emptied; the keys are those that came and went after that
  KeyList inserted;
  KeyList erased;
  std::uint64_t position = 0;      ///< behind the last of these transactions
  std::string mark;                ///< of that position
  std::uint64_t transactions = 0;  ///< how many, where the source tells; else 0
  std::optional<Time> committed;   ///< when the last of them was, where the source tells

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
/// Errors:  io when the database cannot be reached, or not any more, and locked when somebody else is in the way: the
///          same may go well later, with a source that is opened anew. All others stay until somebody does something
///          about them, and say what: not_found (a table, a column, a file, or what install had put there),
///          invalid_argument (an invalid condition, settings of the database that must be other ones; or a call out
///          of order), corrupt (what comes is not what this program understands).
/// Threads: one at a time, but for `stop`.
class RowSource {
 public:
  using TakeKeys = std::function<Result<void>(std::span<const std::string_view>)>;

  RowSource() = default;
  RowSource(const RowSource&) = delete;
  RowSource& operator=(const RowSource&) = delete;
  RowSource(RowSource&&) = delete;
  RowSource& operator=(RowSource&&) = delete;
  virtual ~RowSource() = default;

  /// Puts into the database what the stream needs, under the name of the settings, after it has checked everything that
  /// can be. After an error it is taken out again, as far as the database can be reached. Errors: invalid_argument when
  /// such a thing is there already.
  [[nodiscard]] virtual Result<void> install() = 0;
  /// Whether install has put something there that uninstall has not taken out. Of this object's calls.
  [[nodiscard]] virtual bool is_installed() const noexcept = 0;
  /// Takes it out again; what is not there is no error. Says how many things it took out.
  [[nodiscard]] virtual Result<std::size_t> uninstall() = 0;

  /// About how many keys a snapshot has, to size the gate by. Only after install.
  [[nodiscard]] virtual Result<std::uint64_t> count_keys() = 0;
  /// Hands over all keys of one moment, in pieces, and returns that moment's position: the stream from there has
  /// exactly what the snapshot lacks. Only after install, by the same object. Errors: also those of `take`.
  [[nodiscard]] virtual Result<RowPosition> snapshot(const TakeKeys& take) = 0;

  /// Begins the stream behind this position. Errors: not_found when nothing is installed, when the source has forgotten
  /// what comes there, or when the position is one of another copy of the database: then the gate must be built again.
  [[nodiscard]] virtual Result<void> start(const RowPosition& position) = 0;
  /// Fills `changes` with whole transactions behind what came before, as many as are there and fit in some megabytes,
  /// and waits for the first one at most so long. False when none came. A transaction is handed out only when a query
  /// that begins then sees it: a gate's memo depends on it. It may also be none but a position, where others have
  /// changed what is no row of ours.
  [[nodiscard]] virtual Result<bool> next(RowChanges& changes, Duration patience) = 0;
  /// Says that everything up to here is safe on the gate's side: the source may forget it.
  [[nodiscard]] virtual Result<void> acknowledge(std::uint64_t position) = 0;

  /// Returns a position behind everything that was committed before the call, which the stream reaches soon even if
  /// nothing more is changed: how far to go, for whoever wants to catch up and end. Only after start.
  [[nodiscard]] virtual Result<std::uint64_t> mark() = 0;

  /// How far the source is ahead of a position. Needs no start. Errors: as start's.
  [[nodiscard]] virtual Result<SourceLag> lag(const RowPosition& position) = 0;
  /// A position as the database writes it, such as "0/16B3748" or "1234".
  [[nodiscard]] virtual std::string position_text(std::uint64_t position) const = 0;

  /// Makes a call of `next` return false soon, now or when it is called, and other calls that wait for the database
  /// fail with io and EINTR. Threads: any; safe in a signal handler.
  virtual void stop() noexcept = 0;
  /// What calls that wait ask now and then: they end as by `stop` once it says yes. To be given before the first of
  /// them.
  virtual void stop_when(std::function<bool()> should_stop) = 0;
};

/// Makes the source that the settings name, without connecting. Errors: invalid_argument for a source that is neither
/// "sqlite:" nor "postgres:", or has a password in it.
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_row_source(const RowSourceSettings& settings);

}  // namespace mankai
