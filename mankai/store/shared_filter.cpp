#include "mankai/store/shared_filter.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "mankai/base/assert.hpp"
#include "mankai/hash/checksum.hpp"
#include "mankai/store/detail/forks.hpp"
#include "mankai/store/detail/load_store.hpp"
#include "mankai/store/detail/shared_file.hpp"
#include "mankai/store/detail/store_file.hpp"
#include "mankai/store/detail/worker.hpp"

namespace mankai {

using detail::Forks;
using detail::shared_path;

/// One process's use of shared cells.
///
/// Two locks. Whoever opens, checkpoints or closes the filter has the lock on FILE, as every writer does, for that
/// long; the system releases it when the process dies, and the next one continues. Every process that shares the filter
/// has the shared lock on FILE-shared, and takes it only while it has the lock on FILE.
class SharedFilter::Impl {
 public:
  Impl(std::string path, const StoreOptions& options, FileLock use, MappedFile cells, AnyFilter filter)
      : path_(std::move(path)),
        options_(options),
        calls_(options.calls == nullptr ? system_calls() : *options.calls),
        use_{.lock = std::move(use)},
        cells_(std::move(cells)),
        filter_(std::move(filter)),
        slot_(header().slots[atomic(header().openings).fetch_add(1, std::memory_order_relaxed) % kSharedSlots]) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl();

  Result<void> start();
  Result<void> observe(Keys keys, std::span<bool> seen) {
    MANKAI_TRY(check_open());
    MANKAI_ASSIGN(const std::uint64_t inserted, filter_.observe_concurrent(keys, seen));
    count(keys.size(), inserted);
    return {};
  }
  Result<void> forget(Keys keys, std::span<EraseResult> results) {
    MANKAI_TRY(check_open());
    MANKAI_ASSIGN(const std::uint64_t erased, filter_.erase_concurrent(keys, results));
    count(keys.size(), 0 - erased);
    return {};
  }
  Result<void> sync();
  Result<void> close();

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] const StoreOptions& options() const noexcept { return options_; }
  [[nodiscard]] const AnyFilter& filter() const noexcept { return filter_; }
  [[nodiscard]] detail::SharedCounts counts() const noexcept { return detail::counts_in(cells_.bytes().data()); }
  [[nodiscard]] std::uint64_t durable() noexcept { return atomic(header().durable).load(std::memory_order_acquire); }

  [[nodiscard]] bool was_forked() const noexcept { return use_.was_forked; }

 private:
  static std::atomic_ref<std::uint64_t> atomic(std::uint64_t& word) noexcept {
    return std::atomic_ref<std::uint64_t>(word);
  }
  [[nodiscard]] SharedHeader& header() noexcept { return *reinterpret_cast<SharedHeader*>(cells_.bytes().data()); }

  [[nodiscard]] Result<void> check_open() const {
    return is_closed_ ? fail(ErrorCode::invalid_argument, path_ + ": is closed") : Result<void>();
  }
  // After the cells: a checkpoint that read this count copies them later.
  void count(std::uint64_t keys, std::uint64_t inserted) noexcept {
    if (inserted != 0) {
      atomic(slot_.inserted).fetch_add(inserted, std::memory_order_relaxed);
    }
    atomic(slot_.observed).fetch_add(keys, std::memory_order_release);
  }
  void checkpoint_by_time();
  // With the lock on the file held:
  [[nodiscard]] Result<void> check_cells() const;
  [[nodiscard]] Result<void> checkpoint(FileLock& lock);
  /// With the mutex of Forks held.
  void unlist() noexcept;
  [[nodiscard]] Result<void> leave();
  [[nodiscard]] Result<void> leave(FileLock& lock);

  std::string path_;
  StoreOptions options_;
  FileCalls& calls_;
  detail::SharedUse use_;
  MappedFile cells_;
  AnyFilter filter_;
  SharedSlot& slot_;
  bool is_listed_ = false;  ///< `use_`, by Forks
  bool is_closed_ = false;
  /// The result of close(), also after it has thrown.
  Result<void> closed_ = fail(ErrorCode::out_of_space, path_ + ": no memory to close it");
  detail::Worker checkpointer_;
};

namespace {

/// The lock on a filter's file for a short time.
struct Turn {
  std::unique_lock<std::mutex> no_fork;
  FileLock lock;
};

enum class Wait : std::uint8_t { no, yes };

// Others that share the filter have the lock for as long as a checkpoint takes; a writer that does not share has it
// until it closes the file, and there are no shared cells then. The first process that opens the filter has the lock
// shortly before these are there.
Result<Turn> take_turn(const std::string& path, Wait wait, FileCalls& calls) {
  constexpr int kPatience = 1000;
  constexpr std::chrono::milliseconds kPause{1};
  for (int patience = kPatience;;) {
    std::unique_lock<std::mutex> no_fork(Forks::instance().mutex());
    auto lock = FileLock::acquire(path, calls);
    if (lock) {
      return Turn{.no_fork = std::move(no_fork), .lock = std::move(*lock)};
    }
    if (lock.error().code != ErrorCode::locked || wait == Wait::no) {
      return std::unexpected(lock.error());
    }
    no_fork.unlock();
    patience = identify(shared_path(path), calls) ? kPatience : patience - 1;
    if (patience == 0) {
      return fail(ErrorCode::locked, lock.error().detail + ", or let it share the file");
    }
    std::this_thread::sleep_for(kPause);
  }
}

// ---- opening, with the lock on the file

Result<std::optional<FoundFooter>> footer_of(const OpenFile& file, const std::string& path) {
  MANKAI_ASSIGN(auto footer, within(path, read_footer(file)));
  std::array<std::byte, sizeof(ImageHeader)> start{};
  const std::uint64_t image_bytes = footer ? footer->footer.image_bytes : file.size();
  MANKAI_TRY(within(path, file.size() < start.size() ? Result<void>() : file.read(0, start)));
  MANKAI_ASSIGN(const ImageHeader header,
                within(path, read_header(std::span(start).first(std::min(start.size(), image_bytes)), image_bytes)));
  if (const KindDescription* kind = find_kind(Kind{header.kind})) {
    MANKAI_TRY(within(path, check_can_share(*kind)));
  }
  return footer;
}

/// Shared cells that this process may use.
struct Cells {
  FileLock use;
  MappedFile file;
};

// Processes that died may have left cells; nothing that they were told is lost.
Result<std::optional<Cells>> find_cells(const std::string& path, const std::optional<FoundFooter>& footer,
                                        FileCalls& calls) {
  const std::string name = shared_path(path);
  MANKAI_ASSIGN(const auto found, detail::open_shared(path, footer, calls));
  if (!found) {
    return std::nullopt;
  }
  MANKAI_ASSIGN(auto file, MappedFile::open(name, MappedFile::Mode::write, calls));
  MANKAI_ASSIGN(auto use, FileLock::acquire(name, calls, FileLock::Mode::shared));
  return Cells{.use = std::move(use), .file = std::move(file)};
}

std::uint64_t now_ns() noexcept {
  return static_cast<std::uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
}

// The file becomes a closed store without a journal, whose footer has an id, and is on the disk.
Result<StoreFooter> close_store(const std::string& path, detail::LoadedStore& loaded, FileLock& lock,
                                FileCalls& calls) {
  if (loaded.footer && loaded.footer->footer.is_open == 0 && !loaded.report.had_journal) {
    MANKAI_TRY(detail::sync_store(path, loaded.footer, calls));
    return loaded.footer->footer;
  }
  StoreFooter footer{};
  footer.store_id = detail::random_word();
  footer.sequence = loaded.report.sequence;
  set_position(footer, loaded.report.position);
  MANKAI_TRY(detail::replace_store(path, loaded.filter, lock, footer, calls));
  return footer;
}

Result<void> fill_cells(const std::string& path, MappedFile& file, FileLock& lock, const StoreOptions& options,
                        FileCalls& calls) {
  MANKAI_TRY(file.copy_permissions(path));
  MANKAI_ASSIGN(auto loaded, detail::load_store(path, {.access = Access::query,
                                                       .trust = options.trust,
                                                       .memory = options.memory,
                                                       .calls = &calls,
                                                       .is_writer = true}));
  MANKAI_ASSIGN(const StoreFooter footer, close_store(path, loaded, lock, calls));
  std::byte* to = file.bytes().data() + kSharedPage;
  for (const auto& part : loaded.filter.seal_parts()) {
    MANKAI_ASSERT(part.size() <= static_cast<std::size_t>(file.bytes().data() + file.bytes().size() - to));
    to = std::ranges::copy(part, to).out;
  }
  auto& header = *reinterpret_cast<SharedHeader*>(file.bytes().data());
  header.magic = kSharedMagic;
  header.version = kSharedVersion;
  MANKAI_ASSIGN(header.boot, boot_id(calls));
  header.store_id = footer.store_id;
  header.image_bytes = file.bytes().size() - kSharedPage;
  header.first_sequence = footer.sequence;
  header.first_keys = loaded.filter.keys_inserted();
  header.durable = footer.sequence;
  header.checkpointed_ns = now_ns();
  // Last, so that cells of a process that dies before do not count.
  std::atomic_ref<std::uint64_t>(header.checksum)
      .store(checksum(std::as_bytes(std::span(&header, 1)).first(offsetof(SharedHeader, checksum))),
             std::memory_order_release);
  return {};
}

Result<Cells> make_cells(const std::string& path, std::uint64_t image_bytes, FileLock& lock,
                         const StoreOptions& options, FileCalls& calls) {
  const std::string name = shared_path(path);
  MANKAI_TRY(detail::settle_shared(path, lock, detail::Leftover::drop, options.memory, calls));
  MANKAI_ASSIGN(auto file, MappedFile::create(name, kSharedPage + image_bytes, calls));
  auto use = FileLock::acquire(name, calls, FileLock::Mode::shared);
  auto filled = use ? fill_cells(path, file, lock, options, calls) : Result<void>(std::unexpected(use.error()));
  if (!filled) {
    calls.unlink(name.c_str());
    return std::unexpected(filled.error());
  }
  return Cells{.use = std::move(*use), .file = std::move(file)};
}

Result<Cells> cells_of(const std::string& path, FileLock& lock, const StoreOptions& options, FileCalls& calls) {
  remove_left_over(path, calls);
  MANKAI_ASSIGN(const auto file, OpenFile::open(path, OpenFile::Mode::read, calls));
  MANKAI_ASSIGN(const auto footer, footer_of(file, path));
  MANKAI_ASSIGN(auto found, find_cells(path, footer, calls));
  if (found) {
    return std::move(*found);
  }
  return make_cells(path, footer ? footer->footer.image_bytes : file.size(), lock, options, calls);
}

}  // namespace

// ---- Impl

Result<void> SharedFilter::Impl::start() {
  if (options_.durability != Durability::never) {
    // Each process looks twice per interval, and whoever finds the last checkpoint half as old makes one.
    const Duration period = std::max(options_.checkpoint_interval / 2, Duration(1));
    MANKAI_TRY(checkpointer_.start(period, [this](detail::Worker::Wake) { checkpoint_by_time(); }));
  }
  Forks::instance().add(use_);
  is_listed_ = true;
  return {};
}

void SharedFilter::Impl::checkpoint_by_time() {
  const auto is_due = [this] {
    const auto last = atomic(header().checkpointed_ns).load(std::memory_order_relaxed);
    const auto age = std::chrono::nanoseconds(static_cast<std::int64_t>(now_ns() - last));
    return durable() < counts().sequence &&
           (age < std::chrono::nanoseconds::zero() ||
            2 * std::chrono::duration_cast<Duration>(age) >= options_.checkpoint_interval);
  };
  if (!is_due()) {
    return;
  }
  // If another process has the turn, it is making a checkpoint.
  if (auto turn = take_turn(path_, Wait::no, calls_); turn && is_due() && check_cells()) {
    static_cast<void>(checkpoint(turn->lock));  // durable_sequence() stays; sync() reports why
  }
}

Result<void> SharedFilter::Impl::checkpoint(FileLock& lock) {
  MANKAI_ASSIGN(const std::uint64_t sequence, detail::save_shared(path_, lock, cells_, options_.memory, calls_));
  atomic(header().durable).store(sequence, std::memory_order_release);
  atomic(header().checkpointed_ns).store(now_ns(), std::memory_order_relaxed);
  return {};
}

// Others would share cells that somebody put in the place of these, and each group would undo the checkpoints of the
// other one.
Result<void> SharedFilter::Impl::check_cells() const { return use_.lock->check_at(shared_path(path_)); }

Result<void> SharedFilter::Impl::sync() {
  MANKAI_TRY(check_open());
  const std::uint64_t wanted = counts().sequence;
  if (durable() >= wanted) {
    return {};
  }
  MANKAI_ASSIGN(auto turn, take_turn(path_, Wait::yes, calls_));
  if (durable() >= wanted) {
    return {};
  }
  MANKAI_TRY(check_cells());
  return checkpoint(turn.lock);
}

SharedFilter::Impl::~Impl() {
  if (is_listed_) {  // close() had no memory
    const std::scoped_lock no_fork(Forks::instance().mutex());
    unlist();
  }
}

void SharedFilter::Impl::unlist() noexcept {
  Forks::instance().remove(use_);
  is_listed_ = false;
}

Result<void> SharedFilter::Impl::close() {
  if (!is_closed_) {
    is_closed_ = true;
    checkpointer_.stop();
    closed_ = leave();
  }
  return closed_;
}

Result<void> SharedFilter::Impl::leave() {
  auto turn = take_turn(path_, Wait::yes, calls_);
  if (!turn) {
    const std::scoped_lock no_fork(Forks::instance().mutex());
    unlist();
    std::move(*use_.lock).release();
    return std::unexpected(turn.error());
  }
  unlist();
  return leave(turn->lock);
}

// Nobody else can begin to share the filter meanwhile.
Result<void> SharedFilter::Impl::leave(FileLock& lock) {
  const auto checked = check_cells();
  std::move(*use_.lock).release();
  MANKAI_TRY(checked);
  const auto alone = FileLock::acquire(shared_path(path_), calls_);
  if (!alone && alone.error().code == ErrorCode::locked) {
    return {};
  }
  // Somebody may have removed the cells, which are still mapped.
  if (!alone && alone.error().code != ErrorCode::not_found) {
    return std::unexpected(alone.error());
  }
  if (durable() < counts().sequence ||
      !detail::has_checkpoint(path_, cells_, options_.trust, options_.memory, calls_)) {
    MANKAI_TRY(checkpoint(lock));
  }
  calls_.unlink(shared_path(path_).c_str());
  return {};
}

// ---- SharedFilter

SharedFilter::SharedFilter(std::unique_ptr<Impl> impl) noexcept : impl_(std::move(impl)) {}
SharedFilter::SharedFilter(SharedFilter&&) noexcept = default;
SharedFilter& SharedFilter::operator=(SharedFilter&& other) noexcept {
  std::swap(impl_, other.impl_);
  return *this;
}

SharedFilter::~SharedFilter() {
  if (impl_ != nullptr && impl_->was_forked()) {
    static_cast<void>(impl_.release());
  } else if (impl_ != nullptr) {
    try {
      static_cast<void>(impl_->close());
    } catch (const std::bad_alloc&) {
      impl_.reset();  // the shared cells have every change
    }
  }
}

Result<SharedFilter> SharedFilter::open(const std::string& path, const Make& make, const StoreOptions& options) {
  if (options.durability == Durability::always) {
    return fail(ErrorCode::invalid_argument,
                "a filter that processes share cannot be on disk after each call; choose another durability, and sync "
                "where it matters");
  }
  StoreOptions used = options;
  if (used.checkpoint_interval <= Duration::zero()) {
    used.checkpoint_interval = kCheckpointInterval;
  }
  FileCalls& calls = options.calls == nullptr ? system_calls() : *options.calls;
  MANKAI_TRY(boot_id(calls));
  MANKAI_ASSIGN(std::string file, resolve_links(path, calls));
  auto turn = take_turn(file, Wait::yes, calls);
  if (!turn && turn.error().code == ErrorCode::not_found) {
    MANKAI_ASSIGN(auto filter, make());
    MANKAI_TRY(check_can_share(filter.kind()));
    const auto made = detail::make_store(file, filter, Existing::refuse, {}, calls, options.mode);
    MANKAI_ASSIGN(file, resolve_links(path, calls));
    turn = take_turn(file, Wait::yes, calls);
    if (!turn && !made) {
      return std::unexpected(made.error());  // no other process has created it
    }
  }
  if (!turn) {
    return std::unexpected(turn.error());
  }
  MANKAI_ASSIGN(auto cells, cells_of(file, turn->lock, options, calls));
  MANKAI_ASSIGN(auto filter,
                within(shared_path(file), filter_from_region(Region::borrow(cells.file.bytes().subspan(kSharedPage)),
                                                             Trust::fast, options.memory)));
  auto impl = std::make_unique<Impl>(file, used, std::move(cells.use), std::move(cells.file), std::move(filter));
  MANKAI_TRY(within(file, impl->start()));
  return SharedFilter(std::move(impl));
}

Result<void> SharedFilter::reopen_in_child() {
  const auto make = [this]() -> Result<AnyFilter> {
    return fail(ErrorCode::not_found, impl_->path() + ": is missing, and was there before the fork");
  };
  MANKAI_ASSIGN(SharedFilter opened, open(impl_->path(), make, impl_->options()));
  static_cast<void>(impl_.release());  // its thread is one of the parent
  impl_ = std::move(opened.impl_);
  return {};
}

Result<void> SharedFilter::observe(Keys keys, std::span<bool> seen) {
  if (impl_->was_forked()) [[unlikely]] {
    MANKAI_TRY(reopen_in_child());
  }
  return impl_->observe(keys, seen);
}

Result<void> SharedFilter::forget(Keys keys, std::span<EraseResult> results) {
  if (impl_->was_forked()) [[unlikely]] {
    MANKAI_TRY(reopen_in_child());
  }
  return impl_->forget(keys, results);
}

Result<void> SharedFilter::sync() {
  if (impl_->was_forked()) {
    MANKAI_TRY(reopen_in_child());
  }
  return impl_->sync();
}

Result<void> SharedFilter::close() { return impl_->was_forked() ? Result<void>{} : impl_->close(); }

const AnyFilter& SharedFilter::filter() const noexcept { return impl_->filter(); }
std::uint64_t SharedFilter::keys_inserted() const noexcept { return impl_->counts().keys; }
std::uint64_t SharedFilter::sequence() const noexcept { return impl_->counts().sequence; }
std::uint64_t SharedFilter::durable_sequence() const noexcept { return impl_->durable(); }

}  // namespace mankai
