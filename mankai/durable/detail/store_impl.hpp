#pragma once

/// What a store is made of. Its functions are in four files: store_changes.cpp, store_checkpoints.cpp,
/// store_workers.cpp, and those that callers see in ../store.cpp.

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mankai/durable/detail/load_store.hpp"
#include "mankai/durable/journal_writer.hpp"
#include "mankai/durable/store.hpp"
#include "mankai/durable/store_footer.hpp"
#include "mankai/storage/file_lock.hpp"

namespace mankai {
namespace detail {

using Parts = std::vector<std::span<const std::byte>>;

/// What a journal's or a file's id, and a journal's salt, are drawn from.
[[nodiscard]] std::uint64_t random_word();
/// The filter's image as it is now.
[[nodiscard]] Parts seal(AnyFilter& filter);

/// How long a worker sleeps for whom nothing happens because of time.
inline constexpr std::chrono::hours kLongWait{24};

}  // namespace detail

/// Lock order: closing_, checkpointing_, changing_, then syncing_ or reading_.
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
        position_(report_.position),
        committed_(report_.sequence),
        durable_(report_.sequence) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() { static_cast<void>(close()); }

  Result<void> take_journal(const detail::JournalState& state);

  template <class Encode>
  Result<void> change(std::size_t keys, const Outcomes& outcomes, const Encode& encode);
  Result<void> change(const Change& change, const Outcomes& outcomes);
  Result<void> replace(const std::function<Result<void>(AnyFilter&)>& replace);
  void begin(BatchMode mode);
  Result<void> commit(std::string_view position);
  Result<void> sync();
  Result<void> checkpoint();
  Result<void> close();

  ChangeEncoder& encoder() noexcept { return encoder_; }
  [[nodiscard]] const AnyFilter& filter() const noexcept { return filter_; }
  [[nodiscard]] const RecoveryReport& report() const noexcept { return report_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return committed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::uint64_t durable() const noexcept { return durable_.load(std::memory_order_acquire); }
  [[nodiscard]] SourcePosition position() const {
    const std::scoped_lock lock(changing_);
    return position_;
  }
  [[nodiscard]] std::optional<Error> checkpoint_failure() const {
    const std::scoped_lock lock(changing_);
    return checkpoint_failure_;
  }
  void read(const std::function<void(const AnyFilter&)>& use) const {
    const std::shared_lock<std::shared_mutex> lock(reading_);
    use(filter_);
  }

 private:
  /// What the file is to be after a checkpoint.
  enum class Next : std::uint8_t { open, closed };
  struct Snapshot {
    std::uint64_t sequence;
    SourcePosition position;
    std::uint64_t journal_end;  ///< 0: there was none
    std::uint64_t commits;      ///< of those in the journal
    bool is_synced = false;     ///< whether the journal up to there is known to be on the disk
  };

  // With changing_ held:
  [[nodiscard]] Result<void> check_usable() const;
  [[nodiscard]] Result<void> check_sound() const;
  [[nodiscard]] bool is_in_memory() const noexcept { return is_in_batch_ && mode_ == BatchMode::in_memory; }
  /// Before each change: nearly always there is a journal and nothing to do.
  [[nodiscard]] Result<void> make_ready() {
    if (journal_ && !is_closed_ && !has_failed_.load(std::memory_order_acquire)) [[likely]] {
      return {};
    }
    return is_in_memory() ? check_usable() : start_writing();
  }
  Result<void> start_writing();
  Result<void> make_journal();
  Result<void> settle_journal(JournalWriter& journal) const;
  Result<void> set_open_mark(bool is_open);
  Result<void> close_files();
  template <class Encode>
  Result<Change> encoded(const Encode& encode, std::size_t begin, std::size_t count) const;
  template <class Encode>
  Result<void> change_windows(std::size_t keys, const Outcomes& outcomes, const Encode& encode);
  Result<void> change_window(const Change& change, const Outcomes& outcomes, bool more_follows);
  Result<void> append_commit(std::string_view position);
  void note_commit();
  void note_position(std::string_view position);
  Result<void> commit_in_memory(std::string_view position);
  /// Gives the lock back before it waits for the disk.
  Result<void> commit_journaled(std::string_view position, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] Snapshot snapshot() const;
  Result<void> checkpoint_in_place(Next next);
  [[nodiscard]] bool restart_journal(const Snapshot& base);
  [[nodiscard]] Result<void> forget_records(const Snapshot& base);
  void forget_journal(const Snapshot& base);
  [[nodiscard]] bool may_checkpoint(bool is_time) const noexcept;
  [[nodiscard]] bool is_over_limit(std::uint64_t journal_bytes) const noexcept;
  Result<void> start_workers();
  Result<void> start_worker(std::thread& worker, void (Impl::*work)());
  void call_for_checkpoint();

  // With checkpointing_ held:
  Result<void> write_base(const detail::Parts& parts, const Snapshot& base, Next next);
  Result<void> checkpoint_beside(bool is_time);
  [[nodiscard]] bool release_journal();

  Result<void> sync_commits(std::uint64_t commits);
  void raise_durable(std::uint64_t sequence) noexcept;
  std::unexpected<Error> give_up(const Error& error);
  void stop_workers();
  void sync_at_intervals();
  void make_checkpoints();
  void try_checkpoint(bool is_time);

  std::string path_;
  StoreOptions options_;
  FileCalls& calls_;
  std::optional<FileLock> lock_;

  AnyFilter filter_;
  ChangeEncoder encoder_;
  bool readers_need_lock_;
  std::uint64_t store_id_;             ///< of the journal, or the last one
  std::optional<StoreFooter> footer_;  ///< as it is on the disk; with a journal, guarded by checkpointing_
  RecoveryReport report_;

  std::mutex closing_;
  mutable std::mutex checkpointing_;
  mutable std::mutex changing_;
  mutable std::mutex syncing_;
  mutable std::shared_mutex reading_;

  std::optional<JournalWriter> journal_;
  SourcePosition position_;       ///< of the last commit
  bool is_in_batch_ = false;      ///< between begin() and commit()
  bool has_uncommitted_ = false;  ///< changes without a commit behind them
  BatchMode mode_ = BatchMode::journaled;
  std::uint64_t changes_in_memory_ = 0;  ///< that are not committed, of a batch that is not journaled
  bool is_closed_ = false;
  Result<void> closed_;                   ///< what close() said
  bool is_name_unsynced_ = false;         ///< of the file, after a folder that could not be synchronized
  std::atomic<std::uint64_t> committed_;  ///< the last change of the last commit
  std::atomic<std::uint64_t> durable_;
  std::atomic<std::uint64_t> commits_ = 0;          ///< since it was opened
  std::atomic<std::uint64_t> durable_commits_ = 0;  ///< of those
  std::uint64_t checkpoint_delay_ = 0;              ///< bytes of journal, after a checkpoint that failed
  std::optional<Error> checkpoint_failure_;

  mutable std::mutex failing_;
  std::optional<Error> failure_;
  std::atomic<bool> has_failed_ = false;

  std::thread checkpointer_;
  std::thread syncer_;
  std::mutex working_;
  std::condition_variable wake_;
  bool is_stopping_ = false;
  bool is_checkpoint_due_ = false;
};

template <class Encode>
Result<void> Store::Impl::change(std::size_t keys, const Outcomes& outcomes, const Encode& encode) {
  bool must_sync = false;
  {
    const std::scoped_lock lock(changing_);
    MANKAI_TRY(make_ready());
    MANKAI_TRY(change_windows(keys, outcomes, encode));
    must_sync = options_.durability == Durability::always && !is_in_batch_;
  }
  return must_sync ? sync() : Result<void>{};
}

template <class Encode>
Result<Change> Store::Impl::encoded(const Encode& encode, std::size_t begin, std::size_t count) const {
  try {
    return encode(begin, count);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::out_of_space, path_ + ": no memory to encode a change");
  }
}

template <class Encode>
Result<void> Store::Impl::change_windows(std::size_t keys, const Outcomes& outcomes, const Encode& encode) {
  for (std::size_t begin = 0; begin < keys; begin += ChangeEncoder::kMaxKeys) {
    const std::size_t count = std::min(keys - begin, ChangeEncoder::kMaxKeys);
    const auto change = encoded(encode, begin, count);
    const auto part = [&](auto all) { return all.empty() ? all : all.subspan(begin, count); };
    const Outcomes answers{.seen = part(outcomes.seen), .erased = part(outcomes.erased)};
    auto changed = change ? change_window(*change, answers, is_in_batch_ || begin + count < keys)
                          : Result<void>(std::unexpected(change.error()));
    if (!changed) {
      // What is in memory by now must stay, so it is committed, for which there is always room. Where the store gave up
      // it is the disk that counts, and there the batch is none.
      if (has_uncommitted_ && !is_in_batch_ && !has_failed_.load(std::memory_order_acquire)) {
        static_cast<void>(append_commit({}));
      }
      return changed;
    }
  }
  return {};
}

}  // namespace mankai
