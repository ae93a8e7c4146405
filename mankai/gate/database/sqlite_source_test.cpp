#include "mankai/gate/database/sqlite_source.hpp"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "mankai/gate/database/gate_build.hpp"
#include "mankai/gate/database/gate_sync.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "tests/support/random.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai {
namespace {

namespace fs = std::filesystem;

// The shop's side: a connection of its own, which knows nothing of gates.
class Shop {
 public:
  explicit Shop(const std::string& path, const std::string& encoding = "UTF-8") {
    EXPECT_EQ(sqlite3_open(path.c_str(), &handle_), SQLITE_OK);
    run("PRAGMA encoding = '" + encoding + "'; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF");
  }
  ~Shop() { sqlite3_close(handle_); }
  Shop(const Shop&) = delete;
  Shop& operator=(const Shop&) = delete;
  Shop(Shop&&) = delete;
  Shop& operator=(Shop&&) = delete;

  // What fails by a constraint is no failure of the test.
  void run(const std::string& sql) {
    char* message = nullptr;
    const int code = sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, &message);
    EXPECT_TRUE(code == SQLITE_OK || code == SQLITE_CONSTRAINT) << sql << ": " << message;
    sqlite3_free(message);
  }

  // The keys as bytes, each once for each different value that has them.
  std::map<std::string, int> keys(const std::string& query) {
    std::map<std::string, int> found;
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, query.c_str(), -1, &statement, nullptr), SQLITE_OK) << query;
    while (sqlite3_step(statement) == SQLITE_ROW) {
      const bool is_blob = sqlite3_column_type(statement, 0) == SQLITE_BLOB;
      const void* const bytes = is_blob ? sqlite3_column_blob(statement, 0) : sqlite3_column_text(statement, 0);
      ++found[std::string(static_cast<const char*>(bytes),
                          static_cast<std::size_t>(sqlite3_column_bytes(statement, 0)))];
    }
    sqlite3_finalize(statement);
    return found;
  }

 private:
  sqlite3* handle_ = nullptr;
};

class SqliteSourceTest : public testing::Test {
 protected:
  [[nodiscard]] std::string database() const { return folder_.file("shop.db"); }
  [[nodiscard]] std::string gate() const { return folder_.file("gate.mk"); }
  [[nodiscard]] RowSourceSettings settings() const {
    return {.source = "sqlite:" + database(),
            .table = "baskets",
            .key = "cookie",
            .where = "items > 0",
            .installed = "mankai_test"};
  }
  [[nodiscard]] Error install_error(const RowSourceSettings& asked) const {
    auto source = open_row_source(asked);
    if (!source) {
      return source.error();
    }
    const auto installed = (*source)->install();
    EXPECT_FALSE(installed.has_value());
    return installed ? Error{} : installed.error();
  }

 private:
  test::TemporaryFolder folder_;
};

constexpr const char* kBaskets = "CREATE TABLE baskets(cookie TEXT PRIMARY KEY, items INTEGER, total REAL)";

void catch_up(const std::string& path) {
  auto gate = Gate::open(path);
  ASSERT_TRUE(gate.has_value()) << gate.error().message();
  auto settings = read_source_settings(path);
  ASSERT_TRUE(settings.has_value()) << settings.error().message();
  GateSync sync(*gate, *settings, {.until_caught_up = true});
  const auto ran = sync.run();
  ASSERT_TRUE(ran.has_value()) << ran.error().message();
  EXPECT_EQ(gate->missed_erasures(), 0U);
  ASSERT_TRUE(gate->close());
}

RowPosition position_of(const std::string& path) {
  const auto gate = Gate::open(path);
  return {.number = gate->position().value_or(0), .mark = gate->position_mark()};
}

// What a sync says that goes wrong.
Error sync_error(const std::string& path) {
  auto gate = Gate::open(path);
  GateSync sync(*gate, *read_source_settings(path), {.until_caught_up = true});
  const auto ran = sync.run();
  EXPECT_FALSE(ran.has_value());
  return ran ? Error{} : ran.error();
}

TEST_F(SqliteSourceTest, rows_come_and_go_with_their_condition) {
  Shop shop(database());
  shop.run(kBaskets);
  shop.run("INSERT INTO baskets VALUES ('a', 1, 0), ('b', 0, 0), ('c', 2, 0), (NULL, 7, 0)");
  const auto built = build_gate(gate(), settings(), {});
  ASSERT_TRUE(built.has_value()) << built.error().message();
  EXPECT_EQ(built->keys, 2U);
  shop.run("UPDATE baskets SET items = 3 WHERE cookie = 'a'; UPDATE baskets SET items = 1 WHERE cookie = 'b'");
  shop.run("DELETE FROM baskets WHERE cookie = 'c'; INSERT INTO baskets VALUES ('d', 4, 0)");
  catch_up(gate());
  const auto asked = Gate::open(gate());
  EXPECT_TRUE(asked->maybe("a"));
  EXPECT_TRUE(asked->maybe("b"));
  EXPECT_FALSE(asked->maybe("c"));
  EXPECT_TRUE(asked->maybe("d"));
  EXPECT_EQ(asked->facts().keys, 3U);
}

TEST_F(SqliteSourceTest, changes_are_handed_out_once_and_forgotten_when_acknowledged) {
  Shop shop(database());
  shop.run(kBaskets);
  auto source = open_row_source(settings());
  ASSERT_TRUE((*source)->install());
  const auto position = (*source)->snapshot([](auto) { return Result<void>(); });
  ASSERT_TRUE(position && (*source)->start(*position));
  const std::uint64_t number = position->number;
  RowChanges changes;
  EXPECT_EQ((*source)->next(changes, Duration::zero()), false);
  shop.run(
      "BEGIN; INSERT INTO baskets VALUES ('a', 1, 0), ('b', 1, 0); DELETE FROM baskets WHERE cookie = 'b'; COMMIT");
  shop.run("INSERT INTO baskets VALUES ('gone', 1, 0); DELETE FROM baskets WHERE cookie = 'gone'");
  EXPECT_EQ((*source)->lag(*position)->behind, 5U);
  ASSERT_EQ((*source)->next(changes, Duration::zero()), true);
  const RowPosition changes_end{.number = changes.position, .mark = changes.mark};
  EXPECT_EQ(changes.position, number + 5);
  EXPECT_EQ(changes.inserted.size(), changes.erased.size() + 1);
  EXPECT_EQ((*source)->next(changes, Duration::zero()), false);
  ASSERT_TRUE((*source)->acknowledge(number + 5));
  EXPECT_EQ(shop.keys("SELECT key FROM mankai_test_changes").size(), 1U);
  auto again = open_row_source(settings());
  EXPECT_TRUE((*again)->start({changes_end.number, changes_end.mark}));
  const auto forgotten = (*again)->start(*position);
  ASSERT_FALSE(forgotten.has_value());
  EXPECT_EQ(forgotten.error().code, ErrorCode::not_found);
}

// Goal: a key that went and came back was perhaps reported as gone meanwhile: it must be told as inserted.
TEST_F(SqliteSourceTest, a_key_that_went_and_came_back_is_told) {
  Shop shop(database());
  shop.run(kBaskets);
  shop.run("INSERT INTO baskets VALUES ('a', 1, 0)");
  auto source = open_row_source(settings());
  ASSERT_TRUE((*source)->install());
  const auto position = (*source)->snapshot([](auto) { return Result<void>(); });
  ASSERT_TRUE(position && (*source)->start(*position));
  shop.run("DELETE FROM baskets WHERE cookie = 'a'");
  shop.run("INSERT INTO baskets VALUES ('a', 1, 0)");
  RowChanges changes;
  ASSERT_EQ((*source)->next(changes, Duration::zero()), true);
  ASSERT_EQ(changes.inserted.size(), 1U);
  ASSERT_EQ(changes.erased.size(), 1U);
  EXPECT_EQ(changes.inserted.views()[0], "a");
  EXPECT_EQ(changes.erased.views()[0], "a");
}

TEST_F(SqliteSourceTest, everything_that_was_installed_can_be_taken_out) {
  Shop shop(database());
  shop.run(kBaskets);
  const auto before = shop.keys("SELECT type || name || coalesce(sql, '') FROM sqlite_schema");
  auto source = open_row_source(settings());
  ASSERT_TRUE((*source)->install());
  EXPECT_EQ((*source)->install().error().code, ErrorCode::invalid_argument);
  EXPECT_EQ((*source)->uninstall(), 7U);
  EXPECT_EQ(shop.keys("SELECT type || name || coalesce(sql, '') FROM sqlite_schema"), before);
  EXPECT_EQ((*source)->uninstall(), 0U);
}

TEST_F(SqliteSourceTest, what_cannot_be_followed_is_refused_and_leaves_nothing) {
  Shop shop(database());
  shop.run(kBaskets);
  shop.run("CREATE VIEW full AS SELECT * FROM baskets; CREATE TABLE slow(cookie TEXT, items INTEGER)");
  shop.run(
      "CREATE TABLE odd(folded TEXT COLLATE NOCASE PRIMARY KEY, items INTEGER, twice AS (items * 2) STORED UNIQUE, "
      "thrice AS (items * 3)); CREATE INDEX o ON odd(thrice)");
  shop.run("INSERT INTO baskets VALUES ('a', 1, 0)");
  const auto before = shop.keys("SELECT name FROM sqlite_schema");
  struct Case {
    const char* table;
    const char* key;
    const char* where;
    ErrorCode code;
    const char* words;
  };
  const std::vector<Case> cases = {
      {"orders", "cookie", "", ErrorCode::not_found, "orders"},
      {"baskets", "session", "", ErrorCode::not_found, "session"},
      {"baskets", "cookie", "things > 0", ErrorCode::not_found, "things"},
      {"baskets", "cookie", "items >", ErrorCode::invalid_argument, "incomplete input"},
      {"baskets", "cookie", "items > > 1", ErrorCode::invalid_argument, "syntax error"},
      {"baskets", "cookie", "items > 0) OR (1", ErrorCode::invalid_argument, "condition"},
      {"baskets", "cookie", "1; DROP TABLE baskets", ErrorCode::invalid_argument, "condition"},
      {"baskets", "cookie", "1 ORDER BY 1", ErrorCode::invalid_argument, "condition"},
      {"baskets", "cookie", "items > (SELECT 1)", ErrorCode::invalid_argument, "subqueries"},
      {"baskets", "cookie", "items > random()", ErrorCode::invalid_argument, "non-deterministic"},
      {"baskets", "cookie", "total > julianday('now')", ErrorCode::invalid_argument, "non-deterministic"},
      {"baskets", "cookie", "items > ?", ErrorCode::invalid_argument, "parameters"},
      {"full", "cookie", "", ErrorCode::invalid_argument, "view"},
      {"slow", "cookie", "", ErrorCode::invalid_argument, "CREATE INDEX"},
      {"baskets", "cookie", "cookie LIKE 'a%'", ErrorCode::invalid_argument, "GLOB"},
      {"baskets", "cookie", "items > 0 AND NOT like('a%', cookie)", ErrorCode::invalid_argument, "GLOB"},
      {"odd", "folded", "", ErrorCode::invalid_argument, "NOCASE"},
      {"odd", "FOLDED", "", ErrorCode::invalid_argument, "NOCASE"},
      {"odd", "twice", "", ErrorCode::invalid_argument, "generated"},
      {"odd", "thrice", "", ErrorCode::invalid_argument, "generated"},
  };
  for (const Case& each : cases) {
    RowSourceSettings asked = settings();
    asked.table = each.table;
    asked.key = each.key;
    asked.where = each.where;
    const Error error = install_error(asked);
    EXPECT_EQ(error.code, each.code) << each.table << " " << each.where << ": " << error.message();
    EXPECT_NE(error.message().find(each.words), std::string::npos) << error.message();
  }
  EXPECT_EQ(shop.keys("SELECT name FROM sqlite_schema"), before);
  EXPECT_EQ(shop.keys("SELECT cookie FROM baskets").size(), 1U);
}

TEST_F(SqliteSourceTest, a_condition_may_end_in_a_comment_and_name_its_table) {
  Shop shop(database());
  shop.run(kBaskets);
  RowSourceSettings asked = settings();
  asked.where = "baskets.items > '0' AND cookie <> 'LIKE' AND cookie GLOB '*' -- what is in it";
  auto source = open_row_source(asked);
  const auto installed = (*source)->install();
  ASSERT_TRUE(installed.has_value()) << installed.error().message();
  shop.run("INSERT INTO baskets VALUES ('a', 5, 0), ('b', 0, 0)");
  EXPECT_EQ((*source)->count_keys(), 1U);
}

TEST_F(SqliteSourceTest, files_that_are_no_database_are_told_apart) {
  RowSourceSettings asked = settings();
  EXPECT_EQ(install_error(asked).code, ErrorCode::not_found);
  {
    std::FILE* const file = std::fopen(database().c_str(), "w");
    std::fputs("not a database, but long enough to look like one to nobody", file);
    std::fclose(file);
  }
  EXPECT_EQ(install_error(asked).code, ErrorCode::corrupt);
  asked.source = "sqlite:";
  EXPECT_EQ(open_row_source(asked).error().code, ErrorCode::invalid_argument);
  asked.source = "oracle:x";
  EXPECT_EQ(open_row_source(asked).error().code, ErrorCode::invalid_argument);
}

TEST_F(SqliteSourceTest, a_table_that_was_made_anew_is_noticed) {
  Shop shop(database());
  shop.run(kBaskets);
  ASSERT_TRUE(build_gate(gate(), settings(), {}));
  auto source = open_row_source(*read_source_settings(gate()));
  ASSERT_TRUE((*source)->start(position_of(gate())));
  RowChanges changes;
  EXPECT_EQ((*source)->next(changes, Duration::zero()), false);
  shop.run("DROP TABLE baskets; CREATE TABLE baskets(cookie TEXT PRIMARY KEY, items INTEGER)");
  const auto came = (*source)->next(changes, Duration::zero());
  ASSERT_FALSE(came.has_value());
  EXPECT_EQ(came.error().code, ErrorCode::not_found);
}

TEST_F(SqliteSourceTest, a_file_that_was_replaced_is_noticed) {
  Shop shop(database());
  shop.run(kBaskets);
  ASSERT_TRUE(build_gate(gate(), settings(), {}));
  auto source = open_row_source(*read_source_settings(gate()));
  ASSERT_TRUE((*source)->start(position_of(gate())));
  RowChanges changes;
  EXPECT_EQ((*source)->next(changes, Duration::zero()), false);
  fs::rename(database(), database() + ".old");
  EXPECT_EQ((*source)->next(changes, Duration::zero()).error().code, ErrorCode::io);
  Shop other(database());
  other.run(kBaskets);
  auto again = open_row_source(*read_source_settings(gate()));
  EXPECT_EQ((*again)->start(position_of(gate())).error().code, ErrorCode::not_found);
}

// Goal: an older copy that was put back is noticed, before and after its changes have the numbers that were used, and
// is noticed again by every sync after that.
TEST_F(SqliteSourceTest, an_older_copy_that_was_put_back_is_noticed_for_ever) {
  {
    Shop shop(database());
    shop.run(kBaskets);
    ASSERT_TRUE(build_gate(gate(), settings(), {}));
    shop.run("PRAGMA wal_checkpoint(TRUNCATE)");
    fs::copy_file(database(), database() + ".old");
    shop.run("INSERT INTO baskets VALUES ('a', 1, 0), ('b', 1, 0)");
    catch_up(gate());
  }
  fs::rename(database() + ".old", database());
  EXPECT_EQ(sync_error(gate()).code, ErrorCode::not_found);
  Shop shop(database());
  for (const char* const cookie : {"x", "y", "z"}) {
    shop.run("INSERT INTO baskets VALUES ('" + std::string(cookie) + "', 1, 0)");
    const Error error = sync_error(gate());
    EXPECT_EQ(error.code, ErrorCode::not_found);
    EXPECT_NE(error.message().find("another copy of the database"), std::string::npos) << error.message();
    auto source = open_row_source(*read_source_settings(gate()));
    EXPECT_EQ((*source)->lag(position_of(gate())).error().code, ErrorCode::not_found);
  }
}

// Goal: so is one that is put back by way of SQLite while a sync runs.
TEST_F(SqliteSourceTest, an_older_copy_that_is_put_back_meanwhile_is_noticed) {
  Shop shop(database());
  shop.run(kBaskets);
  ASSERT_TRUE(build_gate(gate(), settings(), {}));
  auto source = open_row_source(*read_source_settings(gate()));
  ASSERT_TRUE((*source)->start(position_of(gate())));
  const std::string name = read_source_settings(gate())->installed;
  shop.run("VACUUM INTO '" + database() + ".old'; INSERT INTO baskets VALUES ('a', 1, 0), ('b', 1, 0)");
  RowChanges changes;
  ASSERT_EQ((*source)->next(changes, Duration::zero()), true);
  // What sqlite3's .restore does, on the tables that count: in one transaction, under the same schema.
  shop.run("ATTACH '" + database() + ".old' AS old; BEGIN; DELETE FROM " + name + "_changes; INSERT INTO " + name +
           "_changes SELECT * FROM old." + name + "_changes; INSERT INTO " + name +
           "_changes VALUES (2, 1, 'tx', 1), (3, 1, 'ty', 2), (4, 1, 'tz', 3); COMMIT");
  EXPECT_EQ((*source)->next(changes, Duration::zero()).error().code, ErrorCode::not_found);
}

TEST_F(SqliteSourceTest, keys_that_somebody_has_emptied_are_noticed_for_ever) {
  Shop shop(database());
  shop.run(kBaskets);
  shop.run("INSERT INTO baskets VALUES ('a', 1, 0)");
  const auto built = build_gate(gate(), settings(), {});
  ASSERT_TRUE(built.has_value()) << built.error().message();
  EXPECT_EQ(built->keys, 1U);
  auto source = open_row_source(*read_source_settings(gate()));
  ASSERT_TRUE((*source)->start(position_of(gate())));
  shop.run("DELETE FROM " + read_source_settings(gate())->installed + "_keys");
  RowChanges changes;
  EXPECT_EQ((*source)->next(changes, Duration::zero()).error().code, ErrorCode::not_found);
  shop.run("INSERT INTO baskets VALUES ('b', 1, 0)");
  for (int i = 0; i < 2; ++i) {
    const Error error = sync_error(gate());
    EXPECT_EQ(error.code, ErrorCode::not_found);
    EXPECT_NE(error.message().find("emptied"), std::string::npos) << error.message();
  }
  EXPECT_TRUE(Gate::open(gate())->maybe("a"));
}

// Goal: a row of one number goes, and leaves another one's that has the same text.
TEST_F(SqliteSourceTest, numbers_of_one_text_are_told_apart) {
  Shop shop(database());
  shop.run("CREATE TABLE baskets(cookie REAL, items INTEGER); CREATE INDEX c ON baskets(cookie)");
  shop.run("INSERT INTO baskets VALUES (0.3, 1), (0.1 + 0.2, 1), (1.5, 1)");
  ASSERT_TRUE(build_gate(gate(), settings(), {}));
  EXPECT_EQ(Gate::open(gate())->facts().keys, 3U);
  shop.run("DELETE FROM baskets WHERE cookie = 0.3 OR cookie = 1.5");
  catch_up(gate());
  EXPECT_TRUE(Gate::open(gate())->maybe("0.3"));
  EXPECT_FALSE(Gate::open(gate())->maybe("1.5"));
  shop.run("DELETE FROM baskets");
  catch_up(gate());
  EXPECT_FALSE(Gate::open(gate())->maybe("0.3"));
}

// Goal: a file that is away for a moment, also at the start, is waited for.
TEST_F(SqliteSourceTest, a_database_that_is_away_is_waited_for) {
  Shop shop(database());
  shop.run(kBaskets);
  ASSERT_TRUE(build_gate(gate(), settings(), {}));
  shop.run("INSERT INTO baskets VALUES ('a', 1, 0); PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
  fs::rename(database(), database() + ".away");
  auto kept = Gate::open(gate());
  int troubles = 0;
  int batches = 0;
  std::atomic<bool> is_over{false};
  const auto after_trouble = [&](const Error& error, Duration) {
    EXPECT_EQ(error.code, ErrorCode::io) << error.message();
    if (++troubles % 2 == 0) {
      fs::rename(database() + ".away", database());
      shop.run("INSERT INTO baskets VALUES ('b" + std::to_string(troubles) + "', 1, 0)");
    }
    is_over = troubles > 4;
  };
  const auto after_batch = [&](const RowChanges&) {
    if (++batches == 1) {
      fs::rename(database(), database() + ".away");
    } else {
      is_over = true;
    }
  };
  GateSync sync(*kept, *read_source_settings(gate()),
                {.first_wait = std::chrono::milliseconds(1),
                 .should_stop = [&] { return is_over.load(); },
                 .on_trouble = after_trouble,
                 .on_applied = after_batch});
  const auto ran = sync.run();
  ASSERT_TRUE(ran.has_value()) << ran.error().message();
  EXPECT_EQ(troubles, 4);
  for (const char* const key : {"a", "b2", "b4"}) {
    EXPECT_TRUE(kept->maybe(key)) << key;
  }
}

// Goal: whatever is written, the gate has the keys of the query, each as often as different values have its bytes.
// Method: random statements, of all kinds that SQLite has, on tables whose keys have different types, affinities and
// collations; triggers of the shop that change rows again, and vacuums; syncs in between.
struct Written {
  const char* create;
  bool recursive_triggers = true;
  const char* encoding = "UTF-8";
};

class SqliteStatements : public SqliteSourceTest, public testing::WithParamInterface<Written> {
 protected:
  std::string value(test::Random& random) const {
    std::string number = std::to_string(random.below(12));
    switch (random.below(8)) {
      case 0: return "NULL";
      case 1: return number;
      case 2: return real(random, number);
      case 3: return "x'" + std::string(number.size() % 2, '0') + number + "61'";
      case 4: return "'K" + number + "'";
      default: return "'k" + number + "'";
    }
  }

  // 0.1 + 0.2 and 0.3 are two numbers of one text.
  static std::string real(test::Random& random, const std::string& number) {
    switch (random.below(3)) {
      case 0: return number + ".0";
      case 1: return number + " / 10.0";
      default: return "0.1 + " + number + " / 10.0";
    }
  }

  std::string statement(test::Random& random) const {
    const std::string id = std::to_string(random.below(40));
    const std::string items = std::to_string(random.below(3));
    const std::string key = value(random);
    const std::string row = "(id, cookie, items) VALUES (" + id + ", " + key + ", " + items + ")";
    switch (random.below(12)) {
      case 0: return "INSERT INTO t" + row;
      case 1: return "INSERT OR IGNORE INTO t" + row;
      case 2:
      case 3: return "INSERT OR REPLACE INTO t" + row;
      case 4:
        return "INSERT INTO t" + row + " ON CONFLICT DO UPDATE SET items = excluded.items, cookie = excluded.cookie";
      case 5: return "UPDATE t SET items = " + items + " WHERE id % 7 = " + id + " % 7";
      case 6: return "UPDATE OR IGNORE t SET cookie = " + key + " WHERE id = " + id;
      case 7: return "UPDATE OR REPLACE t SET id = " + id + " WHERE cookie = " + key;
      case 8: return "DELETE FROM t WHERE id = " + id;
      case 9: return "DELETE FROM t WHERE cookie = " + key;
      case 10: return random.below(15) == 0 ? "DELETE FROM t" : "UPDATE t SET cookie = cookie || 'x' WHERE id = " + id;
      default: return random.below(10) == 0 ? "VACUUM" : "UPDATE OR ROLLBACK t SET id = id + 1 WHERE id = " + id;
    }
  }

  // Runs some of them, now and then in a transaction that is given up or not.
  void write(Shop& shop, test::Random& random) const {
    const bool in_transaction = random.below(3) == 0;
    const std::uint64_t count = 1 + random.below(6);
    if (in_transaction) {
      shop.run("BEGIN");
    }
    for (std::uint64_t i = 0; i < count; ++i) {
      std::string sql = statement(random);
      if (in_transaction && (sql == "VACUUM" || sql.find("ROLLBACK") != std::string::npos)) {
        continue;
      }
      shop.run(sql);
    }
    if (in_transaction) {
      shop.run(random.below(3) == 0 ? "ROLLBACK" : "COMMIT");
    }
  }
};

constexpr const char* kBytes = "CASE typeof(cookie) WHEN 'blob' THEN cookie ELSE CAST(cookie AS TEXT) END";

TEST_P(SqliteStatements, leave_the_gate_with_the_keys_of_the_query) {
  Shop shop(database(), GetParam().encoding);
  shop.run(GetParam().create);
  shop.run(GetParam().recursive_triggers ? "PRAGMA recursive_triggers = ON" : "PRAGMA recursive_triggers = OFF");
  test::Random random(7);
  for (int i = 0; i < 30; ++i) {
    write(shop, random);
  }
  RowSourceSettings asked = settings();
  asked.table = "t";
  const auto built = build_gate(gate(), asked, {.keys = 5000});
  ASSERT_TRUE(built.has_value()) << built.error().message();
  for (int round = 0; round < 4 && !HasFailure(); ++round) {
    for (int i = 0; i < 40; ++i) {
      write(shop, random);
    }
    catch_up(gate());
    const auto expected = shop.keys("SELECT " + std::string(kBytes) +
                                    " AS bytes FROM t WHERE cookie IS NOT NULL AND "
                                    "items > 0 GROUP BY typeof(cookie), bytes COLLATE BINARY, quote(cookie)");
    const auto asked_gate = Gate::open(gate());
    ASSERT_TRUE(asked_gate.has_value());
    std::uint64_t keys = 0;
    for (const auto& [key, count] : expected) {
      EXPECT_TRUE(asked_gate->maybe(key)) << key;
      EXPECT_EQ(asked_gate->filter().estimate(asked_gate->filter().hasher()(key)).value, count) << key;
      keys += static_cast<std::uint64_t>(count);
    }
    EXPECT_EQ(asked_gate->facts().keys, keys) << "in round " << round;
  }
}

constexpr const char* kTriggersOfTheShop =
    "CREATE TABLE t(id INTEGER PRIMARY KEY, cookie TEXT, items INTEGER); CREATE INDEX c ON t(cookie);"
    "CREATE TRIGGER touch AFTER UPDATE ON t WHEN NEW.items = 1 BEGIN UPDATE t SET items = 2 WHERE id = NEW.id; END;"
    "CREATE TRIGGER empty AFTER INSERT ON t WHEN NEW.items = 2 BEGIN UPDATE t SET items = 0 WHERE id = NEW.id; END;"
    "CREATE TRIGGER same BEFORE UPDATE ON t WHEN NEW.id = 13 BEGIN SELECT RAISE(IGNORE); END;"
    "CREATE TRIGGER stays BEFORE DELETE ON t WHEN OLD.id = 14 BEGIN SELECT RAISE(IGNORE); END";

INSTANTIATE_TEST_SUITE_P(
    Tables, SqliteStatements,
    testing::Values(
        Written{"CREATE TABLE t(id INTEGER PRIMARY KEY, cookie TEXT, items INTEGER); CREATE INDEX c ON t(cookie)"},
        Written{"CREATE TABLE t(id INT UNIQUE, cookie, items INTEGER); CREATE INDEX c ON t(cookie)"},
        // Floating-point numbers that differ in the last bits of sixteen digits.
        Written{"CREATE TABLE t(id INT UNIQUE, cookie REAL, items INTEGER); CREATE INDEX c ON t(cookie)"},
        Written{"CREATE TABLE t(cookie TEXT PRIMARY KEY, id INT UNIQUE, items INTEGER)"},
        Written{"CREATE TABLE t(cookie NOT NULL, id INT NOT NULL, items, PRIMARY KEY(cookie, id)) WITHOUT ROWID"},
        // What is in the way by the key is looked at with the new row: no pragma is needed.
        Written{.create = "CREATE TABLE t(cookie TEXT PRIMARY KEY, id INT, items INTEGER)",
                .recursive_triggers = false},
        Written{kTriggersOfTheShop},
        Written{.create = "CREATE TABLE t(id INTEGER PRIMARY KEY, cookie TEXT, items INT); CREATE INDEX c ON t(cookie)",
                .encoding = "UTF-16"}));

// Goal: REPLACE of a row that is in the way by another column than the key, which no trigger sees, errs on the safe
// side, and is right again with the next write of the key.
TEST_F(SqliteSourceTest, a_row_that_is_replaced_unseen_leaves_its_key) {
  Shop shop(database());
  shop.run(
      "CREATE TABLE baskets(id INTEGER PRIMARY KEY, cookie TEXT, items INTEGER); CREATE INDEX c ON baskets(cookie)");
  shop.run("INSERT INTO baskets VALUES (1, 'a', 1)");
  ASSERT_TRUE(build_gate(gate(), settings(), {}));
  shop.run("INSERT OR REPLACE INTO baskets VALUES (1, 'b', 1)");
  catch_up(gate());
  EXPECT_TRUE(Gate::open(gate())->maybe("a"));
  EXPECT_TRUE(Gate::open(gate())->maybe("b"));
  shop.run("INSERT INTO baskets VALUES (2, 'a', 0)");
  catch_up(gate());
  EXPECT_FALSE(Gate::open(gate())->maybe("a"));
}

}  // namespace
}  // namespace mankai
