#pragma once

/// What a PostgreSQL server says while it streams changes: the messages inside CopyData of a logical replication
/// connection, and those of the plugin pgoutput, protocol version 1, inside them. Bytes in, structs out; no connection.
///
///     CopyData 'w'  i64 start | i64 end | i64 time | a message of pgoutput
///     CopyData 'k'  i64 end | i64 time | u8 1: the server wants an answer now
///
/// Integers are big-endian, texts end with a zero byte. Every byte is checked: a message is what it says from its first
/// byte to its last, or an error that says where it is not.
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

/// A place in PostgreSQL's write-ahead log: bytes since it began. 0 is none.
struct Lsn {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(Lsn, Lsn) noexcept = default;
};

/// Writes it as PostgreSQL does, such as "16/B374D848".
[[nodiscard]] std::string to_text(Lsn lsn);
/// Reads what PostgreSQL writes. Errors: invalid_argument.
[[nodiscard]] Result<Lsn> parse_lsn(std::string_view text);

/// A message of pgoutput, as it came in 'w'.
struct PgChunk {
  Lsn start;
  Lsn end;  ///< of the log on the server
  Time sent;
  std::string_view message;
};

/// The server is there, and has sent everything before `end`.
struct PgKeepalive {
  Lsn end;
  Time sent;
  bool wants_reply = false;
};

/// What comes in a CopyData.
using PgCopyData = std::variant<PgChunk, PgKeepalive>;

/// Reads one CopyData. Shape: texts stand in `bytes`. Errors: corrupt.
[[nodiscard]] Result<PgCopyData> parse_copy_data(std::string_view bytes);

/// The client's answer: what it has received, what survives its end, and whether the server is to answer at once.
struct PgStatus {
  Lsn received;
  Lsn durable;
  Time now;
  bool wants_reply = false;
};
/// Writes it.
[[nodiscard]] std::string to_copy_data(const PgStatus& status);

/// One column of a row.
struct PgColumn {
  enum class State : std::uint8_t {
    null,
    unchanged,  ///< a large value that an update left as it was, and which is not sent again
    text,       ///< in the type's text form
    binary,     ///< in the type's binary form, which has to be asked for
  };
  State state = State::null;
  std::string_view value;  ///< of text and binary

  friend bool operator==(const PgColumn&, const PgColumn&) = default;
};
/// A row: its columns in the relation's order.
using PgRow = std::vector<PgColumn>;

/// How much of an old row came: with REPLICA IDENTITY FULL all of it.
enum class PgOldRow : std::uint8_t { none, identity, full };

/// A transaction begins; everything up to its commit belongs to it. They come one after the other.
struct PgBegin {
  Lsn commit;  ///< where the record of its commit begins
  Time committed;
  std::uint32_t transaction = 0;
};
/// It ends.
struct PgCommit {
  Lsn commit;
  Lsn end;  ///< behind that record: where to go on
  Time committed;
};
/// It was first made on another server.
struct PgOrigin {
  Lsn commit;  ///< on the server where it comes from
  std::string_view name;
};
/// A column of a relation, in the order of its rows.
struct PgRelationColumn {
  bool is_identity = false;
  std::string_view name;
  std::uint32_t type = 0;
  std::int32_t modifier = 0;
};
/// What rows are made of; comes before the first of them, and again when it may have changed.
struct PgRelation {
  std::uint32_t id = 0;
  std::string_view schema;  ///< empty: pg_catalog
  std::string_view name;
  char identity = 0;  ///< d: primary key, n: nothing, f: full, i: an index
  std::vector<PgRelationColumn> columns;
};
/// A type that is not one of the server's own.
struct PgType {
  std::uint32_t id = 0;
  std::string_view schema;
  std::string_view name;
};
/// A row came.
struct PgInsert {
  std::uint32_t relation = 0;
  PgRow row;
};
/// A row was changed.
struct PgUpdate {
  std::uint32_t relation = 0;
  PgOldRow old_is = PgOldRow::none;
  PgRow old_row;
  PgRow row;
};
/// A row went.
struct PgDelete {
  std::uint32_t relation = 0;
  PgOldRow old_is = PgOldRow::none;  ///< never none
  PgRow old_row;
};
/// All rows of some relations went.
struct PgTruncate {
  bool cascades = false;
  bool restarts_sequences = false;
  std::vector<std::uint32_t> relations;
};
/// What pg_logical_emit_message wrote.
struct PgNote {
  bool is_transactional = false;
  Lsn at;
  std::string_view prefix;
  std::string_view content;
};

/// A message of pgoutput.
using PgMessage =
    std::variant<PgBegin, PgCommit, PgOrigin, PgRelation, PgType, PgInsert, PgUpdate, PgDelete, PgTruncate, PgNote>;

/// Reads one message of pgoutput, protocol version 1.
///
/// Shape:   texts stand in `bytes`.
/// Cost:    a pass over the lengths; an allocation for the columns of each row.
/// Errors:  corrupt, with the offset: what is cut short, too long, or not of this version.
/// Threads: any.
[[nodiscard]] Result<PgMessage> parse_pgoutput(std::string_view bytes);

/// Takes the escapes out of one line of COPY TO in text form that has one column; the line feed may be there or not.
/// Returns false for \N, which is NULL; `value` is then empty. Errors: corrupt for an escape that COPY does not write,
/// and for a second column.
[[nodiscard]] Result<bool> parse_copy_line(std::string_view line, std::string& value);

}  // namespace mankai
