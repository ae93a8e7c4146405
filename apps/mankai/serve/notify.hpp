#pragma once

#include <string>
#include <string_view>

namespace mankai::command::serve {

/// Reports the state of the service to the service manager, as sd_notify does, without its library.
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
  /// Reports the beginning of a reload: RELOADING=1 and its time, which systemd requires.
  void tell_reloading() const;

 private:
  std::string socket_;  ///< a path, or a name with a leading NUL
};

}  // namespace mankai::command::serve
