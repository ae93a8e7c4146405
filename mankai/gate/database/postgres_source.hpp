#pragma once

/// Keys of a PostgreSQL table (15 or newer) by logical replication.
///
/// `install` makes a publication with the condition as its row filter: the server then turns an update that crosses the
/// condition into an insert or a delete. It also makes a replication slot of the same name, which keeps the log from
/// the snapshot on. The stream is the log after a position, one transaction after another; the server discards what was
/// acknowledged. A slot without a client fills the server's disk: uninstall it.
///
/// Requirements:
/// - wal_level = logical
/// - a role with REPLICATION that owns the table (only owners can publish it) and may CREATE in the database
/// - REPLICA IDENTITY FULL, on each partition, since the key of a deleted row must be sent
/// - a condition that a row filter accepts: the row's own columns, built-in operators and functions
///
/// As with libpq, passwords come from PGPASSFILE, PGPASSWORD or a service file, and TLS settings from sslmode and
/// related options. A password in the connection text is refused, because that text is stored beside the gate.
///
/// Keys are compared by their text form, as `SELECT key` shows it: a uuid in lower case, char(n) with its blanks. NULL
/// is not a key.
///
/// The log does not contain the following; build the gate again after them: attaching a partition with rows in it,
/// rewriting keys by ALTER TABLE ... USING, restoring an older copy of the database. Partitions that are emptied,
/// detached or dropped separately leave their keys in the gate, which are then "maybe".

#include <memory>

#include "mankai/base/error.hpp"
#include "mankai/gate/database/row_source.hpp"

namespace mankai {

/// Makes the source without connecting. `settings.source` is "postgres:" and a libpq connection text:
/// "postgres:dbname=shop host=db.example" or "postgres://gate@db.example/shop". Errors: invalid_argument for a text
/// that libpq rejects or that has a password, and for an invalid name (lower-case letters, digits and '_', at most 63).
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_postgres_source(const RowSourceSettings& settings);

}  // namespace mankai
