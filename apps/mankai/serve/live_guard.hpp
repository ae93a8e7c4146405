#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "mankai/base/error.hpp"
#include "mankai/guard/guard.hpp"

namespace mankai::command::serve {

/// Which file stands under a path now: replacing or changing it makes another one. More than mankai::FileIdentity,
/// because a number that a file had is free again once it is replaced, and the next one may get it.
struct FileStamp {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_nanoseconds = 0;  ///< since 1970

  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};

/// A guard that is replaced while it is in use: who has the old one keeps it until he is done.
///
/// The file is read into memory, not mapped: a service lives for months, and one day somebody copies a new file over
/// the old one, which pulls the bytes from under whoever has them mapped.
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

  /// Whether the path stands for another file than when it was last tried, good or not. One that is gone has changed
  /// only when it is at the second look, too: it may be about to come back.
  [[nodiscard]] bool has_changed();
  /// Opens and checks what is there now, and only then replaces the guard. Errors: as open; the guard stays.
  [[nodiscard]] Result<void> reload();

 private:
  explicit LiveGuard(std::string path) : path_(std::move(path)) {}

  std::string path_;
  std::optional<FileStamp> tried_;  ///< nothing where there was no file
  bool was_missing_ = false;        ///< at the last look
  mutable std::mutex mutex_;        ///< of the pointer only: held for as long as it takes to copy it
  std::shared_ptr<const Loaded> loaded_;
};

}  // namespace mankai::command::serve
