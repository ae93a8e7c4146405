#pragma once

#include <libpq-fe.h>
#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace mankai::test {

/// A connection of a test. Whatever fails throws, but for `attempt`.
class Sql {
 public:
  explicit Sql(const std::string& dsn);

  /// Runs one command or several.
  void run(const std::string& text);
  /// The first column of the answer.
  std::vector<std::string> column(const std::string& text);
  std::string value(const std::string& text) { return column(text).at(0); }
  /// Runs it, and says whether it went well: for servers that end meanwhile.
  bool attempt(const std::string& text);
  /// COPY ... FROM STDIN with these lines.
  void copy_in(const std::string& text, const std::string& lines);

 private:
  std::unique_ptr<PGconn, void (*)(PGconn*)> connection_;
};

/// Debian's PostgreSQL below a temporary folder, on a socket there: no port can be taken from it. It refuses to run as
/// root: then it runs as the user postgres, or nobody. It ends with this object, and with the process, however that
/// ends.
class PostgresServer {
 public:
  /// Throws where no server of version 15 or newer is installed.
  PostgresServer();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer(PostgresServer&&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;
  PostgresServer& operator=(PostgresServer&&) = delete;

  /// What libpq connects by, as the superuser or another role.
  [[nodiscard]] std::string dsn(const std::string& role = "postgres") const;
  [[nodiscard]] Sql sql() const { return Sql(dsn()); }

  /// Ends the server by a signal to its first process (SIGINT: sessions are ended; SIGQUIT: at once, the next start
  /// recovers; SIGKILL: nobody is told) and returns when that has ended.
  void end(int signal);
  /// Returns when it takes connections.
  void start(const std::vector<std::string>& settings = {});

 private:
  [[nodiscard]] pid_t run(std::vector<std::string> words) const;
  [[nodiscard]] std::string log() const;

  std::filesystem::path programs_;
  std::filesystem::path folder_;
  pid_t server_ = -1;
};

}  // namespace mankai::test
