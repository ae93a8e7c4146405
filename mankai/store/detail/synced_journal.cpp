#include "mankai/store/detail/synced_journal.hpp"

#include <utility>

namespace mankai::detail {

void SyncedJournal::start(JournalWriter writer) {
  const std::scoped_lock lock(sync_mutex_);
  writer_.emplace(std::move(writer));
}

void SyncedJournal::drop() {
  const std::scoped_lock lock(sync_mutex_);
  set_all_durable();
  writer_.reset();
}

void SyncedJournal::note_commit(std::uint64_t sequence) noexcept {
  committed_.store(sequence, std::memory_order_release);
  commits_.store(commits_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

void SyncedJournal::raise_durable(std::uint64_t sequence) noexcept {
  std::uint64_t durable = durable_.load(std::memory_order_relaxed);
  while (durable < sequence && !durable_.compare_exchange_weak(durable, sequence, std::memory_order_release)) {
  }
}

void SyncedJournal::set_all_durable() noexcept {
  durable_commits_.store(commits_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

Result<void> SyncedJournal::sync() {
  MANKAI_TRY(check_sound());
  return sync_commits(commits());
}

// One sync covers everything that has been committed when it starts.
Result<void> SyncedJournal::sync_commits(std::uint64_t commits) {
  const std::scoped_lock lock(sync_mutex_);
  // Without a journal the file has everything.
  if (durable_commits_.load(std::memory_order_relaxed) >= commits || !writer_) {
    return {};
  }
  MANKAI_TRY(check_sound());
  const std::uint64_t reached = commits_.load(std::memory_order_acquire);
  const std::uint64_t sequence = committed();
  if (auto synced = writer_->sync(); !synced) {
    return give_up(synced.error());
  }
  durable_commits_.store(reached, std::memory_order_relaxed);
  raise_durable(sequence);
  return {};
}

Result<void> SyncedJournal::sync_now() {
  const std::scoped_lock lock(sync_mutex_);
  auto synced = writer_->sync();
  return synced ? synced : give_up(synced.error());
}

bool SyncedJournal::release_forgotten() {
  const std::scoped_lock lock(sync_mutex_);
  if (has_failed()) {
    return true;
  }
  if (auto synced = writer_->sync(); !synced) {
    static_cast<void>(give_up(synced.error()));
    return true;
  }
  return writer_->release_forgotten();
}

std::unexpected<Error> SyncedJournal::give_up(const Error& error) {
  const std::scoped_lock lock(failure_mutex_);
  if (!failure_) {
    failure_ = Error{.code = error.code, .os_error = error.os_error, .detail = {}};  // has it also without memory
    has_failed_.store(true, std::memory_order_release);
    failure_->detail =
        error.detail + "; the store refuses further changes: open it again, every acknowledged change is there";
  }
  return std::unexpected(*failure_);
}

Result<void> SyncedJournal::check_sound() const {
  if (!has_failed()) {
    return {};
  }
  const std::scoped_lock lock(failure_mutex_);
  return std::unexpected(*failure_);
}

}  // namespace mankai::detail
