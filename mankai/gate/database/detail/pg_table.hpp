#pragma once

#include <cstdint>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/gate/database/detail/pg_connection.hpp"
#include "mankai/gate/database/detail/pg_transactions.hpp"
#include "mankai/gate/database/pgoutput.hpp"
#include "mankai/gate/database/row_source.hpp"

// What must hold in the database so that a table's keys can be followed, and what is put there for that.

namespace mankai::detail {

/// A table as the catalog has it.
struct PgTable {
  std::uint32_t relation = 0;
  std::string name;  ///< with its schema, quoted where SQL needs it
  std::string key;   ///< as it is, without quotes
  std::uint32_t key_type = 0;
  bool is_partitioned = false;
};

/// Checks what no table can do without: PostgreSQL 15, wal_level, a server that is no standby. Errors:
/// invalid_argument, with what to do.
[[nodiscard]] Result<void> check_server(PgConnection& connection);

/// Finds table and key. Errors: not_found; invalid_argument for what is no table of its own rows, or a key that is
/// computed.
[[nodiscard]] Result<PgTable> find_table(PgConnection& connection, const RowSourceSettings& settings);

/// Checks that old rows are sent whole, in each partition. Errors: invalid_argument with the commands to run.
[[nodiscard]] Result<void> check_identity(PgConnection& connection, const PgTable& table);

/// Errors: invalid_argument where there is a publication or a slot of the name.
[[nodiscard]] Result<void> check_name_is_free(PgConnection& connection, const std::string& name);

/// Makes the publication, which has the condition in it. Errors: as the server finds the condition.
[[nodiscard]] Result<void> create_publication(PgConnection& connection, const RowSourceSettings& settings,
                                              const PgTable& table);
/// Checks that the publication is what create_publication made for this table. Errors: not_found when it is gone,
/// invalid_argument when it is another one.
[[nodiscard]] Result<void> check_publication(PgConnection& connection, const RowSourceSettings& settings,
                                             const PgTable& table);

/// What selects the keys for COPY or for a count, such as "FROM ONLY public.baskets WHERE ...".
[[nodiscard]] Result<std::string> selection(PgConnection& connection, const RowSourceSettings& settings,
                                            const PgTable& table);

/// A replication slot, and where the server's log ends.
struct PgSlot {
  std::string name;
  Lsn confirmed;  ///< what comes before is let go
  Lsn written;
  Lsn flushed;
};

/// Errors: not_found when it is gone, or what it kept; invalid_argument when it is not one of ours.
[[nodiscard]] Result<PgSlot> find_slot(PgConnection& connection, const std::string& name);
/// Errors: not_found for a position that the server's log has not come to.
[[nodiscard]] Result<void> check_is_reached(const PgSlot& slot, Lsn position);
/// Errors: not_found when the slot has not everything behind a position.
[[nodiscard]] Result<void> check_is_kept(const PgSlot& slot, Lsn position);

/// Takes publication and slot away, and says how many of the two there were. Errors: locked while somebody follows the
/// slot.
[[nodiscard]] Result<std::size_t> drop_publication_and_slot(PgConnection& connection, const std::string& name);

}  // namespace mankai::detail
