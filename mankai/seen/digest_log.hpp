#pragma once

/// Every key that ever came, exactly, on disk: what confirms a filter's yes.
///
/// A key is two digests of 64 bits by two seeds. Two of n keys share both with probability n²/2^127 at most: 6e-21 for
/// a billion keys, where one digest of 64 bits would do so with 2.7 %.
///
/// New digests are appended to a file, batch by batch, and kept in memory, until there are some hundred thousand; then
/// they are sorted into a run, a file of its own that never changes. Runs of about equal size are merged into one, so
/// that there are few: digests are written about as often as their number can be halved. Asking is a look into a table
/// in memory, and a search by interpolation in each run, which is mapped.
///
/// What it promises: a digest that is there was committed. One that was committed is there after the end of the
/// process, whatever it was doing; after the machine's, if it was committed before the last sync that returned. Damage
/// is an error; where nobody can tell it from a crash, in batches of which no later one says that they were on the
/// disk, it is a loss that is reported. Source:  [Lee2008] DRUM, digests in sorted runs that are merged. Differs: asked
/// at once, not in batches.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "mankai/file/new_file.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/seen/digest_log_format.hpp"

namespace mankai {

/// How keys become digests: the log's, for as long as it lives.
struct DigestLogKeys {
  HashSpec first;
  HashSpec second;  ///< of the same kind, with a seed of its own
  unsigned canonical_version = 0;

  friend bool operator==(const DigestLogKeys&, const DigestLogKeys&) = default;
};

/// How a log is kept.
struct DigestLogOptions {
  /// So many new digests are kept in memory before they become a run: 4 MiB of them, and 2 MiB to find them.
  std::size_t recent_digests = std::size_t{1} << 18;
  FileMode mode = {};          ///< of a log that is made; its runs have that of the log
  FileCalls* calls = nullptr;  ///< nullptr: the system's
};

/// What a log's files hold.
struct DigestLogFacts {
  std::uint64_t digests = 0;
  std::uint64_t runs = 0;
  std::uint64_t file_bytes = 0;     ///< of all its files
  std::uint64_t dropped_bytes = 0;  ///< at the end of the file that are no whole batch, and that the next to open drops
};

/// Checks a log and its runs completely, also beside a writer, and changes nothing. Errors: not_found, also when a run
/// is missing; corrupt; unsupported_version; io.
[[nodiscard]] Result<DigestLogFacts> verify_digest_log(const std::string& path, FileCalls& calls = system_calls());
/// Checks one file of a log's runs, as far as it can be without the log. Errors: as verify_digest_log's.
[[nodiscard]] Result<DigestLogFacts> verify_digest_run(const std::string& path, FileCalls& calls = system_calls());

/// See the top of this file. Cost: 16 bytes a digest on disk, some megabytes of memory, and pages of the runs as they
/// are looked at. Threads: one at a time.
class DigestLog {
 public:
  /// Opens a log, and makes it if it is missing. Checks all of it. Errors: locked; corrupt; unsupported_version; io;
  /// not_found, also when a run is missing; invalid_argument for another log's run that stands in the way;
  /// out_of_space.
  [[nodiscard]] static Result<DigestLog> open(const std::string& path, const DigestLogKeys& if_new,
                                              const DigestLogOptions& options = {});

  DigestLog(DigestLog&&) noexcept;
  DigestLog& operator=(DigestLog&&) noexcept;
  DigestLog(const DigestLog&) = delete;
  DigestLog& operator=(const DigestLog&) = delete;
  ~DigestLog();

  [[nodiscard]] const DigestLogKeys& keys() const noexcept;
  /// Whether it was added, committed or not.
  [[nodiscard]] bool contains(WideDigest digest) const noexcept;
  /// Adds a digest. Pre: it is not there. Cost: amortised constant; may allocate.
  void add(WideDigest digest);
  /// Appends what was added, in one batch: all of it is there later, or nothing. Every now and then makes a run.
  /// Errors: io; out_of_space; invalid_argument as open's. What was committed before is safe then; every later call
  /// gives the same error, and writes nothing.
  [[nodiscard]] Result<void> commit();
  /// Returns when what was committed is on the disk. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync();
  /// Syncs, and writes down that it did, so that damage to any of it, or what was cut off its end, is an error later.
  /// More may be added afterwards. Cost: the file written anew, unless nothing was committed since. Errors: as sync's.
  [[nodiscard]] Result<void> close();

  /// Calls use(digests) until all that were committed have been, in no order. Errors: io.
  [[nodiscard]] Result<void> for_each(const std::function<void(std::span<const WideDigest>)>& use) const;
  /// Digests, those included that were not committed.
  [[nodiscard]] std::uint64_t digests() const noexcept;
  [[nodiscard]] std::size_t runs() const noexcept;
  /// Of all its files.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  /// Of the digests in memory and the table that finds them.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
  /// Bytes at the end of the file that were no whole batch when it was opened, and are gone.
  [[nodiscard]] std::uint64_t dropped_bytes() const noexcept;

 private:
  friend Result<DigestLogFacts> verify_digest_log(const std::string& path, FileCalls& calls);
  class Impl;
  explicit DigestLog(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
