#include "mankai/gate/database/postgres_source.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "mankai/gate/database/detail/pg_connection.hpp"
#include "mankai/gate/database/detail/pg_stream.hpp"
#include "mankai/gate/database/detail/pg_table.hpp"
#include "mankai/gate/database/pgoutput.hpp"

namespace mankai {
namespace {

using detail::PgClock;
using detail::PgConnection;
using detail::PgSnapshot;
using detail::PgStop;
using detail::PgStream;
using detail::PgTable;
using detail::PgUse;

constexpr std::string_view kScheme = "postgres:";

// Changes of other tables move the position, too, but are not worth recording one by one.
constexpr std::chrono::milliseconds kMoveInterval{50};

/// A descriptor that becomes readable at the first call of `set` and stays so.
class StopFlag {
 public:
  StopFlag() noexcept : fd_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  StopFlag(const StopFlag&) = delete;
  StopFlag(StopFlag&&) = delete;
  StopFlag& operator=(const StopFlag&) = delete;
  StopFlag& operator=(StopFlag&&) = delete;
  ~StopFlag() { close(fd_); }

  void set() const noexcept {
    const int os_error = errno;
    const std::uint64_t one = 1;
    (void)!write(fd_, &one, sizeof(one));
    errno = os_error;
  }
  [[nodiscard]] int descriptor() const noexcept { return fd_; }

 private:
  int fd_;
};

class PostgresSource final : public RowSource {
 public:
  PostgresSource(RowSourceSettings settings, std::string dsn) noexcept
      : settings_(std::move(settings)), dsn_(std::move(dsn)) {}

  Result<void> install() override {
    MANKAI_TRY(prepare());
    MANKAI_TRY(detail::check_name_is_free(*queries_, settings_.installed));
    auto replication = PgConnection::open(dsn_, PgUse::replication, stop_signs());
    if (!replication) {
      return std::unexpected(replication.error().within("replication (the role needs REPLICATION)"));
    }
    is_installed_ = true;
    // The publication must exist before the slot: changes are decoded with the catalog of their own time.
    if (const auto created = detail::create_publication(*queries_, settings_, *table_); !created) {
      return undo(created.error());
    }
    if (const auto created = create_slot(*replication); !created) {
      return undo(created.error());
    }
    return {};
  }

  Result<std::size_t> uninstall() override {
    stream_.reset();
    snapshot_.reset();
    queries_.reset();
    // Does not react to `stop`, so that a stopped build can clean up.
    MANKAI_ASSIGN(auto connection, PgConnection::open(dsn_, PgUse::queries, PgStop{}));
    auto dropped = detail::drop_publication_and_slot(connection, settings_.installed);
    is_installed_ = is_installed_ && !dropped;
    return dropped;
  }

  Result<std::uint64_t> count_keys() override {
    MANKAI_ASSIGN(const auto from, selection());
    MANKAI_ASSIGN(const auto answer, queries_->query("SELECT count(*)" + from));
    return std::stoull("0" + std::string(answer.text(0, 0)));
  }

  Result<RowPosition> snapshot(const TakeKeys& take) override {
    MANKAI_TRY(copy_keys(take));
    MANKAI_TRY(queries_->query("COMMIT"));
    return RowPosition{.number = std::exchange(snapshot_, std::nullopt)->value};
  }

  Result<void> start(const RowPosition& position) override {
    const Lsn from{position.number};
    stream_.reset();
    MANKAI_TRY(prepare());
    MANKAI_TRY(detail::check_publication(*queries_, settings_, *table_));
    MANKAI_ASSIGN(const auto slot, detail::find_slot(*queries_, settings_.installed));
    MANKAI_TRY(detail::check_is_kept(slot, from));
    MANKAI_TRY(detail::check_is_reached(slot, from));
    handed_out_ = from;
    checked_ = PgClock::now();
    return open_stream(from);
  }

  Result<bool> next(RowChanges& changes, Duration patience) override {
    if (!stream_) {
      return fail(ErrorCode::invalid_argument, "changes come after start");
    }
    auto is_handed_out = wait_and_hand_out(changes, patience);
    if (is_handed_out || was_stopped(is_handed_out.error())) {
      return is_handed_out.value_or(false);
    }
    return checked_for_end(std::move(is_handed_out));
  }

  Result<void> acknowledge(std::uint64_t position) override {
    if (!stream_) {
      return fail(ErrorCode::invalid_argument, "changes are acknowledged after start");
    }
    return checked_for_end(stream_->acknowledge(Lsn{position}));
  }

  Result<std::uint64_t> mark() override {
    if (!stream_) {
      return fail(ErrorCode::invalid_argument, "there is a mark after start");
    }
    return checked_for_end(write_mark());
  }

  /// Fails if the gate cannot continue. A concurrent sync may move the slot past `position`, which is no failure.
  Result<SourceLag> lag(const RowPosition& position) override {
    MANKAI_TRY(prepare());
    MANKAI_TRY(detail::check_publication(*queries_, settings_, *table_));
    MANKAI_ASSIGN(const auto slot, detail::find_slot(*queries_, settings_.installed));
    MANKAI_TRY(detail::check_is_reached(slot, Lsn{position.number}));
    const std::uint64_t newest = std::max(slot.flushed.value, position.number);
    return SourceLag{.newest = newest, .behind = newest - position.number, .unit = "bytes"};
  }

  std::string position_text(std::uint64_t position) const override { return to_text(Lsn{position}); }
  void stop() noexcept override { flag_.set(); }
  void stop_when(std::function<bool()> should_stop) override { should_stop_ = std::move(should_stop); }
  bool is_installed() const noexcept override { return is_installed_; }

 private:
  PgStop stop_signs() const noexcept { return {.fd = flag_.descriptor(), .should_stop = &should_stop_}; }

  Result<void> connect() {
    if (queries_) {
      return {};
    }
    MANKAI_ASSIGN(auto opened, PgConnection::open(dsn_, PgUse::queries, stop_signs()));
    queries_.emplace(std::move(opened));
    return {};
  }

  /// Connects, and checks everything that can be checked without changing the database.
  Result<void> prepare() {
    MANKAI_TRY(connect());
    MANKAI_TRY(detail::check_server(*queries_));
    MANKAI_ASSIGN(auto table, detail::find_table(*queries_, settings_));
    table_ = std::move(table);
    return detail::check_identity(*queries_, *table_);
  }

  /// The slot's snapshot lives until that connection runs another command; by then our transaction has imported it.
  Result<void> create_slot(PgConnection& replication) {
    enum Column : std::uint8_t { name, consistent_point, snapshot_name };
    const auto slot = replication.command("CREATE_REPLICATION_SLOT \"" + settings_.installed +
                                          "\" LOGICAL pgoutput (SNAPSHOT 'export')");
    if (!slot) {
      return std::unexpected(slot.error());
    }
    if (slot->rows() != 1) {
      return fail(ErrorCode::corrupt, "PostgreSQL did not say where its replication slot begins");
    }
    MANKAI_ASSIGN(const auto position, parse_lsn(slot->text(0, consistent_point)));
    snapshot_ = position;
    return enter_snapshot(slot->text(0, snapshot_name));
  }

  Result<void> enter_snapshot(std::string_view name) {
    MANKAI_ASSIGN(const auto text, queries_->quoted_text(name));
    for (const std::string& command :
         {std::string("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY"), "SET TRANSACTION SNAPSHOT " + text}) {
      MANKAI_TRY(queries_->query(command));
    }
    return {};
  }

  Result<void> undo(const Error& why) {
    if (const auto undone = uninstall(); !undone) {
      Error error = why;
      error.detail += "; and publication and replication slot " + settings_.installed +
                      " could not be taken back: " + undone.error().message() +
                      ": drop them, since a slot that nobody follows fills the server's disk";
      return std::unexpected(std::move(error));
    }
    return std::unexpected(why);
  }

  Result<std::string> selection() {
    if (!snapshot_ || !table_ || !queries_) {
      return fail(ErrorCode::invalid_argument, "a snapshot is taken once, after install");
    }
    return detail::selection(*queries_, settings_, *table_);
  }

  Result<void> copy_keys(const TakeKeys& take) {
    constexpr std::size_t kPiece = 4096;
    MANKAI_ASSIGN(const auto from, selection());
    MANKAI_ASSIGN(const auto key, queries_->quoted_name(table_->key));
    MANKAI_TRY(queries_->begin_copy("COPY (SELECT " + key + from + ") TO STDOUT", PgUse::queries));
    KeyList keys;
    std::string value;
    std::string_view line;
    for (;;) {
      MANKAI_ASSIGN(const auto piece, queries_->next_copy(line, PgClock::time_point::max()));
      const bool is_over = piece == PgConnection::Copy::end;
      MANKAI_ASSIGN(const auto is_key, is_over ? Result<bool>(false) : parse_copy_line(line, value));
      if (is_key) {
        keys.add(value);
      }
      if (keys.size() == kPiece || is_over) {
        if (const auto taken = take(keys.views()); !taken || is_over) {
          return taken;
        }
        keys.clear();
      }
    }
  }

  Result<void> open_stream(Lsn position) {
    MANKAI_ASSIGN(auto stream, PgStream::open(dsn_, stop_signs(), settings_.installed, *table_, position));
    stream_.emplace(std::move(stream));
    return {};
  }

  /// After an error the stream is closed at once: a server that shuts down would wait for our reply.
  template <class T>
  T checked_for_end(T outcome) {
    if (!outcome) {
      stream_.reset();
      queries_.reset();
    }
    return outcome;
  }

  Result<bool> wait_and_hand_out(RowChanges& changes, Duration patience) {
    constexpr std::chrono::seconds kLook{1};
    constexpr std::chrono::milliseconds kPause{1};
    constexpr Duration kMostPatience = std::chrono::hours(1);
    const auto deadline = PgClock::now() + std::min(patience, kMostPatience);
    PgClock::time_point until{};  // first without waiting
    for (;;) {
      MANKAI_TRY(stream_->pump(until));
      const auto is_handed_out = hand_out(changes);
      const auto now = PgClock::now();
      if (!is_handed_out || *is_handed_out || now >= deadline) {
        return is_handed_out;
      }
      const auto& waiting = stream_->transactions();
      const auto soon = waiting.has_transactions()         ? now + kPause
                        : waiting.position() > handed_out_ ? moved_ + kMoveInterval
                                                           : now + kLook;
      until = std::min(soon, deadline);
    }
  }

  Result<bool> hand_out(RowChanges& changes) {
    constexpr std::chrono::seconds kCheckInterval{5};
    if (PgClock::now() - checked_ >= kCheckInterval) {
      MANKAI_TRY(check_again());
    }
    detail::PgTransactions& waiting = stream_->transactions();
    if (waiting.has_transactions()) {
      if (const auto visible = are_visible(); !visible || !*visible) {
        return visible;
      }
      if (waiting.take_description()) {  // rows after an ALTER TABLE
        MANKAI_TRY(check_again());
      }
    } else if (waiting.position() <= handed_out_ ||
               (PgClock::now() - moved_ < kMoveInterval && !stream_->take_request())) {
      return false;
    }
    waiting.take_away(changes);
    handed_out_ = Lsn{changes.position};
    moved_ = PgClock::now();
    return true;
  }

  /// A transaction is sent when its commit is in the log: before others see it, and earlier if it waits for a standby.
  Result<bool> are_visible() {
    MANKAI_ASSIGN(const auto answer, queries_->query("SELECT pg_catalog.pg_current_snapshot()"));
    MANKAI_ASSIGN(const auto snapshot, PgSnapshot::parse(answer.rows() == 1 ? answer.text(0, 0) : std::string_view()));
    return stream_->transactions().are_seen_by(snapshot);
  }

  /// Checks periodically, and when the server describes the table, since the stream lacks changes of the definitions.
  Result<void> check_again() {
    checked_ = PgClock::now();
    MANKAI_TRY(prepare());
    return detail::check_publication(*queries_, settings_, *table_);
  }

  /// Writes and flushes a message: the log may end inside an unflushed record, which no stream would reach.
  Result<std::uint64_t> write_mark() {
    MANKAI_TRY(queries_->query("SET synchronous_commit = local"));
    MANKAI_ASSIGN(const auto answer, queries_->query("SELECT pg_catalog.pg_logical_emit_message(true, 'mankai', '')"));
    MANKAI_ASSIGN(const auto position, parse_lsn(answer.rows() == 1 ? answer.text(0, 0) : std::string_view()));
    return position.value;
  }

  RowSourceSettings settings_;
  std::string dsn_;
  StopFlag flag_;
  std::function<bool()> should_stop_;
  bool is_installed_ = false;
  std::optional<PgConnection> queries_;
  std::optional<PgTable> table_;
  std::optional<Lsn> snapshot_;  // position of the snapshot in which queries_ runs
  std::optional<PgStream> stream_;
  Lsn handed_out_;
  PgClock::time_point moved_{};    // when a position was last handed out
  PgClock::time_point checked_{};  // when the publication was last checked
};

bool is_name(std::string_view name) {
  constexpr std::size_t kMost = 63;
  return !name.empty() && name.size() <= kMost && std::ranges::all_of(name, [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= '0' && letter <= '9') || letter == '_';
  });
}

}  // namespace

Result<std::unique_ptr<RowSource>> open_postgres_source(const RowSourceSettings& settings) {
  if (!is_name(settings.installed)) {
    return fail(
        ErrorCode::invalid_argument,
        "\"" + settings.installed + "\" names no replication slot: lower-case letters, digits and '_', at most 63");
  }
  const bool is_uri = settings.source.starts_with("postgres://") || settings.source.starts_with("postgresql://");
  if (!is_uri && !settings.source.starts_with(kScheme)) {
    return fail(ErrorCode::invalid_argument, "this is not a \"postgres:...\" source");
  }
  std::string dsn = is_uri ? settings.source : settings.source.substr(kScheme.size());
  MANKAI_ASSIGN(const auto has_password, detail::has_password(dsn));
  if (has_password) {
    return fail(ErrorCode::invalid_argument,
                "the source must not contain a password, since it is stored; put it into ~/.pgpass, the file that "
                "PGPASSFILE names, or PGPASSWORD");
  }
  return std::make_unique<PostgresSource>(settings, std::move(dsn));
}

}  // namespace mankai
