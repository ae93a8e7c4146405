#include "mankai/gate/database/detail/pg_stream.hpp"

#include <algorithm>
#include <utility>
#include <variant>

namespace mankai::detail {
namespace {

// wal_sender_timeout is a minute by default, and after half of it the server asks.
constexpr std::chrono::seconds kAnswerInterval{10};
constexpr std::chrono::seconds kLongestSilence{60};

// A server takes a moment to notice that whoever followed the slot is gone.
constexpr std::chrono::seconds kHandOver{5};
constexpr std::chrono::milliseconds kHandOverPause{50};

Result<void> begin(PgConnection& connection, const std::string& command) {
  const auto deadline = PgClock::now() + kHandOver;
  for (;;) {
    const auto begun = connection.begin_copy(command, PgUse::replication);
    if (begun || begun.error().code != ErrorCode::locked || PgClock::now() >= deadline) {
      return begun;
    }
    MANKAI_TRY(connection.pause(kHandOverPause));
  }
}

Time now() { return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()); }

}  // namespace

Result<PgStream> PgStream::open(const std::string& dsn, PgStop stop, const std::string& name, PgTable table,
                                Lsn position) {
  MANKAI_ASSIGN(auto connection, PgConnection::open(dsn, PgUse::replication, stop));
  const std::string quoted = "\"" + name + "\"";
  MANKAI_TRY(begin(connection, "START_REPLICATION SLOT " + quoted + " LOGICAL " + to_text(position) +
                                   " (proto_version '1', publication_names '" + quoted + "')"));
  return PgStream(std::move(connection), PgTransactions(std::move(table), position));
}

Result<void> PgStream::pump(PgClock::time_point deadline) {
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
    deadline = {};  // what is there is taken, and nothing waited for
  }
  return keep_alive();
}

Result<void> PgStream::take(std::string_view data) {
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

Result<void> PgStream::answer(bool wants_reply) {
  answered_ = PgClock::now();
  return connection_.send_copy(to_copy_data(
      {.received = std::max(received_, durable_), .durable = durable_, .now = now(), .wants_reply = wants_reply}));
}

Result<void> PgStream::keep_alive() {
  const auto time = PgClock::now();
  if (transactions_.is_full()) {  // nothing is read, so nothing is heard
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

Result<void> PgStream::acknowledge(Lsn durable) {
  if (durable <= durable_) {
    return {};
  }
  durable_ = durable;
  return answer(false);
}

}  // namespace mankai::detail
