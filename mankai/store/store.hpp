#pragma once

/// A filter in a file that survives a process crash and a power loss, whatever it was doing.
///
///     auto store = mankai::Store::open("seen.mk");
///     store->insert(keys);                       // journaled, then in memory
///     store->sync();                             // on the disk
///
/// On the disk are NAME.mk, which is the filter's image and a footer behind it (docs/formats/store.md), and, while
/// there are changes that it lacks, NAME.mk-journal (docs/formats/journal.md). Opening reads the image and does the
/// changes again that it lacks, each once: the filter is, byte for byte, the one that an exact replay gives.
///
/// What it promises:
///   - A call that changes the filter is a batch, unless begin() makes one of several: after any crash all of it is
///   there, or nothing, and so is the source position given with it.
///   - What has returned survives a process crash under every policy, and a power loss as Durability
///   says; durable_sequence() tells up to where it does now.
///   - Damage is an error that names file, offset and reason; or, at the journal's end, where nobody can tell it from a
///   crash before the write, a loss of whole batches that recovery() reports. Never a silent false negative. What it
///   cannot see: that the last batches of a journal were set back to zeros.
///   - Who reads the file meanwhile sees it as it was at one moment.
/// What it does not: keep two writers apart on a file system without flock, or guard against somebody who changes the
/// journal while it is open, which is mapped: to shorten it then ends the process (SIGBUS).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "mankai/file/new_file.hpp"
#include "mankai/filter/any_filter.hpp"
#include "mankai/filter/change.hpp"
#include "mankai/store/filter_file.hpp"
#include "mankai/store/recovery_report.hpp"
#include "mankai/store/source_position.hpp"

namespace mankai {

/// When a change that has returned survives a power loss. It survives that of the process under each.
enum class Durability : std::uint8_t {
  always,    ///< at once: a call returns when the disk has its changes; calls from several threads share a sync
  interval,  ///< within an interval
  never,     ///< at checkpoints, at sync(), and when the system pleases
};

/// How a store is kept.
struct StoreOptions {
  Durability durability = Durability::interval;
  Duration interval = std::chrono::seconds(1);  ///< of Durability::interval
  /// Bytes of journal after which a checkpoint is made. 0: 64 MiB, or as many as the image has if that is more.
  std::uint64_t checkpoint_bytes = 0;
  /// After how long one is made if there are changes. 0: never because of time.
  Duration checkpoint_interval = Duration::zero();
  Trust trust = Trust::checked;
  /// Access::query maps the file: opening costs the same at any size, and each page of 4 KiB a copy when it first
  /// changes. Images above 256 MiB are mapped in any case when they are opened, and not when they are created.
  Access access = Access::change;
  Memory memory = system_memory();
  FileMode mode = {};          ///< of the file that create makes
  FileCalls* calls = nullptr;  ///< nullptr: the system's
};

/// How a batch is kept until it is committed.
enum class BatchMode : std::uint8_t {
  journaled,  ///< in the journal, as it comes: its commit costs little
  in_memory,  ///< nowhere else: its commit is a checkpoint. For a batch as long as a file, or the only one of a process
};

/// See the top of this file.
///
/// Cost:    a change costs what it costs in memory, and a copy of its digests and their checksum. A checkpoint writes
///          the whole image; those that the store makes by itself are written beside further changes, from a copy of
///          the image, for which changes wait as long as memory takes; those that a caller asks for keep changes
///          waiting.
/// Threads: calls from any thread; changes take turns. `filter()` beside changes only for kinds whose readers need no
///          lock (BlockedBloom and the other kinds of bits and counters), and not beside merge and clear; `read`
///          always, but what it calls must not call the store. Not to be used in a child after fork().
/// Errors:  after io in a sync, or when memory ends while a filter grows, the store takes no more changes, and says so:
///          open it again, and what was acknowledged is there.
class Store {
 public:
  using Keys = std::span<const std::string_view>;

  /// Writes a new file and opens it. Errors: invalid_argument when it exists and must not; locked; as write_file's.
  [[nodiscard]] static Result<Store> create(const std::string& path, AnyFilter filter, const StoreOptions& options = {},
                                            Existing existing = Existing::refuse);
  /// Opens a filter's file to change it, and recovers it first where the last writer did not end well. An image without
  /// a footer becomes a store's file with the first change. Errors: locked, with the owner's pid; corrupt; not_found;
  /// io; unsupported_version; out_of_space.
  [[nodiscard]] static Result<Store> open(const std::string& path, const StoreOptions& options = {});

  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  /// Closes it; nobody hears an error then.
  ~Store();

  /// What opening found.
  [[nodiscard]] const RecoveryReport& recovery() const noexcept;

  [[nodiscard]] const AnyFilter& filter() const noexcept;
  /// Calls use(filter) while nothing that its kind's readers cannot stand is changed.
  void read(const std::function<void(const AnyFilter&)>& use) const;

  /// Each as the function of catalog/keys.hpp; ids, times, values and results are as many as keys. After an error the
  /// keys of the windows of 4096 before it are in, and journaled. Errors: theirs; io, out_of_space where the journal
  /// cannot be written: then nothing more is in.
  [[nodiscard]] Result<void> insert(Keys keys);
  [[nodiscard]] Result<void> insert(Keys keys, std::span<const std::uint64_t> ids);
  /// For kinds that keep names: each key at the time of its record.
  [[nodiscard]] Result<void> insert(Keys keys, std::span<const Time> times);
  [[nodiscard]] Result<void> observe(Keys keys, std::span<bool> seen);
  [[nodiscard]] Result<void> erase(Keys keys, std::span<EraseResult> results);
  [[nodiscard]] Result<void> erase(Keys keys, std::span<const std::uint64_t> ids, std::span<EraseResult> results);
  [[nodiscard]] Result<void> put(Keys keys, std::span<const std::uint32_t> values, double strength);
  [[nodiscard]] Result<void> advance(Time time);
  /// A change that is encoded already (catalog/changes.hpp), such as that of one digest: the way for callers whose keys
  /// come one by one. Pre: for this filter, as a ChangeEncoder makes it. Errors: corrupt where it is not; io,
  /// out_of_space where the journal cannot be written: then nothing is in.
  [[nodiscard]] Result<void> change(const Change& change, const Outcomes& outcomes = {});
  /// These are checkpoints, too, but within a batch in memory, which is one when it is committed. Errors: as
  /// merge_filters'; invalid_argument within a batch that is journaled; io and out_of_space, after which the store
  /// takes no more changes.
  [[nodiscard]] Result<void> merge(const AnyFilter& other);
  [[nodiscard]] Result<void> clear();

  /// Makes one batch of what comes until commit(). What is not committed is in memory, but gone when the store is
  /// opened next. Checkpoints wait meanwhile. Within a batch, begin() changes nothing.
  void begin(BatchMode mode = BatchMode::journaled);
  /// Ends the batch, and says where the source stands if that is given. Without a batch it says only that.
  /// Errors: invalid_argument for more than 64 bytes; io; out_of_space. After these two the batch continues where
  /// it is journaled, and where it is in memory the store takes no more changes.
  [[nodiscard]] Result<void> commit(std::string_view position = {});

  /// Changes that were committed since the store was made: one for each key that was inserted, taken out or put, and
  /// one for each advance, merge, clear, and commit that only says a position.
  [[nodiscard]] std::uint64_t sequence() const noexcept;
  /// Those of them that survive a power loss.
  [[nodiscard]] std::uint64_t durable_sequence() const noexcept;
  /// Where the source stood at the last commit that said so.
  [[nodiscard]] SourcePosition position() const;

  /// Returns when everything committed so far is on the disk. Errors: io.
  [[nodiscard]] Result<void> sync();
  /// Returns when everything is in the file. Errors: invalid_argument within a batch; io; out_of_space, after which the
  /// store goes on.
  [[nodiscard]] Result<void> checkpoint();
  /// Why the store's last checkpoint of its own was not made, such as a full disk; nothing when it was. The journal
  /// grows meanwhile, nothing is lost, and it is tried again when there is as much journal again.
  [[nodiscard]] std::optional<Error> checkpoint_failure() const;
  /// A checkpoint after which there is no journal; gives the lock back. A batch that is not committed is given up: then
  /// there is no checkpoint, and the next to open recovers. Any further change is refused. A second call says what the
  /// first one said.
  [[nodiscard]] Result<void> close();

 private:
  enum class Origin : std::uint8_t { disk, memory };
  [[nodiscard]] static Result<Store> open(const std::string& path, const StoreOptions& options, Origin origin);

  class Impl;
  explicit Store(std::unique_ptr<Impl> impl) noexcept;

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
