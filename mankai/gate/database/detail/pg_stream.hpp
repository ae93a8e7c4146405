#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

#include "mankai/gate/database/detail/pg_connection.hpp"
#include "mankai/gate/database/detail/pg_transactions.hpp"
#include "mankai/gate/database/pgoutput.hpp"

namespace mankai::detail {

/// A replication connection: collects messages into transactions, and reports progress to the server. Errors: as
/// PgConnection and PgTransactions::take; io also after a minute of silence. Threads: one at a time.
class PgStream {
 public:
  /// Begins after a position, with slot and publication `name`. Errors: locked if a client uses the slot for seconds.
  [[nodiscard]] static Result<PgStream> open(const std::string& dsn, PgStop stop, const std::string& name,
                                             PgTable table, Lsn position) {
    MANKAI_ASSIGN(auto connection, PgConnection::open(dsn, PgUse::replication, stop));
    const std::string quoted = "\"" + name + "\"";
    MANKAI_TRY(begin(connection, "START_REPLICATION SLOT " + quoted + " LOGICAL " + to_text(position) +
                                     " (proto_version '1', publication_names '" + quoted + "')"));
    return PgStream(std::move(connection), PgTransactions(std::move(table), position));
  }

  /// Processes what has arrived, up to some megabytes; if nothing has, waits for it until the deadline.
  [[nodiscard]] Result<void> pump(PgClock::time_point deadline) {
    std::string_view data;
    while (!transactions_.is_full()) {
      MANKAI_ASSIGN(const auto piece, connection_.next_copy(data, deadline));
      if (piece == PgConnection::Copy::end) {
        return fail(ErrorCode::io, "PostgreSQL ended the stream");
      }
      if (piece == PgConnection::Copy::nothing_yet) {
        break;
      }
      MANKAI_TRY(take(data));
      deadline = {};  // process what is there, without waiting for more
    }
    return keep_alive();
  }

  /// Tells the server that everything before this position may be discarded.
  [[nodiscard]] Result<void> acknowledge(Lsn durable) {
    if (durable <= durable_) {
      return {};
    }
    durable_ = durable;
    return answer(false);
  }

  [[nodiscard]] PgTransactions& transactions() noexcept { return transactions_; }
  [[nodiscard]] bool take_request() noexcept { return std::exchange(was_asked_, false); }

 private:
  // wal_sender_timeout is a minute by default; the server requests a status after half of it.
  static constexpr std::chrono::seconds kAnswerInterval{10};
  static constexpr std::chrono::seconds kLongestSilence{60};

  // A server takes a moment to notice that the last client of a slot is gone.
  static constexpr std::chrono::seconds kHandOver{5};
  static constexpr std::chrono::milliseconds kHandOverPause{50};

  PgStream(PgConnection connection, PgTransactions transactions) noexcept
      : connection_(std::move(connection)), transactions_(std::move(transactions)) {}

  static Result<void> begin(PgConnection& connection, const std::string& command) {
    const auto deadline = PgClock::now() + kHandOver;
    for (;;) {
      const auto begun = connection.begin_copy(command, PgUse::replication);
      if (begun || begun.error().code != ErrorCode::locked || PgClock::now() >= deadline) {
        return begun;
      }
      MANKAI_TRY(connection.pause(kHandOverPause));
    }
  }

  [[nodiscard]] Result<void> take(std::string_view data) {
    MANKAI_ASSIGN(const auto parsed, parse_copy_data(data));
    heard_ = PgClock::now();
    if (const auto* const chunk = std::get_if<PgChunk>(&parsed)) {
      received_ = std::max(received_, chunk->start);
      return transactions_.take(chunk->message);
    }
    const auto& keepalive = std::get<PgKeepalive>(parsed);
    received_ = std::max(received_, keepalive.end);
    transactions_.reach(keepalive.end);
    if (!keepalive.wants_reply) {
      return {};
    }
    was_asked_ = true;
    return answer(false);
  }

  [[nodiscard]] Result<void> answer(bool wants_reply) {
    answered_ = PgClock::now();
    return connection_.send_copy(
        to_copy_data({.received = std::max(received_, durable_),
                      .durable = durable_,
                      .now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()),
                      .wants_reply = wants_reply}));
  }

  [[nodiscard]] Result<void> keep_alive() {
    const auto time = PgClock::now();
    if (transactions_.is_full()) {  // while nothing is read, silence is expected
      heard_ = time;
    }
    if (time - heard_ >= kLongestSilence) {
      return fail(ErrorCode::io, "PostgreSQL was silent for a minute");
    }
    if (time - answered_ >= kAnswerInterval) {
      return answer(time - heard_ >= kAnswerInterval);
    }
    return {};
  }

  PgConnection connection_;
  PgTransactions transactions_;
  Lsn durable_;  // 0 until acknowledged: the start position may not be on disk
  Lsn received_;
  PgClock::time_point heard_ = PgClock::now();
  PgClock::time_point answered_ = PgClock::now();
  bool was_asked_ = false;
};

}  // namespace mankai::detail
