#pragma once

/// A filter stored in a file that survives process crashes and, depending on `Durability`, power loss.
///
///     auto store = mankai::Store::open("seen.mk");
///     store->insert(keys);  // written to the journal, then applied in memory
///     store->sync();        // on the disk
///
/// The filter is in NAME.mk: its image and a footer (docs/formats/store.md). Changes that the image lacks are in the
/// write-ahead journal NAME.mk-journal (docs/formats/journal.md). Opening reads the image and replays those changes,
/// each once; the result equals an exact replay, byte for byte.
///
/// Guarantees:
///   - Each call that changes the filter is one batch, unless begin() starts a longer one. After a crash a batch is
///     there as a whole or not at all, and so is the source position that was committed with it.
///   - After a call has returned, its changes survive a process crash. `Durability` says when they survive power loss;
///     durable_sequence() returns the last change that does.
///   - Damage is an error that names the file, the offset and the reason. Damage at the end of the journal may look
///     like a crash before the write: then whole batches are lost, and recovery() reports them. There is never a
///     silent false negative, except that zeros in the place of the last batches are not noticed.
///   - Concurrent readers of the file see a consistent snapshot.
/// Limits: two writers are kept apart only where the file system supports flock. The journal is mapped, so a program
/// that truncates it while a store has it open ends the process with SIGBUS.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "mankai/file/new_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/source_position.hpp"

namespace mankai {

/// When a change survives power loss and OS crashes. After its call has returned it always survives a process crash.
enum class Durability : std::uint8_t {
  always,    ///< when its call returns; concurrent calls share a sync
  interval,  ///< at most StoreOptions::interval later
  never,     ///< after a checkpoint, after sync(), or whenever the operating system writes it
};

/// How a store keeps its file.
struct StoreOptions {
  Durability durability = Durability::interval;
  Duration interval = std::chrono::seconds(1);  ///< between syncs, for Durability::interval; at most a day
  /// Size of the journal in bytes that triggers a checkpoint. 0: 64 MiB, or the size of the image if that is larger.
  std::uint64_t checkpoint_bytes = 0;
  /// Time after which the store makes a checkpoint if there are changes. 0: no checkpoints by time.
  Duration checkpoint_interval = Duration::zero();
  Trust trust = Trust::checked;
  /// Access::query maps the file: opening takes the same time at any size, and the first change to each page of 4 KiB
  /// copies that page. open() maps images above 256 MiB in any case; create() does not.
  Access access = Access::change;
  Memory memory = system_memory();
  FileMode mode = {};          ///< permissions of the file that create() makes
  FileCalls* calls = nullptr;  ///< nullptr: the system's
};

/// Where the changes of a batch are before its commit.
enum class BatchMode : std::uint8_t {
  journaled,  ///< in the journal; the commit is cheap
  in_memory,  ///< in memory only; the commit is a checkpoint. For batches about as large as the file
};

/// See the top of this file.
///
/// Cost:    a change costs what it costs in memory, a copy of its digests and their checksum. A checkpoint writes the
///          whole image. The store's own checkpoints copy the image and write the copy while changes continue; changes
///          wait for checkpoint(), merge() and clear().
/// Threads: all functions may be called from any thread; changes run one at a time. `filter()` may be read during
///          changes only if the kind has lock-free readers (BlockedBloom and the other kinds of bits and counters), and
///          not during merge and clear. `read` is always safe, but its function must not call the store. Not usable in
///          a child process after fork().
/// Errors:  after a failed sync, or if memory runs out while the filter grows, the store refuses all further changes.
///          Open it again: every acknowledged change is there.
class Store {
 public:
  using Keys = std::span<const std::string_view>;

  /// Writes a new file and opens it. Errors: invalid_argument if the file exists and `existing` refuses that; locked;
  /// as write_file's.
  [[nodiscard]] static Result<Store> create(const std::string& path, AnyFilter filter, const StoreOptions& options = {},
                                            Existing existing = Existing::refuse);
  /// Opens a filter's file for changes, and recovers it if the last writer did not close it. The first change gives an
  /// image without a footer one. Errors: locked, with the owner's pid; corrupt; not_found; io; unsupported_version;
  /// out_of_space.
  [[nodiscard]] static Result<Store> open(const std::string& path, const StoreOptions& options = {});

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  /// Closes the store; errors are ignored. Call `close()` to see them.
  ~Store();

  [[nodiscard]] const RecoveryReport& recovery() const noexcept;

  /// After change_later it may wait for the end of another change.
  [[nodiscard]] const AnyFilter& filter() const noexcept;
  /// Calls use(filter), and blocks changes during the call unless the kind has lock-free readers. The filter may lack
  /// what change_later is given during the call.
  void read(const std::function<void(const AnyFilter&)>& use) const;

  /// Change the filter; each is as AnyFilter's or ChangeEncoder's function of that name.
  ///
  /// Shape:   ids, times, values and results have one element per key.
  /// Errors:  those of the encoder, and io or out_of_space if the journal cannot be written. Keys are applied in
  ///          windows of 4096: after an error the windows before it are applied and journaled, and no later key is.
  ///          Without keys there is no error.
  [[nodiscard]] Result<void> insert(Keys keys);
  [[nodiscard]] Result<void> insert(Keys keys, std::span<const std::uint64_t> ids);
  /// For kinds that keep names: the time of each key.
  [[nodiscard]] Result<void> insert(Keys keys, std::span<const Time> times);
  /// For keys that expire: see ChangeEncoder.
  [[nodiscard]] Result<void> insert_until(Keys keys, std::span<const Time> expiries);
  [[nodiscard]] Result<void> observe(Keys keys, std::span<bool> seen);
  [[nodiscard]] Result<void> erase(Keys keys, std::span<EraseResult> results);
  [[nodiscard]] Result<void> erase(Keys keys, std::span<const std::uint64_t> ids, std::span<EraseResult> results);
  [[nodiscard]] Result<void> put(Keys keys, std::span<const std::uint32_t> values, double strength);
  [[nodiscard]] Result<void> advance(Time time);
  /// Applies a change that is already encoded, such as one of a single digest. Pre: a ChangeEncoder of this filter made
  /// it. Errors: corrupt if the change does not fit the filter; io, out_of_space if the journal cannot be written.
  /// After an error nothing has changed.
  [[nodiscard]] Result<void> change(const Change& change, const Outcomes& outcomes = {});
  /// As `change`, for a caller that knows the filter's class: after the change is in the journal, `apply()` applies it
  /// to the filter. That saves a tenth of the time of single changes in cache. Pre: the kind has lock-free readers;
  /// `apply` does to this store's filter what `change` says, and cannot fail.
  template <class Apply>
    requires std::is_nothrow_invocable_v<const Apply&>
  [[nodiscard]] Result<void> change_by(const Change& change, const Apply& apply) {
    return this->change(change, [](const void* context) { (*static_cast<const Apply*>(context))(); }, &apply);
  }
  /// As `change` of one key without outcomes, but it is applied later, in a batch with others: beyond the cache such
  /// changes take a third to a half of the time. filter() and read() first apply what is pending, as all functions do
  /// that change or save the filter. A caller that keeps the reference must call filter() again while pending() is not
  /// 0. Once another thread has done so, changes are applied at once, so that readers do not wait for them. So is a
  /// change for which the filter may have to grow: its error must be the caller's.
  [[nodiscard]] Result<void> change_later(const Change& change);
  /// The number of changes that the filter does not have yet.
  [[nodiscard]] std::size_t pending() const noexcept;
  /// Merge another filter into this one, or remove all keys. Each is a checkpoint; in an in-memory batch the commit is.
  /// Errors: as AnyFilter::merge; invalid_argument in a journaled batch; io and out_of_space, after which the store
  /// refuses further changes.
  [[nodiscard]] Result<void> merge(const AnyFilter& other);
  [[nodiscard]] Result<void> clear();

  /// Starts a batch that lasts until commit(); no effect within a batch. Its changes are applied in memory at once, but
  /// are in the file only after the commit. No checkpoint is made before.
  void begin(BatchMode mode = BatchMode::journaled);
  /// Commits the batch, with the position of the source if one is given. Outside a batch it commits only the position.
  /// Makes a checkpoint if one is overdue because batches follow each other without a pause.
  /// Errors: invalid_argument for more than 64 bytes; io; out_of_space. After io or out_of_space a journaled batch is
  /// still open, unless only its sync failed; after that of an in-memory batch the store refuses further changes.
  /// sequence() says whether the batch was committed.
  [[nodiscard]] Result<void> commit(std::string_view position = {});

  /// Returns the number of changes committed since the store was created: one per key inserted, erased or put, and one
  /// per advance, merge, clear, and commit of a position only. It includes changes whose call failed because they could
  /// not be synced: the next open finds them, unless power was lost.
  [[nodiscard]] std::uint64_t sequence() const noexcept;
  /// Returns how many of these changes survive power loss.
  [[nodiscard]] std::uint64_t durable_sequence() const noexcept;
  /// Returns the position of the last commit that gave one.
  [[nodiscard]] SourcePosition position() const;

  /// Returns once the disk has everything committed so far. Errors: io.
  [[nodiscard]] Result<void> sync();
  /// Returns once the file has everything. Errors: invalid_argument within a batch; io and out_of_space, after which
  /// the store remains usable.
  [[nodiscard]] Result<void> checkpoint();
  /// Returns why the store's own last checkpoint failed, such as a full disk; nothing if it succeeded. No change is
  /// lost: the journal grows, and the store tries again after as many bytes of journal.
  [[nodiscard]] std::optional<Error> checkpoint_failure() const;
  /// Makes a last checkpoint, removes the journal and releases the lock. Discards an open batch: then there is no
  /// checkpoint, and the next open recovers. Later changes are refused. A second call returns the result of the first.
  [[nodiscard]] Result<void> close();

 private:
  enum class Origin : std::uint8_t { disk, memory };
  [[nodiscard]] static Result<Store> open(const std::string& path, const StoreOptions& options, Origin origin);

  using ApplyFunction = void(const void* context);
  [[nodiscard]] Result<void> change(const Change& change, ApplyFunction* apply, const void* context);

  class Impl;
  explicit Store(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
