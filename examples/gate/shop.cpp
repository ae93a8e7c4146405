// A small shop whose pages ask for the visitor's basket only when there may be one.
//
//     gate_shop CONNECTION [SHOPPERS] [PAGES]        such as: gate_shop "dbname=shop host=/var/run/postgresql" 8 2000
//
// Works on a PostgreSQL with wal_level = logical, in a table of its own, gate_shop_baskets, which it makes and drops;
// the role has to have REPLICATION. Each shopper is a thread with a connection, as a web server's worker is, and shows
// PAGES pages to visitors who mostly have no basket. One more thread keeps the gate in step with the table.
//
// After it has committed a change, a worker asks where the log is now, and keeps that place in the visitor's session,
// as it would in the cookie. The next page passes it to maybe(): until the gate has applied that place, the answer is
// "maybe", and the basket is asked for. Without it there is a moment in which a basket is committed and not yet in the
// gate; the program counts how often a page would have met that moment.
//
// Prints what was saved. Ends with 1 if a committed basket was ever answered "empty".

#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "mankai/gate/database/gate_build.hpp"
#include "mankai/gate/database/gate_sync.hpp"
#include "mankai/gate/database/pgoutput.hpp"
#include "mankai/gate/database/source_settings.hpp"
#include "mankai/gate/gate.hpp"

namespace {

/// The value, or an exception that says why there is none.
template <class T>
T must(mankai::Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().message());
  }
  if constexpr (!std::is_void_v<T>) {
    return std::move(*result);
  }
}

constexpr const char* kTable = "gate_shop_baskets";

/// A connection for plain queries. Throws what goes wrong: a shop without its database has nothing to say.
class Database {
 public:
  explicit Database(const std::string& connection) : connection_(PQconnectdb(connection.c_str()), PQfinish) {
    if (PQstatus(connection_.get()) != CONNECTION_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
  }

  /// Runs one statement with one text in it, and returns the first value of the answer.
  std::string run(const std::string& statement, const std::string& value) {
    const char* const values[] = {value.c_str()};
    return first(PQexecParams(connection_.get(), statement.c_str(), 1, nullptr, values, nullptr, nullptr, 0));
  }
  std::string run(const std::string& statements) { return first(PQexec(connection_.get(), statements.c_str())); }

 private:
  std::string first(PGresult* result) {
    const std::unique_ptr<PGresult, void (*)(PGresult*)> answer(result, PQclear);
    const ExecStatusType status = PQresultStatus(result);
    if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
      throw std::runtime_error(PQerrorMessage(connection_.get()));
    }
    return PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : std::string();
  }

  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

/// What a visitor's cookie carries, and what only this program knows.
struct Session {
  std::string cookie;
  std::uint64_t after = 0;  ///< where the log was when this visitor changed something last
  bool has_basket = false;  ///< the truth
};

struct Tally {
  std::atomic<std::uint64_t> pages{0};
  std::atomic<std::uint64_t> queries{0};
  std::atomic<std::uint64_t> baskets{0};  ///< queries that found one
  std::atomic<std::uint64_t> changes{0};
  std::atomic<std::uint64_t> too_early{0};  ///< changes that were not in the gate yet when they had been committed
  std::atomic<std::uint64_t> wrong{0};      ///< committed baskets that were answered "empty"
};

class Shopper {
 public:
  Shopper(const std::string& connection, const mankai::Gate& gate, Tally& tally, unsigned number)
      : database_(connection), gate_(gate), tally_(tally), random_(number), name_("visitor-" + std::to_string(number)) {
    constexpr std::size_t kAtOnce = 40;
    for (std::size_t i = 0; i < kAtOnce; ++i) {
      sessions_.push_back(new_session());
    }
  }

  void show_page() {
    constexpr unsigned kLeaves = 20;  // one in so many
    constexpr unsigned kBuys = 30;
    constexpr unsigned kEmpties = 4;
    Session& session = sessions_[random_() % sessions_.size()];
    ask_for_basket(session);
    if (!session.has_basket && is_one_in(kBuys)) {
      put_something_in(session);
      ask_for_basket(session);  // the page that says so
    } else if (session.has_basket && is_one_in(kEmpties)) {
      check_out(session);
    } else if (!session.has_basket && is_one_in(kLeaves)) {
      session = new_session();
    }
  }

 private:
  bool is_one_in(unsigned many) { return random_() % many == 0; }
  Session new_session() {
    return {.cookie = name_ + "-" + std::to_string(++visitors_), .after = 0, .has_basket = false};
  }

  void ask_for_basket(const Session& session) {
    ++tally_.pages;
    const mankai::GateAnswer answer = gate_.maybe(session.cookie, session.after);
    if (!answer) {
      tally_.wrong += session.has_basket ? 1 : 0;
      return;
    }
    ++tally_.queries;
    const std::string found =
        database_.run("SELECT 1 FROM gate_shop_baskets WHERE cookie = $1 AND items > 0", session.cookie);
    tally_.baskets += found.empty() ? 0 : 1;
    if (found.empty()) {
      gate_.report_false_positive(session.cookie, answer);
    }
  }

  void put_something_in(Session& session) {
    database_.run("INSERT INTO gate_shop_baskets VALUES ($1, 1) ON CONFLICT (cookie) DO UPDATE SET items = 1",
                  session.cookie);
    tally_.too_early += gate_.maybe(session.cookie) ? 0 : 1;
    // Asked for behind the commit, so that the commit lies before it.
    session.after = must(mankai::parse_lsn(database_.run("SELECT pg_current_wal_insert_lsn()"))).value;
    session.has_basket = true;
    ++tally_.changes;
  }

  void check_out(Session& session) {
    database_.run("UPDATE gate_shop_baskets SET items = 0 WHERE cookie = $1", session.cookie);
    session.has_basket = false;
    ++tally_.changes;
  }

  Database database_;
  const mankai::Gate& gate_;
  Tally& tally_;
  std::mt19937 random_;
  std::string name_;
  std::uint64_t visitors_ = 0;
  std::vector<Session> sessions_;
};

/// Stops the keeper when the shop closes, however that comes.
class Keeper {
 public:
  Keeper(mankai::Gate& gate, const mankai::RowSourceSettings& settings)
      : sync_(gate, settings), thread_([this] { outcome_ = sync_.run(); }) {}
  ~Keeper() { sync_.stop(); }
  Keeper(const Keeper&) = delete;
  Keeper(Keeper&&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  Keeper& operator=(Keeper&&) = delete;

  mankai::Result<void> stop() {
    sync_.stop();
    thread_.join();
    return outcome_;
  }

 private:
  mankai::GateSync sync_;
  mankai::Result<void> outcome_;
  std::jthread thread_;
};

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

int report(const Tally& tally, const mankai::Gate& gate) {
  const auto print = [](const char* what, std::uint64_t count) {
    std::printf("%-52s %10llu\n", what, static_cast<unsigned long long>(count));
  };
  const std::uint64_t saved = tally.pages - tally.queries;
  print("pages shown, each a query without a gate", tally.pages);
  print("queries made", tally.queries);
  print("  that found a basket", tally.baskets);
  print("  made since a commit was not applied yet", gate.counts().waiting);
  print("false positives reported", gate.counts().false_positives);
  print("changes committed", tally.changes);
  print("  not in the gate yet at that moment", tally.too_early);
  print("committed baskets answered \"empty\"", tally.wrong);
  std::printf("queries saved: %.1f %%\n", share(saved, tally.pages));
  return tally.wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

/// Returns when every shopper has shown its pages; throws what the last one threw that failed.
void open_doors(const std::string& connection, const mankai::Gate& gate, Tally& tally, unsigned shoppers,
                unsigned pages) {
  std::exception_ptr failure;
  std::mutex failing;
  std::vector<std::jthread> threads;
  for (unsigned number = 0; number < shoppers; ++number) {
    threads.emplace_back([&, number] {
      try {
        Shopper shopper(connection, gate, tally, number);
        for (unsigned page = 0; page < pages; ++page) {
          shopper.show_page();
        }
      } catch (...) {
        const std::lock_guard lock(failing);
        failure = std::current_exception();
      }
    });
  }
  threads.clear();
  if (failure) {
    std::rethrow_exception(failure);
  }
}

int run_shop(const std::string& connection, const std::string& gate_path, unsigned shoppers, unsigned pages) {
  constexpr std::uint64_t kRows = 100'000;
  constexpr double kFpr = 0.01;
  must(mankai::build_gate(
      gate_path,
      {.source = "postgres:" + connection, .table = kTable, .key = "cookie", .where = "items > 0", .installed = {}},
      {.keys = kRows, .fpr = kFpr}));
  mankai::Gate gate = must(mankai::Gate::open(gate_path));
  Keeper keeper(gate, must(mankai::read_source_settings(gate_path)));
  Tally tally;
  open_doors(connection, gate, tally, shoppers, pages);
  must(keeper.stop());
  return report(tally, gate);
}

void close_shop(const std::string& connection, const std::string& gate_path) {
  if (const auto settings = mankai::read_source_settings(gate_path); settings) {
    must(must(mankai::open_row_source(*settings))->uninstall());
  }
  Database(connection).run(std::string("DROP TABLE IF EXISTS ") + kTable);
}

}  // namespace

int main(int argc, char** argv) {
  constexpr unsigned kShoppers = 8;
  constexpr unsigned kPages = 2000;
  if (argc < 2) {
    std::fprintf(stderr, "gate_shop CONNECTION [SHOPPERS] [PAGES]\n");
    return 2;
  }
  const std::string connection = argv[1];
  const auto number = [&](int which, unsigned usual) {
    return argc > which ? static_cast<unsigned>(std::strtoul(argv[which], nullptr, 10)) : usual;
  };
  const auto folder = std::filesystem::temp_directory_path() / ("gate_shop." + std::to_string(getpid()));
  const std::string gate_path = folder / "baskets.mk";
  int outcome = EXIT_FAILURE;
  const auto attempt = [&](const auto& what) {
    try {
      what();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "gate_shop: %s\n", error.what());
      outcome = EXIT_FAILURE;
    }
  };
  attempt([&] {
    std::filesystem::create_directories(folder);
    Database(connection)
        .run(std::string("DROP TABLE IF EXISTS ") + kTable + "; CREATE TABLE " + kTable +
             " (cookie text PRIMARY KEY, items int); ALTER TABLE " + kTable + " REPLICA IDENTITY FULL");
    outcome = run_shop(connection, gate_path, number(2, kShoppers), number(3, kPages));
  });
  attempt([&] { close_shop(connection, gate_path); });  // also after a failure: a slot that is left fills the disk
  std::filesystem::remove_all(folder);
  return outcome;
}
