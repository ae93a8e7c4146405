#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "mankai/base/region.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/seen/digest_log_format.hpp"

namespace mankai::detail {

struct DigestRunOwner {
  std::string path;      ///< of the log
  std::uint64_t id = 0;  ///< in the footers of its runs
};

[[nodiscard]] std::string digest_run_path(const std::string& log, std::uint64_t number);

/// Sorted digests in a file that never changes. Cost: a few pages per look-up.
class DigestRun {
 public:
  /// Opens and checks a run. Errors: not_found; corrupt; unsupported_version; io.
  [[nodiscard]] static Result<DigestRun> open(const std::string& log, const DigestRunEntry& entry, FileCalls& calls);

  [[nodiscard]] const DigestRunEntry& entry() const noexcept { return entry_; }
  [[nodiscard]] bool contains(WideDigest digest) const noexcept;
  /// Reads the digests from index `from` on. Errors: io.
  [[nodiscard]] Result<void> read(std::uint64_t from, std::span<WideDigest> into) const;
  /// Calls use(digests) with all digests in order. Reads the file, not the mapping, whose pages would stay in memory.
  /// Errors: io.
  [[nodiscard]] Result<void> for_each(const std::function<void(std::span<const WideDigest>)>& use) const;

 private:
  DigestRun(const DigestRunEntry& entry, OpenFile file, Region bytes) noexcept
      : entry_(entry), file_(std::move(file)), bytes_(std::move(bytes)) {}

  [[nodiscard]] std::span<const WideDigest> digests() const noexcept;
  [[nodiscard]] Result<void> check(const std::string& path) const;

  DigestRunEntry entry_;
  OpenFile file_;
  Region bytes_;
};

/// Temporary path of the next run of a log.
[[nodiscard]] std::string new_digest_run_path(const std::string& log);

/// Checks that a run may be written: its file is missing, or a crash left it before the log listed it. Errors:
/// invalid_argument for any other file, such as a run of another log; io.
[[nodiscard]] Result<void> check_run_is_free(const DigestRunOwner& log, std::uint64_t number, FileCalls& calls);

/// Merges sorted digests and runs into a new run and syncs it. A file of its name is always complete. Errors: as
/// check_run_is_free; out_of_space. Pre: the caller holds the lock of the log.
[[nodiscard]] Result<DigestRunEntry> write_digest_run(const DigestRunOwner& log, std::uint64_t number,
                                                      std::span<const WideDigest> sorted,
                                                      std::span<const DigestRun> runs, FileCalls& calls);

}  // namespace mankai::detail
