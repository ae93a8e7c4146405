#pragma once

/// The parts of a store. store_changes.cpp writes changes to the journal and applies them to the filter;
/// store_checkpoints.cpp writes the filter to the file.

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mankai/file/file_lock.hpp"
#include "mankai/store/detail/change_mutex.hpp"
#include "mankai/store/detail/load_store.hpp"
#include "mankai/store/detail/pending_changes.hpp"
#include "mankai/store/detail/synced_journal.hpp"
#include "mankai/store/detail/worker.hpp"
#include "mankai/store/store.hpp"
#include "mankai/store/store_footer.hpp"

namespace mankai {
/// Lock order: close_mutex_, checkpoint_mutex_, change_mutex_, then those of the journal, or reader_mutex_.
class Store::Impl {
 public:
  Impl(std::string path, const StoreOptions& options, FileLock lock, detail::LoadedStore loaded)
      : path_(std::move(path)),
        options_(options),
        calls_(options.calls == nullptr ? system_calls() : *options.calls),
        lock_(std::move(lock)),
        filter_(std::move(loaded.filter)),
        encoder_(filter_),
        readers_need_lock_(!filter_.kind().has_lock_free_readers),
        store_id_(loaded.footer ? loaded.footer->footer.store_id : 0),
        footer_(loaded.footer ? std::optional(loaded.footer->footer) : std::nullopt),
        report_(std::move(loaded.report)),
        journal_(report_.sequence),
        position_(report_.position) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    try {
      static_cast<void>(close());
    } catch (const std::bad_alloc&) {
      lock_.reset();  // the journal has every change
    }
  }

  Result<void> resume_journal(const detail::JournalState& state);

  /// Makes a change that is already encoded.
  Result<void> change(const Change& change, const Outcomes& outcomes);
  Result<void> change(const Change& change, ApplyFunction* apply, const void* context);
  /// Makes a change per window of keys, which `encode(begin, count)` encodes.
  template <class Encode>
  Result<void> change(std::size_t keys, const Outcomes& outcomes, const Encode& encode);
  Result<void> change_later(const Change& change);
  [[nodiscard]] std::size_t pending() const noexcept { return pending_count_.load(std::memory_order_acquire); }
  [[gnu::cold]] void apply_pending() noexcept;
  Result<void> replace(const std::function<Result<void>(AnyFilter&)>& replace);
  void begin(BatchMode mode);
  Result<void> commit(std::string_view position);
  Result<void> sync() { return journal_.sync(); }
  Result<void> checkpoint();
  Result<void> close();

  ChangeEncoder& encoder() noexcept { return encoder_; }
  /// With all pending changes.
  [[nodiscard]] const AnyFilter& filter() noexcept {
    if (pending() != 0) {
      apply_pending();
    }
    return filter_;
  }
  [[nodiscard]] const RecoveryReport& report() const noexcept { return report_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return journal_.committed(); }
  [[nodiscard]] std::uint64_t durable() const noexcept { return journal_.durable(); }
  [[nodiscard]] SourcePosition position() const {
    const std::scoped_lock lock(change_mutex_);
    return position_;
  }
  [[nodiscard]] std::optional<Error> checkpoint_failure() const {
    const std::scoped_lock lock(change_mutex_);
    return checkpoint_failure_;
  }
  void read(const std::function<void(const AnyFilter&)>& use) {
    const AnyFilter& filter = this->filter();
    const std::shared_lock<std::shared_mutex> lock(reader_mutex_);
    use(filter);
  }

 private:
  enum class FileState : std::uint8_t { open, closed };
  using Parts = std::vector<std::span<const std::byte>>;
  struct Snapshot {
    std::uint64_t sequence;
    SourcePosition position;
    std::uint64_t journal_end;  ///< 0: there was no journal
    std::uint64_t commits;      ///< number of commits so far
    bool is_synced = false;     ///< the disk is known to have the journal up to its end
  };

  /// How many times longer than its limit a journal may get before changes wait for a checkpoint: one whose front
  /// cannot be released to the file system, which restarts only if changes pause, and one of batches that follow each
  /// other without a pause.
  static constexpr std::uint64_t kPatience = 2;

  /// So short that it takes no memory itself.
  [[nodiscard]] static std::unexpected<Error> no_memory() { return fail(ErrorCode::out_of_space, "no memory"); }

  // With change_mutex_ held:
  [[nodiscard]] Result<void> check_usable() const;
  [[nodiscard]] bool is_in_memory() const noexcept { return is_in_batch_ && mode_ == BatchMode::in_memory; }
  /// Whether the journal takes a record of this size as it is.
  [[nodiscard]] bool is_ready(std::uint64_t bytes) const noexcept {
    return journal_ && !is_closed_ && !journal_.has_failed() && journal_->has_room(bytes);
  }
  [[gnu::cold]] Result<void> make_ready(std::uint64_t bytes);
  /// Makes room in the journal for a change.
  [[gnu::always_inline]] Result<void> prepare(const Change& change) {
    if (const std::uint64_t bytes = record_bytes(0, change.payload.size()); !is_ready(bytes)) [[unlikely]] {
      return make_ready(bytes);
    }
    return {};
  }
  [[nodiscard]] bool may_be_pending(const Change& change) noexcept {
    return !is_in_batch_ && !readers_need_lock_ && !has_other_readers_ && changes_at_once_ == 0 &&
           pending_.can_add(change) && has_room(change);
  }
  /// Whether a change needs no memory after those that are pending: it has been acknowledged when it is applied.
  [[nodiscard]] bool has_room(const Change& change) noexcept {
    if (pending_.size() == 0) {
      room_ = filter_.room();
    }
    return room_.keys != 0 && detail::PendingChanges::id_of(change).value_or(room_.first_id) >= room_.first_id;
  }
  /// For a kind whose readers need the lock.
  [[nodiscard]] Result<void> apply_locked(const Change& change, const Outcomes& outcomes);
  /// Applies the oldest pending changes.
  void apply_batch() noexcept;
  void apply_all_pending() {
    while (pending_.size() != 0) {
      apply_batch();
    }
  }
  /// The image, with all changes.
  [[nodiscard]] Parts sealed() {
    apply_all_pending();
    return filter_.seal_parts();
  }
  Result<void> start_writing();
  Result<void> make_journal();
  Result<void> sync_new_journal(JournalWriter& journal) const;
  Result<void> mark_file(FileState state);
  Result<void> close_files();
  template <class Encode>
  Result<Change> encoded(const Encode& encode, std::size_t begin, std::size_t count) const;
  /// Whether a change must be on the disk before its call returns.
  [[nodiscard]] bool waits_for_disk() const noexcept {
    return options_.durability == Durability::always && !is_in_batch_;
  }
  /// Ends a change, without change_mutex_.
  Result<void> finish(bool must_wait) { return must_wait ? sync() : Result<void>{}; }
  [[nodiscard]] Result<void> apply_now(const Change& change, const Outcomes& outcomes) {
    return readers_need_lock_ ? apply_locked(change, outcomes) : filter_.apply(change, outcomes);
  }
  /// Makes a change by `apply()`, which returns a Result<void>.
  template <class Apply>
  [[gnu::always_inline]] Result<void> change_window(const Change& change, bool more_follows, const Apply& apply);
  /// The same for a whole request: takes change_mutex_, and waits for the disk if it must.
  template <class Apply>
  [[gnu::always_inline]] Result<void> change_alone(const Change& change, const Apply& apply) {
    bool must_wait = false;
    {
      const std::scoped_lock lock(change_mutex_);
      MANKAI_TRY(change_window(change, is_in_batch_, apply));
      must_wait = waits_for_disk();
    }
    return finish(must_wait);
  }
  [[gnu::cold]] Result<void> undo(const Change& change, const JournalWriter::Place& before, const Error& error);
  [[gnu::cold]] Result<void> give_up_growth(const JournalWriter::Place& before);
  Result<void> append_commit(std::string_view position);
  void note_commit();
  void note_position(std::string_view position);
  Result<void> commit_in_memory(std::string_view position);
  /// Releases the lock before it waits for the disk.
  Result<void> commit_journaled(std::string_view position, std::unique_lock<detail::ChangeMutex>& lock);
  [[nodiscard]] Snapshot snapshot() const;
  Result<void> checkpoint_in_place();
  /// Starts the journal at its front again; the file has all of it. Returns false if there is no room.
  [[nodiscard]] bool restart_journal(const Snapshot& saved);
  /// Drops the records up to `saved`; the journal continues where it is.
  [[nodiscard]] Result<void> forget_records(const Snapshot& saved);
  /// After a checkpoint: one or the other.
  void forget_journal(const Snapshot& saved);
  [[nodiscard]] bool may_checkpoint(bool is_time) const noexcept;
  [[nodiscard]] bool is_over_limit(std::uint64_t journal_bytes) const noexcept;
  Result<void> start_workers();
  Result<void> start_checkpointer();
  void call_for_checkpoint();

  // With checkpoint_mutex_ held:
  /// Writes the file anew, with all changes.
  Result<void> write_file(const Snapshot& saved, FileState state);
  /// The same with an image of `saved`.
  Result<void> replace_file(const Parts& parts, const Snapshot& saved, FileState state);
  /// Writes a copy of the filter while changes continue; checkpoint_in_place blocks them.
  Result<void> checkpoint_beside(bool is_time);
  void try_checkpoint(bool is_time);

  std::string path_;
  StoreOptions options_;
  FileCalls& calls_;
  std::optional<FileLock> lock_;

  AnyFilter filter_;
  ChangeEncoder encoder_;
  bool readers_need_lock_;
  std::uint64_t store_id_;             ///< that of the current journal or, without one, of the last one
  std::optional<StoreFooter> footer_;  ///< as in the file; while there is a journal, guarded by checkpoint_mutex_
  RecoveryReport report_;

  std::mutex close_mutex_;
  mutable std::mutex checkpoint_mutex_;
  mutable detail::ChangeMutex change_mutex_;
  mutable std::shared_mutex reader_mutex_;

  detail::SyncedJournal journal_;
  detail::PendingChanges pending_;
  Room room_{};                                 ///< of the filter, after the pending changes; not if there are none
  std::atomic<std::size_t> pending_count_ = 0;  ///< as pending_; for readers
  std::thread::id changer_;                     ///< that of the last pending change
  bool has_other_readers_ = false;              ///< another thread has read the filter when there were any
  std::size_t changes_at_once_ = 0;             ///< so many of the next changes are applied at once
  std::size_t next_at_once_ = detail::PendingChanges::kBatch;  ///< the value after the next early reader
  SourcePosition position_;                                    ///< of the last commit that gave one
  bool is_in_batch_ = false;                                   ///< between begin() and commit()
  bool has_uncommitted_ = false;                               ///< there are changes after the last commit
  BatchMode mode_ = BatchMode::journaled;
  std::uint64_t changes_in_memory_ = 0;  ///< uncommitted changes of an in-memory batch
  bool is_closed_ = false;
  /// The result of close(), also after it has thrown.
  Result<void> closed_ = fail(ErrorCode::out_of_space, path_ + ": no memory to close it");
  bool is_name_unsynced_ = false;       ///< syncing the folder failed after the file was put in place
  std::uint64_t checkpoint_delay_ = 0;  ///< bytes of journal to wait for after a failed checkpoint
  std::optional<Error> checkpoint_failure_;

  detail::Worker checkpointer_;
  detail::Worker syncer_;
};

inline void Store::Impl::note_commit() {
  has_uncommitted_ = false;
  journal_.note_commit(journal_->next_sequence() - 1);
  if (is_over_limit(journal_->record_bytes_held())) {
    call_for_checkpoint();
  }
}

template <class Apply>
inline Result<void> Store::Impl::change_window(const Change& change, bool more_follows, const Apply& apply) {
  apply_all_pending();
  MANKAI_TRY(prepare(change));
  JournalWriter::Place before{};
  if (!is_in_memory()) [[likely]] {
    before = journal_->place();
    journal_->write(change, journal_.durable(), more_follows);
  } else {
    changes_in_memory_ += change.keys;
  }
  try {
    if (auto applied = apply(); !applied) [[unlikely]] {
      return undo(change, before, applied.error());
    }
  } catch (const std::bad_alloc&) {
    return give_up_growth(before);
  }
  has_uncommitted_ = true;
  if (!more_follows) {
    note_commit();
  }
  return {};
}

template <class Encode>
Result<void> Store::Impl::change(std::size_t keys, const Outcomes& outcomes, const Encode& encode) {
  if (keys == 0) {
    return {};
  }
  std::unique_lock lock(change_mutex_);
  apply_all_pending();  // the encoder looks at the filter
  for (std::size_t begin = 0; begin < keys; begin += ChangeEncoder::kMaxKeys) {
    const std::size_t count = std::min(keys - begin, ChangeEncoder::kMaxKeys);
    const auto change = encoded(encode, begin, count);
    auto changed = change ? change_window(*change, is_in_batch_ || begin + count < keys,
                                          [&] { return apply_now(*change, outcomes.part(begin, count)); })
                          : Result<void>(std::unexpected(change.error()));
    if (!changed) {
      // The windows before this one are applied in memory, so they are committed; the journal keeps room for that
      // record. After a failure only the disk counts, and it has no part of the batch.
      if (has_uncommitted_ && !is_in_batch_ && !journal_.has_failed()) {
        static_cast<void>(append_commit({}));
      }
      return changed;
    }
  }
  const bool must_wait = waits_for_disk();
  lock.unlock();
  return finish(must_wait);
}

template <class Encode>
Result<Change> Store::Impl::encoded(const Encode& encode, std::size_t begin, std::size_t count) const {
  try {
    return encode(begin, count);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_space, path_ + ": no memory to encode a change");
  }
}

}  // namespace mankai
