#pragma once

/// Keys of a table of an SQLite database.
///
/// SQLite has no server that reports changes, so `install` makes triggers. For the name N in the settings:
///
///     N_keys     the distinct keys of the rows that satisfy the condition, and an empty key that is always there
///     N_changes  what was added to N_keys and removed, in order: seq, change (+1 or -1), key, mark (a random number)
///     N_insert, N_update, N_delete   on the table: check whether a row with the old and the new key remains
///     N_added, N_removed             on N_keys: write N_changes
///
/// A trigger does not count rows but looks them up, and SQLite evaluates the condition on the table itself. So ignored
/// statements (OR IGNORE, RAISE), rows that other triggers change again, VACUUM, and the key's affinity cause no
/// errors. No trigger sees a row that REPLACE deletes because of a conflict in a column other than the key. Its key
/// stays, which is safe, until a row with that key is written; PRAGMA recursive_triggers makes it exact.
///
/// A key's bytes are its text, as CAST(... AS TEXT) writes it, or the blob itself. Rows whose key is NULL are ignored.
/// A position is a seq: SELECT max(seq) FROM N_changes, in or after a transaction, returns that transaction's. A
/// restored older copy reuses numbers, but not marks: the stream starts only at a row with the position's mark.
///
/// Cost:    a write looks up its key once or twice, and writes two rows if N_keys changes. `next` polls every 20 ms.
/// Limits:  the key needs an index, and must not be generated or have another collation than BINARY. Writes while
///          triggers are disabled are not seen.

#include <memory>

#include "mankai/gate/database/row_source.hpp"

namespace mankai {

/// Makes the source; the first call that needs the database connects. Errors: invalid_argument for invalid settings.
[[nodiscard]] Result<std::unique_ptr<RowSource>> open_sqlite_source(const RowSourceSettings& settings);

}  // namespace mankai
