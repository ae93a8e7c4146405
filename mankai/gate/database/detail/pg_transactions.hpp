#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/gate/database/pgoutput.hpp"
#include "mankai/gate/database/row_source.hpp"

// Messages of pgoutput become transactions of keys. No connection.

namespace mankai::detail {

/// Whose rows are followed, and which column of theirs is the key.
struct PgKeyColumn {
  std::uint32_t relation = 0;
  std::string table;  ///< for messages
  std::string name;
  std::uint32_t type = 0;
};

/// Which transactions a query that begins now sees: what pg_current_snapshot() says.
class PgSnapshot {
 public:
  /// Reads "xmin:xmax:running,running". Errors: corrupt.
  [[nodiscard]] static Result<PgSnapshot> parse(std::string_view text);

  /// Whether it sees the changes of a transaction that has committed, named by the lower half of its number.
  [[nodiscard]] bool sees(std::uint32_t transaction) const noexcept;

 private:
  std::uint64_t oldest_ = 0;  // all before it are over
  std::uint64_t next_ = 0;    // none from it on is
  std::vector<std::uint64_t> running_;
};

/// Collects whole transactions until somebody takes them away.
class PgTransactions {
 public:
  /// What ended at `from` or before is left out.
  PgTransactions(PgKeyColumn key, Lsn from) : key_(std::move(key)), from_(from), reached_(from) {}

  /// Takes one message. Errors: corrupt for what does not fit together; not_found where the key column is gone;
  /// invalid_argument where the table is not sent as it must be. All end the stream, which can be begun again at
  /// the position of what was taken away last.
  [[nodiscard]] Result<void> take(std::string_view message);
  /// The server has sent everything before `end`.
  void reach(Lsn end) noexcept;

  /// Whether there is enough to be taken away at once.
  [[nodiscard]] bool is_full() const noexcept;
  [[nodiscard]] bool has_transactions() const noexcept { return !numbers_.empty(); }
  [[nodiscard]] bool are_seen_by(const PgSnapshot& snapshot) const noexcept;
  /// Behind all whole transactions, and behind what the server has sent if that is further.
  [[nodiscard]] Lsn position() const noexcept { return reached_; }
  /// Whether the server has described the table since the last time that this was called: it does so before the first
  /// row that it sends, and before the first one after the table was altered.
  [[nodiscard]] bool take_description() noexcept { return std::exchange(is_described_, false); }
  /// Moves the whole transactions into `changes`.
  void take_away(RowChanges& changes);

 private:
  [[nodiscard]] Result<void> take(const PgBegin& begin);
  [[nodiscard]] Result<void> take(const PgCommit& commit);
  [[nodiscard]] Result<void> take(const PgRelation& relation);
  [[nodiscard]] Result<void> take(const PgInsert& insert);
  [[nodiscard]] Result<void> take(const PgUpdate& update);
  [[nodiscard]] Result<void> take(const PgDelete& erased);
  [[nodiscard]] Result<void> take(const PgTruncate& truncate);
  template <class T>
  [[nodiscard]] Result<void> take(const T& /*of no interest*/) {
    return {};
  }

  [[nodiscard]] Result<void> check_row(std::uint32_t relation) const;
  [[nodiscard]] Result<std::optional<std::string_view>> key_of(const PgRow& row, const PgRow* old_row) const;
  void append_open();
  [[nodiscard]] std::unexpected<Error> without_old_row(std::string_view what) const;

  PgKeyColumn key_;
  Lsn from_;
  Lsn reached_;
  std::optional<std::size_t> column_;  // of the key in a row; known after the relation came
  bool is_described_ = false;
  std::optional<PgBegin> open_begin_;
  RowChanges open_;
  RowChanges whole_;
  std::vector<std::uint32_t> numbers_;  // of the whole transactions
};

}  // namespace mankai::detail
