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
/// power loss after the next sync(). Corruption is an error unless it looks like a crash: batches at the end that no
/// later batch declares durable are dropped, and dropped_bytes() reports them.
///
/// Source: [Lee2008] DRUM, sorted runs that are merged. Differs: answers each look-up at once, not in batches.

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "mankai/file/new_file.hpp"
#include "mankai/hash/hasher.hpp"
#include "mankai/seen/digest_log_format.hpp"

namespace mankai {

/// How keys become digests; fixed for a log.
struct DigestLogKeys {
  HashSpec first;
  HashSpec second;                 ///< the same kind, another seed
  unsigned canonical_version = 0;  ///< of the URL rules; 0: keys are bytes

  friend bool operator==(const DigestLogKeys&, const DigestLogKeys&) = default;
};

/// Options of a log.
struct DigestLogOptions {
  /// Number of digests in memory that become a run: 4 MiB, and 2 MiB for their table.
  std::size_t recent_digests = std::size_t{1} << 18;
  FileMode mode = {};          ///< of a new log and its runs
  FileCalls* calls = nullptr;  ///< nullptr: system_calls()
};

/// Size of a log.
struct DigestLogFacts {
  std::uint64_t digests = 0;
  std::uint64_t runs = 0;
  std::uint64_t file_bytes = 0;     ///< of all files
  std::uint64_t dropped_bytes = 0;  ///< of incomplete batches at the end, which the next open drops
};

/// Checks a log and its runs without changes, also beside a writer. Errors: not_found, also if a run is missing;
/// corrupt; unsupported_version; io.
[[nodiscard]] Result<DigestLogFacts> verify_digest_log(const std::string& path, FileCalls& calls = system_calls());
/// Checks a single run without its log. Errors: as verify_digest_log.
[[nodiscard]] Result<DigestLogFacts> verify_digest_run(const std::string& path, FileCalls& calls = system_calls());

/// Cost: 16 bytes per digest on disk, a few megabytes of memory, and the pages of the runs that look-ups touch.
/// Threads: one at a time.
class DigestLog {
 public:
  /// Opens and checks a log, or creates it if it is missing. If the last writer did not close it, rewrites it, so that
  /// the disk has all of it. Errors: locked; corrupt; unsupported_version; io; not_found, also if a run is missing;
  /// invalid_argument if a run of another log has a name that this log needs; out_of_space.
  [[nodiscard]] static Result<DigestLog> open(const std::string& path, const DigestLogKeys& if_new,
                                              const DigestLogOptions& options = {});

  DigestLog(DigestLog&&) noexcept;
  DigestLog& operator=(DigestLog&&) noexcept;
  DigestLog(const DigestLog&) = delete;
  DigestLog& operator=(const DigestLog&) = delete;
  ~DigestLog();

  [[nodiscard]] const DigestLogKeys& keys() const noexcept;
  /// Includes uncommitted digests.
  [[nodiscard]] bool contains(WideDigest digest) const noexcept;
  /// Pre: the log does not contain the digest. Cost: amortized constant; may allocate.
  void add(WideDigest digest);
  /// Commits the added digests as one batch, which a crash keeps or drops as a whole. Sometimes also makes a run.
  /// Errors: io; out_of_space; invalid_argument as open. After an error earlier commits are safe, but every later call
  /// returns the same error and writes nothing; after std::bad_alloc out_of_space.
  [[nodiscard]] Result<void> commit();
  /// Makes everything committed survive power loss. Errors: io; out_of_space.
  [[nodiscard]] Result<void> sync();
  /// Syncs and records that in the file, so that later damage or truncation is an error, not a loss. The log remains
  /// usable. Cost: rewrites the file if anything was committed since the last time. Errors: as sync.
  [[nodiscard]] Result<void> close();

  /// Calls use(digests) with all committed digests, in pieces and in no particular order. Errors: io.
  [[nodiscard]] Result<void> for_each(const std::function<void(std::span<const WideDigest>)>& use) const;
  /// Includes uncommitted digests.
  [[nodiscard]] std::uint64_t digests() const noexcept;
  [[nodiscard]] std::size_t runs() const noexcept;
  [[nodiscard]] std::uint64_t file_bytes() const noexcept;
  /// Of the recent digests and their table, without the mapped runs.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept;
  /// Incomplete batches at the end of the file, which open() dropped.
  [[nodiscard]] std::uint64_t dropped_bytes() const noexcept;

 private:
  friend Result<DigestLogFacts> verify_digest_log(const std::string& path, FileCalls& calls);
  class Impl;
  explicit DigestLog(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace mankai
