// Rows of a real PostgreSQL: what a snapshot and the stream behind it hand over is, key by key, what the query selects;
// what cannot be followed is refused with the way out; nothing is left behind in the database; nothing is lost by going
// on later, or at an earlier position.

#include "mankai/gate/database/postgres_source.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <thread>

#include "mankai/gate/database/pgoutput.hpp"
#include "tests/gate/postgres_server.hpp"

namespace mankai::test {
namespace {

using Counts = std::map<std::string, std::int64_t>;

constexpr Duration kShort = std::chrono::milliseconds(100);
constexpr Duration kLong = std::chrono::seconds(30);
constexpr std::chrono::seconds kPatience{30};
constexpr std::chrono::milliseconds kPause{10};

/// Waits until it is so; what does not come is said, where a loop would wait forever.
void wait_until(const std::string& what, const std::function<bool()>& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("it did not come to this: " + what);
    }
    std::this_thread::sleep_for(kPause);
  }
}

/// The value, or an exception that says why there is none.
template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().message());
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(*result);
  }
}

/// VACUUM wants to be alone in its command.
std::vector<std::string> statements_of(const std::string& text) {
  std::vector<std::string> statements;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("; ", begin), text.size());
    statements.push_back(text.substr(begin, end - begin));
    begin = end + 2;
  }
  return statements;
}

/// One server for all tests; each has a table and a name of its own.
PostgresServer& server() {
  static PostgresServer the_server;
  return the_server;
}

/// What a gate would do with a source, with exact counts in place of a filter.
class Follower {
 public:
  explicit Follower(RowSourceSettings settings) : settings_(std::move(settings)) { open(); }
  ~Follower() {
    if (source_) {
      const auto gone = source_->uninstall();
      EXPECT_TRUE(gone.has_value()) << gone.error().message();
    }
  }
  Follower(const Follower&) = delete;
  Follower(Follower&&) = delete;
  Follower& operator=(const Follower&) = delete;
  Follower& operator=(Follower&&) = delete;

  void open() {
    source_.reset();
    source_ = must(open_postgres_source(settings_));
  }
  RowSource& source() { return *source_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] std::uint64_t position() const { return position_; }
  [[nodiscard]] std::uint64_t transactions() const { return transactions_; }

  /// Everything but the start.
  void build() {
    must(source_->install());
    const std::uint64_t expected = must(source_->count_keys());
    std::uint64_t keys = 0;
    const RowPosition position = must(source_->snapshot([&](std::span<const std::string_view> piece) {
      keys += piece.size();
      for (const std::string_view key : piece) {
        ++counts_[std::string(key)];
      }
      return Result<void>();
    }));
    position_ = position.number;
    EXPECT_EQ(keys, expected);
  }
  void build_and_start() {
    build();
    must(source_->start({position_}));
  }

  /// Takes one batch, if one comes in time.
  Result<bool> take(Duration patience) {
    RowChanges changes;
    const auto came = source_->next(changes, patience);
    if (!came || !*came) {
      return came;
    }
    if (changes.clears) {
      counts_.clear();
    }
    for (const std::string_view key : changes.inserted.views()) {
      ++counts_[std::string(key)];
    }
    for (const std::string_view key : changes.erased.views()) {
      --counts_[std::string(key)];
    }
    EXPECT_GE(changes.position, position_);
    EXPECT_EQ(changes.committed.has_value(), changes.transactions > 0);
    position_ = changes.position;
    transactions_ += changes.transactions;
    return true;
  }
  /// Goes on until everything that is committed now has come.
  void catch_up() {
    const std::uint64_t mark = must(source_->mark());
    wait_until("the gate is at the mark", [&] { return position_ >= mark || (must(take(kShort)), position_ >= mark); });
    must(source_->acknowledge(position_));
    std::erase_if(counts_, [](const auto& each) { return each.second == 0; });
  }
  /// Goes on until an error, as a gate does: a server that is to end waits until it hears that all is safe.
  Error failure() {
    Error error;
    wait_until("the source fails", [&] {
      const auto taken = take(kShort);
      const auto said = taken ? source_->acknowledge(position_) : Result<void>();
      error = !taken ? taken.error() : !said ? said.error() : Error{};
      return !taken || !said;
    });
    return error;
  }

 private:
  RowSourceSettings settings_;
  std::unique_ptr<RowSource> source_;
  Counts counts_;
  std::uint64_t position_ = 0;
  std::uint64_t transactions_ = 0;
};

class PostgresSource : public testing::Test {
 protected:
  /// Settings for a table of this test's name.
  static RowSourceSettings settings(const std::string& where = "items > 0") {
    const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
    return {.source = "postgres:" + server().dsn(),
            .table = "baskets",
            .key = "cookie",
            .where = where,
            .installed = name.substr(0, 60)};
  }
  static void make_table(const std::string& columns = "id serial PRIMARY KEY, cookie text, items int") {
    Sql sql = server().sql();
    sql.run("DROP TABLE IF EXISTS baskets CASCADE; CREATE TABLE baskets (" + columns +
            "); ALTER TABLE baskets REPLICA IDENTITY FULL");
  }
  /// What the gate is to hold: the keys of the query, counted by the server.
  static Counts selected(const std::string& where = "items > 0", const std::string& table = "baskets") {
    Sql sql = server().sql();
    const std::string from = " FROM " + table + " WHERE cookie IS NOT NULL AND (" + where + ") GROUP BY 1 ORDER BY 1";
    const auto keys = sql.column("SELECT cookie" + from);
    const auto counts = sql.column("SELECT count(*) FROM (SELECT cookie, count(*) AS n" + from +
                                   ") AS t, "
                                   "generate_series(1, n) GROUP BY cookie ORDER BY cookie");
    Counts selected;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      selected[keys[i]] = std::stoll(counts.at(i));
    }
    return selected;
  }
  static std::size_t things_installed() {
    Sql sql = server().sql();
    return sql
        .column("SELECT pubname::text FROM pg_publication UNION ALL SELECT slot_name::text FROM pg_replication_slots")
        .size();
  }
  static Error refusal(const RowSourceSettings& settings) {
    const std::size_t before = things_installed();
    auto source = open_postgres_source(settings).value();
    const auto installed = source->install();
    EXPECT_FALSE(installed.has_value());
    EXPECT_EQ(things_installed(), before);
    return installed ? Error{} : installed.error();
  }
};

TEST_F(PostgresSource, snapshot_and_stream_are_what_the_query_selects) {
  make_table();
  Sql sql = server().sql();
  sql.run(
      R"(INSERT INTO baskets (cookie, items) VALUES ('a', 1), ('a', 2), ('b', 0), (NULL, 3), (E'tab\tback\\line\n', 1),
             ('\N', 1), ('', 4), ('käse', 1))");
  Follower follower(settings());
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('before', 1)");
  follower.build_and_start();
  EXPECT_EQ(follower.counts(), selected());
  EXPECT_EQ(follower.counts().at("tab\tback\\line\n"), 1);

  sql.run("INSERT INTO baskets (cookie, items) VALUES ('c', 1), (NULL, 1), (E'\\t\\\\N', 2), ('d', 0)");
  sql.run("UPDATE baskets SET items = 5 WHERE cookie IN ('b', 'd')");  // in
  sql.run("UPDATE baskets SET items = 0 WHERE cookie = 'käse'");       // out
  sql.run("UPDATE baskets SET cookie = 'e' WHERE cookie = 'a'");       // another key
  sql.run("UPDATE baskets SET cookie = NULL WHERE cookie = ''");
  sql.run("UPDATE baskets SET cookie = 'was null' WHERE cookie IS NULL");
  sql.run("UPDATE baskets SET items = items + 1");  // all of them
  sql.run("DELETE FROM baskets WHERE cookie = 'c'");
  sql.run("BEGIN; INSERT INTO baskets (cookie, items) VALUES ('never', 1); ROLLBACK");
  sql.run(
      "BEGIN; INSERT INTO baskets (cookie, items) VALUES ('kept', 1); SAVEPOINT s; "
      "INSERT INTO baskets (cookie, items) VALUES ('given up', 1); ROLLBACK TO s; "
      "INSERT INTO baskets (cookie, items) VALUES ('kept', 2); RELEASE s; COMMIT");
  sql.copy_in("COPY baskets (cookie, items) FROM STDIN", "copied\t1\ncopied\t1\nnot\t0\n");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), selected());
  EXPECT_FALSE(follower.counts().contains("never"));
  EXPECT_EQ(follower.counts().at("kept"), 2);

  sql.run(
      "BEGIN; INSERT INTO baskets (cookie, items) VALUES ('gone', 1); TRUNCATE baskets; "
      "INSERT INTO baskets (cookie, items) VALUES ('new', 1); COMMIT");
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('newer', 1)");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), selected());
  EXPECT_EQ(follower.counts().size(), 2U);
  EXPECT_EQ(must(follower.source().uninstall()), 2U);
  EXPECT_EQ(must(follower.source().uninstall()), 0U);
}

TEST_F(PostgresSource, names_are_read_as_sql_reads_them) {
  Sql sql = server().sql();
  sql.run(R"(DROP SCHEMA IF EXISTS "My Shop" CASCADE; CREATE SCHEMA "My Shop";
             CREATE TABLE "My Shop"."the ""Baskets""" (cookie uuid, "Key; col" text, items int);
             ALTER TABLE "My Shop"."the ""Baskets""" REPLICA IDENTITY FULL)");
  RowSourceSettings named = settings("\"Key; col\" <> 'x' -- and nothing else");
  named.table = R"("My Shop"."the ""Baskets""")";
  named.key = "COOKIE";
  Follower follower(named);
  follower.build_and_start();
  const std::string id = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11";
  sql.run(R"(INSERT INTO "My Shop"."the ""Baskets""" VALUES ('A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'y', 1),
             ('b0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'x', 1))");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), (Counts{{id, 1}}));
}

TEST_F(PostgresSource, every_row_without_a_condition) {
  make_table();
  Follower follower(settings(""));
  follower.build_and_start();
  server().sql().run("INSERT INTO baskets (cookie, items) VALUES ('a', 0), ('b', NULL)");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), (Counts{{"a", 1}, {"b", 1}}));
}

TEST_F(PostgresSource, a_condition_that_is_null_is_not_true) {
  make_table();
  Sql sql = server().sql();
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('a', NULL), ('b', 1)");
  Follower follower(settings());
  follower.build_and_start();
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('c', NULL)");
  sql.run("UPDATE baskets SET items = NULL WHERE cookie = 'b'");
  sql.run("UPDATE baskets SET items = 1 WHERE cookie = 'a'");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), (Counts{{"a", 1}}));
}

TEST_F(PostgresSource, long_keys_that_an_update_leaves_alone_are_not_sent_again) {
  make_table("id serial PRIMARY KEY, cookie text, items int");
  Sql sql = server().sql();
  sql.run("ALTER TABLE baskets ALTER COLUMN cookie SET STORAGE EXTERNAL");
  Follower follower(settings());
  follower.build_and_start();
  sql.run("INSERT INTO baskets (cookie, items) VALUES (repeat('long', 5000), 1), (repeat('none', 5000), 0)");
  sql.run("UPDATE baskets SET items = items + 1");
  sql.run("UPDATE baskets SET items = items + 1");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), selected());
  EXPECT_EQ(follower.counts().size(), 2U);
  sql.run("UPDATE baskets SET items = 0; DELETE FROM baskets");
  follower.catch_up();
  EXPECT_TRUE(follower.counts().empty());
}

TEST_F(PostgresSource, partitions_are_followed_as_their_table) {
  Sql sql = server().sql();
  sql.run(
      "DROP TABLE IF EXISTS baskets CASCADE; "
      "CREATE TABLE baskets (id int, cookie text, items int) PARTITION BY RANGE (id); "
      "CREATE TABLE baskets_low PARTITION OF baskets FOR VALUES FROM (0) TO (100); "
      "CREATE TABLE baskets_high PARTITION OF baskets FOR VALUES FROM (100) TO (200); "
      "INSERT INTO baskets VALUES (1, 'a', 1), (101, 'b', 1)");
  const Error error = refusal(settings());
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  for (const char* const table : {"baskets", "baskets_low", "baskets_high"}) {
    const std::string command = "ALTER TABLE " + std::string(table) + " REPLICA IDENTITY FULL;";
    ASSERT_NE(error.detail.find(command), std::string::npos) << error.detail;
    sql.run(command);
  }
  Follower follower(settings());
  follower.build_and_start();
  sql.run("INSERT INTO baskets VALUES (2, 'c', 1), (102, 'd', 1), (103, 'e', 0)");
  sql.run("UPDATE baskets SET id = id + 100 WHERE cookie = 'c'");  // into the other partition
  sql.run("UPDATE baskets_high SET items = 0 WHERE cookie = 'b'");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), selected());
  sql.run("TRUNCATE baskets; INSERT INTO baskets VALUES (7, 'f', 1)");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), (Counts{{"f", 1}}));
}

TEST_F(PostgresSource, it_goes_on_where_the_gate_stands) {
  make_table();
  Sql sql = server().sql();
  Follower follower(settings());
  follower.build();
  for (int i = 0; i < 5; ++i) {
    sql.run("INSERT INTO baskets (cookie, items) VALUES ('k" + std::to_string(i) + "', 1)");
  }
  must(follower.source().start({follower.position()}));
  ASSERT_TRUE(must(follower.take(kLong)));
  // What was taken but not acknowledged is not sent again behind the position of the gate; what was not taken is.
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('later', 1)");
  follower.open();
  must(follower.source().start({follower.position()}));
  follower.catch_up();
  EXPECT_EQ(follower.counts(), selected());
  EXPECT_EQ(follower.transactions(), 6U);
  follower.open();
  must(follower.source().start({follower.position()}));
  follower.catch_up();
  EXPECT_EQ(follower.transactions(), 6U);
}

TEST_F(PostgresSource, others_changes_move_the_position) {
  make_table();
  Sql sql = server().sql();
  Follower follower(settings());
  follower.build_and_start();
  sql.run("CREATE TABLE IF NOT EXISTS elsewhere (n int); INSERT INTO elsewhere SELECT generate_series(1, 1000)");
  const auto end = parse_lsn(sql.value("SELECT pg_current_wal_flush_lsn()")).value();
  sql.run("INSERT INTO elsewhere VALUES (1)");
  wait_until("others' changes have moved the position",
             [&] { return must(follower.take(kShort)), follower.position() >= end.value; });
  EXPECT_EQ(follower.transactions(), 0U);
  EXPECT_TRUE(follower.counts().empty());
  follower.catch_up();
  const SourceLag lag = must(follower.source().lag({follower.position()}));
  EXPECT_EQ(lag.unit, "bytes");
  const std::uint64_t position = lag.newest - 7;
  const SourceLag later = must(follower.source().lag({position}));
  EXPECT_GE(later.newest, lag.newest);  // the server may have written more meanwhile
  EXPECT_EQ(later.behind, later.newest - position);
  EXPECT_EQ(follower.source().position_text(0x1'0000'00FF), "1/FF");
}

TEST_F(PostgresSource, the_server_lets_go_only_of_what_was_acknowledged) {
  make_table();
  Sql sql = server().sql();
  Follower follower(settings());
  follower.build_and_start();
  const std::string confirmed =
      "SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = '" + settings().installed + "'";
  const std::string first = sql.value(confirmed);
  const std::uint64_t begin = follower.position();
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('a', 1)");
  ASSERT_TRUE(must(follower.take(kLong)));
  EXPECT_EQ(sql.value(confirmed), first);
  follower.catch_up();
  wait_until("the slot has let go", [&] { return must(follower.take(kShort)), sql.value(confirmed) != first; });
  // A gate that stands before that has missed something.
  follower.open();
  const auto started = follower.source().start({begin});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code, ErrorCode::not_found);
  EXPECT_NE(started.error().detail.find("build the gate again"), std::string::npos);
  const auto ahead = follower.source().start({follower.position() + (std::uint64_t{1} << 40U)});
  ASSERT_FALSE(ahead.has_value());
  EXPECT_EQ(ahead.error().code, ErrorCode::not_found);
}

TEST_F(PostgresSource, a_large_transaction_comes_whole) {
  make_table();
  Sql sql = server().sql();
  Follower follower(settings());
  follower.build_and_start();
  sql.run("INSERT INTO baskets (cookie, items) SELECT 'k' || n % 1000, n % 3 FROM generate_series(1, 30000) AS n");
  wait_until("the transaction has come", [&] { return must(follower.take(kShort)), follower.transactions() > 0; });
  follower.catch_up();
  EXPECT_EQ(follower.counts(), selected());
}

/// Commits wait for a standby that is not there, as long as this lives.
class LackOfStandby {
 public:
  LackOfStandby() {
    server().sql().run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    server().sql().run("SELECT pg_reload_conf()");
    wait_until("the server has read its settings",
               [] { return !server().sql().value("SHOW synchronous_standby_names").empty(); });
    // Commits begin to wait when the checkpointer has read them too, which it does before it does what it is asked for;
    // but may be past that when it is asked for the first time.
    server().sql().run("CHECKPOINT");
    server().sql().run("CHECKPOINT");
  }
  ~LackOfStandby() { end(); }
  LackOfStandby(const LackOfStandby&) = delete;
  LackOfStandby(LackOfStandby&&) = delete;
  LackOfStandby& operator=(const LackOfStandby&) = delete;
  LackOfStandby& operator=(LackOfStandby&&) = delete;

  static void end() {
    Sql sql = server().sql();
    (void)(sql.attempt("ALTER SYSTEM RESET synchronous_standby_names") && sql.attempt("SELECT pg_reload_conf()"));
  }
};

TEST_F(PostgresSource, a_transaction_comes_when_a_query_sees_it) {
  // A commit that waits for a standby is in the log, but in nobody's snapshot.
  make_table();
  Sql sql = server().sql();
  Follower follower(settings());
  follower.build_and_start();
  std::jthread writer;  // joined when commits wait no longer
  const LackOfStandby lack;
  writer = std::jthread([] { server().sql().run("INSERT INTO baskets (cookie, items) VALUES ('a', 1)"); });
  wait_until("a commit waits for a standby",
             [&] { return !sql.column("SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'").empty(); });
  EXPECT_TRUE(selected().empty());
  const std::uint64_t mark = must(follower.source().mark());
  EXPECT_FALSE(follower.take(std::chrono::milliseconds(300)).value() && follower.transactions() > 0);
  EXPECT_LT(follower.position(), mark);
  LackOfStandby::end();
  writer.join();
  follower.catch_up();
  EXPECT_EQ(follower.counts(), (Counts{{"a", 1}}));
}

TEST_F(PostgresSource, stop_ends_a_wait) {
  make_table();
  Follower follower(settings());
  follower.build_and_start();
  std::jthread stopper([&] { follower.source().stop(); });
  EXPECT_FALSE(follower.take(std::chrono::hours(100)).value());
  EXPECT_FALSE(follower.take(std::chrono::hours(100)).value());
}

TEST_F(PostgresSource, what_cannot_be_followed_is_refused_and_leaves_nothing) {
  make_table("id int PRIMARY KEY, cookie text, items int, twice int GENERATED ALWAYS AS (items * 2) STORED");
  Sql sql = server().sql();
  sql.run(
      "DROP TABLE IF EXISTS plain, parent CASCADE; CREATE TABLE plain (cookie text, items int); "
      "CREATE TABLE parent (cookie text, items int); CREATE TABLE child () INHERITS (parent); "
      "ALTER TABLE parent REPLICA IDENTITY FULL; CREATE OR REPLACE VIEW seen AS SELECT * FROM plain; "
      "CREATE OR REPLACE FUNCTION mine(int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 > 0'");
  struct Case {
    std::string table;
    std::string key;
    std::string where;
    ErrorCode code;
    std::string says;
  };
  const std::vector<Case> cases{
      {"nowhere", "cookie", "", ErrorCode::not_found, "no table nowhere"},
      {"a.b.c.d", "cookie", "", ErrorCode::invalid_argument, "improper"},
      {"baskets", "biscuit", "", ErrorCode::not_found, "no column biscuit"},
      {"baskets", "baskets.cookie", "", ErrorCode::invalid_argument, "column's name alone"},
      {"baskets", "\"Cookie\"", "", ErrorCode::not_found, "no column Cookie"},
      {"baskets", "twice", "", ErrorCode::invalid_argument, "generated"},
      {"plain", "cookie", "", ErrorCode::invalid_argument, "ALTER TABLE plain REPLICA IDENTITY FULL;"},
      {"parent", "cookie", "", ErrorCode::invalid_argument, "inherit"},
      {"seen", "cookie", "", ErrorCode::invalid_argument, "is not a table"},
      {"pg_class", "relname", "", ErrorCode::invalid_argument, "REPLICA IDENTITY FULL"},
      {"baskets", "cookie", "items >", ErrorCode::invalid_argument, "the condition"},
      {"baskets", "cookie", "parent.items > 0", ErrorCode::not_found, "the condition"},
      {"baskets", "cookie", "items > (SELECT 1)", ErrorCode::invalid_argument, "the condition"},
      {"baskets", "cookie", "mine(items)", ErrorCode::invalid_argument, "the condition"},
      {"baskets", "cookie", "random() > 0.5", ErrorCode::invalid_argument, "the condition"},
      {"baskets", "cookie", "true); DROP TABLE plain; --", ErrorCode::invalid_argument, "the condition"},
  };
  for (const Case& each : cases) {
    RowSourceSettings asked = settings(each.where);
    asked.table = each.table;
    asked.key = each.key;
    const Error error = refusal(asked);
    EXPECT_EQ(error.code, each.code) << each.table << ' ' << each.key << ' ' << each.where << ": " << error.detail;
    EXPECT_NE(error.detail.find(each.says), std::string::npos) << error.detail;
  }
}

TEST_F(PostgresSource, an_install_that_fails_half_way_is_taken_back) {
  make_table();
  Sql sql = server().sql();
  for (int i = 0; i < 8; ++i) {  // all that the server has
    sql.run("SELECT pg_create_physical_replication_slot('full" + std::to_string(i) + "')");
  }
  const Error error = refusal(settings());
  EXPECT_NE(error.detail.find("slots are in use"), std::string::npos) << error.detail;
  sql.run("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots");
  Follower follower(settings());
  follower.build();
  const Error again = refusal(settings());
  EXPECT_NE(again.detail.find("already"), std::string::npos) << again.detail;
}

TEST_F(PostgresSource, roles_need_no_more_than_is_said) {
  make_table();
  Sql sql = server().sql();
  sql.run(
      "DROP ROLE IF EXISTS weak, gate; CREATE ROLE weak LOGIN; CREATE ROLE gate LOGIN REPLICATION; "
      "GRANT CREATE ON DATABASE postgres TO gate, weak");
  RowSourceSettings weak = settings();
  weak.source = "postgres:" + server().dsn("weak");
  EXPECT_NE(refusal(weak).detail.find("REPLICATION"), std::string::npos);
  RowSourceSettings owner = settings();
  owner.source = "postgres:" + server().dsn("gate");
  EXPECT_NE(refusal(owner).detail.find("must be owner"), std::string::npos);
  sql.run("ALTER TABLE baskets OWNER TO gate");
  {
    Follower follower(owner);
    follower.build_and_start();
    sql.run("INSERT INTO baskets (cookie, items) VALUES ('a', 1)");
    follower.catch_up();
    EXPECT_EQ(follower.counts(), (Counts{{"a", 1}}));
  }
  // Rows that a policy hides from the role would be missing.
  sql.run(
      "ALTER TABLE baskets OWNER TO gate; ALTER TABLE baskets ENABLE ROW LEVEL SECURITY; "
      "ALTER TABLE baskets FORCE ROW LEVEL SECURITY");
  Follower follower(owner);
  must(follower.source().install());
  const auto counted = follower.source().count_keys();
  ASSERT_FALSE(counted.has_value());
  EXPECT_NE(counted.error().detail.find("row-level security"), std::string::npos) << counted.error().detail;
}

TEST_F(PostgresSource, what_is_taken_away_meanwhile_is_said) {
  make_table();
  Sql sql = server().sql();
  const std::string name = settings().installed;
  Follower follower(settings());
  follower.build_and_start();
  // Somebody else follows.
  const auto second = open_postgres_source(settings()).value();
  const auto started = second->start({follower.position()});
  ASSERT_FALSE(started.has_value());
  EXPECT_EQ(started.error().code, ErrorCode::locked);

  sql.run("DROP PUBLICATION " + name + "; INSERT INTO baskets (cookie, items) VALUES ('a', 1)");
  EXPECT_EQ(follower.failure().code, ErrorCode::not_found);
  follower.open();
  EXPECT_EQ(follower.source().start({follower.position()}).error().code, ErrorCode::not_found);
  EXPECT_EQ(must(follower.source().uninstall()), 1U);

  follower.build_and_start();
  follower.open();
  sql.run("ALTER PUBLICATION " + name + " SET TABLE baskets WHERE (items > 1)");
  const Error changed = follower.source().start({follower.position()}).error();
  EXPECT_EQ(changed.code, ErrorCode::invalid_argument);
  EXPECT_NE(changed.detail.find("build the gate again"), std::string::npos) << changed.detail;
  EXPECT_EQ(must(follower.source().uninstall()), 2U);

  follower.build();
  wait_until("the slot can be dropped", [&] { return sql.attempt("SELECT pg_drop_replication_slot('" + name + "')"); });
  const Error gone = follower.source().start({follower.position()}).error();
  EXPECT_EQ(gone.code, ErrorCode::not_found);
  EXPECT_NE(gone.detail.find("slot"), std::string::npos);
  EXPECT_EQ(follower.source().lag({follower.position()}).error().code, ErrorCode::not_found);
}

TEST_F(PostgresSource, a_key_that_is_renamed_stops_the_stream_and_loses_nothing) {
  make_table();
  Sql sql = server().sql();
  Follower follower(settings());
  follower.build_and_start();
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('a', 1)");
  follower.catch_up();
  sql.run("ALTER TABLE baskets RENAME COLUMN cookie TO biscuit; INSERT INTO baskets (biscuit, items) VALUES ('b', 1)");
  EXPECT_EQ(follower.failure().code, ErrorCode::not_found);
  follower.open();
  const Error renamed = follower.source().start({follower.position()}).error();
  EXPECT_EQ(renamed.code, ErrorCode::not_found);
  EXPECT_NE(renamed.detail.find("no column cookie"), std::string::npos) << renamed.detail;
  // A condition's column may change its name.
  sql.run("ALTER TABLE baskets RENAME COLUMN items TO things");
  follower.open();
  EXPECT_FALSE(follower.source().start({follower.position()}).has_value());
  sql.run("ALTER TABLE baskets RENAME COLUMN biscuit TO cookie");
  follower.open();
  must(follower.source().start({follower.position()}));
  EXPECT_EQ(follower.failure().code, ErrorCode::not_found);  // at the row that was written in between
}

TEST_F(PostgresSource, another_type_or_another_table_is_not_taken_for_ours) {
  make_table();
  Sql sql = server().sql();
  Follower follower(settings());
  follower.build();
  sql.run("ALTER TABLE baskets ALTER COLUMN cookie TYPE varchar(7)");
  EXPECT_EQ(follower.source().start({follower.position()}).error().code, ErrorCode::invalid_argument);
  make_table();
  EXPECT_EQ(follower.source().start({follower.position()}).error().code, ErrorCode::invalid_argument);
  sql.run("DROP TABLE baskets");
  follower.open();
  EXPECT_EQ(follower.source().start({follower.position()}).error().code, ErrorCode::not_found);
}

// Goal: keys that ALTER TABLE has written anew, which is in no log, are noticed also where the type is the same as
// before; what leaves the keys alone is not taken for that.
TEST_F(PostgresSource, keys_that_were_written_anew_are_noticed) {
  make_table();
  Sql sql = server().sql();
  const std::string table = "ALTER TABLE baskets ";
  for (const std::string& harmless :
       {std::string("VACUUM FULL baskets"), table + "ALTER cookie SET STATISTICS 50", std::string("TRUNCATE baskets"),
        table + "ALTER items TYPE bigint; CREATE INDEX ON baskets (cookie); CLUSTER baskets USING baskets_pkey",
        table + "RENAME cookie TO biscuit; ALTER TABLE baskets RENAME biscuit TO cookie",
        table + "ADD COLUMN drawn float DEFAULT random()", std::string("VACUUM (FREEZE) pg_attribute")}) {
    Follower follower(settings(""));
    follower.build();
    for (const std::string& statement : statements_of(harmless)) {
      sql.run(statement);
    }
    const auto started = follower.source().start({follower.position()});
    EXPECT_TRUE(started.has_value()) << harmless << ": " << started.error().detail;
  }
  for (const std::string& harm :
       {table + "ALTER cookie TYPE char(4) USING 'x'; ALTER TABLE baskets ALTER cookie TYPE text",
        table + "ALTER cookie TYPE text USING upper(cookie)"}) {
    Follower follower(settings());
    follower.build();
    for (const std::string& statement : statements_of(harm)) {
      sql.run(statement);
    }
    for (int i = 0; i < 2; ++i) {
      follower.open();
      const auto started = follower.source().start({follower.position()});
      ASSERT_FALSE(started.has_value()) << harm;
      EXPECT_EQ(started.error().code, ErrorCode::invalid_argument);
      EXPECT_NE(started.error().detail.find("was rewritten"), std::string::npos) << started.error().detail;
      sql.run("VACUUM (FREEZE) pg_attribute");
    }
  }
}

// Goal: that is noticed before a row that came after it is handed out; what alters no key stops nothing.
TEST_F(PostgresSource, keys_that_are_written_anew_meanwhile_are_noticed_with_the_next_row) {
  make_table();
  Sql sql = server().sql();
  Follower follower(settings());
  follower.build_and_start();
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('a', 1)");
  sql.run("ALTER TABLE baskets ADD COLUMN more int");
  sql.run("VACUUM baskets");
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('b', 1)");
  follower.catch_up();
  EXPECT_EQ(follower.counts(), (Counts{{"a", 1}, {"b", 1}}));
  const std::uint64_t before = follower.transactions();
  sql.run("ALTER TABLE baskets ALTER cookie TYPE text USING upper(cookie)");
  sql.run("INSERT INTO baskets (cookie, items) VALUES ('C', 1)");
  const Error error = follower.failure();
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_NE(error.detail.find("was rewritten"), std::string::npos) << error.detail;
  EXPECT_EQ(follower.transactions(), before);
}

// Goal: who follows the slot next need not be lucky: the server notices after a moment that the one before has gone.
TEST_F(PostgresSource, a_slot_that_becomes_free_is_taken_over) {
  make_table();
  Follower follower(settings());
  follower.build_and_start();
  const auto second = open_postgres_source(settings()).value();
  std::jthread leaver([&] {
    Sql sql = server().sql();
    wait_until("the second one has come", [&] {
      return sql.value("SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'walsender'") == "2";
    });
    std::this_thread::sleep_for(kShort);
    follower.open();
  });
  const auto started = second->start({follower.position()});
  EXPECT_TRUE(started.has_value()) << started.error().detail;
}

TEST_F(PostgresSource, keys_of_partitions_that_were_written_anew_are_noticed) {
  Sql sql = server().sql();
  sql.run(
      "DROP TABLE IF EXISTS baskets CASCADE; CREATE TABLE baskets (id int, cookie text, items int) PARTITION BY RANGE "
      "(id); CREATE TABLE baskets_low PARTITION OF baskets FOR VALUES FROM (0) TO (100); "
      "ALTER TABLE baskets REPLICA IDENTITY FULL; ALTER TABLE baskets_low REPLICA IDENTITY FULL");
  Follower follower(settings());
  follower.build();
  must(follower.source().start({follower.position()}));
  sql.run("ALTER TABLE baskets ALTER cookie TYPE text USING upper(cookie)");
  follower.open();
  EXPECT_EQ(follower.source().start({follower.position()}).error().code, ErrorCode::invalid_argument);
}

TEST_F(PostgresSource, old_rows_that_come_no_longer_stop_the_stream) {
  make_table();
  Sql sql = server().sql();
  Follower follower(settings(""));
  follower.build_and_start();
  sql.run(
      "ALTER TABLE baskets REPLICA IDENTITY DEFAULT; INSERT INTO baskets (cookie, items) VALUES ('a', 1); "
      "UPDATE baskets SET cookie = 'b'");
  const Error error = follower.failure();
  EXPECT_EQ(error.code, ErrorCode::invalid_argument);
  EXPECT_NE(error.detail.find("REPLICA IDENTITY FULL"), std::string::npos) << error.detail;
  follower.open();
  EXPECT_NE(follower.source().start({follower.position()}).error().detail.find("REPLICA IDENTITY FULL"),
            std::string::npos);
}

TEST_F(PostgresSource, a_server_that_ends_is_an_error_that_may_go_by) {
  make_table();
  Follower follower(settings());
  follower.build_and_start();
  for (const int signal : {SIGINT, SIGQUIT, SIGKILL}) {
    server().sql().run("INSERT INTO baskets (cookie, items) VALUES ('a', 1)");
    std::jthread ender([&] { server().end(signal); });
    const Error error = follower.failure();
    EXPECT_EQ(error.code, ErrorCode::io) << error.detail;
    ender.join();
    follower.open();
    const auto started = follower.source().start({follower.position()});
    ASSERT_FALSE(started.has_value());
    EXPECT_EQ(started.error().code, ErrorCode::io) << started.error().detail;
    server().start();
    follower.open();
    must(follower.source().start({follower.position()}));
    follower.catch_up();
    EXPECT_EQ(follower.counts(), selected());
  }
  EXPECT_EQ(follower.counts(), (Counts{{"a", 3}}));
}

TEST_F(PostgresSource, a_server_without_logical_decoding_is_told_how_to_have_it) {
  make_table();
  server().end(SIGINT);
  server().start({"wal_level=replica"});
  EXPECT_NE(refusal(settings()).detail.find("ALTER SYSTEM SET wal_level = logical"), std::string::npos);
  server().end(SIGINT);
  server().start();
}

TEST(PostgresSettings, passwords_and_names_that_are_none_are_refused_without_repeating_them) {
  for (const char* const source : {"postgres:dbname=shop password=secret", "postgres://gate:secret@db.example/shop",
                                   "postgres:postgresql://gate@db.example/shop?password=secret",
                                   "postgres:dbname=shop my secret", "postgres:host='secret", "mysql:secret"}) {
    const auto opened =
        open_postgres_source({.source = source, .table = "t", .key = "k", .where = "", .installed = "mankai_gate"});
    ASSERT_FALSE(opened.has_value()) << source;
    EXPECT_EQ(opened.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(opened.error().detail.find("secret"), std::string::npos) << opened.error().detail;
  }
  for (const std::string& name :
       {std::string(), std::string("Gate"), std::string("a-b"), std::string(64, 'a'), std::string("a\"; DROP")}) {
    EXPECT_FALSE(
        open_postgres_source({.source = "postgres:shop", .table = "t", .key = "k", .where = "", .installed = name})
            .has_value())
        << name;
  }
  EXPECT_TRUE(open_postgres_source(
                  {.source = "postgres:shop", .table = "t", .key = "k", .where = "", .installed = "mankai_gate_7"})
                  .has_value());
}

}  // namespace
}  // namespace mankai::test
