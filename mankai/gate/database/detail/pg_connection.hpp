#pragma once

#include <libpq-fe.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "mankai/base/error.hpp"

namespace mankai::detail {

using PgClock = std::chrono::steady_clock;

class PgAnswer {
 public:
  explicit PgAnswer(PGresult* result) noexcept : result_(result, PQclear) {}

  [[nodiscard]] int rows() const noexcept { return PQntuples(result_.get()); }
  [[nodiscard]] bool is_null(int row, int column) const noexcept {
    return PQgetisnull(result_.get(), row, column) != 0;
  }
  /// Empty for NULL. Valid as long as the answer.
  [[nodiscard]] std::string_view text(int row, int column) const noexcept;
  [[nodiscard]] bool is_true(int row, int column) const noexcept { return text(row, column) == "t"; }

  [[nodiscard]] PGresult* get() const noexcept { return result_.get(); }

 private:
  std::unique_ptr<PGresult, void (*)(PGresult*)> result_;
};

/// Stops waiting calls: a descriptor that becomes readable, or -1; and a function that is polled every 100 ms and
/// outlives the connection, or nullptr.
struct PgStop {
  int fd = -1;
  const std::function<bool()>* should_stop = nullptr;

  [[nodiscard]] bool is_asked() const { return should_stop != nullptr && *should_stop && (*should_stop)(); }
};

enum class PgUse : std::uint8_t { queries, replication };

/// One connection by libpq. Its session has fixed text forms of all types, no time limits, and no row security.
/// Errors:  io if the server cannot be reached or is gone, or with EINTR if stopped: the connection is unusable then.
///          Else the server's: not_found for missing objects, locked for objects in use, otherwise invalid_argument.
/// Threads: one at a time.
class PgConnection {
 public:
  /// Connects as libpq does: using the text, the environment, and the service and password files.
  [[nodiscard]] static Result<PgConnection> open(const std::string& dsn, PgUse use, PgStop stop);

  /// Runs one statement with texts for $1, $2... Pre: not a replication connection.
  [[nodiscard]] Result<PgAnswer> query(const std::string& sql, std::span<const std::string> values = {});
  /// Runs one command in the simple protocol, which replication connections need.
  [[nodiscard]] Result<PgAnswer> command(const std::string& text);

  /// Begins a COPY to the client, or in both directions.
  [[nodiscard]] Result<void> begin_copy(const std::string& text, PgUse use);
  enum class Copy : std::uint8_t { data, nothing_yet, end };
  /// Waits for the next piece until the deadline; `data` is valid until the next call.
  [[nodiscard]] Result<Copy> next_copy(std::string_view& data, PgClock::time_point deadline);
  [[nodiscard]] Result<void> send_copy(std::string_view data);

  /// Waits. Errors: io if stopped or the connection breaks.
  [[nodiscard]] Result<void> pause(std::chrono::milliseconds duration);

  [[nodiscard]] Result<std::string> quoted_name(std::string_view name) const;
  [[nodiscard]] Result<std::string> quoted_text(std::string_view text) const;

  /// Such as 150018.
  [[nodiscard]] int version() const noexcept { return PQserverVersion(connection_.get()); }

 private:
  PgConnection(PGconn* connection, PgStop stop) noexcept : connection_(connection, PQfinish), stop_(stop) {}

  [[nodiscard]] Result<void> connect(PgClock::time_point deadline);
  [[nodiscard]] Result<PgAnswer> finish_query(bool was_sent);
  [[nodiscard]] Result<PgAnswer> next_answer();
  [[nodiscard]] Result<void> wait_for_answer();
  [[nodiscard]] Result<bool> wait(short events, PgClock::time_point deadline);
  [[nodiscard]] Result<Copy> end_copy();
  [[nodiscard]] std::unexpected<Error> lost(std::string_view what) const;

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
  std::unique_ptr<char, void (*)(void*)> piece_{nullptr, PQfreemem};
  PgStop stop_;
};

/// Whether the connection text has a password. Errors: invalid_argument for an invalid text, which is not repeated.
[[nodiscard]] Result<bool> has_password(const std::string& dsn);

}  // namespace mankai::detail
