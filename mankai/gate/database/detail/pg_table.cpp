#include "mankai/gate/database/detail/pg_table.hpp"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "mankai/base/number.hpp"

namespace mankai::detail {
namespace {

using Texts = std::vector<std::string>;

constexpr int kLeastVersion = 150000;

std::unexpected<Error> refuse(std::string why) { return fail(ErrorCode::invalid_argument, std::move(why)); }

std::unexpected<Error> missing(std::string what) { return fail(ErrorCode::not_found, std::move(what)); }

std::string quoted(const std::string& name) { return "\"" + name + "\""; }

constexpr std::string_view kAltered = ", altered by ";
constexpr std::string_view kFile = ", in file ";

/// The comment on the publication: identifies table, key and condition, and then what ALTER TABLE changes: the last
/// transaction that wrote the key's catalog row (freezing keeps it), and the file of the rows, per partition.
constexpr const char* kPurpose =
    "SELECT 'mankai gate: relation ' || r.prrelid || ', key ' || a.attnum || ' of type ' || a.atttypid || '/' || "
    "a.atttypmod || ', condition ' || pg_catalog.md5(coalesce(r.prqual::text, '')) || "
    "', altered by ' || a.xmin || ', in file ' || coalesce(pg_catalog.pg_relation_filenode(r.prrelid)::text, 'none') "
    "FROM pg_catalog.pg_publication p JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid "
    "JOIN pg_catalog.pg_attribute a ON a.attrelid = r.prrelid AND a.attname = $2 AND a.attnum > 0 "
    "WHERE p.pubname = $1 AND r.prrelid = $3::oid";

Result<std::string> purpose(PgConnection& connection, const RowSourceSettings& settings, const PgTable& table) {
  const Texts values{settings.installed, table.key, std::to_string(table.relation)};
  MANKAI_ASSIGN(const auto answer, connection.query(kPurpose, values));
  return answer.rows() == 1 ? std::string(answer.text(0, 0)) : std::string();
}

struct Purpose {
  std::string_view what;
  std::string_view altered;
  std::string_view file;
};

Purpose parts_of(std::string_view words) {
  const std::size_t altered = std::min(words.rfind(kAltered), words.size());
  const std::size_t file = std::max(std::min(words.rfind(kFile), words.size()), altered);
  return {
      .what = words.substr(0, altered), .altered = words.substr(altered, file - altered), .file = words.substr(file)};
}

/// Returns whether ALTER TABLE may have rewritten the keys: it changes both the rows' file and the key's catalog row.
/// Either alone is harmless: VACUUM FULL or TRUNCATE; a rename.
bool may_be_rewritten(const Purpose& now, const Purpose& then, bool is_partitioned) {
  return now.altered != then.altered && (is_partitioned || now.file != then.file);
}

/// Names are in lower case unless quoted.
Result<std::string> column_name(PgConnection& connection, const std::string& key) {
  MANKAI_ASSIGN(
      const auto answer,
      connection.query("SELECT names[1], pg_catalog.cardinality(names) FROM pg_catalog.parse_ident($1) AS names",
                       Texts{key}));
  if (answer.rows() != 1 || answer.text(0, 1) != "1") {
    return refuse("the key is a column's name alone, without its table: " + key);
  }
  return std::string(answer.text(0, 0));
}

Result<void> check_kind(const PgAnswer& answer, const std::string& table) {
  enum Column : std::uint8_t { oid, name, kind, children };
  const std::string_view is = answer.text(0, kind);
  if (is != "r" && is != "p") {
    return refuse(table + " is not a table; give the name of a table");
  }
  if (is == "r" && answer.is_true(0, children)) {
    return refuse("other tables inherit from " + table +
                  ", and PostgreSQL reports their rows under their own names; build the gate for one of them, or make "
                  "them partitions");
  }
  return {};
}

Result<void> find_key(PgConnection& connection, PgTable& table) {
  MANKAI_ASSIGN(const auto answer,
                connection.query("SELECT atttypid, attgenerated <> '' FROM pg_catalog.pg_attribute "
                                 "WHERE attrelid = $1::oid AND attname = $2 AND attnum > 0 AND NOT attisdropped",
                                 Texts{std::to_string(table.relation), table.key}));
  if (answer.rows() != 1) {
    return missing("table " + table.name + " has no column " + table.key +
                   ": if the key was renamed, give it its name back, or build the gate again");
  }
  if (answer.is_true(0, 1)) {
    return refuse("column " + table.key + " of table " + table.name +
                  " is generated, and PostgreSQL does not send such columns; use a stored column");
  }
  table.key_type = to_number<std::uint32_t>(answer.text(0, 0)).value_or(0);
  return {};
}

Result<void> check_filter(const PgAnswer& answer, const std::string& name) {
  enum Column : std::uint8_t { is_whole, members };
  if (!answer.is_true(0, is_whole) || answer.text(0, members) != "1") {
    return refuse("publication " + name + " was changed, and what was not sent since is lost: build the gate again");
  }
  return {};
}

}  // namespace

Result<void> check_server(PgConnection& connection) {
  if (connection.version() < kLeastVersion) {
    return refuse(
        "this PostgreSQL is too old: a condition is done by a publication's row filter, which needs "
        "PostgreSQL 15");
  }
  MANKAI_ASSIGN(const auto answer,
                connection.query("SELECT pg_catalog.current_setting('wal_level'), pg_catalog.pg_is_in_recovery()"));
  if (answer.is_true(0, 1)) {
    return refuse("this server is a standby: follow the primary");
  }
  if (answer.text(0, 0) != "logical") {
    return refuse("wal_level is " + std::string(answer.text(0, 0)) +
                  ": run ALTER SYSTEM SET wal_level = logical, and restart the server");
  }
  return {};
}

Result<PgTable> find_table(PgConnection& connection, const RowSourceSettings& settings) {
  enum Column : std::uint8_t { oid, name, kind, children };
  MANKAI_ASSIGN(const auto answer,
                connection.query("SELECT c.oid, pg_catalog.format('%I.%I', n.nspname, c.relname), c.relkind, "
                                 "EXISTS (SELECT FROM pg_catalog.pg_inherits i WHERE i.inhparent = c.oid) "
                                 "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
                                 "WHERE c.oid = pg_catalog.to_regclass($1)",
                                 Texts{settings.table}));
  if (answer.rows() != 1) {
    return missing("there is no table " + settings.table +
                   ": names are read as in SQL, so capitals need quotes: '\"Baskets\"'");
  }
  MANKAI_TRY(check_kind(answer, settings.table));
  MANKAI_ASSIGN(auto key, column_name(connection, settings.key));
  PgTable table{.relation = to_number<std::uint32_t>(answer.text(0, oid)).value_or(0),
                .name = std::string(answer.text(0, name)),
                .key = std::move(key),
                .key_type = 0,
                .is_partitioned = answer.text(0, kind) == "p"};
  MANKAI_TRY(find_key(connection, table));
  return table;
}

Result<void> check_identity(PgConnection& connection, const PgTable& table) {
  constexpr int kMostNamed = 5;
  MANKAI_ASSIGN(
      const auto answer,
      connection.query("SELECT c.oid::pg_catalog.regclass, c.relkind NOT IN ('r', 'p') FROM pg_catalog.pg_class c "
                       "WHERE (c.oid = $1::oid OR c.oid IN (SELECT relid FROM pg_catalog.pg_partition_tree($1::oid))) "
                       "AND (c.relreplident <> 'f' OR c.relkind NOT IN ('r', 'p')) ORDER BY c.oid",
                       Texts{std::to_string(table.relation)}));
  std::string commands;
  for (int row = 0; row < answer.rows(); ++row) {
    const std::string name(answer.text(row, 0));
    if (answer.is_true(row, 1)) {
      return refuse("partition " + name + " of " + table.name + " is on another server: follow its table there");
    }
    if (row < kMostNamed) {
      commands += " ALTER TABLE " + name + " REPLICA IDENTITY FULL;";
    }
  }
  if (answer.rows() > 0) {
    const int more = answer.rows() - kMostNamed;
    return refuse("table " + table.name + " must log complete old rows; run:" + commands +
                  (more > 0 ? " and so for " + std::to_string(more) + " partitions more" : ""));
  }
  return {};
}

Result<void> check_name_is_free(PgConnection& connection, const std::string& name) {
  MANKAI_ASSIGN(const auto answer,
                connection.query("SELECT FROM pg_catalog.pg_publication WHERE pubname = $1 UNION ALL "
                                 "SELECT FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
                                 Texts{name}));
  if (answer.rows() > 0) {
    return refuse("there is a publication or a replication slot " + name +
                  " already: drop that gate, or take another name");
  }
  return {};
}

Result<void> create_publication(PgConnection& connection, const RowSourceSettings& settings, const PgTable& table) {
  // The line feed ends a comment in the condition.
  const std::string filter = settings.where.empty() ? "" : " WHERE (" + settings.where + "\n)";
  if (const auto created = connection.query("CREATE PUBLICATION " + quoted(settings.installed) + " FOR TABLE ONLY " +
                                            table.name + filter +
                                            " WITH (publish = 'insert, update, delete, truncate', "
                                            "publish_via_partition_root = true)");
      !created) {
    return std::unexpected(created.error().within("the condition, or the publication that has it"));
  }
  MANKAI_ASSIGN(const auto words, purpose(connection, settings, table));
  MANKAI_ASSIGN(const auto text, connection.quoted_text(words));
  MANKAI_TRY(connection.query("COMMENT ON PUBLICATION " + quoted(settings.installed) + " IS " + text));
  return {};
}

Result<void> check_publication(PgConnection& connection, const RowSourceSettings& settings, const PgTable& table) {
  enum Column : std::uint8_t { is_whole, members, comment };
  MANKAI_ASSIGN(const auto answer,
                connection.query(
                    "SELECT pubinsert AND pubupdate AND pubdelete AND pubtruncate AND pubviaroot AND NOT puballtables, "
                    "(SELECT count(*) FROM pg_catalog.pg_publication_rel r WHERE r.prpubid = p.oid) + "
                    "(SELECT count(*) FROM pg_catalog.pg_publication_namespace n WHERE n.pnpubid = p.oid), "
                    "coalesce(pg_catalog.obj_description(p.oid, 'pg_publication'), '') "
                    "FROM pg_catalog.pg_publication p WHERE pubname = $1",
                    Texts{settings.installed}));
  if (answer.rows() != 1) {
    return missing("publication " + settings.installed + " is gone: build the gate again");
  }
  MANKAI_TRY(check_filter(answer, settings.installed));
  MANKAI_ASSIGN(const auto words, purpose(connection, settings, table));
  const Purpose now = parts_of(words);
  const Purpose then = parts_of(answer.text(0, comment));
  if (now.what == then.what && may_be_rewritten(now, then, table.is_partitioned)) {
    return refuse("column " + table.key + " of table " + table.name +
                  " was altered, and the table was rewritten, which is not in the log; build the gate again");
  }
  if (now.what != then.what) {
    return refuse("publication " + settings.installed + " does not send what the gate was built of: table " +
                  settings.table + ", its key or the condition is another one now; build the gate again");
  }
  return {};
}

Result<std::string> selection(PgConnection& connection, const RowSourceSettings& settings, const PgTable& table) {
  MANKAI_ASSIGN(
      const auto answer,
      connection.query(
          "SELECT pg_catalog.pg_get_expr(r.prqual, r.prrelid) FROM pg_catalog.pg_publication p "
          "JOIN pg_catalog.pg_publication_rel r ON r.prpubid = p.oid WHERE p.pubname = $1 AND r.prrelid = $2::oid",
          Texts{settings.installed, std::to_string(table.relation)}));
  if (answer.rows() != 1) {
    return missing("publication " + settings.installed + " is gone: build the gate again");
  }
  MANKAI_ASSIGN(const auto key, connection.quoted_name(table.key));
  const std::string condition = answer.is_null(0, 0) ? "" : " AND (" + std::string(answer.text(0, 0)) + ")";
  return " FROM " + std::string(table.is_partitioned ? "" : "ONLY ") + table.name + " WHERE " + key + " IS NOT NULL" +
         condition;
}

Result<PgSlot> find_slot(PgConnection& connection, const std::string& name) {
  enum Column : std::uint8_t { is_ours, is_lost, confirmed, written, flushed };
  MANKAI_ASSIGN(const auto answer,
                connection.query(
                    "SELECT plugin = 'pgoutput' AND database = pg_catalog.current_database() AND NOT two_phase, "
                    "coalesce(wal_status = 'lost', false), coalesce(confirmed_flush_lsn, '0/0'), "
                    "pg_catalog.pg_current_wal_lsn(), "
                    "pg_catalog.pg_current_wal_flush_lsn() FROM pg_catalog.pg_replication_slots WHERE slot_name = $1",
                    Texts{name}));
  if (answer.rows() != 1) {
    return missing("replication slot " + name + " does not exist, so later changes are lost; build the gate again");
  }
  if (!answer.is_true(0, is_ours)) {
    return refuse("replication slot " + name + " is not one of this gate: build the gate again");
  }
  if (answer.is_true(0, is_lost)) {
    return missing("the server removed the log that replication slot " + name +
                   " retained (max_slot_wal_keep_size); build the gate again");
  }
  PgSlot slot{.name = name, .confirmed = {}, .written = {}, .flushed = {}};
  for (const auto& [column, place] :
       {std::pair{confirmed, &slot.confirmed}, std::pair{written, &slot.written}, std::pair{flushed, &slot.flushed}}) {
    MANKAI_ASSIGN(const auto position, parse_lsn(answer.text(0, column)));
    *place = position;
  }
  return slot;
}

Result<void> check_is_reached(const PgSlot& slot, Lsn position) {
  if (slot.written < position) {
    return missing("the server's log ends at " + to_text(slot.written) + ", before " + to_text(position) +
                   ", where the gate is: this is an older copy of the database; build the gate again");
  }
  return {};
}

Result<void> check_is_kept(const PgSlot& slot, Lsn position) {
  if (slot.confirmed > position) {
    return missing("replication slot " + slot.name + " no longer retains changes before " + to_text(slot.confirmed) +
                   ", and the gate is at " + to_text(position) + "; build the gate again");
  }
  return {};
}

Result<std::size_t> drop_publication_and_slot(PgConnection& connection, const std::string& name) {
  // A server takes a moment to notice that the client of the slot is gone.
  constexpr int kTries = 50;
  constexpr std::chrono::milliseconds kPause{100};
  // While the server creates a slot for a client that is gone, it waits for all transactions and does not notice.
  MANKAI_ASSIGN(
      const auto ended,
      connection.query("SELECT pg_catalog.pg_terminate_backend(active_pid) FROM pg_catalog.pg_replication_slots "
                       "WHERE slot_name = $1 AND confirmed_flush_lsn IS NULL AND active_pid IS NOT NULL",
                       Texts{name}));
  auto slot = Result<PgAnswer>(fail(ErrorCode::locked, {}));
  for (int i = 0; i < kTries && !slot && slot.error().code == ErrorCode::locked; ++i) {
    if (i > 0) {
      std::this_thread::sleep_for(kPause);
    }
    slot = connection.query(
        "SELECT pg_catalog.pg_drop_replication_slot(slot_name) FROM pg_catalog.pg_replication_slots "
        "WHERE slot_name = $1",
        Texts{name});
  }
  if (!slot) {
    return std::unexpected(slot.error());
  }
  MANKAI_ASSIGN(const auto publication,
                connection.query("SELECT FROM pg_catalog.pg_publication WHERE pubname = $1", Texts{name}));
  MANKAI_TRY(connection.query("DROP PUBLICATION IF EXISTS " + quoted(name)));
  return static_cast<std::size_t>(slot->rows()) + static_cast<std::size_t>(publication.rows());
}

}  // namespace mankai::detail
