#include <new>
#include <thread>

#include "mankai/base/assert.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/store/detail/store_file.hpp"
#include "mankai/store/detail/store_impl.hpp"

// How a store starts its journal, and how changes reach the journal and the filter.

namespace mankai {
using detail::journal_path;
using detail::random_word;

Result<void> Store::Impl::check_usable() const {
  if (is_closed_) {
    return fail(ErrorCode::invalid_argument, path_ + ": the store is closed; open it again to change it");
  }
  return journal_.check_sound();
}

Result<void> Store::Impl::resume_journal(const detail::JournalState& state) {
  const bool is_current = state.next_sequence == sequence() + 1;
  MANKAI_ASSIGN(auto journal,
                JournalWriter::resume(journal_path(path_), state.superblock, state.end, sequence() + 1, calls_));
  // The image has all records of the journal and later changes that the journal lost: new records would leave a gap.
  if (!is_current) {
    if (auto restarted = journal.restart(random_word(), sequence() + 1); !restarted) {
      journal.forget(journal.end(), sequence() + 1);
    }
  }
  MANKAI_TRY(journal.sync());
  journal_.start(std::move(journal));
  if (footer_ && footer_->is_open == 0) {
    MANKAI_TRY(mark_file(FileState::open));
  }
  return start_workers();
}

Result<void> Store::Impl::make_ready(std::uint64_t bytes) {
  apply_all_pending();  // so that no reader waits for the disk
  if (is_in_memory()) {
    return check_usable();
  }
  MANKAI_TRY(start_writing());
  return journal_->reserve(bytes);
}

// The disk has the journal before the file is marked as open. Each journal has its own id, so that the journal of one
// copy of a file is never taken for that of another copy.
Result<void> Store::Impl::start_writing() {
  if (auto usable = check_usable(); !usable || journal_) {
    return usable;
  }
  MANKAI_TRY(start_workers());
  // If another file has taken this path, the journal next to it may belong to that file.
  MANKAI_TRY(lock_->check_at(path_));
  store_id_ = random_word();
  MANKAI_TRY(make_journal());
  // From here on the journal stays: after a failed write of the flag, the disk may have the flag or not.
  Result<void> marked;
  try {
    marked = footer_ ? mark_file(FileState::open) : write_file(snapshot(), FileState::open);
  } catch (const std::bad_alloc&) {
    marked = no_memory();
  }
  return marked ? marked : journal_.give_up(marked.error());
}

Result<void> Store::Impl::sync_new_journal(JournalWriter& journal) const {
  MANKAI_TRY(journal.copy_permissions(path_));
  MANKAI_TRY(journal.sync());
  return sync_folder_of(path_, calls_);
}

Result<void> Store::Impl::make_journal() {
  MANKAI_ASSIGN(auto journal, JournalWriter::create(journal_path(path_), store_id_, sequence() + 1, calls_));
  if (auto synced = sync_new_journal(journal); !synced) {
    static_cast<void>(calls_.unlink(journal_path(path_).c_str()));
    return synced;
  }
  journal_.start(std::move(journal));
  return {};
}

// Writes the flag in place, with two exceptions that write the file anew. Other hard links to the file, such as a
// backup, must not be open, since they have no journal. A footer of version 1 has a single copy.
Result<void> Store::Impl::mark_file(FileState state) {
  StoreFooter marked = *footer_;
  marked.store_id = store_id_;
  marked.is_open = state == FileState::open ? 1 : 0;
  marked.replaced_id = 0;
  MANKAI_TRY(lock_->check_at(path_));
  MANKAI_ASSIGN(const auto file, OpenFile::open(path_, OpenFile::Mode::write, calls_));
  if (file.links() > 1 || marked.version != kFooterVersion) {
    return write_file(snapshot(), state);
  }
  MANKAI_TRY(replace_footer(file, marked));
  footer_ = marked;
  return {};
}

Result<void> Store::Impl::change(const Change& change, const Outcomes& outcomes) {
  return change_alone(change, [&] { return apply_now(change, outcomes); });
}

Result<void> Store::Impl::change(const Change& change, ApplyFunction* apply, const void* context) {
  MANKAI_ASSERT(!readers_need_lock_ && change.keys != 0);
  return change_alone(change, [&]() -> Result<void> {
    apply(context);
    return {};
  });
}

Result<void> Store::Impl::change_later(const Change& change) {
  bool must_wait = false;
  {
    const std::scoped_lock lock(change_mutex_);
    if (may_be_pending(change)) [[likely]] {
      MANKAI_TRY(prepare(change));
      journal_->write(change, journal_.durable(), false);
      pending_.add(change);
      --room_.keys;
      changer_ = std::this_thread::get_id();
      pending_count_.store(pending_.size(), std::memory_order_release);
      if (pending_.size() == detail::PendingChanges::kMost) {
        apply_batch();
        next_at_once_ = detail::PendingChanges::kBatch;
      }
      note_commit();
    } else {
      changes_at_once_ -= changes_at_once_ == 0 ? 0 : 1;
      MANKAI_TRY(change_window(change, is_in_batch_, [&] { return apply_now(change, {}); }));
    }
    must_wait = waits_for_disk();
  }
  return finish(must_wait);
}

Result<void> Store::Impl::apply_locked(const Change& change, const Outcomes& outcomes) {
  const std::scoped_lock lock(reader_mutex_);
  return filter_.apply(change, outcomes);
}

// Ends the program instead of losing changes that the journal has.
void Store::Impl::apply_batch() noexcept {
  const auto applied = filter_.apply(pending_.take(), {});
  MANKAI_ASSERT(applied.has_value());
  pending_count_.store(pending_.size(), std::memory_order_release);
}

// For a reader. It would wait for changes whenever it comes beside them, so no more are pending once another thread
// reads. If the same thread reads before half of the list is full, grouping costs more than it saves: it stops for a
// while, twice as long each time.
void Store::Impl::apply_pending() noexcept {
  constexpr std::size_t kMostAtOnce = 4096;
  const std::scoped_lock lock(change_mutex_);
  if (std::this_thread::get_id() != changer_) {
    has_other_readers_ = true;
  } else if (pending_.size() < detail::PendingChanges::kBatch) {
    changes_at_once_ = next_at_once_;
    next_at_once_ = std::min(2 * next_at_once_, kMostAtOnce);
  }
  apply_all_pending();
}

// The change does not fit the filter, which is unchanged. The record is removed: it could not be replayed.
Result<void> Store::Impl::undo(const Change& change, const JournalWriter::Place& before, const Error& error) {
  if (is_in_memory()) {
    changes_in_memory_ -= change.keys;
  } else {
    journal_->remove_last(before);
  }
  return std::unexpected(error.within(path_));
}

// The filter may have a part of the change. Its record is removed: the call fails, so the next open must not find it.
Result<void> Store::Impl::give_up_growth(const JournalWriter::Place& before) {
  if (!is_in_memory()) {
    journal_->remove_last(before);
    // While it can: after giving up nothing is synced, and changes before this one have been acknowledged.
    if (journal_.sync_now()) {
      journal_.raise_durable(journal_.committed());
    }
  }
  return journal_.give_up({.code = ErrorCode::out_of_space, .detail = path_ + ": no memory for the filter to grow"});
}

// A commit of only a position takes a sequence number, too: it shows whether the image has the position.
Result<void> Store::Impl::append_commit(std::string_view position) {
  const std::uint32_t changes = has_uncommitted_ ? 0 : 1;
  MANKAI_TRY(
      journal_->append_commit(changes, {.durable = journal_.durable(), .position = position, .more_follows = false}));
  note_position(position);
  note_commit();
  return {};
}

void Store::Impl::note_position(std::string_view position) {
  if (!position.empty()) {
    position_ = SourcePosition::of(position).value_or(position_);
  }
}

void Store::Impl::begin(BatchMode mode) {
  const std::scoped_lock lock(change_mutex_);
  mode_ = is_in_batch_ ? mode_ : mode;
  is_in_batch_ = true;
}

Result<void> Store::Impl::commit(std::string_view position) {
  MANKAI_TRY(SourcePosition::of(position));
  std::unique_lock lock(change_mutex_);
  if (is_in_memory()) {
    // Locks again, in lock order. Another thread may have committed in between.
    lock.unlock();
    const std::scoped_lock one(checkpoint_mutex_);
    lock.lock();
    if (is_in_memory() && (has_uncommitted_ || !position.empty())) {
      return commit_in_memory(position);
    }
  }
  return commit_journaled(position, lock);
}

Result<void> Store::Impl::commit_journaled(std::string_view position, std::unique_lock<detail::ChangeMutex>& lock) {
  if (!has_uncommitted_ && position.empty()) {
    is_in_batch_ = false;
    return check_usable();
  }
  MANKAI_TRY(start_writing());
  MANKAI_TRY(append_commit(position));
  is_in_batch_ = false;
  // If each batch begins as soon as the last one is committed, the store's thread finds no moment between two.
  const bool is_overdue = is_over_limit(journal_->record_bytes_held() / kPatience);
  lock.unlock();
  if (is_overdue) {
    try_checkpoint(false);
  }
  return options_.durability == Durability::always ? sync() : Result<void>{};
}

// Writes the file anew; does not start a journal.
Result<void> Store::Impl::commit_in_memory(std::string_view position) {
  MANKAI_TRY(check_usable());
  Snapshot saved = snapshot();
  saved.sequence += std::max<std::uint64_t>(changes_in_memory_, 1);
  saved.position = SourcePosition::of(position).value_or(SourcePosition());
  saved.position = saved.position.empty() ? position_ : saved.position;
  const auto written = write_file(saved, journal_ ? FileState::open : FileState::closed);
  // Whatever failed after the file was put in place: the next process that opens it finds the batch.
  if (written || (footer_ && footer_->sequence == saved.sequence)) {
    is_in_batch_ = false;
    has_uncommitted_ = false;
    changes_in_memory_ = 0;
    position_ = saved.position;
    journal_.note_commit(saved.sequence);
  }
  if (!written) {
    return journal_.give_up(written.error());
  }
  forget_journal(saved);
  return {};
}

}  // namespace mankai
