#include "tests/gate/postgres_server.hpp"

#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <thread>

namespace mankai::test {
namespace {

using Answer = std::unique_ptr<PGresult, void (*)(PGresult*)>;

constexpr int kLeastVersion = 15;
constexpr std::chrono::milliseconds kPause{10};
constexpr std::chrono::seconds kPatience{60};

std::filesystem::path find_programs() {
  std::filesystem::path best;
  int newest = kLeastVersion - 1;
  std::error_code error;
  for (const auto& version : std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
    const int number = std::atoi(version.path().filename().c_str());
    if (number > newest && std::filesystem::exists(version.path() / "bin" / "postgres")) {
      newest = number;
      best = version.path() / "bin";
    }
  }
  if (best.empty()) {
    throw std::runtime_error("no PostgreSQL server of version 15 or newer: install the package postgresql");
  }
  return best;
}

const passwd* ordinary_user() {
  if (geteuid() != 0) {
    return nullptr;
  }
  const passwd* const user = getpwnam("postgres");
  return user != nullptr ? user : getpwnam("nobody");
}

/// In the child: an ordinary user, and ended with the test.
bool become_server(pid_t parent) {
  if (const passwd* const user = ordinary_user(); user != nullptr) {
    if (setgroups(0, nullptr) != 0 || setgid(user->pw_gid) != 0 || setuid(user->pw_uid) != 0) {
      return false;
    }
  }
  return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent;
}

/// Its status; nothing for one that does not end in time.
std::optional<int> wait_for(pid_t process) {
  int status = 0;
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (std::chrono::steady_clock::now() > deadline) {
      return std::nullopt;
    }
    std::this_thread::sleep_for(kPause);
  }
  return status;
}

[[noreturn]] void complain(PGconn* connection, const std::string& text) {
  throw std::runtime_error(text + ": " + PQerrorMessage(connection));
}

}  // namespace

Sql::Sql(const std::string& dsn) : connection_(PQconnectdb(dsn.c_str()), PQfinish) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    complain(connection_.get(), dsn);
  }
  PQsetNoticeProcessor(connection_.get(), [](void*, const char*) {}, nullptr);
}

bool Sql::attempt(const std::string& text) {
  const Answer answer(PQexec(connection_.get(), text.c_str()), PQclear);
  const ExecStatusType status = PQresultStatus(answer.get());
  return status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
}

void Sql::run(const std::string& text) {
  if (!attempt(text)) {
    complain(connection_.get(), text);
  }
}

std::vector<std::string> Sql::column(const std::string& text) {
  const Answer answer(PQexec(connection_.get(), text.c_str()), PQclear);
  if (PQresultStatus(answer.get()) != PGRES_TUPLES_OK) {
    complain(connection_.get(), text);
  }
  std::vector<std::string> values;
  for (int row = 0; row < PQntuples(answer.get()); ++row) {
    values.emplace_back(PQgetvalue(answer.get(), row, 0));
  }
  return values;
}

void Sql::copy_in(const std::string& text, const std::string& lines) {
  const Answer begun(PQexec(connection_.get(), text.c_str()), PQclear);
  if (PQresultStatus(begun.get()) != PGRES_COPY_IN ||
      PQputCopyData(connection_.get(), lines.data(), static_cast<int>(lines.size())) != 1 ||
      PQputCopyEnd(connection_.get(), nullptr) != 1) {
    complain(connection_.get(), text);
  }
  const Answer ended(PQgetResult(connection_.get()), PQclear);
  if (PQresultStatus(ended.get()) != PGRES_COMMAND_OK) {
    complain(connection_.get(), text);
  }
  while (PGresult* const more = PQgetResult(connection_.get())) {
    PQclear(more);
  }
}

PostgresServer::PostgresServer() : programs_(find_programs()) {
  std::string name = std::filesystem::temp_directory_path() / "postgres-XXXXXX";
  if (mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("no temporary folder for PostgreSQL");
  }
  folder_ = name;
  if (const passwd* const user = ordinary_user(); user != nullptr) {
    (void)!chown(folder_.c_str(), user->pw_uid, user->pw_gid);
  }
  const pid_t initdb = run({"initdb", "-D", folder_ / "data", "-U", "postgres", "-A", "trust", "-E", "UTF8",
                            "--locale=C", "--no-sync", "--no-instructions"});
  if (wait_for(initdb) != 0) {
    throw std::runtime_error("initdb failed: " + log());
  }
  start();
}

PostgresServer::~PostgresServer() {
  if (server_ > 0) {
    kill(server_, SIGQUIT);
    wait_for(server_);
  }
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

std::string PostgresServer::dsn(const std::string& role) const {
  return "host=" + folder_.string() + " port=5432 dbname=postgres user=" + role;
}

pid_t PostgresServer::run(std::vector<std::string> words) const {
  const std::string program = programs_ / words.front();
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  const std::string log = folder_ / "log";
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) {
    return child;
  }
  const bool is_server = become_server(parent);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, S_IRUSR | S_IWUSR);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  if (is_server && chdir(folder_.c_str()) == 0) {
    execv(program.c_str(), arguments.data());
  }
  _exit(EXIT_FAILURE);
}

std::string PostgresServer::log() const {
  std::ifstream file(folder_ / "log");
  return {std::istreambuf_iterator<char>(file), {}};
}

void PostgresServer::start(const std::vector<std::string>& settings) {
  std::vector<std::string> words{"postgres", "-D", folder_ / "data", "-k", folder_};
  for (const char* const setting :
       {"listen_addresses=", "port=5432", "fsync=off", "wal_level=logical", "shared_buffers=16MB", "max_connections=40",
        "max_wal_senders=8", "max_replication_slots=8", "autovacuum=off", "jit=off"}) {
    words.insert(words.end(), {"-c", setting});
  }
  for (const std::string& setting : settings) {
    words.insert(words.end(), {"-c", setting});
  }
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  while (PQping(dsn().c_str()) != PQPING_OK) {
    // After a kill the old server's processes may still be there for a moment, and keep the new one from starting.
    if (server_ <= 0 || waitpid(server_, nullptr, WNOHANG) == server_) {
      server_ = run(words);
    }
    if (std::chrono::steady_clock::now() > deadline) {
      throw std::runtime_error("PostgreSQL does not start: " + log());
    }
    std::this_thread::sleep_for(kPause);
  }
}

void PostgresServer::end(int signal) {
  kill(server_, signal);
  const bool has_ended = wait_for(server_).has_value();
  if (!has_ended) {
    kill(server_, SIGKILL);
    wait_for(server_);
  }
  server_ = -1;
  if (!has_ended) {
    throw std::runtime_error("PostgreSQL does not end: " + log());
  }
}

}  // namespace mankai::test
