#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "mankai/base/region.hpp"
#include "mankai/durable/digest_log_format.hpp"
#include "mankai/storage/open_file.hpp"

namespace mankai::detail {

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

/// Writes a run of these sorted digests and those of the runs, and returns when it is on the disk. Where it fails the
/// file is of no use, and the next one of this number takes its place. Errors: io; out_of_space.
[[nodiscard]] Result<DigestRunEntry> write_digest_run(const std::string& log, std::uint64_t number,
                                                      std::span<const WideDigest> sorted,
                                                      std::span<const DigestRun> runs, FileCalls& calls);

}  // namespace mankai::detail
