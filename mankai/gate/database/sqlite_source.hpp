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

#include <atomic>
#include <functional>
#include <optional>

#include "mankai/gate/database/detail/sqlite.hpp"
#include "mankai/gate/database/row_source.hpp"

namespace mankai {

/// See the top of this file.
class SqliteSource final : public RowSource {
 public:
  /// Connects with the first call that has to. Errors: invalid_argument for settings that cannot be.
  [[nodiscard]] static Result<std::unique_ptr<RowSource>> create(const RowSourceSettings& settings);

  [[nodiscard]] Result<void> install() override;
  [[nodiscard]] Result<std::size_t> uninstall() override;
  [[nodiscard]] Result<std::uint64_t> count_keys() override;
  [[nodiscard]] Result<RowPosition> snapshot(const TakeKeys& take) override;
  [[nodiscard]] Result<void> start(const RowPosition& position) override;
  [[nodiscard]] Result<bool> next(RowChanges& changes, Duration patience) override;
  [[nodiscard]] Result<void> acknowledge(std::uint64_t position) override;
  [[nodiscard]] Result<std::uint64_t> mark() override { return newest(); }
  [[nodiscard]] Result<SourceLag> lag(const RowPosition& position) override;
  [[nodiscard]] std::string position_text(std::uint64_t position) const override { return std::to_string(position); }
  void stop() noexcept override { is_stopped_.store(true, std::memory_order_relaxed); }
  void stop_when(std::function<bool()> should_stop) override { should_stop_ = std::move(should_stop); }
  [[nodiscard]] bool is_installed() const noexcept override { return is_installed_; }

 private:
  SqliteSource(RowSourceSettings settings, std::string path);

  [[nodiscard]] bool should_stop() const;
  [[nodiscard]] Result<void> connect();
  [[nodiscard]] Result<void> check_table();
  [[nodiscard]] Result<void> check_key();
  [[nodiscard]] Result<void> check_condition();
  [[nodiscard]] Result<void> check_condition_on_copy();
  [[nodiscard]] Result<void> check_index();
  [[nodiscard]] Result<void> check_not_installed();
  [[nodiscard]] Result<void> check_installed();
  [[nodiscard]] Result<void> check_stands(const RowPosition& position);
  [[nodiscard]] Result<void> find(const RowPosition& position);
  [[nodiscard]] std::unexpected<Error> keys_are_gone() const;
  [[nodiscard]] Result<void> create_tables();
  [[nodiscard]] Result<void> create_triggers();
  [[nodiscard]] Result<void> compile_writes();
  [[nodiscard]] Result<std::uint64_t> newest();
  [[nodiscard]] Result<std::string> mark_at(std::uint64_t position);
  [[nodiscard]] Result<void> hand_out_keys(const TakeKeys& take);
  [[nodiscard]] Result<bool> look_once(RowChanges& changes);
  [[nodiscard]] Result<bool> read_changes(RowChanges& changes);
  [[nodiscard]] Result<void> collect_changes(RowChanges& changes);

  [[nodiscard]] std::string name(std::string_view suffix) const;
  [[nodiscard]] std::string rows_of(std::string_view which) const;
  [[nodiscard]] std::string look(std::string_view which) const;

  RowSourceSettings settings_;
  std::string path_;
  std::optional<detail::SqliteDatabase> database_;
  RowPosition position_;
  std::int64_t seen_version_ = -1;  ///< data_version when there was nothing new
  std::int64_t schema_version_ = -1;
  bool is_started_ = false;
  bool is_installed_ = false;
  std::atomic<bool> is_stopped_{false};
  std::function<bool()> should_stop_;
};

}  // namespace mankai
