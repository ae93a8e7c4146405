#pragma once

/// The keys of a table of an SQLite database.
///
/// SQLite has no server that reports changes, so `install` makes triggers in the database. They maintain, for the name
/// N in the settings:
///
///     N_keys     the distinct keys of the rows that satisfy the condition, and an empty one that is always there
///     N_changes  what was added to them and removed, in order: seq, change (+1 or -1), key, mark (a random number)
///     N_insert, N_update, N_delete   on the table: check whether the row's key, old and new, still has such a row
///     N_added, N_removed             on N_keys: write N_changes
///
/// A trigger does not count rows but looks them up, and SQLite evaluates the condition on the table itself. So ignored
/// statements (OR IGNORE, RAISE), rows that other triggers change again, a VACUUM, and the key's affinity cause no
/// errors. No trigger sees a row that REPLACE deletes because of a conflict in another column than the key: its key
/// stays, which is safe, until a row with that key is written; PRAGMA recursive_triggers makes it exact.
///
/// A key's bytes are its text, as CAST(... AS TEXT) writes it; a blob's are the blob. Rows whose key is NULL have none.
/// A position is a seq: SELECT max(seq) FROM N_changes, in or after a transaction, returns that transaction's. After an
/// older copy of the file was restored, numbers are reused, but not their marks: the stream continues only from a row
/// that has the position's mark.
///
/// Cost:    a write of a row looks its key up once or twice by the index on it, and writes two small rows if the key is
///          added or removed. `next` polls every 20 ms for a commit.
/// Limits:  needs an index on the key; does not see writes with triggers disabled; refuses keys that are generated or
///          have another collation than BINARY.

#include <memory>

#include "mankai/gate/database/row_source.hpp"

namespace mankai {

/// Makes the source, which connects with the first call that needs it. Errors: invalid_argument for invalid settings.
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_sqlite_source(const RowSourceSettings& settings);

}  // namespace mankai
