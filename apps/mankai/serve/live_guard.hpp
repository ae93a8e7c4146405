#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/file/open_file.hpp"
#include "mankai/guard/guard.hpp"

namespace mankai::command::serve {

/// A guard that can be replaced while it is in use: requests in progress keep the old one.
///
/// The file is read into memory, not mapped: overwriting a mapped file in place would change the guard in use.
///
/// Threads: current from any; the others from one.
class LiveGuard {
 public:
  struct Loaded {
    Guard guard;
    FileStamp stamp;
  };

  /// Errors: not_found; io; out_of_space; as Guard::from_region.
  [[nodiscard]] static Result<std::unique_ptr<LiveGuard>> open(std::string path);

  [[nodiscard]] std::shared_ptr<const Loaded> current() const;

  /// Whether the file differs from that of the last attempt, successful or not. A missing file counts as a change at
  /// the second call only, since it may be about to be replaced.
  [[nodiscard]] bool has_changed();
  /// Loads the current file and then replaces the guard. Errors: as open; the old guard stays in use.
  [[nodiscard]] Result<void> reload();

 private:
  explicit LiveGuard(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<FileStamp> tried_;  ///< nothing: there was no file
  bool was_missing_ = false;        ///< at the last call of has_changed
  mutable std::mutex mutex_;        ///< protects loaded_ only while it is copied
  std::shared_ptr<const Loaded> loaded_;
};

}  // namespace mankai::command::serve
