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

namespace mankai::detail {

struct PgTable {
  std::uint32_t relation = 0;
  std::string name;  ///< with its schema, quoted where SQL needs it
  std::string key;   ///< without quotes
  std::uint32_t key_type = 0;
  bool is_partitioned = false;
};

/// The transactions that a new query sees, as pg_current_snapshot() returns them.
class PgSnapshot {
 public:
  /// Parses "xmin:xmax:running,running". Errors: corrupt.
  [[nodiscard]] static Result<PgSnapshot> parse(std::string_view text);

  /// Returns whether the snapshot sees a committed transaction, given by the lower half of its number.
  [[nodiscard]] bool sees(std::uint32_t transaction) const noexcept;

 private:
  std::uint64_t oldest_ = 0;  // all transactions before this one have ended
  std::uint64_t next_ = 0;    // none from this one on has
  std::vector<std::uint64_t> running_;
};

/// Collects messages of pgoutput into transactions of keys.
class PgTransactions {
 public:
  /// Transactions that ended at `from` or before are ignored.
  PgTransactions(PgTable table, Lsn from) : table_(std::move(table)), from_(from), reached_(from) {}

  /// Processes one message. Errors: corrupt for inconsistent messages; not_found if the key column is missing;
  /// invalid_argument if the table is not sent as required. Afterwards start a new stream at the last take_away.
  [[nodiscard]] Result<void> take(std::string_view message);
  void reach(Lsn end) noexcept;

  [[nodiscard]] bool is_full() const noexcept;
  [[nodiscard]] bool has_transactions() const noexcept { return !numbers_.empty(); }
  [[nodiscard]] bool are_seen_by(const PgSnapshot& snapshot) const noexcept;
  /// The end of all complete transactions, or of what the server has sent if that is later.
  [[nodiscard]] Lsn position() const noexcept { return reached_; }
  /// Whether the server has described the table since the last call: before its first row, and again after ALTER TABLE.
  [[nodiscard]] bool take_description() noexcept { return std::exchange(is_described_, false); }
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
  [[nodiscard]] Result<void> take(const T& /*no effect*/) {
    return {};
  }

  [[nodiscard]] Result<void> check_row(std::uint32_t relation) const;
  [[nodiscard]] Result<std::optional<std::string_view>> key_of(const PgRow& row, const PgRow* old_row) const;
  void append_open();
  [[nodiscard]] std::unexpected<Error> without_old_row(std::string_view what) const;

  PgTable table_;
  Lsn from_;
  Lsn reached_;
  std::optional<std::size_t> column_;  // of the key in a row; unset before the first description
  bool is_described_ = false;
  std::optional<PgBegin> open_begin_;
  RowChanges open_;
  RowChanges whole_;
  std::vector<std::uint32_t> numbers_;  // of the complete transactions
};

}  // namespace mankai::detail
