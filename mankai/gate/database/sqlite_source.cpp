#include "mankai/gate/database/sqlite_source.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

#include "mankai/base/ascii.hpp"
#include "mankai/gate/database/detail/sqlite.hpp"

namespace mankai {
namespace {

using detail::sql_name;
using detail::sql_text;
using detail::SqliteTransaction;

constexpr Duration kLookEvery = std::chrono::milliseconds(20);
// Maximum number of changes per read; only a longer backlog can split a transaction.
constexpr std::uint64_t kMaxChanges = 1'000'000;
constexpr std::size_t kSnapshotBytes = std::size_t{1} << 20U;
constexpr int kSampledRows = 100;

constexpr std::array<std::string_view, 2> kTables = {"keys", "changes"};
constexpr std::array<std::string_view, 5> kTriggers = {"insert", "update", "delete", "added", "removed"};

// The row of N_keys that is not a key. If it is missing, somebody has emptied the table.
constexpr std::string_view kNoKey = "";
constexpr std::string_view kNewMark = "(random() & 0xffffffffff)";
constexpr char kBlob = 'b';
constexpr char kReal = 'r';

// The form of keys in our tables: a letter for the type, and the text, or hexadecimal digits of a blob. The text of a
// real number has only 15 digits, so all digits precede it and a blank: forms are equal only for equal keys.
std::string encoded(const std::string& key) {
  return "(substr(typeof(" + key + "), 1, 1) || CASE typeof(" + key + ") WHEN 'blob' THEN hex(" + key +
         ") WHEN 'real' THEN quote(" + key + ") || ' ' || CAST(" + key + " AS TEXT) ELSE CAST(" + key +
         " AS TEXT) END)";
}

// Appends the key's bytes. A text that is not in this form is taken as it is.
void add_decoded(std::string_view text, KeyList& keys) {
  if (text.empty()) {
    return;
  }
  std::string_view rest = text.substr(1);
  if (text.front() != kBlob || rest.size() % 2 != 0) {
    const std::size_t blank = text.front() == kReal ? rest.find(' ') : std::string_view::npos;
    keys.add(blank == std::string_view::npos ? rest : rest.substr(blank + 1));
    return;
  }
  std::string bytes;
  constexpr int kHexadecimal = 16;
  for (std::size_t i = 0; i < rest.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(rest.data() + i, rest.data() + i + 2, value, kHexadecimal);
    bytes += static_cast<char>(value);
  }
  keys.add(bytes);
}

// The condition must not change the statement around it: the line feed ends a comment.
std::string condition_of(const RowSourceSettings& settings) {
  return settings.where.empty() ? "1" : "(" + settings.where + "\n)";
}

std::string mark_text(std::int64_t mark) {
  constexpr int kHexadecimal = 16;
  std::array<char, 2 * sizeof(mark)> digits{};
  const auto [end, error] = std::to_chars(digits.begin(), digits.end(), static_cast<std::uint64_t>(mark), kHexadecimal);
  return {digits.begin(), end};
}

bool is_sql_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

class SqliteSource final : public RowSource {
 public:
  SqliteSource(RowSourceSettings settings, std::string path) : settings_(std::move(settings)), path_(std::move(path)) {}

  Result<void> install() override {
    MANKAI_TRY(connect());
    MANKAI_TRY(check_table());
    MANKAI_TRY(check_condition());
    MANKAI_TRY(check_index());
    MANKAI_TRY(check_not_installed());
    MANKAI_ASSIGN(auto transaction, SqliteTransaction::begin(*database_, "IMMEDIATE"));
    MANKAI_TRY(create_tables());
    MANKAI_TRY(create_triggers());
    MANKAI_TRY(compile_writes());
    MANKAI_TRY(transaction.commit());
    is_installed_ = true;
    return {};
  }

  Result<std::size_t> uninstall() override {
    MANKAI_TRY(connect());
    MANKAI_ASSIGN(auto transaction, SqliteTransaction::begin(*database_, "IMMEDIATE"));
    const std::string objects = "SELECT count(*) FROM main.sqlite_schema WHERE type IN ('table', 'trigger')";
    MANKAI_ASSIGN(const auto before, database_->integer(objects));
    for (const std::string_view trigger : kTriggers) {
      MANKAI_TRY(database_->run("DROP TRIGGER IF EXISTS main." + name(trigger)));
    }
    for (const std::string_view table : kTables) {
      MANKAI_TRY(database_->run("DROP TABLE IF EXISTS main." + name(table)));
    }
    MANKAI_ASSIGN(const auto after, database_->integer(objects));
    MANKAI_TRY(transaction.commit());
    is_installed_ = false;
    return static_cast<std::size_t>(before - after);
  }

  Result<std::uint64_t> count_keys() override {
    MANKAI_TRY(connect());
    MANKAI_ASSIGN(const auto found, database_->integer("SELECT count(*) FROM main." + name("keys") + " WHERE key <> " +
                                                       sql_text(kNoKey)));
    return static_cast<std::uint64_t>(found);
  }

  Result<RowPosition> snapshot(const TakeKeys& take) override {
    MANKAI_TRY(connect());
    MANKAI_ASSIGN(auto transaction, SqliteTransaction::begin(*database_, "DEFERRED"));
    MANKAI_ASSIGN(const auto position, newest());
    MANKAI_ASSIGN(auto mark, mark_at(position));
    MANKAI_TRY(hand_out_keys(take));
    return RowPosition{.number = position, .mark = std::move(mark)};
  }

  Result<void> start(const RowPosition& position) override {
    MANKAI_TRY(find(position));
    position_ = position;
    seen_version_ = -1;
    is_started_ = true;
    return {};
  }

  Result<bool> next(RowChanges& changes, Duration patience) override {
    if (!is_started_) {
      return fail(ErrorCode::invalid_argument, "the stream was not started");
    }
    changes.clear();
    const auto until = std::chrono::steady_clock::now() + patience;
    while (true) {
      auto came = look_once(changes);
      const auto left = until - std::chrono::steady_clock::now();
      if (!came || *came || left <= Duration::zero() || should_stop()) {
        return came;
      }
      std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(left, kLookEvery));
    }
  }

  // The row at the position stays, so that `start` finds it and numbers are never reused.
  Result<void> acknowledge(std::uint64_t position) override {
    MANKAI_TRY(connect());
    return database_->run("DELETE FROM main." + name("changes") + " WHERE seq < " + std::to_string(position));
  }

  Result<SourceLag> lag(const RowPosition& position) override {
    MANKAI_TRY(find(position));
    MANKAI_ASSIGN(const auto last, newest());
    return SourceLag{.newest = last, .behind = last > position.number ? last - position.number : 0, .unit = "changes"};
  }

  Result<std::uint64_t> mark() override { return newest(); }
  std::string position_text(std::uint64_t position) const override { return std::to_string(position); }
  void stop() noexcept override { is_stopped_.store(true, std::memory_order_relaxed); }
  void stop_when(std::function<bool()> should_stop) override { should_stop_ = std::move(should_stop); }
  bool is_installed() const noexcept override { return is_installed_; }

 private:
  bool should_stop() const { return is_stopped_.load(std::memory_order_relaxed) || (should_stop_ && should_stop_()); }

  Result<void> connect() {
    if (database_) {
      return {};
    }
    MANKAI_ASSIGN(auto opened, detail::SqliteDatabase::open(path_));
    database_.emplace(std::move(opened));
    return {};
  }

  std::string name(std::string_view suffix) const { return sql_name(settings_.installed + "_" + std::string(suffix)); }

  // Rows with the key of NEW or OLD and the condition. The first comparison uses the index; the second is exact.
  std::string rows_of(std::string_view which) const {
    const std::string table = sql_name(settings_.table);
    const std::string here = table + "." + sql_name(settings_.key);
    const std::string given = std::string(which) + "." + sql_name(settings_.key);
    return "SELECT 1 FROM " + table + " WHERE " + here + " = " + given + " AND " + encoded(here) + " = " +
           encoded(given) + " AND " + condition_of(settings_);
  }

  std::string look(std::string_view which) const {
    const std::string key = encoded(std::string(which) + "." + sql_name(settings_.key));
    const std::string keys = name("keys");
    return "DELETE FROM " + keys + " WHERE key = " + key + " AND NOT EXISTS (" + rows_of(which) + "); INSERT INTO " +
           keys + "(key) SELECT " + key + " WHERE " + key + " IS NOT NULL AND NOT EXISTS (SELECT 1 FROM " + keys +
           " WHERE key = " + key + ") AND EXISTS (" + rows_of(which) + ");";
  }

  Result<void> check_table() {
    MANKAI_ASSIGN(auto found, database_->prepare("SELECT type, sql FROM main.sqlite_schema WHERE lower(name) = lower(" +
                                                 sql_text(settings_.table) + ") AND type IN ('table', 'view')"));
    MANKAI_ASSIGN(const auto has_row, found.step());
    if (!has_row) {
      return fail(ErrorCode::not_found, "there is no table " + settings_.table);
    }
    if (found.text(0) != "table" || found.text(1).substr(0, 14) == "CREATE VIRTUAL") {
      return fail(
          ErrorCode::invalid_argument,
          settings_.table + " is a view or a virtual table, on which triggers report no changes; give the table");
    }
    auto column = database_->prepare("SELECT " + sql_name(settings_.table) + "." + sql_name(settings_.key) + " FROM " +
                                     sql_name(settings_.table));
    return column ? check_key() : std::unexpected(column.error().within("the key"));
  }

  // The program's own query by the key must find the same rows as the gate's.
  Result<void> check_key() {
    MANKAI_ASSIGN(const auto generated, database_->integer("SELECT count(*) FROM pragma_table_xinfo(" +
                                                           sql_text(settings_.table) + ") WHERE lower(name) = lower(" +
                                                           sql_text(settings_.key) + ") AND hidden IN (2, 3)"));
    MANKAI_ASSIGN(const auto collation, database_->collation(settings_.table, settings_.key));
    if (generated != 0) {
      return fail(ErrorCode::invalid_argument, "column " + settings_.key + " of table " + settings_.table +
                                                   " is generated; use a stored column as the key");
    }
    if (collation != "BINARY") {
      return fail(ErrorCode::invalid_argument,
                  "column " + settings_.key + " of table " + settings_.table + " compares by " + collation +
                      ", so that a query finds rows with another spelling of the key, which a gate cannot do; use a "
                      "column that compares by BINARY as the key");
    }
    return {};
  }

  // The condition must be an expression by itself, and the same one in parentheses.
  Result<void> check_condition() {
    if (settings_.where.empty()) {
      return {};
    }
    const std::string rows = "SELECT 1 FROM " + sql_name(settings_.table) + " WHERE ";
    for (const std::string& form : {settings_.where, condition_of(settings_)}) {
      if (auto compiled = database_->prepare(rows + form); !compiled) {
        return std::unexpected(compiled.error().within("the condition"));
      }
    }
    MANKAI_ASSIGN(const auto has_like, database_->calls(rows + settings_.where, "like"));
    if (has_like) {
      return fail(
          ErrorCode::invalid_argument,
          "the condition has LIKE, whose meaning depends on each connection's PRAGMA case_sensitive_like: write "
          "GLOB, or compare substr() or lower()");
    }
    return check_condition_on_copy();
  }

  // The condition may use the row alone, as in partial indexes: SQLite checks that, on a copy of a few rows.
  Result<void> check_condition_on_copy() {
    const std::string table = sql_name(settings_.table);
    MANKAI_ASSIGN(auto transaction, SqliteTransaction::begin(*database_, "DEFERRED"));
    MANKAI_TRY(database_->run("CREATE TEMP TABLE " + table + " AS SELECT * FROM main." + table + " LIMIT " +
                              std::to_string(kSampledRows)));
    MANKAI_TRY(database_->run("INSERT INTO temp." + table + " DEFAULT VALUES"));
    auto checked = database_->run("CREATE INDEX temp." + name("check") + " ON " + table + "(" +
                                  sql_name(settings_.key) + ") WHERE " + condition_of(settings_));
    if (!checked) {
      return fail(ErrorCode::invalid_argument,
                  "the condition must depend on nothing but the row's own columns: " + checked.error().detail);
    }
    return checked;
  }

  Result<void> check_index() {
    MANKAI_ASSIGN(auto plan, database_->prepare("EXPLAIN QUERY PLAN SELECT 1 FROM " + sql_name(settings_.table) +
                                                " WHERE " + sql_name(settings_.key) + " = 'x'"));
    constexpr int kDetail = 3;
    MANKAI_ASSIGN(const auto has_row, plan.step());
    if (!has_row || plan.text(kDetail).starts_with("SEARCH")) {
      return {};
    }
    return fail(ErrorCode::invalid_argument,
                "the key has no index, by which each write would look it up: CREATE INDEX " +
                    sql_name(settings_.table + "_" + settings_.key) + " ON " + sql_name(settings_.table) + "(" +
                    sql_name(settings_.key) + ")");
  }

  Result<void> check_not_installed() {
    MANKAI_ASSIGN(auto count, database_->integer("SELECT count(*) FROM main.sqlite_schema WHERE name = " +
                                                 sql_text(settings_.installed + "_changes")));
    if (count != 0) {
      return fail(ErrorCode::invalid_argument, settings_.installed + " is installed in " + path_ + " already");
    }
    return {};
  }

  Result<void> create_tables() {
    const std::string table = sql_name(settings_.table);
    const std::string key = encoded(table + "." + sql_name(settings_.key));
    return database_->run(
        "CREATE TABLE " + name("keys") + "(key TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID; CREATE TABLE " +
        name("changes") +
        "(seq INTEGER PRIMARY KEY, change INTEGER NOT NULL, key TEXT NOT NULL, mark INTEGER NOT NULL); " +
        // The last row always stays, so that numbers are reused only in another copy of the file.
        "INSERT INTO " + name("changes") + " VALUES (1, 0, '', " + std::string(kNewMark) + "); INSERT INTO " +
        name("keys") + " VALUES (" + sql_text(kNoKey) + "); INSERT INTO " + name("keys") + " SELECT DISTINCT " + key +
        " FROM " + table + " WHERE " + table + "." + sql_name(settings_.key) + " IS NOT NULL AND " +
        condition_of(settings_));
  }

  Result<void> create_triggers() {
    const std::string table = sql_name(settings_.table);
    const std::string keys = name("keys");
    const std::string write = " BEGIN INSERT INTO " + name("changes") + "(change, key, mark) VALUES ";
    const std::string mark = ", " + std::string(kNewMark) + "); END; ";
    return database_->run("CREATE TRIGGER " + name("added") + " AFTER INSERT ON " + keys + write + "(1, NEW.key" +
                          mark + "CREATE TRIGGER " + name("removed") + " AFTER DELETE ON " + keys + write +
                          "(-1, OLD.key" + mark + "CREATE TRIGGER " + name("insert") + " AFTER INSERT ON " + table +
                          " BEGIN " + look("NEW") + " END; CREATE TRIGGER " + name("update") + " AFTER UPDATE ON " +
                          table + " BEGIN " + look("OLD") + look("NEW") + " END; CREATE TRIGGER " + name("delete") +
                          " AFTER DELETE ON " + table + " BEGIN " + look("OLD") + " END");
  }

  // SQLite compiles a trigger with the statement that fires it, so this finds errors before the program's writes do.
  Result<void> compile_writes() {
    const std::string table = sql_name(settings_.table);
    const std::string key = sql_name(settings_.key);
    const std::array<std::string, 3> writes = {"INSERT INTO " + table + "(" + key + ") VALUES (NULL)",
                                               "UPDATE " + table + " SET " + key + " = " + key, "DELETE FROM " + table};
    for (const std::string& statement : writes) {
      if (auto compiled = database_->prepare(statement); !compiled) {
        return std::unexpected(compiled.error().within("the triggers do not fit the table"));
      }
    }
    return {};
  }

  Result<void> check_installed() {
    std::string names;
    for (const std::string_view trigger : kTriggers) {
      names += (names.empty() ? "" : ", ") + sql_text(settings_.installed + "_" + std::string(trigger));
    }
    MANKAI_ASSIGN(const auto count,
                  database_->integer("SELECT count(*) FROM main.sqlite_schema WHERE type = 'trigger' AND name IN (" +
                                     names + ")"));
    MANKAI_ASSIGN(const auto version, database_->integer("PRAGMA schema_version"));
    if (count != static_cast<std::int64_t>(kTriggers.size())) {
      return fail(ErrorCode::not_found, "the triggers " + settings_.installed + "_… are not on " + settings_.table +
                                            " of " + path_ +
                                            " (any more); changes since then are unknown; build the gate again");
    }
    MANKAI_ASSIGN(const auto has_keys,
                  database_->integer("SELECT count(*) FROM main." + name("keys") + " WHERE key = " + sql_text(kNoKey)));
    if (has_keys == 0) {
      return keys_are_gone();
    }
    schema_version_ = version;
    return {};
  }

  std::unexpected<Error> keys_are_gone() const {
    return fail(ErrorCode::not_found, settings_.installed + "_keys was emptied in " + path_ + "; build the gate again");
  }

  // Another copy of the database, such as a restored backup, has another random mark at the same number.
  Result<void> check_stands(const RowPosition& position) {
    MANKAI_ASSIGN(auto rows, database_->prepare("SELECT mark FROM main." + name("changes") + " WHERE seq = ?1"));
    rows.bind(1, static_cast<std::int64_t>(position.number));
    MANKAI_ASSIGN(const auto has_row, rows.step());
    if (has_row && mark_text(rows.integer(0)) == position.mark) {
      return {};
    }
    return fail(
        ErrorCode::not_found,
        "the gate is at change " + std::to_string(position.number) + ", which is not in " + path_ +
            ": this is another copy of the database, such as an older one, or changes were deleted; build the gate "
            "again");
  }

  Result<std::uint64_t> newest() {
    MANKAI_ASSIGN(const auto seq, database_->integer("SELECT coalesce(max(seq), 0) FROM main." + name("changes")));
    return static_cast<std::uint64_t>(seq);
  }

  Result<std::string> mark_at(std::uint64_t position) {
    MANKAI_ASSIGN(const auto mark, database_->integer("SELECT mark FROM main." + name("changes") +
                                                      " WHERE seq = " + std::to_string(position)));
    return mark_text(mark);
  }

  Result<void> hand_out_keys(const TakeKeys& take) {
    MANKAI_ASSIGN(auto rows, database_->prepare("SELECT key FROM main." + name("keys")));
    KeyList keys;
    while (true) {
      MANKAI_ASSIGN(const auto has_row, rows.step());
      if (has_row) {
        add_decoded(rows.text(0), keys);
      }
      if (!has_row || keys.bytes() >= kSnapshotBytes) {
        if (auto taken = take(keys.views()); !taken || !has_row) {
          return taken;
        }
        keys.clear();
      }
    }
  }

  // The file existed when the gate was built. If it is missing now, that may be temporary, as with an unmounted folder.
  Result<void> find(const RowPosition& position) {
    if (auto connected = connect(); !connected) {
      return connected.error().code == ErrorCode::not_found
                 ? fail(ErrorCode::io, connected.error().detail, connected.error().os_error)
                 : connected;
    }
    MANKAI_TRY(check_installed());
    return check_stands(position);
  }

  // Reads in one transaction, so that each of the program's transactions is seen completely.
  Result<bool> read_changes(RowChanges& changes) {
    MANKAI_ASSIGN(auto transaction, SqliteTransaction::begin(*database_, "DEFERRED"));
    MANKAI_ASSIGN(const auto schema, database_->integer("PRAGMA schema_version"));
    MANKAI_ASSIGN(const auto last, newest());
    if (schema != schema_version_) {
      MANKAI_TRY(check_installed());
    }
    MANKAI_TRY(check_stands(position_));
    if (last <= position_.number) {
      return false;
    }
    changes.position = std::min(last, position_.number + kMaxChanges);
    MANKAI_ASSIGN(auto mark, mark_at(changes.position));
    changes.mark = std::move(mark);
    MANKAI_TRY(collect_changes(changes));
    return true;
  }

  // A key that was added and removed is in both lists: somebody may have found it absent and reported it.
  Result<void> collect_changes(RowChanges& changes) {
    MANKAI_ASSIGN(auto rows, database_->prepare("SELECT key, sum(change), max(change) FROM main." + name("changes") +
                                                " WHERE seq > ?1 AND seq <= ?2 AND change <> 0 GROUP BY key"));
    rows.bind(1, static_cast<std::int64_t>(position_.number));
    rows.bind(2, static_cast<std::int64_t>(changes.position));
    while (true) {
      MANKAI_ASSIGN(const auto has_row, rows.step());
      if (!has_row) {
        return {};
      }
      if (rows.text(0) == kNoKey) {
        return keys_are_gone();
      }
      const std::int64_t sum = rows.integer(1);
      const bool came = rows.integer(2) > 0;
      if (came && sum >= 0) {
        add_decoded(rows.text(0), changes.inserted);
      }
      if (sum < 0 || (came && sum == 0)) {
        add_decoded(rows.text(0), changes.erased);
      }
    }
  }

  Result<bool> look_once(RowChanges& changes) {
    if (database_->was_moved()) {
      return fail(ErrorCode::io, path_ + ": was removed, or another file took its place");
    }
    // Read before the tables: a commit in between changes the version at the next poll.
    MANKAI_ASSIGN(const auto version, database_->integer("PRAGMA data_version"));
    if (version == seen_version_) {
      return false;
    }
    MANKAI_ASSIGN(const bool has_changes, read_changes(changes));
    if (has_changes) {
      position_ = {.number = changes.position, .mark = changes.mark};
    } else {
      seen_version_ = version;
    }
    return has_changes;
  }

  RowSourceSettings settings_;
  std::string path_;
  std::optional<detail::SqliteDatabase> database_;
  RowPosition position_;
  std::int64_t seen_version_ = -1;  // data_version at the last poll without changes
  std::int64_t schema_version_ = -1;
  bool is_started_ = false;
  bool is_installed_ = false;
  std::atomic<bool> is_stopped_{false};
  std::function<bool()> should_stop_;
};

}  // namespace

Result<std::unique_ptr<RowSource>> open_sqlite_source(const RowSourceSettings& settings) {
  constexpr std::string_view kScheme = "sqlite:";
  if (!settings.source.starts_with(kScheme) || settings.source.size() == kScheme.size()) {
    return fail(ErrorCode::invalid_argument, "no path in " + settings.source + ": write sqlite:PATH");
  }
  if (settings.table.empty() || settings.key.empty()) {
    return fail(ErrorCode::invalid_argument, "a source needs a table and its column of keys");
  }
  if (!is_sql_name(settings.installed)) {
    return fail(ErrorCode::invalid_argument, "what is installed is named by letters, digits and '_'");
  }
  return std::make_unique<SqliteSource>(settings, settings.source.substr(kScheme.size()));
}

}  // namespace mankai
