#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/seen/digest_log_format.hpp"

namespace mankai::detail {

/// A log, to its runs.
struct DigestRunOwner {
  std::string path;      ///< of the log
  std::uint64_t id = 0;  ///< in its runs' footers
};

/// The file of a log's run.
[[nodiscard]] std::string digest_run_path(const std::string& log, std::uint64_t number);

/// Sorted digests in a file that never changes. Cost: asking looks at a few pages of it.
class DigestRun {
 public:
  /// Opens a run and checks it. Errors: not_found; corrupt; unsupported_version; io.
  [[nodiscard]] static Result<DigestRun> open(const std::string& log, const DigestRunEntry& entry, FileCalls& calls);

  [[nodiscard]] const DigestRunEntry& entry() const noexcept { return entry_; }
  [[nodiscard]] bool contains(WideDigest digest) const noexcept;
  /// Reads digests from the one of this number on. Errors: io.
  [[nodiscard]] Result<void> read(std::uint64_t from, std::span<WideDigest> into) const;
  /// Calls use(digests) with all of them in order, not through the mapping, whose pages would stay. Errors: io.
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

/// The file in which a log's next run is written, until it is whole.
[[nodiscard]] std::string new_digest_run_path(const std::string& log);

/// Whether a run of this number may be written: there is no such file, or it is one that a crash of this log left
/// before the log named it. Errors: invalid_argument for another log's, or whatever else it is; io.
[[nodiscard]] Result<void> check_run_is_free(const DigestRunOwner& log, std::uint64_t number, FileCalls& calls);

/// Writes a run of these sorted digests and those of the runs, and returns when it is on the disk: whole, or not under
/// its name. Errors: as check_run_is_free; out_of_space. Pre: the log's lock is held.
[[nodiscard]] Result<DigestRunEntry> write_digest_run(const DigestRunOwner& log, std::uint64_t number,
                                                      std::span<const WideDigest> sorted,
                                                      std::span<const DigestRun> runs, FileCalls& calls);

}  // namespace mankai::detail
