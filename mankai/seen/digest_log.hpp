#pragma once

/// An exact log on disk of all keys that were ever added, which confirms a filter's positive answers.
///
///     auto log = mankai::DigestLog::open("keys.log", {.first = HashSpec::random(), .second = HashSpec::random()});
///     if (!log->contains(digest)) { log->add(digest); }
///     log->commit();  // survives a process crash
///     log->sync();    // survives power loss
///
/// A key is stored as two digests of 64 bits with different seeds. The probability that two of n keys share both is at
/// most n²/2^127: 6e-21 for a billion keys, for which a single digest of 64 bits gives 2.7%.
///
/// New digests are appended to a file in batches and kept in memory. Some hundred thousand of them become a run, a
/// separate sorted file that never changes; runs of similar size are merged. A look-up reads a table in memory and
/// searches each mapped run by interpolation.
///
/// Guarantees: every digest in the log was committed. A committed digest survives a process crash at any time, and
/// power loss after the next sync() has returned. Damage is an error, unless it looks like a crash: batches at the end
/// that no later batch declares to be on the disk are a loss, which dropped_bytes() reports.
///
/// Source: [Lee2008] DRUM, sorted runs that are merged. Differs: answers each look-up at once, not in batches.

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

/// How keys become digests; a log never changes it.
struct DigestLogKeys {
  HashSpec first;
  HashSpec second;                 ///< of the same kind, with another seed
  unsigned canonical_version = 0;  ///< version of the URL rules; 0: keys are bytes

  friend bool operator==(const DigestLogKeys&, const DigestLogKeys&) = default;
};

/// Options of a log.
struct DigestLogOptions {
  /// Number of new digests in memory that become a run: 4 MiB, and 2 MiB for their table.
  std::size_t recent_digests = std::size_t{1} << 18;
  FileMode mode = {};          ///< permissions of a new log; its runs get those of the log
  FileCalls* calls = nullptr;  ///< nullptr: the system's
};

/// What the files of a log hold.
struct DigestLogFacts {
  std::uint64_t digests = 0;
  std::uint64_t runs = 0;
  std::uint64_t file_bytes = 0;     ///< size of all files
  std::uint64_t dropped_bytes = 0;  ///< incomplete batches at the end, which the next open drops
};

/// Checks a log and its runs completely and changes nothing; works beside a writer. Errors: not_found, also if a run is
/// missing; corrupt; unsupported_version; io.
[[nodiscard]] Result<DigestLogFacts> verify_digest_log(const std::string& path, FileCalls& calls = system_calls());
/// Checks one run, as far as that is possible without its log. Errors: as verify_digest_log.
[[nodiscard]] Result<DigestLogFacts> verify_digest_run(const std::string& path, FileCalls& calls = system_calls());

/// See the top of this file. Cost: 16 bytes per digest on disk, a few megabytes of memory, and the pages of the runs
/// that look-ups touch. Threads: one at a time.
class DigestLog {
 public:
  /// Opens and checks a log, or creates it if it is missing. Errors: locked; corrupt; unsupported_version; io;
  /// not_found, also if a run is missing; invalid_argument if a run of another log has a name that this log needs;
  /// out_of_space.
  [[nodiscard]] static Result<DigestLog> open(const std::string& path, const DigestLogKeys& if_new,
                                              const DigestLogOptions& options = {});

  DigestLog(DigestLog&&) noexcept;
  DigestLog& operator=(DigestLog&&) noexcept;
  DigestLog(const DigestLog&) = delete;
  DigestLog& operator=(const DigestLog&) = delete;
  ~DigestLog();

  [[nodiscard]] const DigestLogKeys& keys() const noexcept;
  /// Returns whether the digest was added, committed or not.
  [[nodiscard]] bool contains(WideDigest digest) const noexcept;
  /// Adds a digest. Pre: the log does not contain it. Cost: amortized constant; may allocate.
  void add(WideDigest digest);
  /// Commits the added digests as one batch: after a crash all of them are there, or none. Sometimes also makes a run.
  /// Errors: io; out_of_space; invalid_argument as open. Then earlier commits are safe, and every later call returns
  /// the same error and writes nothing.
  [[nodiscard]] Result<void> commit();
  /// Returns when the disk has everything committed. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync();
  /// Syncs and records that in the file, so that any later damage or truncation is an error and not a loss. The log
  /// remains usable. Cost: rewrites the file unless nothing was committed since the last time. Errors: as sync.
  [[nodiscard]] Result<void> close();

  /// Calls use(digests) with all committed digests, in pieces, in no particular order. Errors: io.
  [[nodiscard]] Result<void> for_each(const std::function<void(std::span<const WideDigest>)>& use) const;
  /// Returns the number of digests, including uncommitted ones.
  [[nodiscard]] std::uint64_t digests() const noexcept;
  [[nodiscard]] std::size_t runs() const noexcept;
  /// Returns the size of all files.
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  /// Returns the size of the digests in memory and of their table.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
  /// Returns the size of the incomplete batches at the end of the file, which open() dropped.
  [[nodiscard]] std::uint64_t dropped_bytes() const noexcept;

 private:
  friend Result<DigestLogFacts> verify_digest_log(const std::string& path, FileCalls& calls);
  class Impl;
  explicit DigestLog(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
