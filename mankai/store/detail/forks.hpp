#pragma once

#include <mutex>
#include <optional>
#include <vector>

#include "mankai/file/file_lock.hpp"

namespace mankai::detail {

/// The lock by which a process uses a file beside others.
struct SharedUse {
  std::optional<FileLock> lock;
  bool was_forked = false;  ///< this is the copy of a child process, which does not use the file
};

/// A child of fork() has a copy of each lock of its parent, and would keep it when the parent dies. So forks wait while
/// a thread has a lock for a short time, with the mutex held, and the child drops the locks of all uses.
class Forks {
 public:
  /// Of this process; prepares for forks on first use.
  [[nodiscard]] static Forks& instance();

  [[nodiscard]] std::mutex& mutex() noexcept { return mutex_; }
  /// With the mutex held. Pre: the use stays where it is until it is removed.
  void add(SharedUse& use) { uses_.push_back(&use); }
  void remove(SharedUse& use) noexcept { std::erase(uses_, &use); }

 private:
  Forks();
  void leave_in_child() noexcept;

  std::mutex mutex_;
  std::vector<SharedUse*> uses_;
};

}  // namespace mankai::detail
