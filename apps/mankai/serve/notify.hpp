#pragma once

#include <string>
#include <string_view>

namespace mankai::command::serve {

/// Tells the service manager what the service is doing, as sd_notify does, without its library.
///
/// Shape:   lines such as "READY=1" or "STATUS=…".
/// Errors:  none: without a manager, or when it does not listen, nothing happens.
/// Threads: one caller.
/// Source:  [SdNotify]
class ServiceManager {
 public:
  /// Reads NOTIFY_SOCKET.
  ServiceManager();
  void tell(std::string_view lines) const;
  /// What a reload begins with: RELOADING=1 and when that was, which the manager wants to know.
  void tell_reloading() const;

 private:
  std::string socket_;  ///< a path, or a name with a leading NUL
};

}  // namespace mankai::command::serve
