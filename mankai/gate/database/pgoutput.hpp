#pragma once

/// Parser of a PostgreSQL logical replication stream: the CopyData messages of the connection, and inside them the
/// messages of the plugin pgoutput, protocol version 1. Pure functions of bytes; no connection.
///
///     CopyData 'w'  i64 start | i64 end | i64 time | a message of pgoutput
///     CopyData 'k'  i64 end | i64 time | u8 1: the server requests an answer now
///
/// Integers are big-endian; texts end with a zero byte. Every byte is checked, and errors name the offset.
///
/// Source: PostgreSQL 15 documentation, "Logical Replication Message Formats" and "Streaming Replication Protocol".

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "mankai/base/error.hpp"
#include "mankai/base/time.hpp"

namespace mankai {

/// A position in PostgreSQL's write-ahead log, in bytes; 0 is invalid.
struct Lsn {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Lsn, Lsn) noexcept = default;
};

/// Formats a position as PostgreSQL does, such as "16/B374D848".
[[nodiscard]] std::string to_text(Lsn lsn);
/// Parses what PostgreSQL writes. Errors: invalid_argument.
[[nodiscard]] Result<Lsn> parse_lsn(std::string_view text);

/// A message of pgoutput ('w').
struct PgChunk {
  Lsn start;
  std::string_view message;
};

/// A keepalive ('k'): the server has sent everything before `end`.
struct PgKeepalive {
  Lsn end;
  bool wants_reply = false;
};

using PgCopyData = std::variant<PgChunk, PgKeepalive>;

/// Parses one CopyData. Shape: texts point into `bytes`. Errors: corrupt.
[[nodiscard]] Result<PgCopyData> parse_copy_data(std::string_view bytes);

/// The client's status: what it has received, what is durable, and whether the server must reply at once.
struct PgStatus {
  Lsn received;
  Lsn durable;
  Time now;
  bool wants_reply = false;
};
[[nodiscard]] std::string to_copy_data(const PgStatus& status);

/// One column of a row.
struct PgColumn {
  enum class State : std::uint8_t {
    null,
    unchanged,  ///< a large value that an update did not change and the server did not send
    text,       ///< in the type's text form
    binary,     ///< in the type's binary form, which a client must request
  };
  State state = State::null;
  std::string_view value;  ///< of text and binary

  friend bool operator==(const PgColumn&, const PgColumn&) = default;
};
/// A row's columns, in the relation's order.
using PgRow = std::vector<PgColumn>;

/// How much of an old row was sent: all of it with REPLICA IDENTITY FULL.
enum class PgOldRow : std::uint8_t { none, identity, full };

/// The start of a transaction; all messages up to its commit belong to it. Transactions do not interleave.
struct PgBegin {
  Lsn commit;  ///< where its commit record begins
  std::uint32_t transaction = 0;
};
/// The end of a transaction.
struct PgCommit {
  Lsn commit;
  Lsn end;  ///< after that record: where to continue
  Time committed;
};
/// A column of a relation.
struct PgRelationColumn {
  std::string_view name;
  std::uint32_t type = 0;
};
/// The columns of a relation; sent before its first row, and again when they may have changed.
struct PgRelation {
  std::uint32_t id = 0;
  std::vector<PgRelationColumn> columns;
};
/// An inserted row.
struct PgInsert {
  std::uint32_t relation = 0;
  PgRow row;
};
/// A changed row.
struct PgUpdate {
  std::uint32_t relation = 0;
  PgOldRow old_is = PgOldRow::none;
  PgRow old_row;
  PgRow row;
};
/// A deleted row.
struct PgDelete {
  std::uint32_t relation = 0;
  PgOldRow old_is = PgOldRow::none;  ///< never none
  PgRow old_row;
};
/// The emptied relations.
struct PgTruncate {
  std::vector<std::uint32_t> relations;
};
/// A valid message without effect on a gate: an origin, a type, or one of pg_logical_emit_message.
struct PgIgnored {};

using PgMessage = std::variant<PgBegin, PgCommit, PgRelation, PgInsert, PgUpdate, PgDelete, PgTruncate, PgIgnored>;

/// Parses one message of pgoutput; texts point into `bytes`. Cost: a pass over the lengths, and an allocation per row.
/// Errors: corrupt, with the offset: truncated, too long, or of another version.
[[nodiscard]] Result<PgMessage> parse_pgoutput(std::string_view bytes);

/// Decodes one line of COPY TO in text form with one column; the line feed is optional. Returns false for \N, which is
/// NULL; `value` is then empty. Errors: corrupt for an escape that COPY does not write, and for a second column.
[[nodiscard]] Result<bool> parse_copy_line(std::string_view line, std::string& value);

}  // namespace mankai
