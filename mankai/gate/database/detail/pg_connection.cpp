#include "mankai/gate/database/detail/pg_connection.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>
#include <vector>

namespace mankai::detail {
namespace {

constexpr std::chrono::seconds kConnectPatience{30};

// Keys are compared as texts, so the server must write a value in the same way for every client. A row hidden by a
// policy, or cut off by a time limit, would be missed silently.
constexpr const char* kSession =
    "SELECT pg_catalog.set_config(name, value, false) FROM (VALUES ('client_encoding', 'UTF8'), ('datestyle', 'ISO'), "
    "('intervalstyle', 'postgres'), ('extra_float_digits', '3'), ('bytea_output', 'hex'), ('timezone', 'UTC'), "
    "('row_security', 'off'), ('statement_timeout', '0'), ('lock_timeout', '0'), "
    "('idle_in_transaction_session_timeout', '0'), ('idle_session_timeout', '0')) AS wanted(name, value)";

std::string one_line(std::string_view text) {
  while (text.ends_with('\n')) {
    text.remove_suffix(1);
  }
  std::string line(text);
  std::ranges::replace(line, '\n', ' ');
  std::ranges::replace(line, '\t', ' ');
  return line;
}

/// SQLSTATE: PostgreSQL documentation, appendix A.
ErrorCode code_of(std::string_view state) {
  constexpr std::array<std::string_view, 5> kMissing{"42704", "42P01", "42703", "3D000", "3F000"};
  constexpr std::array<std::string_view, 4> kGoing{"57P01", "57P02", "57P03", "53300"};
  constexpr std::string_view kInUse = "55006";
  if (state.starts_with("08") || state.starts_with("58") || std::ranges::find(kGoing, state) != kGoing.end()) {
    return ErrorCode::io;
  }
  if (state == kInUse) {
    return ErrorCode::locked;
  }
  const bool is_missing = std::ranges::find(kMissing, state) != kMissing.end();
  return is_missing ? ErrorCode::not_found : ErrorCode::invalid_argument;
}

std::string_view field(const PGresult* result, char which) {
  const char* const text = PQresultErrorField(result, static_cast<unsigned char>(which));
  return text == nullptr ? std::string_view() : std::string_view(text);
}

std::unexpected<Error> refused(const PGresult* result) {
  std::string detail = "PostgreSQL says: " + one_line(field(result, PG_DIAG_MESSAGE_PRIMARY));
  for (const char more : {PG_DIAG_MESSAGE_DETAIL, PG_DIAG_MESSAGE_HINT}) {
    if (const std::string_view text = field(result, more); !text.empty()) {
      detail += " (" + one_line(text) + ")";
    }
  }
  return fail(code_of(field(result, PG_DIAG_SQLSTATE)), std::move(detail));
}

bool is_copy(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COPY_OUT || status == PGRES_COPY_BOTH;
}

bool is_good(const PGresult* result) {
  const ExecStatusType status = PQresultStatus(result);
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK || is_copy(result);
}

int milliseconds_until(PgClock::time_point deadline) {
  constexpr std::chrono::milliseconds kMost{100};  // the caller's loop continues, and checks whether to stop
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - PgClock::now());
  return static_cast<int>(std::clamp(left, std::chrono::milliseconds::zero(), kMost).count());
}

struct ConnectOptions {
  PQconninfoOption* list = nullptr;
  ~ConnectOptions() { PQconninfoFree(list); }
};

}  // namespace

std::string_view PgAnswer::text(int row, int column) const noexcept {
  return {PQgetvalue(result_.get(), row, column), static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
}

Result<PgConnection> PgConnection::open(const std::string& dsn, PgUse use, PgStop stop) {
  const bool replicates = use == PgUse::replication;
  // Later values override those in the text.
  const std::array<const char*, 4> names{"dbname", replicates ? "replication" : "fallback_application_name",
                                         replicates ? "fallback_application_name" : nullptr, nullptr};
  const std::array<const char*, 4> values{dsn.c_str(), replicates ? "database" : "mankai gate",
                                          replicates ? "mankai gate" : nullptr, nullptr};
  PgConnection opened(PQconnectStartParams(names.data(), values.data(), 1), stop);
  if (opened.connection_ == nullptr) {
    return fail(ErrorCode::out_of_space, "no memory for a connection to PostgreSQL");
  }
  MANKAI_TRY(opened.connect(PgClock::now() + kConnectPatience));
  PQsetNoticeProcessor(opened.connection_.get(), [](void*, const char*) {}, nullptr);
  MANKAI_TRY(opened.command(kSession));
  return opened;
}

Result<void> PgConnection::connect(PgClock::time_point deadline) {
  // An attempt that failed at once, such as to a socket without a listener, has no descriptor to wait for.
  if (PQstatus(connection_.get()) == CONNECTION_BAD) {
    return lost("cannot connect to PostgreSQL");
  }
  for (auto state = PGRES_POLLING_WRITING; state != PGRES_POLLING_OK; state = PQconnectPoll(connection_.get())) {
    if (state == PGRES_POLLING_FAILED) {
      return lost("cannot connect to PostgreSQL");
    }
    MANKAI_ASSIGN(const auto is_ready, wait(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline));
    if (!is_ready) {
      return fail(ErrorCode::io, "PostgreSQL does not answer within 30 s");
    }
  }
  return {};
}

Result<bool> PgConnection::wait(short events, PgClock::time_point deadline) {
  for (;;) {
    std::array<pollfd, 2> waiting{pollfd{.fd = PQsocket(connection_.get()), .events = events, .revents = 0},
                                  pollfd{.fd = stop_.fd, .events = POLLIN, .revents = 0}};
    const int ready = poll(waiting.data(), waiting.size(), milliseconds_until(deadline));
    if (ready < 0 && errno != EINTR) {
      return fail(ErrorCode::io, "cannot wait for PostgreSQL", errno);
    }
    if ((ready > 0 && waiting[1].revents != 0) || (ready <= 0 && stop_.is_asked())) {
      return fail(ErrorCode::io, "asked to stop", EINTR);
    }
    if (ready > 0 && waiting[0].revents != 0) {
      return true;
    }
    if (ready <= 0 && PgClock::now() >= deadline) {
      return false;
    }
  }
}

std::unexpected<Error> PgConnection::lost(std::string_view what) const {
  return fail(ErrorCode::io, std::string(what) + ": " + one_line(PQerrorMessage(connection_.get())));
}

Result<void> PgConnection::wait_for_answer() {
  while (PQisBusy(connection_.get()) != 0) {
    const auto is_ready = wait(POLLIN, PgClock::time_point::max());
    if (!is_ready) {
      if (is_ready.error().os_error == EINTR) {  // cancel the query on the server, too
        constexpr std::size_t kWords = 256;
        std::array<char, kWords> why{};
        PGcancel* const cancel = PQgetCancel(connection_.get());
        (void)PQcancel(cancel, why.data(), static_cast<int>(why.size()));
        PQfreeCancel(cancel);
      }
      return std::unexpected(is_ready.error());
    }
    if (PQconsumeInput(connection_.get()) == 0) {
      return lost("the connection to PostgreSQL broke");
    }
  }
  return {};
}

/// Returns the next answer to a query; after the last one, an answer without a result.
Result<PgAnswer> PgConnection::next_answer() {
  MANKAI_TRY(wait_for_answer());
  return PgAnswer(PQgetResult(connection_.get()));
}

Result<PgAnswer> PgConnection::finish_query(bool was_sent) {
  if (!was_sent) {
    return lost("the connection to PostgreSQL broke");
  }
  MANKAI_ASSIGN(auto answer, next_answer());
  if (answer.get() == nullptr || (!is_good(answer.get()) && PQstatus(connection_.get()) == CONNECTION_BAD)) {
    return lost("the connection to PostgreSQL broke");
  }
  while (!is_copy(answer.get())) {
    MANKAI_ASSIGN(auto more, next_answer());
    if (more.get() == nullptr) {
      break;
    }
    answer = std::move(more);  // of several commands, the last result is returned
  }
  if (!is_good(answer.get())) {
    return refused(answer.get());
  }
  return answer;
}

Result<PgAnswer> PgConnection::query(const std::string& sql, std::span<const std::string> values) {
  std::vector<const char*> texts;
  texts.reserve(values.size());
  for (const std::string& value : values) {
    texts.push_back(value.c_str());
  }
  return finish_query(PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(texts.size()), nullptr,
                                        texts.data(), nullptr, nullptr, 0) != 0);
}

Result<PgAnswer> PgConnection::command(const std::string& text) {
  return finish_query(PQsendQuery(connection_.get(), text.c_str()) != 0);
}

Result<void> PgConnection::begin_copy(const std::string& text, PgUse use) {
  MANKAI_ASSIGN(const auto answer, use == PgUse::replication ? command(text) : query(text));
  if (!is_copy(answer.get())) {
    return fail(ErrorCode::corrupt, "PostgreSQL did not start the requested stream");
  }
  return {};
}

Result<PgConnection::Copy> PgConnection::next_copy(std::string_view& data, PgClock::time_point deadline) {
  constexpr int kNothingYet = 0;
  for (;;) {
    char* piece = nullptr;
    const int size = PQgetCopyData(connection_.get(), &piece, 1);
    piece_.reset(piece);
    if (size > kNothingYet) {
      data = {piece, static_cast<std::size_t>(size)};
      return Copy::data;
    }
    if (size < kNothingYet) {
      return end_copy();
    }
    MANKAI_ASSIGN(const auto is_ready, wait(POLLIN, deadline));
    if (!is_ready) {
      return Copy::nothing_yet;
    }
    if (PQconsumeInput(connection_.get()) == 0) {
      return lost("the connection to PostgreSQL broke");
    }
  }
}

/// Returns how a copy ended: normally, by an error of the server, or because the connection broke.
Result<PgConnection::Copy> PgConnection::end_copy() {
  Result<Copy> outcome = Copy::end;
  for (;;) {
    MANKAI_ASSIGN(const auto answer, next_answer());
    if (answer.get() == nullptr) {
      break;
    }
    if (is_copy(answer.get())) {  // our side of a copy in both directions is still open
      return outcome;
    }
    if (!is_good(answer.get()) && outcome) {
      outcome = PQstatus(connection_.get()) == CONNECTION_BAD ? lost("the connection to PostgreSQL broke")
                                                              : Result<Copy>(refused(answer.get()));
    }
  }
  return outcome;
}

Result<void> PgConnection::send_copy(std::string_view data) {
  if (PQputCopyData(connection_.get(), data.data(), static_cast<int>(data.size())) != 1 ||
      PQflush(connection_.get()) != 0) {
    return lost("the connection to PostgreSQL broke");
  }
  return {};
}

Result<void> PgConnection::pause(std::chrono::milliseconds duration) {
  MANKAI_ASSIGN(const auto is_broken, wait(0, PgClock::now() + duration));
  return is_broken ? lost("the connection to PostgreSQL broke") : Result<void>();
}

Result<std::string> PgConnection::quoted_name(std::string_view name) const {
  const std::unique_ptr<char, void (*)(void*)> quoted(PQescapeIdentifier(connection_.get(), name.data(), name.size()),
                                                      PQfreemem);
  return quoted == nullptr ? Result<std::string>(lost("a name cannot be quoted")) : std::string(quoted.get());
}

Result<std::string> PgConnection::quoted_text(std::string_view text) const {
  const std::unique_ptr<char, void (*)(void*)> quoted(PQescapeLiteral(connection_.get(), text.data(), text.size()),
                                                      PQfreemem);
  return quoted == nullptr ? Result<std::string>(lost("a text cannot be quoted")) : std::string(quoted.get());
}

Result<bool> has_password(const std::string& dsn) {
  // libpq takes a text without '=' and without a scheme as a database name.
  if (dsn.find('=') == std::string::npos && !dsn.starts_with("postgresql://") && !dsn.starts_with("postgres://")) {
    return false;
  }
  char* complaint = nullptr;
  const ConnectOptions options{PQconninfoParse(dsn.c_str(), &complaint)};
  PQfreemem(complaint);  // it may repeat the password
  if (options.list == nullptr) {
    return fail(ErrorCode::invalid_argument,
                "invalid connection string; give one such as \"host=db.example dbname=shop user=gate\" or "
                "postgresql://gate@db.example/shop");
  }
  for (const PQconninfoOption* option = options.list; option->keyword != nullptr; ++option) {
    const std::string_view name(option->keyword);
    if ((name == "password" || name == "sslpassword") && option->val != nullptr && *option->val != '\0') {
      return true;
    }
  }
  return false;
}

}  // namespace mankai::detail
