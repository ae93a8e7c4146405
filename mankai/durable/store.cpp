#include "mankai/durable/store.hpp"

#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <new>
#include <optional>
#include <shared_mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "mankai/durable/detail/load_store.hpp"
#include "mankai/durable/detail/store_file.hpp"
#include "mankai/durable/journal_writer.hpp"
#include "mankai/durable/store_footer.hpp"
#include "mankai/storage/open_file.hpp"

namespace mankai {
namespace {

using detail::journal_path;
using Parts = std::vector<std::span<const std::byte>>;

constexpr std::uint64_t kDefaultCheckpointBytes = std::uint64_t{64} << 20;
/// A checkpoint beside changes needs a copy of the image; above this, changes wait for the disk instead.
constexpr std::uint64_t kMaxCopyBytes = std::uint64_t{4} << 30;
/// A journal whose front cannot be given back to the disk begins anew only when changes pause for a moment. When it is
/// so many times as long as it may be, they wait for a checkpoint.
constexpr std::uint64_t kPatience = 2;
/// Where the front can be given back, offsets grow until then: as much of the address space is enough.
constexpr std::uint64_t kMaxJournalEnd = std::uint64_t{1} << 40;
/// How long a worker sleeps for whom nothing happens because of time.
constexpr std::chrono::hours kLongWait{24};

// Kinds that one writer may change beside readers without a lock.
bool readers_need_lock(const AnyFilter& filter) noexcept {
  switch (Kind{std::visit([](const auto& f) { return f.kKind; }, filter)}) {
    case Kind::bloom:
    case Kind::blocked_bloom:
    case Kind::counting_bloom:
    case Kind::scalable_bloom:
    case Kind::scalable_counting_bloom:
    case Kind::layered_url_bloom: return false;
    default: return true;
  }
}

std::uint64_t random_word() { return HashSpec::random().seed[0]; }

Parts seal(AnyFilter& filter) {
  return std::visit([](auto& f) { return Parts(f.seal_parts()); }, filter);
}

// The parts one after the other, in memory of its own.
Result<Region> copy_of(const Parts& parts, const Memory& memory) {
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

// The last writer may have ended before the disk had its file's name or open mark, or since a sync failed: the journal
// must neither go nor grow before it has.
Result<void> settle(const std::string& path, const std::optional<StoreFooter>& footer, FileCalls& calls) {
  const auto file = OpenFile::open(path, OpenFile::Mode::write, calls);
  if (!file) {
    return std::unexpected(file.error());
  }
  if (footer) {
    if (auto written = file->rewrite(footer_offset(footer->image_bytes), file->size()); !written) {
      return written;
    }
  }
  if (auto synced = file->sync(); !synced) {
    return synced;
  }
  return sync_folder_of(path, calls);
}

}  // namespace

/// Lock order: checkpointing_, changing_, then syncing_ or reading_.
class Store::Impl {
 public:
  Impl(std::string path, const StoreOptions& options, FileLock lock, detail::LoadedStore loaded)
      : path_(std::move(path)),
        options_(options),
        calls_(options.calls == nullptr ? system_calls() : *options.calls),
        lock_(std::move(lock)),
        filter_(std::move(loaded.filter)),
        encoder_(filter_),
        readers_need_lock_(readers_need_lock(filter_)),
        store_id_(loaded.footer ? loaded.footer->store_id : 0),
        footer_(loaded.footer),
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
  template <class Replace>
  Result<void> replace(const Replace& replace);
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
  };

  // With changing_ held:
  [[nodiscard]] Result<void> check_usable() const;
  [[nodiscard]] bool is_in_memory() const noexcept { return is_in_batch_ && mode_ == BatchMode::in_memory; }
  Result<void> start_writing();
  Result<void> make_journal();
  Result<void> set_open_mark(bool is_open);
  Result<void> close_files();
  template <class Encode>
  Result<void> change_windows(std::size_t keys, const Outcomes& outcomes, const Encode& encode);
  Result<void> change_window(const Change& change, const Outcomes& outcomes, bool more_follows);
  Result<void> append_commit(std::string_view position);
  void note_commit();
  void note_position(std::string_view position);
  Result<void> commit_in_memory(std::string_view position);
  [[nodiscard]] Snapshot snapshot() const;
  Result<void> checkpoint_in_place(Next next);
  void forget_journal(const Snapshot& base);
  [[nodiscard]] bool is_over_limit(std::uint64_t journal_bytes) const noexcept;

  // With checkpointing_ held:
  Result<void> write_base(const Parts& parts, const Snapshot& base, Next next);
  Result<void> checkpoint_beside(bool is_time);
  [[nodiscard]] bool release_journal();

  Result<void> sync_commits(std::uint64_t commits);
  void raise_durable(std::uint64_t sequence) noexcept;
  std::unexpected<Error> give_up(const Error& error);
  Result<void> start_workers();
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
  bool is_name_unsynced_ = false;         ///< of the file, after a folder that could not be synchronised
  std::atomic<std::uint64_t> committed_;  ///< the last change of the last commit
  std::atomic<std::uint64_t> durable_;
  std::atomic<std::uint64_t> commits_ = 0;          ///< since it was opened
  std::atomic<std::uint64_t> durable_commits_ = 0;  ///< of those
  std::uint64_t checkpoint_delay_ = 0;              ///< bytes of journal, after a checkpoint that failed

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

std::unexpected<Error> Store::Impl::give_up(const Error& error) {
  const std::scoped_lock lock(failing_);
  has_failed_.store(true, std::memory_order_release);
  if (!failure_) {
    failure_ = Error{.code = error.code,
                     .os_error = error.os_error,
                     .detail = error.detail +
                               "; the store takes no more changes: open it again, and what was "
                               "acknowledged is there"};
  }
  return std::unexpected(failure_.value_or(Error{.code = ErrorCode::out_of_space, .detail = path_}));
}

Result<void> Store::Impl::check_usable() const {
  if (is_closed_) {
    return fail(ErrorCode::invalid_argument, path_ + ": the store is closed; open it again to change it");
  }
  if (has_failed_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(failing_);
    return std::unexpected(failure_.value_or(Error{.code = ErrorCode::out_of_space, .detail = path_}));
  }
  return {};
}

// Goes on with a journal that was found: cut behind its good records, and on the disk as far as it goes.
Result<void> Store::Impl::take_journal(const detail::JournalState& state) {
  const bool is_current = state.next_sequence == sequence() + 1;
  auto journal = JournalWriter::resume(journal_path(path_), state.superblock, state.end, sequence() + 1, calls_);
  if (!journal) {
    return std::unexpected(journal.error());
  }
  // Its records are all in the image, and others that follow them are lost: the next ones would not continue them.
  if (!is_current) {
    if (auto restarted = journal->restart(random_word(), sequence() + 1); !restarted) {
      return restarted;
    }
  }
  if (auto synced = journal->sync(); !synced) {
    return synced;
  }
  journal_.emplace(std::move(*journal));
  if (footer_ && footer_->is_open == 0) {
    if (auto marked = set_open_mark(true); !marked) {
      return marked;
    }
  }
  return start_workers();
}

// The journal is there for good before the file says that it must be. Each has an id of its own, so that the journal of
// one copy of a file is never taken for another one's.
Result<void> Store::Impl::start_writing() {
  if (auto usable = check_usable(); !usable || journal_) {
    return usable;
  }
  if (auto started = start_workers(); !started) {
    return started;
  }
  store_id_ = random_word();
  if (auto made = make_journal(); !made) {
    static_cast<void>(calls_.unlink(journal_path(path_).c_str()));
    return made;
  }
  // From here on the journal stays, as nobody can tell whether a mark that failed is on the disk.
  auto marked = footer_ ? set_open_mark(true) : write_base(seal(filter_), snapshot(), Next::open);
  return marked ? marked : give_up(marked.error());
}

Result<void> Store::Impl::make_journal() {
  auto journal = JournalWriter::create(journal_path(path_), store_id_, sequence() + 1, calls_);
  if (!journal) {
    return std::unexpected(journal.error());
  }
  if (auto copied = journal->copy_permissions(path_); !copied) {
    return copied;
  }
  if (auto synced = journal->sync(); !synced) {
    return synced;
  }
  if (auto synced = sync_folder_of(path_, calls_); !synced) {
    return synced;
  }
  const std::scoped_lock lock(syncing_);
  journal_.emplace(std::move(*journal));
  return {};
}

// In place: the footer lies in one sector, so the disk has the old one or the new one. But other names of the file,
// such as a backup of links, must not get a mark without a journal of theirs; they keep the file as it is.
Result<void> Store::Impl::set_open_mark(bool is_open) {
  StoreFooter marked = *footer_;
  marked.store_id = store_id_;
  marked.is_open = is_open ? 1 : 0;
  marked.replaced_id = 0;
  marked = sealed(marked);
  const auto file = OpenFile::open(path_, OpenFile::Mode::write, calls_);
  if (!file) {
    return std::unexpected(file.error());
  }
  if (file->links() > 1) {
    return write_base(seal(filter_), snapshot(), is_open ? Next::open : Next::closed);
  }
  const auto bytes = std::as_bytes(std::span(&marked, 1));
  if (auto written = file->write(footer_offset(marked.image_bytes), bytes); !written) {
    return written;
  }
  if (auto synced = file->sync(); !synced) {
    return synced;
  }
  footer_ = marked;
  return {};
}

template <class Encode>
Result<void> Store::Impl::change(std::size_t keys, const Outcomes& outcomes, const Encode& encode) {
  bool must_sync = false;
  {
    const std::scoped_lock lock(changing_);
    if (auto ready = is_in_memory() ? check_usable() : start_writing(); !ready) {
      return ready;
    }
    if (auto changed = change_windows(keys, outcomes, encode); !changed) {
      return changed;
    }
    must_sync = options_.durability == Durability::always && !is_in_batch_;
  }
  return must_sync ? sync() : Result<void>{};
}

template <class Encode>
Result<void> Store::Impl::change_windows(std::size_t keys, const Outcomes& outcomes, const Encode& encode) {
  for (std::size_t begin = 0; begin < keys; begin += ChangeEncoder::kMaxKeys) {
    const std::size_t count = std::min(keys - begin, ChangeEncoder::kMaxKeys);
    const auto change = encode(begin, count);
    const auto part = [&](auto all) { return all.empty() ? all : all.subspan(begin, count); };
    const Outcomes answers{.seen = part(outcomes.seen), .erased = part(outcomes.erased)};
    auto changed = change ? change_window(*change, answers, is_in_batch_ || begin + count < keys)
                          : Result<void>(std::unexpected(change.error()));
    if (!changed) {
      // What is in memory by now must stay, so it is committed, for which there is always room.
      if (has_uncommitted_ && !is_in_batch_) {
        static_cast<void>(append_commit({}));
      }
      return changed;
    }
  }
  return {};
}

Result<void> Store::Impl::change_window(const Change& change, const Outcomes& outcomes, bool more_follows) {
  if (is_in_memory()) {
    changes_in_memory_ += change.keys;
  } else if (auto appended =
                 journal_->append(change, {.durable = durable(), .position = {}, .more_follows = more_follows});
             !appended) {
    return appended;
  }
  has_uncommitted_ = true;
  std::unique_lock<std::shared_mutex> lock(reading_, std::defer_lock);
  if (readers_need_lock_) {
    lock.lock();
  }
  try {
    if (auto applied = apply_change(filter_, change, outcomes); !applied) {
      return give_up(applied.error().within(path_));
    }
  } catch (const std::bad_alloc&) {
    return give_up({.code = ErrorCode::out_of_space, .detail = path_ + ": no memory for the filter to grow"});
  }
  if (!more_follows) {
    note_commit();
  }
  return {};
}

// A position by itself takes a number, too: the file must tell what it has from what it lacks.
Result<void> Store::Impl::append_commit(std::string_view position) {
  const std::uint32_t changes = has_uncommitted_ ? 0 : 1;
  if (auto appended =
          journal_->append_commit(changes, {.durable = durable(), .position = position, .more_follows = false});
      !appended) {
    return appended;
  }
  note_position(position);
  note_commit();
  return {};
}

void Store::Impl::note_position(std::string_view position) {
  if (!position.empty()) {
    position_ = SourcePosition::of(position).value_or(position_);
  }
}

void Store::Impl::note_commit() {
  has_uncommitted_ = false;
  committed_.store(journal_->next_sequence() - 1, std::memory_order_release);
  commits_.store(commits_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  if (!is_over_limit(journal_->record_bytes_held())) {
    return;
  }
  {
    const std::scoped_lock lock(working_);
    is_checkpoint_due_ = true;
  }
  wake_.notify_all();
}

void Store::Impl::begin(BatchMode mode) {
  const std::scoped_lock lock(changing_);
  mode_ = is_in_batch_ ? mode_ : mode;
  is_in_batch_ = true;
}

Result<void> Store::Impl::commit(std::string_view position) {
  bool must_sync = false;
  if (auto valid = SourcePosition::of(position); !valid) {
    return std::unexpected(valid.error());
  }
  {
    std::unique_lock<std::mutex> lock(changing_);
    if (!has_uncommitted_ && position.empty()) {
      is_in_batch_ = false;
      return check_usable();
    }
    if (is_in_memory()) {
      lock.unlock();
      const std::scoped_lock locks(checkpointing_, changing_);
      return is_in_memory() ? commit_in_memory(position) : Result<void>{};
    }
    if (auto ready = start_writing(); !ready) {
      return ready;
    }
    if (auto committed = append_commit(position); !committed) {
      return committed;
    }
    is_in_batch_ = false;
    must_sync = options_.durability == Durability::always;
  }
  return must_sync ? sync() : Result<void>{};
}

// What is in memory becomes the file at once; where there is no journal, none is made.
Result<void> Store::Impl::commit_in_memory(std::string_view position) {
  if (auto usable = check_usable(); !usable) {
    return usable;
  }
  // A position by itself takes a number, too: the file must tell what it has from what it lacks.
  Snapshot base = snapshot();
  base.sequence += std::max<std::uint64_t>(changes_in_memory_, 1);
  base.position = SourcePosition::of(position).value_or(SourcePosition());
  base.position = base.position.empty() ? position_ : base.position;
  if (auto written = write_base(seal(filter_), base, journal_ ? Next::open : Next::closed); !written) {
    return give_up(written.error());
  }
  is_in_batch_ = false;
  has_uncommitted_ = false;
  changes_in_memory_ = 0;
  position_ = base.position;
  committed_.store(base.sequence, std::memory_order_release);
  commits_.store(commits_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  forget_journal(base);
  return {};
}

// One sync serves all who wait: whoever comes first takes everything that has been committed by then.
Result<void> Store::Impl::sync_commits(std::uint64_t commits) {
  const std::scoped_lock lock(syncing_);
  if (durable_commits_.load(std::memory_order_relaxed) >= commits) {
    return {};
  }
  if (!journal_) {
    return {};  // closed: everything is in the file
  }
  const std::uint64_t reached = commits_.load(std::memory_order_acquire);
  const std::uint64_t sequence = committed_.load(std::memory_order_acquire);
  if (auto synced = journal_->sync(); !synced) {
    return give_up(synced.error());
  }
  durable_commits_.store(reached, std::memory_order_relaxed);
  raise_durable(sequence);
  return {};
}

void Store::Impl::raise_durable(std::uint64_t sequence) noexcept {
  std::uint64_t durable = durable_.load(std::memory_order_relaxed);
  while (durable < sequence && !durable_.compare_exchange_weak(durable, sequence, std::memory_order_release)) {
  }
}

Result<void> Store::Impl::sync() {
  if (has_failed_.load(std::memory_order_acquire)) {
    const std::scoped_lock lock(failing_);
    return std::unexpected(failure_.value_or(Error{.code = ErrorCode::out_of_space, .detail = path_}));
  }
  return sync_commits(commits_.load(std::memory_order_acquire));
}

Store::Impl::Snapshot Store::Impl::snapshot() const {
  return {.sequence = sequence(), .position = position_, .journal_end = journal_ ? journal_->end() : 0};
}

// Looked at after each commit, so the image is only asked for its size when the answer depends on it.
bool Store::Impl::is_over_limit(std::uint64_t journal_bytes) const noexcept {
  if (options_.checkpoint_bytes != 0) {
    return journal_bytes >= options_.checkpoint_bytes + checkpoint_delay_;
  }
  return journal_bytes >= kDefaultCheckpointBytes + checkpoint_delay_ &&
         journal_bytes >= image_bytes(filter_) + checkpoint_delay_;
}

Result<void> Store::Impl::write_base(const Parts& parts, const Snapshot& base, Next next) {
  auto file = NewFile::create(path_, Existing::replace, &*lock_, calls_);
  if (!file) {
    return std::unexpected(file.error());
  }
  StoreFooter wanted{};
  wanted.store_id = store_id_;
  wanted.sequence = base.sequence;
  wanted.is_open = next == Next::open ? 1 : 0;
  set_position(wanted, base.position);
  const auto footer = detail::write_store(*file, parts, wanted);
  if (!footer) {
    return std::unexpected(footer.error());
  }
  auto placed = file->put_in_place();
  if (file->is_in_place()) {
    footer_ = *footer;
    is_name_unsynced_ = !placed.has_value();
  }
  return placed;
}

Result<void> Store::Impl::checkpoint_in_place(Next next) {
  const Snapshot base = snapshot();
  if (auto written = write_base(seal(filter_), base, next); !written) {
    return written;
  }
  forget_journal(base);
  return {};
}

// The image has what was in the journal then; if that is all, the journal begins anew in front.
void Store::Impl::forget_journal(const Snapshot& base) {
  raise_durable(base.sequence);
  checkpoint_delay_ = 0;
  // Where the room in front cannot be had again, the records go on where they are.
  const bool is_all = journal_ && journal_->end() == base.journal_end && !has_uncommitted_;
  const bool is_anew = is_all && journal_->restart(random_word(), base.sequence + 1).has_value();
  if (journal_ && !is_anew) {
    journal_->forget(base.journal_end, base.sequence + 1);
  }
  if (journal_ && !is_all) {
    return;
  }
  durable_commits_.store(commits_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

Result<void> Store::Impl::checkpoint() {
  const std::scoped_lock locks(checkpointing_, changing_);
  if (auto usable = check_usable(); !usable) {
    return usable;
  }
  if (is_in_batch_ || has_uncommitted_) {
    return fail(ErrorCode::invalid_argument, path_ + ": no checkpoint can be made within a batch; commit it first");
  }
  return journal_ ? checkpoint_in_place(Next::open) : Result<void>{};
}

// Changes wait only while the image is copied, and when they come faster than the disk takes it.
Result<void> Store::Impl::checkpoint_beside(bool is_time) {
  const std::scoped_lock one(checkpointing_);
  std::unique_lock<std::mutex> lock(changing_);
  if (!journal_ || is_in_batch_ || has_uncommitted_ || is_closed_ || journal_->record_bytes_held() == 0 ||
      !(is_time || is_over_limit(journal_->record_bytes_held()))) {
    return {};
  }
  const Snapshot base = snapshot();
  const Parts parts = seal(filter_);
  const auto copy =
      image_bytes(filter_) > kMaxCopyBytes ? fail(ErrorCode::out_of_space, "") : copy_of(parts, options_.memory);
  if (!copy) {
    return checkpoint_in_place(Next::open);
  }
  lock.unlock();
  if (auto written = write_base({copy->bytes()}, base, Next::open); !written) {
    return written;
  }
  // Later records say that what is in the image is on the disk, so the earlier ones, which stay, must be there as well.
  if (auto synced = sync_commits(commits_.load(std::memory_order_acquire)); !synced) {
    return synced;
  }
  lock.lock();
  forget_journal(base);
  const bool is_far = journal_->end() > kMaxJournalEnd;
  lock.unlock();
  if (release_journal() && !is_far) {
    return {};
  }
  lock.lock();
  const bool must_wait = is_over_limit(journal_->end() / kPatience) && !is_in_batch_ && !has_uncommitted_;
  return must_wait ? checkpoint_in_place(Next::open) : Result<void>{};
}

// Returns whether the journal may go on where it is. What is given back must not be looked for again, so first the
// superblock that forgets it is on the disk.
bool Store::Impl::release_journal() {
  const std::scoped_lock lock(syncing_);
  if (auto synced = journal_->sync(); !synced) {
    static_cast<void>(give_up(synced.error()));
    return true;
  }
  return journal_->release_forgotten();
}

template <class Replace>
Result<void> Store::Impl::replace(const Replace& replace) {
  const std::scoped_lock locks(checkpointing_, changing_);
  if (auto usable = check_usable(); !usable) {
    return usable;
  }
  if (!is_in_memory() && (is_in_batch_ || has_uncommitted_)) {
    return fail(ErrorCode::invalid_argument, path_ + ": not within a batch; commit it first");
  }
  {
    const std::scoped_lock lock(reading_);
    if (auto replaced = replace(filter_); !replaced) {
      return replaced;
    }
  }
  ++changes_in_memory_;
  has_uncommitted_ = true;
  return is_in_batch_ ? Result<void>{} : commit_in_memory({});
}

Result<void> Store::Impl::close() {
  {
    const std::scoped_lock lock(changing_);
    if (std::exchange(is_closed_, true)) {
      return {};
    }
  }
  stop_workers();  // nobody starts one any more
  const std::scoped_lock locks(checkpointing_, changing_);
  auto closed = close_files();
  lock_.reset();
  return closed;
}

// Whatever goes wrong, the journal stays, and with it everything that was committed.
Result<void> Store::Impl::close_files() {
  if (!journal_) {
    return {};
  }
  if (has_failed_.load(std::memory_order_acquire) || is_in_batch_ || has_uncommitted_) {
    return sync();
  }
  const bool has_all = footer_->sequence == sequence() && position_of(*footer_) == position_;
  auto closed = has_all ? set_open_mark(false) : write_base(seal(filter_), snapshot(), Next::closed);
  if (!closed) {
    static_cast<void>(sync());
    return closed;
  }
  if (is_name_unsynced_) {
    if (auto synced = sync_folder_of(path_, calls_); !synced) {
      return synced;
    }
  }
  raise_durable(sequence());
  const std::scoped_lock lock(syncing_);
  durable_commits_.store(commits_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  journal_.reset();
  static_cast<void>(calls_.unlink(journal_path(path_).c_str()));
  return {};
}

Result<void> Store::Impl::start_workers() {
  try {
    if (!checkpointer_.joinable()) {
      checkpointer_ = std::thread([this] { make_checkpoints(); });
    }
    if (options_.durability == Durability::interval && !syncer_.joinable()) {
      syncer_ = std::thread([this] { sync_at_intervals(); });
    }
    return {};
  } catch (const std::system_error& error) {
    return fail(ErrorCode::out_of_space, path_ + ": no thread can be made", error.code().value());
  }
}

void Store::Impl::stop_workers() {
  {
    const std::scoped_lock lock(working_);
    is_stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread* worker : {&checkpointer_, &syncer_}) {
    if (worker->joinable()) {
      worker->join();
    }
  }
}

void Store::Impl::sync_at_intervals() {
  std::unique_lock<std::mutex> lock(working_);
  while (!wake_.wait_for(lock, options_.interval, [this] { return is_stopping_; })) {
    lock.unlock();
    static_cast<void>(sync());  // a failure is what the next change is told
    lock.lock();
  }
}

void Store::Impl::make_checkpoints() {
  const Duration period =
      options_.checkpoint_interval > Duration::zero() ? options_.checkpoint_interval : Duration(kLongWait);
  auto next = std::chrono::steady_clock::now() + period;
  std::unique_lock<std::mutex> lock(working_);
  while (!is_stopping_) {
    const bool is_called = wake_.wait_until(lock, next, [this] { return is_stopping_ || is_checkpoint_due_; });
    is_checkpoint_due_ = false;
    lock.unlock();
    if (!is_called) {
      next = std::chrono::steady_clock::now() + period;
    }
    try_checkpoint(!is_called && options_.checkpoint_interval > Duration::zero());
    lock.lock();
  }
}

// What keeps a checkpoint from being made, such as a full disk, keeps nobody from changing the filter as long as the
// journal can be written; it is tried again when there is as much journal again.
void Store::Impl::try_checkpoint(bool is_time) {
  try {
    if (checkpoint_beside(is_time)) {
      return;
    }
  } catch (const std::bad_alloc&) {
    // As any other checkpoint that failed.
  }
  const std::scoped_lock lock(changing_);
  checkpoint_delay_ = journal_ ? journal_->record_bytes_held() : 0;
}

Store::Store(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::create(const std::string& path, AnyFilter filter, const StoreOptions& options, Existing existing) {
  FileCalls& calls = options.calls == nullptr ? system_calls() : *options.calls;
  if (auto made = detail::make_store(path, filter, existing, {}, calls); !made) {
    return std::unexpected(made.error());
  }
  return open(path, options);
}

Result<Store> Store::open(const std::string& path, const StoreOptions& options) {
  if (options.durability == Durability::interval &&
      (options.interval <= Duration::zero() || options.interval > kLongWait)) {
    return fail(ErrorCode::invalid_argument, "an interval between syncs is above 0 and at most a day");
  }
  FileCalls& calls = options.calls == nullptr ? system_calls() : *options.calls;
  const auto resolved = resolve_links(path, calls);
  if (!resolved) {
    return std::unexpected(resolved.error());
  }
  const std::string& real = *resolved;
  auto lock = FileLock::acquire(real, calls);
  if (!lock) {
    return std::unexpected(lock.error());
  }
  remove_left_over(real, calls);
  auto loaded = detail::load_store(
      real,
      {.access = options.access, .trust = options.trust, .memory = options.memory, .calls = &calls, .is_writer = true});
  if (!loaded) {
    return std::unexpected(loaded.error());
  }
  const auto journal = loaded->journal;
  const bool is_stale = loaded->report.had_journal && loaded->report.was_closed && loaded->report.records_replayed == 0;
  if (auto settled = settle(real, loaded->footer, calls); !settled) {
    return std::unexpected(settled.error());
  }
  auto impl = std::make_unique<Impl>(real, options, std::move(*lock), std::move(*loaded));
  if (is_stale) {
    static_cast<void>(calls.unlink(detail::journal_path(real).c_str()));
  } else if (journal) {
    if (auto taken = impl->take_journal(*journal); !taken) {
      return std::unexpected(taken.error());
    }
  }
  return Store(std::move(impl));
}

const RecoveryReport& Store::recovery() const noexcept { return impl_->report(); }
const AnyFilter& Store::filter() const noexcept { return impl_->filter(); }
void Store::read(const std::function<void(const AnyFilter&)>& use) const { impl_->read(use); }

Result<void> Store::insert(Keys keys) {
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert(keys.subspan(begin, count));
  });
}

Result<void> Store::insert(Keys keys, std::span<const std::uint64_t> ids) {
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert(keys.subspan(begin, count), ids.subspan(begin, count));
  });
}

Result<void> Store::insert(Keys keys, std::span<const Time> times) {
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert(keys.subspan(begin, count), times.subspan(begin, count));
  });
}

Result<void> Store::observe(Keys keys, std::span<bool> seen) {
  return impl_->change(keys.size(), {.seen = seen}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().insert(keys.subspan(begin, count));
  });
}

Result<void> Store::erase(Keys keys, std::span<EraseResult> results) {
  return impl_->change(keys.size(), {.erased = results}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().erase(keys.subspan(begin, count));
  });
}

Result<void> Store::erase(Keys keys, std::span<const std::uint64_t> ids, std::span<EraseResult> results) {
  return impl_->change(keys.size(), {.erased = results}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().erase(keys.subspan(begin, count), ids.subspan(begin, count));
  });
}

Result<void> Store::put(Keys keys, std::span<const std::uint32_t> values, double strength) {
  return impl_->change(keys.size(), {}, [&](std::size_t begin, std::size_t count) {
    return impl_->encoder().put(keys.subspan(begin, count), values.subspan(begin, count), strength);
  });
}

Result<void> Store::advance(Time time) {
  return impl_->change(1, {}, [&](std::size_t, std::size_t) { return impl_->encoder().advance(time); });
}

Result<void> Store::merge(const AnyFilter& other) {
  return impl_->replace([&](AnyFilter& filter) { return merge_filters(filter, other); });
}

Result<void> Store::clear() {
  return impl_->replace([](AnyFilter& filter) -> Result<void> {
    std::visit([](auto& f) { f.clear(); }, filter);
    return {};
  });
}

void Store::begin(BatchMode mode) { impl_->begin(mode); }
Result<void> Store::commit(std::string_view position) { return impl_->commit(position); }
std::uint64_t Store::sequence() const noexcept { return impl_->sequence(); }
std::uint64_t Store::durable_sequence() const noexcept { return impl_->durable(); }
SourcePosition Store::position() const { return impl_->position(); }
Result<void> Store::sync() { return impl_->sync(); }
Result<void> Store::checkpoint() { return impl_->checkpoint(); }
Result<void> Store::close() { return impl_->close(); }

}  // namespace mankai
