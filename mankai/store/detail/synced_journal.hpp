#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "mankai/base/error.hpp"
#include "mankai/store/journal_writer.hpp"

namespace mankai::detail {

/// A store's journal, how much of it is committed, and how much of that the disk has. One sync serves all threads that
/// wait for one. After a failed sync the journal accepts nothing more: the system reports such a failure once, and the
/// next sync would succeed without the data.
///
/// Threads: `sync…`, `give_up`, `check_sound` and the numbers from any thread; everything else one at a time.
class SyncedJournal {
 public:
  /// Pre: the disk has everything up to `sequence`.
  explicit SyncedJournal(std::uint64_t sequence) noexcept : committed_(sequence), durable_(sequence) {}

  explicit operator bool() const noexcept { return writer_.has_value(); }
  [[nodiscard]] JournalWriter* operator->() noexcept { return &*writer_; }
  [[nodiscard]] const JournalWriter* operator->() const noexcept { return &*writer_; }

  void start(JournalWriter writer);
  /// Drops the journal: the store's file has everything.
  void drop();

  void note_commit(std::uint64_t sequence) noexcept;
  [[nodiscard]] std::uint64_t committed() const noexcept { return committed_.load(std::memory_order_acquire); }
  /// Returns the last change that survives power loss.
  [[nodiscard]] std::uint64_t durable() const noexcept { return durable_.load(std::memory_order_acquire); }
  /// Returns the number of commits since the store was opened.
  [[nodiscard]] std::uint64_t commits() const noexcept { return commits_.load(std::memory_order_acquire); }
  /// The store's file has everything up to this change, or all commits.
  void raise_durable(std::uint64_t sequence) noexcept;
  void set_all_durable() noexcept;

  /// Returns once the disk has everything committed so far, or the first `commits` commits. Errors: io.
  [[nodiscard]] Result<void> sync();
  [[nodiscard]] Result<void> sync_commits(std::uint64_t commits);
  /// Syncs even if the disk is known to have all commits. Errors: io.
  [[nodiscard]] Result<void> sync_now();
  /// Syncs the superblock, then releases the room of forgotten records to the file system. Returns whether the journal
  /// may continue to grow where it is.
  [[nodiscard]] bool release_forgotten();

  /// Refuses all further changes; returns the first error that caused it.
  std::unexpected<Error> give_up(const Error& error);
  [[nodiscard]] bool has_failed() const noexcept { return has_failed_.load(std::memory_order_acquire); }
  [[nodiscard]] Result<void> check_sound() const;

 private:
  std::optional<JournalWriter> writer_;
  std::atomic<std::uint64_t> committed_;
  std::atomic<std::uint64_t> durable_;
  std::atomic<std::uint64_t> commits_ = 0;
  std::atomic<std::uint64_t> durable_commits_ = 0;
  mutable std::mutex sync_mutex_;

  mutable std::mutex failure_mutex_;
  std::optional<Error> failure_;
  std::atomic<bool> has_failed_ = false;
};

}  // namespace mankai::detail
