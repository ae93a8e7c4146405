// The end of the server, and of the process that keeps the gate, in the midst of everything.
//
// Three writers change a table at random, rows of few keys, in transactions of several statements: inserts, updates of
// keys and across the condition, deletes, COPY, savepoints, rollbacks, large ones, and now and then TRUNCATE. Meanwhile
// the process that keeps the gate is killed and started again, and so is the server, by turns at once and gently enough
// to recover. In the end the gate is brought up to date, and must count every key as one that is built of the query's
// result: not one erasure missed, and no counter off by one; also of keys that come and go many times between two
// looks, which would make counters stick if each were counted.

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <csignal>
#include <random>
#include <thread>

#include "mankai/gate/database/gate_build.hpp"
#include "mankai/hash/hasher.hpp"
#include "tests/gate/postgres_server.hpp"
#include "tests/support/temporary_folder.hpp"

namespace mankai::test {
namespace {

constexpr int kKeys = 300;
constexpr int kWriters = 3;
constexpr std::uint64_t kSeed = 20261122;

/// A statement of a transaction, at random. At most a few rows have one key at once, so that no counter need stick.
class Statements {
 public:
  explicit Statements(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  std::string key() { return "key" + std::to_string(below(kKeys)); }

  std::string next() {
    switch (below(12)) {
      case 0:
      case 1:
      case 2:
      case 3: return "INSERT INTO baskets (cookie, items) VALUES ('" + key() + "', " + std::to_string(below(3)) + ")";
      case 4: return "INSERT INTO baskets (cookie, items) VALUES (NULL, 1), ('" + key() + "', 1), ('" + key() + "', 0)";
      case 5: return "UPDATE baskets SET cookie = '" + key() + "' WHERE id IN " + some_rows();
      case 6: return "UPDATE baskets SET items = 0 WHERE cookie = '" + key() + "'";
      case 7: return "UPDATE baskets SET items = 1 WHERE cookie = '" + key() + "'";
      case 8:
        return "UPDATE baskets SET items = items + 1, cookie = NULLIF(cookie, '" + key() + "') WHERE id IN " +
               some_rows();
      case 9: return "DELETE FROM baskets WHERE cookie = '" + key() + "'";
      default: return "DELETE FROM baskets WHERE id IN (SELECT id FROM baskets ORDER BY id LIMIT 3)";
    }
  }

 private:
  std::string some_rows() {
    return "(SELECT id FROM baskets WHERE id % 50 = " + std::to_string(below(50)) + " LIMIT 5)";
  }

  std::mt19937_64 random_;
};

/// One transaction; false when it failed, or the server is gone.
bool write_once(Sql& sql, Statements& statements) {
  const std::uint64_t kind = statements.below(200);
  if (kind == 0) {
    return sql.attempt("TRUNCATE baskets");
  }
  if (kind < 4) {  // large: every key comes, and goes again; one row in 101 stays, never two of one key
    return sql.attempt(
        "BEGIN; INSERT INTO baskets (cookie, items) SELECT 'key' || n % 300, 1 FROM generate_series(1, "
        "1200) AS n; DELETE FROM baskets WHERE id % 101 <> 0; COMMIT");
  }
  std::string text = "BEGIN";
  for (std::uint64_t left = 1 + statements.below(4); left > 0; --left) {
    text += "; " + statements.next();
    if (statements.below(6) == 0) {
      text += "; SAVEPOINT s; " + statements.next() + (statements.below(2) == 0 ? "; ROLLBACK TO s" : "; RELEASE s");
    }
  }
  const bool is_good = sql.attempt(text + (statements.below(5) == 0 ? "; ROLLBACK" : "; COMMIT"));
  if (!is_good) {
    (void)sql.attempt("ROLLBACK");
  }
  return is_good;
}

/// A basket that is filled and emptied again and again, each time in a transaction of its own or all in one.
void toggle(Sql& sql, Statements& statements) {
  constexpr int kTimes = 20;
  const std::string key = statements.key();
  const std::string once = "INSERT INTO baskets (cookie, items) VALUES ('" + key +
                           "', 1); UPDATE baskets SET items = 0 WHERE cookie = '" + key +
                           "'; UPDATE baskets SET items = 1 WHERE cookie = '" + key +
                           "'; DELETE FROM baskets WHERE cookie = '" + key + "'";
  const bool in_one = statements.below(2) == 0;
  bool is_good = !in_one || sql.attempt("BEGIN");
  for (int i = 0; i < kTimes && is_good; ++i) {
    is_good = sql.attempt(once);
  }
  if (in_one && !(is_good && sql.attempt("COMMIT"))) {
    (void)sql.attempt("ROLLBACK");
  }
}

void copy_once(Sql& sql, Statements& statements) {
  const std::string lines = statements.key() + "\t1\n" + statements.key() + "\t0\n\\N\t1\n";
  sql.copy_in("COPY baskets (cookie, items) FROM STDIN", lines);
}

/// Some transactions on one connection. Throws when the server is gone.
void write_some(const PostgresServer& server, Statements& statements, std::atomic<std::uint64_t>& written) {
  constexpr int kTransactions = 50;
  constexpr std::uint64_t kCopies = 10;
  constexpr std::uint64_t kToggles = 20;
  Sql sql = server.sql();
  for (int i = 0; i < kTransactions; ++i) {
    written += write_once(sql, statements) ? 1 : 0;
    if (statements.below(kToggles) == 0) {
      toggle(sql, statements);
    }
    if (statements.below(kCopies) == 0) {
      copy_once(sql, statements);
    }
  }
}

/// Writes until told to end, to whatever server is there.
void write_on(const PostgresServer& server, std::uint64_t seed, const std::atomic<bool>& is_over,
              std::atomic<std::uint64_t>& written) {
  Statements statements(seed);
  while (!is_over) {
    try {
      write_some(server, statements, written);
    } catch (const std::exception&) {  // the server is gone for a moment
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
}

pid_t start_keeper(const std::string& gate, bool is_once) {
  std::array<std::string, 3> words{MANKAI_GATE_KEEPER, gate, "--once"};
  std::array<char*, 4> arguments{words[0].data(), words[1].data(), is_once ? words[2].data() : nullptr, nullptr};
  pid_t child = -1;
  if (posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) != 0) {
    throw std::runtime_error("cannot start " + words[0]);
  }
  return child;
}

int end_of(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

void expect_equal_to_the_query(Sql& sql, const std::string& path) {
  const Gate gate = Gate::open(path).value();
  GateRequest request{.keys = gate.facts().capacity_keys, .fpr = gate.facts().fpr_target};
  request.hash = gate.filter().hash().kind;
  request.seed = gate.filter().hash().seed;
  Gate fresh = Gate::create(request).value();
  const auto keys = sql.column("SELECT cookie FROM baskets WHERE cookie IS NOT NULL AND items > 0");
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  fresh.apply({.inserted = views}, 1).value();

  EXPECT_EQ(gate.facts().keys, views.size());
  EXPECT_EQ(gate.facts().stuck_cells, 0U);
  EXPECT_EQ(gate.facts().saturation, fresh.facts().saturation);
  const Hasher hasher = gate.filter().hasher();
  for (int i = 0; i < kKeys; ++i) {
    const Digest digest = hasher("key" + std::to_string(i));
    EXPECT_EQ(gate.filter().estimate(digest).value, fresh.filter().estimate(digest).value) << "key" << i;
  }
  for (const std::string_view key : views) {
    EXPECT_TRUE(gate.maybe(key)) << key;
  }
}

TEST(GateKill, in_the_end_the_gate_is_what_the_query_selects) {
  PostgresServer server;
  const TemporaryFolder folder;
  const std::string path = folder.file("baskets.mk");
  server.sql().run(
      "CREATE TABLE baskets (id bigserial PRIMARY KEY, cookie text, items int); "
      "CREATE INDEX ON baskets (cookie); ALTER TABLE baskets REPLICA IDENTITY FULL");

  std::atomic<bool> is_over{false};
  std::atomic<std::uint64_t> written{0};
  std::vector<std::jthread> writers;
  for (int i = 0; i < kWriters; ++i) {
    writers.emplace_back([&, i] { write_on(server, kSeed + static_cast<std::uint64_t>(i), is_over, written); });
  }
  const auto wait_for_writes = [&](std::uint64_t count) {
    for (const std::uint64_t before = written; written < before + count;) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  };
  wait_for_writes(100);
  const auto built = build_gate(path,
                                {.source = "postgres:" + server.dsn(),
                                 .table = "baskets",
                                 .key = "cookie",
                                 .where = "items > 0",
                                 .installed = {}},
                                {.keys = 20000, .fpr = 0.001});
  ASSERT_TRUE(built.has_value()) << built.error().message();

  pid_t keeper = start_keeper(path, false);
  for (int round = 0; round < 6; ++round) {
    wait_for_writes(100);
    if (round % 3 != 0) {
      server.end(round % 3 == 1 ? SIGKILL : SIGQUIT);
      server.start();
      wait_for_writes(50);
    }
    kill(keeper, SIGKILL);
    EXPECT_TRUE(WIFSIGNALED(end_of(keeper)));  // it does not end by itself, whatever happens to the server
    keeper = start_keeper(path, false);
  }
  wait_for_writes(100);
  is_over = true;
  writers.clear();
  kill(keeper, SIGKILL);
  end_of(keeper);
  // What nobody has looked at meanwhile comes as one batch.
  Sql late = server.sql();
  Statements last(kSeed);
  for (int i = 0; i < 20; ++i) {
    toggle(late, last);
  }

  EXPECT_EQ(end_of(start_keeper(path, true)), 0);
  Sql sql = server.sql();
  expect_equal_to_the_query(sql, path);
  EXPECT_EQ(sql.value("SELECT count(*) FROM pg_replication_slots"), "1");
}

}  // namespace
}  // namespace mankai::test
