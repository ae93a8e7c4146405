#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "lab/fading/arrays.hpp"
#include "lab/fading/lru.hpp"
#include "lab/outside.hpp"
#include "lab/parts.hpp"
#include "lab/sqlite.hpp"
#include "mankai/remote/redis_client.hpp"

namespace mankai::lab::forgetting {
namespace {

// The authors' smallest shape, one filter per user.
constexpr Shape kPerUser{.s = 307, .n = 2, .b = 8};

std::size_t known_of_user() { return static_cast<std::size_t>(text_half_life(kPerUser)); }

// What one way to keep many filters takes.
struct Kept {
  double bytes = 0;  // per filter
  Estimate puts{};   // per second of the processor; in the full run
  Estimate gets{};
};

constexpr std::uint64_t kOperations = 1'000'000;

// Runs the operations in batches, and returns how many are done per second of `cpu_seconds()`. Errors: those of `run`.
template <class CpuSeconds, class Run>
Result<Estimate> rate_of(const CpuSeconds& cpu_seconds, const Run& run) {
  constexpr std::uint64_t kBatch = kOperations / 20;
  std::vector<double> done;
  std::vector<double> seconds;
  for (std::uint64_t first = 0; first < kOperations; first += kBatch) {
    const double before = cpu_seconds();
    MANKAI_TRY(run(kBatch));
    seconds.push_back(cpu_seconds() - before);
    done.push_back(kBatch);
  }
  return ratio_of_sums(done, seconds);
}

// A table of one blob per user, in an SQLite file.
class BlobTable {
 public:
  // Errors: io, as of all functions here.
  static Result<BlobTable> create(const std::string& path) {
    MANKAI_ASSIGN(auto database, Sqlite::create(path));
    BlobTable made(std::move(database));
    MANKAI_TRY(made.run("CREATE TABLE filters (user INTEGER PRIMARY KEY, filter BLOB)"));
    MANKAI_ASSIGN(made.insert_, made.database_.prepare("INSERT OR REPLACE INTO filters VALUES (?1, ?2)"));
    MANKAI_ASSIGN(made.select_, made.database_.prepare("SELECT filter FROM filters WHERE user = ?1"));
    MANKAI_ASSIGN(made.update_, made.database_.prepare("UPDATE filters SET filter = ?2 WHERE user = ?1"));
    return made;
  }
  [[nodiscard]] Result<void> run(const char* statement) { return database_.run(statement); }
  [[nodiscard]] Result<void> insert(std::uint64_t user, std::span<const std::byte> blob) {
    return write(insert_.get(), user, blob);
  }
  [[nodiscard]] Result<void> update(std::uint64_t user, std::span<const std::byte> blob) {
    return write(update_.get(), user, blob);
  }
  // Calls use(blob), whose bytes are valid during the call.
  template <class Use>
  [[nodiscard]] Result<void> read(std::uint64_t user, const Use& use) {
    sqlite3_stmt* const select = select_.get();
    sqlite3_reset(select);
    sqlite3_bind_int64(select, 1, static_cast<sqlite3_int64>(user));
    if (sqlite3_step(select) != SQLITE_ROW) {
      return database_.failed();
    }
    const auto* const data = static_cast<const std::byte*>(sqlite3_column_blob(select, 0));
    return use(std::span(data, static_cast<std::size_t>(sqlite3_column_bytes(select, 0))));
  }

 private:
  explicit BlobTable(Sqlite database) noexcept : database_(std::move(database)) {}
  [[nodiscard]] Result<void> write(sqlite3_stmt* statement, std::uint64_t user, std::span<const std::byte> blob) {
    sqlite3_bind_int64(statement, 1, static_cast<sqlite3_int64>(user));
    sqlite3_bind_blob(statement, 2, blob.data(), static_cast<int>(blob.size()), nullptr);
    const bool is_done = sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_reset(statement);
    return is_done ? Result<void>{} : database_.failed();
  }

  Sqlite database_;
  SqliteStatement insert_;
  SqliteStatement select_;
  SqliteStatement update_;
};

// Bytes of the file, per row.
Result<double> bytes_per_row(const std::string& path, std::uint64_t users) {
  std::error_code failed;
  const auto bytes = std::filesystem::file_size(path, failed);
  return failed ? fail(ErrorCode::io, "SQLite's file cannot be read")
                : Result<double>(static_cast<double>(bytes) / static_cast<double>(users));
}

// Each user has a filter with some events. `Filter` writes itself as bytes.
Result<double> fill_table(BlobTable& table, const std::string& path, std::uint64_t users,
                          std::span<const std::byte> blob) {
  MANKAI_TRY(table.run("BEGIN"));
  for (std::uint64_t user = 0; user < users; ++user) {
    MANKAI_TRY(table.insert(user, blob));
  }
  MANKAI_TRY(table.run("COMMIT"));
  return bytes_per_row(path, users);
}

// Reads a random user's row, adds an event, and writes the row. Errors: io.
Result<void> put_event(BlobTable& table, std::uint64_t users, const Events& events, Random& random) {
  const std::uint64_t user = random.below(users);
  std::vector<std::byte> bytes;
  MANKAI_TRY(table.read(user, [&](std::span<const std::byte> blob) -> Result<void> {
    MANKAI_ASSIGN(auto filter, FadingFingerprints::from_bytes(blob, Trust::checked));
    filter.insert(events[random.next()]);
    bytes = filter.to_bytes();
    return {};
  }));
  return table.update(user, bytes);
}

// Returns whether a random user's row has an event. Errors: io.
Result<bool> get_event(BlobTable& table, std::uint64_t users, const Events& events, Random& random) {
  bool is_known = false;
  MANKAI_TRY(table.read(random.below(users), [&](std::span<const std::byte> blob) -> Result<void> {
    MANKAI_ASSIGN(const auto filter, FadingFingerprints::from_bytes(blob, Trust::checked));
    is_known = filter.may_contain(events[random.next()]);
    return {};
  }));
  return is_known;
}

Result<void> time_rows(BlobTable& table, std::uint64_t users, const Context& context, Kept& kept) {
  const Events events(context.seed);
  Random random(context.seed);
  std::uint64_t found = 0;
  MANKAI_ASSIGN(kept.puts, rate_of(thread_cpu_seconds, [&](std::uint64_t count) -> Result<void> {
                  MANKAI_TRY(table.run("BEGIN"));
                  for (std::uint64_t i = 0; i < count; ++i) {
                    MANKAI_TRY(put_event(table, users, events, random));
                  }
                  return table.run("COMMIT");
                }));
  MANKAI_ASSIGN(kept.gets, rate_of(thread_cpu_seconds, [&](std::uint64_t count) -> Result<void> {
                  for (std::uint64_t i = 0; i < count; ++i) {
                    MANKAI_ASSIGN(const bool is_known, get_event(table, users, events, random));
                    found += static_cast<std::uint64_t>(is_known);
                  }
                  return {};
                }));
  MANKAI_ASSERT(found < kOperations);
  return {};
}

Result<Kept> keep_in_sqlite(std::uint64_t users, const Context& context) {
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  const std::string path = folder.file("filters.sqlite");
  MANKAI_ASSIGN(auto table, BlobTable::create(path));
  MANKAI_ASSIGN(auto array, make_array(kPerUser, context));
  Kept kept;
  MANKAI_ASSIGN(kept.bytes, fill_table(table, path, users, array.filter().to_bytes()));
  if (!context.quick) {
    MANKAI_TRY(time_rows(table, users, context, kept));
  }
  return kept;
}

// The events of an exact LRU as a row, without its links.
Result<Kept> keep_lru_in_sqlite(std::uint64_t users) {
  MANKAI_ASSIGN(const auto folder, TemporaryFolder::create());
  const std::string path = folder.file("lru.sqlite");
  MANKAI_ASSIGN(auto table, BlobTable::create(path));
  const std::vector<std::uint32_t> events(known_of_user());
  Kept kept;
  MANKAI_ASSIGN(kept.bytes, fill_table(table, path, users, std::as_bytes(std::span(events))));
  return kept;
}

// ---- Keys of the Redis module.

class Server {
 public:
  // Errors: io.
  static Result<Server> start(const std::string& program, const std::string& module) {
    MANKAI_ASSIGN(auto folder, TemporaryFolder::create());
    const std::string socket = folder.file("socket");
    MANKAI_ASSIGN(auto running, Program::start({program, "--port", "0", "--unixsocket", socket, "--save", "",
                                                "--appendonly", "no", "--loadmodule", module},
                                               folder.path()));
    constexpr int kTries = 200;
    for (int i = 0; i < kTries; ++i) {
      if (auto client = RedisClient::connect({.socket = socket}, std::chrono::seconds(60))) {
        return Server(std::move(folder), std::move(running), std::move(*client));
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return fail(ErrorCode::io, "redis-server does not answer; does it load " + module + "?");
  }

  // Sends one command per number, many at a time. Errors: io; what the server answered.
  template <class Words>
  [[nodiscard]] Result<void> run(std::uint64_t count, const Words& words) {
    constexpr std::size_t kOutstanding = 1000;
    for (std::uint64_t i = 0; i < count || client_.outstanding() > 0; ++i) {
      if (i < count) {
        const std::vector<std::string> command = words(i);
        std::string request;
        append_header(request, command.size());
        for (const std::string& word : command) {
          append_word(request, word);
        }
        client_.send(std::move(request), command.at(1));
      }
      while (client_.outstanding() > (i < count ? kOutstanding : 0)) {
        MANKAI_ASSIGN(const auto answer, client_.receive());
        if (!answer.reply.error().empty()) {
          return fail(ErrorCode::io, std::string(answer.reply.error()));
        }
      }
    }
    return {};
  }
  // Errors: io.
  [[nodiscard]] Result<double> used_bytes() {
    const std::array<std::string_view, 2> words = {"INFO", "memory"};
    MANKAI_ASSIGN(const auto reply, client_.call(words, ""));
    constexpr std::string_view kUsed = "used_memory:";
    const std::size_t at = reply.text.find(kUsed);
    return at == std::string::npos ? fail(ErrorCode::io, "redis-server does not tell its memory")
                                   : Result<double>(std::stod(reply.text.substr(at + kUsed.size())));
  }
  [[nodiscard]] double cpu_seconds() const { return running_.cpu_seconds(); }

 private:
  Server(TemporaryFolder folder, Program running, RedisClient client)
      : folder_(std::move(folder)), running_(std::move(running)), client_(std::move(client)) {}
  TemporaryFolder folder_;
  Program running_;
  RedisClient client_;
};

Result<Kept> keep_in_redis(Server& server, std::uint64_t users, const Context& context) {
  const auto key = [](std::uint64_t user) { return fmt::format("user:{}", user); };
  const std::string capacity = fmt::format("{}", known_of_user());
  const std::string rate = fmt::format("{:.4f}", text_plateau(kPerUser) * 1.01);
  MANKAI_ASSIGN(const double before, server.used_bytes());
  MANKAI_TRY(server.run(
      users, [&](std::uint64_t user) { return std::vector<std::string>{"FADE.RESERVE", key(user), rate, capacity}; }));
  // Memory is taken when it is touched.
  MANKAI_TRY(
      server.run(users, [&](std::uint64_t user) { return std::vector<std::string>{"FADE.PUT", key(user), "0"}; }));
  MANKAI_ASSIGN(const double after, server.used_bytes());
  Kept kept{.bytes = (after - before) / static_cast<double>(users)};
  Random random(context.seed);
  const auto per_second = [&](const char* command) {
    return rate_of([&server] { return server.cpu_seconds(); },
                   [&](std::uint64_t count) {
                     return server.run(count, [&](std::uint64_t /*i*/) {
                       return std::vector<std::string>{command, key(random.below(users)),
                                                       fmt::format("{}", random.next())};
                     });
                   });
  };
  MANKAI_ASSIGN(kept.puts, per_second("FADE.PUT"));
  MANKAI_ASSIGN(kept.gets, per_second("FADE.SEEN"));
  return kept;
}

void judge_kept(const char* id, const char* where, std::uint64_t users, const Kept& kept, const Context& context,
                Findings& findings) {
  const double lru = text_half_life(kPerUser) * kTightEntryBytes;
  findings.judged({"many-filters-{}", id, where, users, known_of_user(), lru, kept.bytes},
                  at_most(findings.threshold("many-filters-{}")), exact(kept.bytes / lru));
  if (!context.quick) {
    findings.judged({"many-filters-{}-fast", id, where, users, kept.puts.value, kept.gets.value},
                    at_least(findings.threshold("many-filters-{}-fast")),
                    kept.puts.value < kept.gets.value ? kept.puts : kept.gets);
  }
}

void add_row(Figure& figure, const char* what, const Kept& kept) {
  figure.rows.push_back({what, kept.bytes, kept.puts.value, kept.gets.value});
}

}  // namespace

Result<void> measure_many_filters(const Context& context, Findings& findings) {
  const std::uint64_t users = context.trials(5000, 1'000'000);
  Figure figure = findings.figure({"many-filters", users, known_of_user()});
  context.progress(fmt::format("{} filters in SQLite", users));
  MANKAI_ASSIGN(const auto in_sqlite, keep_in_sqlite(users, context));
  MANKAI_ASSIGN(const auto lru, keep_lru_in_sqlite(users));
  judge_kept("sqlite", "rows in SQLite", users, in_sqlite, context, findings);
  add_row(figure, "filter in SQLite", in_sqlite);
  add_row(figure, "LRU's events in SQLite, without links", lru);
  if (!context.quick) {
    const auto program = Program::find("redis-server");
    const auto module = find_redis_module();
    if (program && module) {
      context.progress(fmt::format("{} filters in Redis", users));
      MANKAI_ASSIGN(auto server, Server::start(*program, *module));
      MANKAI_ASSIGN(const auto in_redis, keep_in_redis(server, users, context));
      judge_kept("redis", "FADE keys of the Redis module", users, in_redis, context, findings);
      add_row(figure, "FADE key of the Redis module", in_redis);
    } else {
      const char* const where = "FADE keys of the Redis module";
      findings.skipped({"many-filters-{}", "redis", where, users, known_of_user(), 0.0, 0.0}, {},
                       Missing::redis_server);
      findings.skipped({"many-filters-{}-fast", "redis", where, users, 0.0, 0.0}, {}, Missing::redis_server);
    }
  }
  findings.add(std::move(figure));
  return {};
}

}  // namespace mankai::lab::forgetting
