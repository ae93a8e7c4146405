#pragma once

#include <string>

#include "mankai/base/error.hpp"
#include "mankai/gate/database/detail/pg_connection.hpp"
#include "mankai/gate/database/detail/pg_transactions.hpp"
#include "mankai/gate/database/pgoutput.hpp"

// A replication connection that streams: what comes goes into transactions, and the server hears how far we are.

namespace mankai::detail {

/// Errors:  as PgConnection's, and those of PgTransactions::take; io also when the server was silent for a minute.
/// Threads: one at a time.
class PgStream {
 public:
  /// Begins behind a position. Slot and publication have one name. Errors: locked if somebody else follows the slot,
  /// and still does after some seconds.
  [[nodiscard]] static Result<PgStream> open(const std::string& dsn, PgStop stop, const std::string& name,
                                             PgTable table, Lsn position);

  /// Takes what has come, up to some megabytes; waits until the deadline if that is nothing.
  [[nodiscard]] Result<void> pump(PgClock::time_point deadline);
  /// Says that nothing before this place is needed again.
  [[nodiscard]] Result<void> acknowledge(Lsn durable);

  [[nodiscard]] PgTransactions& transactions() noexcept { return transactions_; }
  /// Whether the server has asked, since the last time that this was called, how far we are.
  [[nodiscard]] bool take_request() noexcept { return std::exchange(was_asked_, false); }

 private:
  PgStream(PgConnection connection, PgTransactions transactions) noexcept
      : connection_(std::move(connection)), transactions_(std::move(transactions)) {}

  [[nodiscard]] Result<void> take(std::string_view data);
  [[nodiscard]] Result<void> answer(bool wants_reply);
  [[nodiscard]] Result<void> keep_alive();

  PgConnection connection_;
  PgTransactions transactions_;
  Lsn durable_;  // none until it is said: where we begin need not be on the disk
  Lsn received_;
  PgClock::time_point heard_ = PgClock::now();
  PgClock::time_point answered_ = PgClock::now();
  bool was_asked_ = false;
};

}  // namespace mankai::detail
