#include <algorithm>

#include "mankai/store/detail/store_file.hpp"
#include "mankai/store/detail/store_impl.hpp"

// How a store writes its filter to the file and forgets the journal.

namespace mankai {
namespace {

constexpr std::uint64_t kDefaultCheckpointBytes = std::uint64_t{64} << 20;
/// A checkpoint concurrent with changes copies the image; for larger images changes wait until the checkpoint is
/// written.
constexpr std::uint64_t kMaxCopyBytes = std::uint64_t{4} << 30;
/// Offsets in a journal whose front can be released grow up to this limit. A program that copies the journal without
/// knowledge of holes reads as many zeros.
constexpr std::uint64_t kMaxJournalEnd = std::uint64_t{16} << 30;

Result<Region> copy_of(std::span<const std::span<const std::byte>> parts, const Memory& memory) {
  std::size_t bytes = 0;
  for (const auto& part : parts) {
    bytes += part.size();
  }
  MANKAI_ASSIGN(auto copy, Region::allocate(memory, bytes));
  std::byte* to = copy.bytes().data();
  for (const auto& part : parts) {
    to = std::ranges::copy(part, to).out;
  }
  return copy;
}

}  // namespace

using detail::journal_path;
using detail::random_word;

Store::Impl::Snapshot Store::Impl::snapshot() const {
  return {.sequence = sequence(),
          .position = position_,
          .journal_end = journal_ ? journal_->end() : 0,
          .commits = journal_.commits()};
}

// Called after each commit, so it asks for the size of the image only if the answer depends on it.
bool Store::Impl::is_over_limit(std::uint64_t journal_bytes) const noexcept {
  if (options_.checkpoint_bytes != 0) {
    return journal_bytes >= options_.checkpoint_bytes + checkpoint_delay_;
  }
  return journal_bytes >= kDefaultCheckpointBytes + checkpoint_delay_ &&
         journal_bytes >= filter_.image_bytes() + checkpoint_delay_;
}

Result<void> Store::Impl::replace_file(const Parts& parts, const Snapshot& saved, FileState state) {
  MANKAI_TRY(lock_->check_at(path_));
  MANKAI_ASSIGN(auto file, NewFile::create(path_, Existing::replace, &*lock_, calls_));
  StoreFooter wanted{};
  wanted.store_id = store_id_;
  wanted.sequence = saved.sequence;
  wanted.is_open = state == FileState::open ? 1 : 0;
  set_position(wanted, saved.position);
  // A closed file that stays closed keeps it: before the folder is synced, a crash may bring that journal back.
  wanted.replaced_id = state == FileState::closed && footer_ ? footer_->replaced_id : 0;
  MANKAI_ASSIGN(const auto footer, detail::write_store(file, parts, wanted));
  // Again, because writing the file takes long.
  MANKAI_TRY(lock_->check_at(path_));
  auto placed = file.put_in_place();
  if (file.is_in_place()) {
    footer_ = footer;
    is_name_unsynced_ = !placed.has_value();
  }
  return placed;
}

Result<void> Store::Impl::write_file(const Snapshot& saved, FileState state) {
  try {
    return replace_file(sealed(), saved, state);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

Result<void> Store::Impl::checkpoint_in_place() {
  const Snapshot saved = snapshot();
  MANKAI_TRY(write_file(saved, FileState::open));
  forget_journal(saved);
  return {};
}

// The image has the journal up to `saved`; if that is the whole journal, it restarts at its front.
void Store::Impl::forget_journal(const Snapshot& saved) {
  checkpoint_delay_ = 0;
  checkpoint_failure_.reset();
  const bool is_all = !journal_ || (journal_->end() == saved.journal_end && !has_uncommitted_);
  if (journal_ && !(is_all && restart_journal(saved))) {
    // The journal continues where it is, and later records say that the disk has all changes of the image. Until the
    // disk has the superblock that forgets the earlier records, it must have these records, too.
    if (auto synced = saved.is_synced ? Result<void>{} : journal_.sync_commits(saved.commits); !synced) {
      return;
    }
    if (auto forgotten = forget_records(saved); !forgotten) {
      return;
    }
  }
  journal_.raise_durable(saved.sequence);
  if (is_all) {
    journal_.set_all_durable();
  }
}

// After an in-memory batch the next record does not continue the old ones: it is valid only once the disk has the
// superblock that forgets them.
Result<void> Store::Impl::forget_records(const Snapshot& saved) {
  const bool leaps = journal_->end() == saved.journal_end && journal_->next_sequence() != saved.sequence + 1;
  journal_->forget(saved.journal_end, saved.sequence + 1);
  return leaps ? journal_.sync_now() : Result<void>{};
}

// Returns false if the file system has no room for the front again.
bool Store::Impl::restart_journal(const Snapshot& saved) {
  return journal_->restart(random_word(), saved.sequence + 1).has_value();
}

Result<void> Store::Impl::checkpoint() {
  const std::scoped_lock locks(checkpoint_mutex_, change_mutex_);
  MANKAI_TRY(check_usable());
  if (is_in_batch_ || has_uncommitted_) {
    return fail(ErrorCode::invalid_argument, path_ + ": no checkpoint can be made within a batch; commit it first");
  }
  return journal_ ? checkpoint_in_place() : Result<void>{};
}

// After a failure memory has changes that the file must not get.
bool Store::Impl::may_checkpoint(bool is_time) const noexcept {
  if (!journal_ || is_in_batch_ || has_uncommitted_ || is_closed_ || journal_.has_failed()) {
    return false;
  }
  const std::uint64_t bytes = journal_->record_bytes_held();
  return bytes != 0 && (is_time || is_over_limit(bytes));
}

// Changes wait while the image is copied, and if they arrive faster than the disk can write them.
Result<void> Store::Impl::checkpoint_beside(bool is_time) {
  const std::scoped_lock one(checkpoint_mutex_);
  std::unique_lock lock(change_mutex_);
  if (!may_checkpoint(is_time)) {
    return {};
  }
  Snapshot saved = snapshot();
  const Parts parts = sealed();
  const auto copy =
      filter_.image_bytes() > kMaxCopyBytes ? fail(ErrorCode::out_of_space, "") : copy_of(parts, options_.memory);
  if (!copy) {
    return checkpoint_in_place();
  }
  lock.unlock();
  MANKAI_TRY(replace_file({copy->bytes()}, saved, FileState::open));
  // Synced here, concurrently with changes: forget_journal needs the sync and blocks changes.
  MANKAI_TRY(journal_.sync_commits(saved.commits));
  saved.is_synced = true;
  lock.lock();
  forget_journal(saved);
  const bool is_far = journal_->end() > kMaxJournalEnd;
  lock.unlock();
  if (journal_.release_forgotten() && !is_far) {
    return {};
  }
  lock.lock();
  const bool must_wait = may_checkpoint(true) && is_over_limit(journal_->end() / kPatience);
  return must_wait ? checkpoint_in_place() : Result<void>{};
}

// Most stores are opened for a few changes and need no thread, so threads start with the first change.
Result<void> Store::Impl::start_workers() {
  if (options_.checkpoint_interval > Duration::zero()) {
    MANKAI_TRY(start_checkpointer());
  }
  if (options_.durability != Durability::interval) {
    return {};
  }
  return syncer_.start(options_.interval, [this](detail::Worker::Wake) {
    static_cast<void>(sync());  // the next change reports a failure
  });
}

Result<void> Store::Impl::start_checkpointer() {
  return within(path_, checkpointer_.start(options_.checkpoint_interval, [this](detail::Worker::Wake wake) {
    try_checkpoint(wake == detail::Worker::Wake::interval);
  }));
}

// If no thread can be started, the store tries again after as many bytes of journal.
void Store::Impl::call_for_checkpoint() {
  if (auto started = start_checkpointer(); !started) {
    checkpoint_failure_ = std::move(started.error());
    checkpoint_delay_ = journal_->record_bytes_held();
    return;
  }
  checkpointer_.call();
}

// A failed checkpoint, for example on a full disk, does not stop changes while the journal can be written. The store
// tries again after as many bytes of journal.
void Store::Impl::try_checkpoint(bool is_time) {
  std::optional<Error> failure;
  try {
    auto made = checkpoint_beside(is_time);
    if (made) {
      return;
    }
    failure = std::move(made.error());
  } catch (const std::bad_alloc&) {
    failure = no_memory().error();  // a commit calls this, too, which has succeeded
  }
  const std::scoped_lock lock(change_mutex_);
  checkpoint_failure_ = std::move(failure);
  checkpoint_delay_ = journal_ ? journal_->record_bytes_held() : 0;
}

Result<void> Store::Impl::replace(const std::function<Result<void>(AnyFilter&)>& replace) {
  const std::scoped_lock locks(checkpoint_mutex_, change_mutex_);
  MANKAI_TRY(check_usable());
  if (!is_in_memory() && (is_in_batch_ || has_uncommitted_)) {
    return fail(ErrorCode::invalid_argument,
                path_ + ": a filter cannot be merged or cleared within a journaled batch; commit it first");
  }
  {
    const std::scoped_lock lock(reader_mutex_);
    apply_all_pending();
    MANKAI_TRY(replace(filter_));
  }
  ++changes_in_memory_;
  has_uncommitted_ = true;
  return is_in_batch_ ? Result<void>{} : commit_in_memory({});
}

Result<void> Store::Impl::close() {
  const std::scoped_lock one(close_mutex_);
  {
    const std::scoped_lock lock(change_mutex_);
    if (std::exchange(is_closed_, true)) {
      return closed_;
    }
  }
  checkpointer_.stop();
  syncer_.stop();
  const std::scoped_lock locks(checkpoint_mutex_, change_mutex_);
  closed_ = close_files();
  lock_.reset();
  return closed_;
}

// On every error the journal stays, and with it everything that was committed.
Result<void> Store::Impl::close_files() {
  if (!journal_) {
    return {};
  }
  if (journal_.has_failed() || is_in_batch_ || has_uncommitted_) {
    return sync();
  }
  const bool has_all = footer_->sequence == sequence() && position_of(*footer_) == position_;
  auto closed = has_all ? mark_file(FileState::closed) : write_file(snapshot(), FileState::closed);
  if (!closed) {
    static_cast<void>(sync());
    return closed;
  }
  if (is_name_unsynced_) {
    MANKAI_TRY(sync_folder_of(path_, calls_));
  }
  journal_.raise_durable(sequence());
  journal_.drop();
  static_cast<void>(calls_.unlink(journal_path(path_).c_str()));
  return {};
}

}  // namespace mankai
