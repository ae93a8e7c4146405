#pragma once

/// A filter of bits or counters in a file that several processes change at once.
///
/// The processes map the cells from FILE-shared, a file beside the filter's file that is not synchronized
/// (docs/formats/shared.md), and change them by atomic operations. So what one of them has added survives its death,
/// and all of them see it. Now and then one of them writes a checkpoint: the whole filter to FILE, as a closed store.
/// The last process that closes the filter removes FILE-shared.
///
/// Guarantees:
///   - What a call was told survives the death of any and all processes at any moment, as long as the system runs.
///   - After a power loss or an OS crash the filter is as of the last checkpoint or later: durable_sequence().
///   - Of several processes that observe one absent key at once exactly one is told that it is new.
///   - A kind that counts (counting-bloom) can forget keys. A key that was reported as new is found until it is
///     forgotten, whatever other keys are.
/// Limits: a process that dies between adding a key and its return takes the answer "new" with it. If it dies while it
/// changes counters, some remain too high, never too low: the key may still be found. The same holds for a key that is
/// observed or forgotten while a checkpoint is made from which the filter continues after a power loss. Not for files
/// on network file systems. A program that truncates FILE-shared ends the processes with SIGBUS.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "mankai/store/store.hpp"

namespace mankai {

/// See the top of this file.
///
/// Cost:    a new or forgotten key costs 8 atomic operations on its cache line (kinds and layouts of several lines: one
///          per probe), a repeat none. Opening maps the cells; the first process copies them. A checkpoint copies the
///          image in memory and writes it.
/// Threads: observe, forget, may_contain of filter(), and the counts from any thread; the other functions one at a
///          time. In a child process after fork() the first call of observe, forget or sync opens the file again, and
///          must have returned before other threads use the object. Until then filter() may lack what other processes
///          add.
class SharedFilter {
 public:
  using Keys = std::span<const std::string_view>;
  using Make = std::function<Result<AnyFilter>()>;

  /// Time between checkpoints unless StoreOptions::checkpoint_interval is set.
  static constexpr Duration kCheckpointInterval = std::chrono::minutes(1);

  /// Opens the file; if it is missing, creates it with the filter that `make` returns. Of the options these have an
  /// effect: checkpoint_interval; durability, where never means no checkpoints by time; trust, memory, mode and calls.
  /// Errors: invalid_argument for Durability::always, and for a kind that cannot be shared; locked if a writer that
  /// does not share has the file, after a second; unsupported_version if processes of another version share it; as
  /// Store::open and Store::create.
  [[nodiscard]] static Result<SharedFilter> open(const std::string& path, const Make& make,
                                                 const StoreOptions& options = {});

  SharedFilter(SharedFilter&&) noexcept;
  SharedFilter& operator=(SharedFilter&&) noexcept;
  SharedFilter(const SharedFilter&) = delete;
  SharedFilter& operator=(const SharedFilter&) = delete;
  /// Closes the filter; errors are ignored. Call `close()` to see them.
  ~SharedFilter();

  /// As AnyFilter::observe_concurrent. Errors: invalid_argument after close(); in a child process, those of open.
  [[nodiscard]] Result<void> observe(Keys keys, std::span<bool> seen);

  /// Removes keys; observe then reports them as new. Forget only what observe reported as new, and once, whatever the
  /// outcome: if it is a false positive, or other counters of it were decremented, other keys are lost. After a power
  /// loss a report that was not durable allows no call. Shape: keys[c], results[c]; refused are absent keys and those
  /// whose counters are saturated. Errors: invalid_argument for a kind of bits; as observe.
  [[nodiscard]] Result<void> forget(Keys keys, std::span<EraseResult> results);

  /// The filter, which other processes change. Its keys_inserted() is that of the moment when sharing began.
  [[nodiscard]] const AnyFilter& filter() const noexcept;
  /// Returns how many keys were new, less those forgotten, in all processes. May lack the last call of each process
  /// that was killed.
  [[nodiscard]] std::uint64_t keys_inserted() const noexcept;
  /// Returns the number of keys observed or forgotten since the filter was created, in all processes. What this process
  /// has observed survives power loss as soon as durable_sequence() is at least what sequence() returned afterwards.
  [[nodiscard]] std::uint64_t sequence() const noexcept;
  /// Returns the sequence of the last checkpoint.
  [[nodiscard]] std::uint64_t durable_sequence() const noexcept;

  /// Returns once the disk has everything observed so far: a checkpoint, if the last one lacks something. Waits for
  /// that of another process. Errors: io, also if another file took the place of FILE or FILE-shared, or FILE-shared
  /// was removed and others changed FILE since; out_of_space; the filter remains usable. invalid_argument after
  /// close().
  [[nodiscard]] Result<void> sync();
  /// Ends the use by this process. The last one makes a checkpoint, if the last one lacks something or is damaged, and
  /// removes FILE-shared. A second call does nothing.
  /// Errors: as sync; nothing is lost unless the system stops.
  [[nodiscard]] Result<void> close();

 private:
  class Impl;
  explicit SharedFilter(std::unique_ptr<Impl> impl) noexcept;
  [[nodiscard]] Result<void> reopen_in_child();

  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
