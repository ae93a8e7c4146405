#include "mankai/gate/database/detail/sqlite.hpp"

#include <cerrno>

namespace mankai::detail {
namespace {

constexpr int kPatienceMilliseconds = 5000;

ErrorCode code_of_plain_error(std::string_view message) {
  return message.starts_with("no such table") || message.starts_with("no such column") ||
                 message.starts_with("no such collation") || message.starts_with("no such index")
             ? ErrorCode::not_found
             : ErrorCode::invalid_argument;
}

ErrorCode code_of(int code, std::string_view message) {
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return ErrorCode::locked;
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT: return ErrorCode::corrupt;
    case SQLITE_FULL: return ErrorCode::out_of_space;
    case SQLITE_ERROR: return code_of_plain_error(message);
    case SQLITE_RANGE:
    case SQLITE_MISUSE: return ErrorCode::invalid_argument;
    default: return ErrorCode::io;
  }
}

std::unexpected<Error> failed(sqlite3* handle) {
  const std::string message = sqlite3_errmsg(handle);
  return fail(code_of(sqlite3_extended_errcode(handle), message), "SQLite says: " + message);
}

std::string quoted(std::string_view text, char quote) {
  std::string out(1, quote);
  for (const char c : text) {
    out.append(c == quote ? 2 : 1, c);
  }
  return out += quote;
}

}  // namespace

void SqliteStatement::bind(int parameter, std::int64_t value) noexcept {
  sqlite3_bind_int64(statement_.get(), parameter, value);
}

Result<bool> SqliteStatement::step() {
  switch (sqlite3_step(statement_.get())) {
    case SQLITE_ROW: return true;
    case SQLITE_DONE: return false;
    default: return failed(sqlite3_db_handle(statement_.get()));
  }
}

std::int64_t SqliteStatement::integer(int column) const noexcept {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::text(int column) const noexcept {
  const unsigned char* const bytes = sqlite3_column_text(statement_.get(), column);
  const auto length = static_cast<std::size_t>(sqlite3_column_bytes(statement_.get(), column));
  return bytes == nullptr ? std::string_view() : std::string_view(reinterpret_cast<const char*>(bytes), length);
}

Result<SqliteDatabase> SqliteDatabase::open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE, nullptr);
  SqliteDatabase database(handle);
  if (code != SQLITE_OK) {
    const int system = handle == nullptr ? 0 : sqlite3_system_errno(handle);
    return fail(system == ENOENT ? ErrorCode::not_found : ErrorCode::io, path + ": cannot be opened as a database",
                system);
  }
  sqlite3_busy_timeout(handle, kPatienceMilliseconds);
  // Otherwise SQLite takes unknown names as strings.
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  sqlite3_db_config(handle, SQLITE_DBCONFIG_DQS_DDL, 0, nullptr);
  if (auto schema = database.integer("PRAGMA schema_version"); !schema) {
    return std::unexpected(schema.error().within(path));
  }
  return database;
}

Result<void> SqliteDatabase::run(const std::string& sql) {
  if (sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) {
    return failed(handle_.get());
  }
  return {};
}

Result<SqliteStatement> SqliteDatabase::prepare(std::string_view sql) {
  sqlite3_stmt* compiled = nullptr;
  const char* tail = nullptr;
  if (sqlite3_prepare_v2(handle_.get(), sql.data(), static_cast<int>(sql.size()), &compiled, &tail) != SQLITE_OK) {
    return failed(handle_.get());
  }
  SqliteStatement statement(compiled);
  if (compiled == nullptr || tail != sql.data() + sql.size()) {
    return fail(ErrorCode::invalid_argument, "SQL must be exactly one statement");
  }
  return statement;
}

Result<bool> SqliteDatabase::calls(std::string_view sql, std::string_view function) {
  struct Search {
    std::string_view function;
    bool is_found = false;
  } search{.function = function};
  sqlite3_set_authorizer(
      handle_.get(),
      [](void* about, int action, const char*, const char* name, const char*, const char*) {
        auto& looking = *static_cast<Search*>(about);
        looking.is_found = looking.is_found || (action == SQLITE_FUNCTION && name == looking.function);
        return SQLITE_OK;
      },
      &search);
  const auto compiled = prepare(sql);
  sqlite3_set_authorizer(handle_.get(), nullptr, nullptr);
  return compiled ? Result<bool>(search.is_found) : std::unexpected(compiled.error());
}

Result<std::string> SqliteDatabase::collation(const std::string& table, const std::string& column) {
  const char* name = nullptr;
  if (sqlite3_table_column_metadata(handle_.get(), "main", table.c_str(), column.c_str(), nullptr, &name, nullptr,
                                    nullptr, nullptr) != SQLITE_OK) {
    return failed(handle_.get());
  }
  return std::string(name);
}

bool SqliteDatabase::was_moved() noexcept {
  int moved = 0;
  return sqlite3_file_control(handle_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved) == SQLITE_OK && moved != 0;
}

Result<std::int64_t> SqliteDatabase::integer(std::string_view sql) {
  MANKAI_ASSIGN(auto statement, prepare(sql));
  MANKAI_ASSIGN(const auto has_row, statement.step());
  if (!has_row) {
    return fail(ErrorCode::corrupt, "SQLite has no answer to " + std::string(sql));
  }
  return statement.integer(0);
}

Result<SqliteTransaction> SqliteTransaction::begin(SqliteDatabase& database, std::string_view how) {
  MANKAI_TRY(database.run("BEGIN " + std::string(how)));
  return SqliteTransaction(database);
}

SqliteTransaction::~SqliteTransaction() {
  if (database_ != nullptr) {
    static_cast<void>(database_->run("ROLLBACK"));
  }
}

Result<void> SqliteTransaction::commit() {
  auto committed = database_->run("COMMIT");
  if (committed) {
    database_ = nullptr;
  }
  return committed;
}

std::string sql_name(std::string_view name) { return quoted(name, '"'); }
std::string sql_text(std::string_view text) { return quoted(text, '\''); }

}  // namespace mankai::detail
