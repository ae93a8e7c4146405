#pragma once

#include <string>

#include "mankai/base/error.hpp"
#include "mankai/gate/database/detail/pg_connection.hpp"
#include "mankai/gate/database/detail/pg_transactions.hpp"
#include "mankai/gate/database/pgoutput.hpp"
#include "mankai/gate/database/row_source.hpp"

namespace mankai::detail {

/// Checks the server: PostgreSQL 15 or newer, wal_level, not a standby. Errors: invalid_argument, with the remedy.
[[nodiscard]] Result<void> check_server(PgConnection& connection);

/// Errors: not_found; invalid_argument for a view or the like, and for a generated key.
[[nodiscard]] Result<PgTable> find_table(PgConnection& connection, const RowSourceSettings& settings);

/// Checks that each partition sends old rows completely. Errors: invalid_argument, with the commands to run.
[[nodiscard]] Result<void> check_identity(PgConnection& connection, const PgTable& table);

/// Errors: invalid_argument if a publication or a slot of this name exists.
[[nodiscard]] Result<void> check_name_is_free(PgConnection& connection, const std::string& name);

/// Makes the publication, with the condition as its row filter. Errors: those of the server, about the condition.
[[nodiscard]] Result<void> create_publication(PgConnection& connection, const RowSourceSettings& settings,
                                              const PgTable& table);
/// Checks that the publication is the one of create_publication. Errors: not_found; invalid_argument if it was changed.
[[nodiscard]] Result<void> check_publication(PgConnection& connection, const RowSourceSettings& settings,
                                             const PgTable& table);

/// Returns the SQL that selects the keys, such as "FROM ONLY public.baskets WHERE ...".
[[nodiscard]] Result<std::string> selection(PgConnection& connection, const RowSourceSettings& settings,
                                            const PgTable& table);

/// A replication slot, and the ends of the server's log.
struct PgSlot {
  std::string name;
  Lsn confirmed;  ///< the server may discard the log before this
  Lsn written;
  Lsn flushed;
};

/// Errors: not_found if the slot or the log that it kept is gone; invalid_argument if the slot is not a gate's.
[[nodiscard]] Result<PgSlot> find_slot(PgConnection& connection, const std::string& name);
/// Errors: not_found for a position after the end of the server's log.
[[nodiscard]] Result<void> check_is_reached(const PgSlot& slot, Lsn position);
/// Errors: not_found if the slot lacks changes after the position.
[[nodiscard]] Result<void> check_is_kept(const PgSlot& slot, Lsn position);

/// Drops publication and slot; returns how many of the two existed. Errors: locked while the slot is in use.
[[nodiscard]] Result<std::size_t> drop_publication_and_slot(PgConnection& connection, const std::string& name);

}  // namespace mankai::detail
