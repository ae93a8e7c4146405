#include <cstring>

#include "mankai/file/open_file.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/store/detail/store_file.hpp"
#include "mankai/store/detail/store_impl.hpp"

// How what a store's journal has gets into its file.

namespace mankai {
namespace {

constexpr std::uint64_t kDefaultCheckpointBytes = std::uint64_t{64} << 20;
/// A checkpoint beside changes needs a copy of the image; above this, changes wait for the disk instead.
constexpr std::uint64_t kMaxCopyBytes = std::uint64_t{4} << 30;
/// A journal whose front cannot be given back to the disk restarts only when changes pause for a moment. When it is
/// so many times as long as it may be, they wait for a checkpoint.
constexpr std::uint64_t kPatience = 2;
/// Where the front can be given back, offsets grow until then. Programs that copy files and know nothing of holes read
/// so many zeros.
constexpr std::uint64_t kMaxJournalEnd = std::uint64_t{16} << 30;

// The parts one after the other, in memory of its own.
Result<Region> copy_of(const detail::Parts& parts, const Memory& memory) {
  std::size_t bytes = 0;
  for (const auto& part : parts) {
    bytes += part.size();
  }
  auto copy = Region::allocate(memory, bytes);
  if (copy) {
    std::byte* to = copy->bytes().data();
    for (const auto& part : parts) {
      std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
  }
  return copy;
}

}  // namespace

namespace detail {

std::uint64_t random_word() { return HashSpec::random().seed[0]; }

Parts seal(AnyFilter& filter) { return filter.seal_parts(); }

}  // namespace detail

using detail::journal_path;
using detail::Parts;
using detail::random_word;
using detail::seal;

Store::Impl::Snapshot Store::Impl::snapshot() const {
  return {.sequence = sequence(),
          .position = position_,
          .journal_end = journal_ ? journal_->end() : 0,
          .commits = journal_.commits()};
}

// Looked at after each commit, so the image is only asked for its size when the answer depends on it.
bool Store::Impl::is_over_limit(std::uint64_t journal_bytes) const noexcept {
  if (options_.checkpoint_bytes != 0) {
    return journal_bytes >= options_.checkpoint_bytes + checkpoint_delay_;
  }
  return journal_bytes >= kDefaultCheckpointBytes + checkpoint_delay_ &&
         journal_bytes >= filter_.image_bytes() + checkpoint_delay_;
}

Result<void> Store::Impl::write_base(const Parts& parts, const Snapshot& base, Next next) {
  MANKAI_TRY(lock_->check_at(path_));
  auto file = NewFile::create(path_, Existing::replace, &*lock_, calls_);
  if (!file) {
    return std::unexpected(file.error());
  }
  StoreFooter wanted{};
  wanted.store_id = store_id_;
  wanted.sequence = base.sequence;
  wanted.is_open = next == Next::open ? 1 : 0;
  set_position(wanted, base.position);
  // Of a closed file that stays closed: the name of that journal may come back as long as the folder is not on the
  // disk.
  wanted.replaced_id = next == Next::closed && footer_ ? footer_->replaced_id : 0;
  MANKAI_ASSIGN(const auto footer, detail::write_store(*file, parts, wanted));
  // Once more: writing it took a while.
  MANKAI_TRY(lock_->check_at(path_));
  auto placed = file->put_in_place();
  if (file->is_in_place()) {
    footer_ = footer;
    is_name_unsynced_ = !placed.has_value();
  }
  return placed;
}

Result<void> Store::Impl::checkpoint_in_place(Next next) {
  const Snapshot base = snapshot();
  MANKAI_TRY(write_base(seal(filter_), base, next));
  forget_journal(base);
  return {};
}

// The image has what was in the journal then; if that is all, the journal restarts in front.
void Store::Impl::forget_journal(const Snapshot& base) {
  checkpoint_delay_ = 0;
  checkpoint_failure_.reset();
  const bool is_all = !journal_ || (journal_->end() == base.journal_end && !has_uncommitted_);
  if (journal_ && !(is_all && restart_journal(base))) {
    // The records continue where they are, and later ones say that what is in the image is on the disk. Until the disk
    // knows that the earlier ones are forgotten, they must be there as well.
    if (auto synced = base.is_synced ? Result<void>{} : journal_.sync_commits(base.commits); !synced) {
      return;
    }
    if (auto forgotten = forget_records(base); !forgotten) {
      return;
    }
  }
  journal_.raise_durable(base.sequence);
  if (is_all) {
    journal_.all_durable();
  }
}

// Where the file's changes came by another way than the journal, records that follow the old ones are none until the
// disk knows that those are forgotten.
Result<void> Store::Impl::forget_records(const Snapshot& base) {
  const bool leaps = journal_->end() == base.journal_end && journal_->next_sequence() != base.sequence + 1;
  journal_->forget(base.journal_end, base.sequence + 1);
  return leaps ? journal_.sync_now() : Result<void>{};
}

// Fails where the room in front cannot be had again.
bool Store::Impl::restart_journal(const Snapshot& base) {
  return journal_->restart(random_word(), base.sequence + 1).has_value();
}

Result<void> Store::Impl::checkpoint() {
  const std::scoped_lock locks(checkpointing_, changing_);
  MANKAI_TRY(check_usable());
  if (is_in_batch_ || has_uncommitted_) {
    return fail(ErrorCode::invalid_argument, path_ + ": no checkpoint can be made within a batch; commit it first");
  }
  return journal_ ? checkpoint_in_place(Next::open) : Result<void>{};
}

// After a failure memory has more than the disk may ever have.
bool Store::Impl::may_checkpoint(bool is_time) const noexcept {
  if (!journal_ || is_in_batch_ || has_uncommitted_ || is_closed_ || journal_.has_failed()) {
    return false;
  }
  const std::uint64_t bytes = journal_->record_bytes_held();
  return bytes != 0 && (is_time || is_over_limit(bytes));
}

// Changes wait only while the image is copied, and when they come faster than the disk takes it.
Result<void> Store::Impl::checkpoint_beside(bool is_time) {
  const std::scoped_lock one(checkpointing_);
  std::unique_lock<std::mutex> lock(changing_);
  if (!may_checkpoint(is_time)) {
    return {};
  }
  Snapshot base = snapshot();
  const Parts parts = seal(filter_);
  const auto copy =
      filter_.image_bytes() > kMaxCopyBytes ? fail(ErrorCode::out_of_space, "") : copy_of(parts, options_.memory);
  if (!copy) {
    return checkpoint_in_place(Next::open);
  }
  lock.unlock();
  MANKAI_TRY(write_base({copy->bytes()}, base, Next::open));
  // Here, beside changes, since forgetting needs it while they wait.
  MANKAI_TRY(journal_.sync_commits(base.commits));
  base.is_synced = true;
  lock.lock();
  forget_journal(base);
  const bool is_far = journal_->end() > kMaxJournalEnd;
  lock.unlock();
  if (journal_.release_forgotten() && !is_far) {
    return {};
  }
  lock.lock();
  const bool must_wait = may_checkpoint(true) && is_over_limit(journal_->end() / kPatience);
  return must_wait ? checkpoint_in_place(Next::open) : Result<void>{};
}

// Most stores are opened for a few changes and have no work for a thread: then none is started.
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
  auto started = checkpointer_.start(options_.checkpoint_interval, [this](detail::Worker::Wake wake) {
    try_checkpoint(wake == detail::Worker::Wake::interval);
  });
  return started ? started : std::unexpected(started.error().within(path_));
}

// If no thread can be started, the next attempt is when the journal has grown as much again.
void Store::Impl::call_for_checkpoint() {
  if (auto started = start_checkpointer(); !started) {
    checkpoint_failure_ = std::move(started.error());
    checkpoint_delay_ = journal_->record_bytes_held();
    return;
  }
  checkpointer_.call();
}

// What keeps a checkpoint from being made, such as a full disk, keeps nobody from changing the filter as long as the
// journal can be written; it is tried again when there is as much journal again.
void Store::Impl::try_checkpoint(bool is_time) {
  std::optional<Error> failure;
  try {
    auto made = checkpoint_beside(is_time);
    if (made) {
      return;
    }
    failure = std::move(made.error());
  } catch (const std::bad_alloc&) {
    failure = Error{.code = ErrorCode::out_of_space, .detail = path_ + ": no memory for a checkpoint"};
  }
  const std::scoped_lock lock(changing_);
  checkpoint_failure_ = std::move(failure);
  checkpoint_delay_ = journal_ ? journal_->record_bytes_held() : 0;
}

Result<void> Store::Impl::replace(const std::function<Result<void>(AnyFilter&)>& replace) {
  const std::scoped_lock locks(checkpointing_, changing_);
  MANKAI_TRY(check_usable());
  if (!is_in_memory() && (is_in_batch_ || has_uncommitted_)) {
    return fail(ErrorCode::invalid_argument, path_ + ": not within a batch; commit it first");
  }
  {
    const std::scoped_lock lock(reading_);
    MANKAI_TRY(replace(filter_));
  }
  ++changes_in_memory_;
  has_uncommitted_ = true;
  return is_in_batch_ ? Result<void>{} : commit_in_memory({});
}

Result<void> Store::Impl::close() {
  const std::scoped_lock one(closing_);
  {
    const std::scoped_lock lock(changing_);
    if (std::exchange(is_closed_, true)) {
      return closed_;
    }
  }
  checkpointer_.stop();
  syncer_.stop();
  const std::scoped_lock locks(checkpointing_, changing_);
  closed_ = close_files();
  lock_.reset();
  return closed_;
}

// Whatever goes wrong, the journal stays, and with it everything that was committed.
Result<void> Store::Impl::close_files() {
  if (!journal_) {
    return {};
  }
  if (journal_.has_failed() || is_in_batch_ || has_uncommitted_) {
    return sync();
  }
  const bool has_all = footer_->sequence == sequence() && position_of(*footer_) == position_;
  auto closed = has_all ? set_open_mark(false) : write_base(seal(filter_), snapshot(), Next::closed);
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
