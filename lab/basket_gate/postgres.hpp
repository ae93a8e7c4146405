#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "lab/outside.hpp"
#include "mankai/base/error.hpp"

struct pg_conn;

namespace mankai::lab::basket {

/// Debian's PostgreSQL in a temporary folder, on a socket there, with a table of keys and values.
class Postgres {
 public:
  /// Starts a server. As root it runs as the user postgres. Errors: io, as of all functions here.
  [[nodiscard]] static Result<Postgres> start(const std::string& programs,
                                              const std::unordered_map<std::string, std::string>& pairs);

  [[nodiscard]] Result<std::optional<std::string>> value_of(const std::string& key);
  /// The number of look-ups in the table's index so far, as the server counts them.
  [[nodiscard]] Result<std::uint64_t> queries();
  /// The processor time that the server has used for this connection.
  [[nodiscard]] double cpu_seconds() const;

 private:
  struct Close {
    void operator()(pg_conn* connection) const noexcept;
  };

  Postgres(TemporaryFolder folder, Program server) noexcept : folder_(std::move(folder)), server_(std::move(server)) {}
  [[nodiscard]] Result<void> connect();
  [[nodiscard]] Result<std::string> run(const std::string& statement);
  [[nodiscard]] Result<void> fill(const std::unordered_map<std::string, std::string>& pairs);

  TemporaryFolder folder_;
  Program server_;
  std::unique_ptr<pg_conn, Close> connection_;
  clockid_t clock_ = 0;  // of the server's process for this connection
};

}  // namespace mankai::lab::basket
