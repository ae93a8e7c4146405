#include "lab/basket_gate/postgres.hpp"

#include <fmt/format.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

namespace mankai::lab::basket {
namespace {

constexpr const char* kUser = "postgres";

using Answer = std::unique_ptr<PGresult, void (*)(PGresult*)>;

// PostgreSQL refuses to run as root.
std::vector<std::string> as_server(const std::string& program, std::initializer_list<std::string> arguments) {
  std::vector<std::string> words;
  if (geteuid() == 0) {
    words = {"/usr/bin/setpriv",
             std::string("--reuid=") + kUser,
             std::string("--regid=") + kUser,
             "--clear-groups",
             "--pdeathsig=KILL",
             "--"};
  }
  words.push_back(program);
  words.insert(words.end(), arguments);
  return words;
}

// Of the server's user, who has to own the data.
Result<void> give_away(const std::string& folder) {
  const passwd* const user = geteuid() == 0 ? getpwnam(kUser) : nullptr;  // NOLINT(concurrency-mt-unsafe): one thread
  if (geteuid() == 0 && (user == nullptr || chown(folder.c_str(), user->pw_uid, user->pw_gid) != 0)) {
    return fail(ErrorCode::io, "PostgreSQL does not run as root, and there is no user postgres");
  }
  return {};
}

}  // namespace

void Postgres::Close::operator()(pg_conn* connection) const noexcept { PQfinish(connection); }

Result<Postgres> Postgres::start(const std::string& programs,
                                 const std::unordered_map<std::string, std::string>& pairs) {
  MANKAI_ASSIGN(auto folder, TemporaryFolder::create());
  MANKAI_TRY(give_away(folder.path()));
  const std::string data = folder.file("data");
  MANKAI_ASSIGN(auto initdb,
                Program::start(as_server(programs + "/initdb", {"-D", data, "-U", kUser, "-A", "trust", "-E", "UTF8",
                                                                "--locale=C", "--no-sync", "--no-instructions"}),
                               folder.path()));
  MANKAI_TRY(initdb.wait());
  MANKAI_ASSIGN(auto server, Program::start(as_server(programs + "/postgres",
                                                      {"-D", data, "-k", folder.path(), "-c", "listen_addresses=", "-c",
                                                       "fsync=off", "-c", "autovacuum=off"}),
                                            folder.path()));
  Postgres started(std::move(folder), std::move(server));
  MANKAI_TRY(started.connect());
  MANKAI_TRY(started.fill(pairs));
  return started;
}

Result<void> Postgres::connect() {
  constexpr std::chrono::seconds kPatience{60};
  constexpr std::chrono::milliseconds kPause{20};
  const std::string address = "host=" + folder_.path() + " port=5432 dbname=postgres user=" + kUser;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    connection_.reset(PQconnectdb(address.c_str()));
    if (PQstatus(connection_.get()) == CONNECTION_OK) {
      const bool has_clock = clock_getcpuclockid(PQbackendPID(connection_.get()), &clock_) == 0;
      return has_clock ? Result<void>{} : fail(ErrorCode::io, "PostgreSQL's processor time cannot be read");
    }
    if (std::chrono::steady_clock::now() > deadline) {
      return fail(ErrorCode::io, "PostgreSQL does not start");
    }
    std::this_thread::sleep_for(kPause);
  }
}

Result<std::string> Postgres::run(const std::string& statement) {
  const Answer answer(PQexec(connection_.get(), statement.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(answer.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK) {
    return fail(ErrorCode::io, std::string("PostgreSQL: ") + PQerrorMessage(connection_.get()));
  }
  return PQntuples(answer.get()) > 0 ? std::string(PQgetvalue(answer.get(), 0, 0)) : std::string();
}

Result<void> Postgres::fill(const std::unordered_map<std::string, std::string>& pairs) {
  MANKAI_TRY(run("CREATE TABLE pairs (key text PRIMARY KEY, value text)"));
  std::string insert = "INSERT INTO pairs VALUES ";
  for (const auto& [key, value] : pairs) {
    insert += fmt::format("('{}','{}'),", key, value);  // made by us: no quotes in them
  }
  insert.pop_back();
  MANKAI_TRY(run(insert));
  MANKAI_TRY(run("ANALYZE pairs"));
  MANKAI_TRY(run("PREPARE look (text) AS SELECT value FROM pairs WHERE key = $1"));
  return {};
}

Result<std::optional<std::string>> Postgres::value_of(const std::string& key) {
  const char* const values = key.c_str();
  const Answer answer(PQexecPrepared(connection_.get(), "look", 1, &values, nullptr, nullptr, 0), PQclear);
  if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK) {
    return fail(ErrorCode::io, std::string("PostgreSQL: ") + PQerrorMessage(connection_.get()));
  }
  return PQntuples(answer.get()) > 0 ? std::optional<std::string>(PQgetvalue(answer.get(), 0, 0)) : std::nullopt;
}

Result<std::uint64_t> Postgres::queries() {
  MANKAI_TRY(run("SELECT pg_stat_force_next_flush()"));
  MANKAI_ASSIGN(const auto text, run("SELECT idx_scan FROM pg_stat_user_tables WHERE relname = 'pairs'"));
  std::uint64_t count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  return count;
}

double Postgres::cpu_seconds() const {
  constexpr double kNano = 1e-9;
  timespec time{};
  clock_gettime(clock_, &time);
  return static_cast<double>(time.tv_sec) + kNano * static_cast<double>(time.tv_nsec);
}

}  // namespace mankai::lab::basket
