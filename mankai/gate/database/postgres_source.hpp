#pragma once

/// Rows of a table of PostgreSQL, 15 or newer, by logical replication.
///
/// install makes a publication, which has the condition as its row filter, so that the server itself turns an update
/// that crosses the condition into an insert or a delete; and a replication slot of the same name, which keeps the log
/// for us from the moment of the snapshot on. The stream is the log behind a position, transaction after transaction,
/// and the server lets go of what was acknowledged. A slot that nobody follows fills the server's disk: uninstall it.
///
/// What it needs: wal_level = logical; a role with REPLICATION that owns the table (publications are the owner's) and
/// may CREATE in the database; REPLICA IDENTITY FULL, on each partition, since an old row's key must come with its end.
/// A condition is what a row filter may be: the row's own columns, operators and functions of the server itself.
/// Passwords come from PGPASSFILE, PGPASSWORD or a service file, TLS from sslmode and its like, as with libpq
/// everywhere; a password in the connection text is refused, since that is written down beside the gate.
///
/// Keys are compared by their text form, as `SELECT key` shows it: of a uuid in lower case, of char(n) with its blanks.
/// NULL is no key.
///
/// What the log does not tell, after which the gate has to be built again: a partition attached with rows in it, the
/// key rewritten by ALTER TABLE ... USING, a database that was set back to an older copy. Partitions that are emptied,
/// detached or dropped by themselves leave their keys in the gate, which errs towards "maybe".

#include <memory>

#include "mankai/base/error.hpp"
#include "mankai/gate/database/row_source.hpp"

namespace mankai {

/// Makes the source, without connecting. Shape: settings.source is "postgres:" and what libpq connects by, such as
/// "postgres:dbname=shop host=db.example" or "postgres://gate@db.example/shop". Errors: invalid_argument for a text
/// that libpq does not understand, for one with a password, and for an invalid name: lower-case letters, digits and
/// '_', at most 63.
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_postgres_source(const RowSourceSettings& settings);

}  // namespace mankai
