#pragma once

/// Rows of a table of PostgreSQL, 15 or newer, by logical replication.
///
/// install makes a publication with the condition as its row filter, so that the server turns an update that crosses
/// the condition into an insert or a delete; and a replication slot of the same name, which keeps the log from the
/// snapshot on. The stream is the log after a position, transaction by transaction; the server discards what was
/// acknowledged. A slot that no client follows fills the server's disk: uninstall it.
///
/// Requirements: wal_level = logical; a role with REPLICATION that owns the table (publications are the owner's) and
/// may CREATE in the database; REPLICA IDENTITY FULL, on each partition, since a deleted row's key must be sent.
/// A condition may have what a row filter may have: the row's own columns, built-in operators and functions.
/// Passwords come from PGPASSFILE, PGPASSWORD or a service file, TLS from sslmode and its like, as with libpq
/// everywhere; a password in the connection text is refused, since that is written down beside the gate.
///
/// Keys are compared by their text form, as `SELECT key` shows it: of a uuid in lower case, of char(n) with its blanks.
/// NULL is no key.
///
/// The log does not have the following; build the gate again after them: a partition attached with rows in it, keys
/// rewritten by ALTER TABLE ... USING, a restored older copy of the database. Partitions that are emptied, detached or
/// dropped separately leave their keys in the gate, which are then "maybe".

#include <memory>

#include "mankai/base/error.hpp"
#include "mankai/gate/database/row_source.hpp"

namespace mankai {

/// Makes the source, without connecting. Shape: settings.source is "postgres:" and what libpq connects by, such as
/// "postgres:dbname=shop host=db.example" or "postgres://gate@db.example/shop". Errors: invalid_argument for a
/// text that libpq does not understand or that has a password, and for an invalid name: lower-case letters, digits and
/// '_', at most 63.
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_postgres_source(const RowSourceSettings& settings);

}  // namespace mankai
