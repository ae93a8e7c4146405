#pragma once

/// The keys of a table of an SQLite database, as one moment has them and as they change.
///
/// A file has no server that tells of changes, so `install` puts triggers into the database. They keep, for N of the
/// settings:
///
///     N_keys     the distinct keys of the rows that the condition is true for, and one that is empty and always there
///     N_changes  what was added to them and taken away, in order: seq, change (+1 or -1), key, mark (a random number)
///     N_insert, N_update, N_delete   on the table: look whether the row's key, old and new, still has such a row
///     N_added, N_removed             on N_keys: write N_changes
///
/// A trigger does not count rows up and down but looks what is there, with the condition evaluated by SQLite on the
/// table itself. So statements that were ignored (OR IGNORE, RAISE), rows that triggers of the shop change again, a
/// VACUUM, and whatever the key's affinity is, leave no error behind. What no trigger sees is a row that
/// REPLACE deletes since it is in the way by another column than the key: its key stays until a row with that key is
/// written next, which errs on the safe side; PRAGMA recursive_triggers makes it exact.
///
/// A key's bytes are its text, as CAST(... AS TEXT) writes it; a blob's are the blob. Rows whose key is NULL have none.
/// A position is a seq: SELECT max(seq) FROM N_changes, in or after a transaction, tells that transaction's. Where an
/// older copy of the file was put back, numbers come again, but not their marks: so the stream goes on only from a row
/// that has the mark which came with the position.
///
/// Cost:    a write of a row looks its key up once or twice by the index on it, and writes two small rows if the key
///          comes or goes. `next` looks every 20 ms whether somebody committed.
/// Cannot:  work without an index on the key, see what is written with triggers switched off, or follow keys that are
///          generated or compare by another collation than BINARY.

#include <memory>

#include "mankai/gate/database/row_source.hpp"

namespace mankai {

/// Makes the source, which connects with the first call that needs it. Errors: invalid_argument for invalid settings.
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_sqlite_source(const RowSourceSettings& settings);

}  // namespace mankai
